"""Attacks on the sandbox, one function each. `attacks.py NAME JSON` ends with 0 if the attack got
through, with 7 if it was stopped; the test compares that with a run outside of the sandbox."""
import ctypes, json, os, socket, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"


def call(number, *args):
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    libc.syscall.restype = ctypes.c_long
    answer = libc.syscall(ctypes.c_long(number), *words)
    if answer == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def numbers(x86, arm):
    return x86 if X86 else arm


def read_secret(c):
    assert "SECRET" in open(c["secret"]).read()

def read_secret_through_link(c):
    assert "SECRET" in open(c["link"]).read()

def read_secret_through_hard_link(c):
    assert "SECRET" in open(c["hard"]).read()

def write_outside(c):
    open(c["victim_file"], "a").write("x")

def truncate_outside(c):
    os.truncate(c["victim_file"], 0)

def empty_outside(c):
    # Asks to empty it, and neither to read nor to write it: rules about writing see nothing.
    os.close(os.open(c["victim_file"], 3 | os.O_TRUNC))
    assert os.stat(c["victim_file"]).st_size == 0

def empty_outside_as_reader(c):
    os.close(os.open(c["readable"], os.O_RDONLY | os.O_TRUNC))
    assert os.stat(c["readable"]).st_size == 0

def create_outside(c):
    open(c["outside"] + "/made", "w").write("x")

def remove_outside(c):
    os.unlink(c["removable"])

def rename_outside(c):
    os.rename(c["renamable"], c["renamable"] + ".moved")

def link_outside_in(c):
    os.link(c["secret"], "linked-secret")
    assert "SECRET" in open("linked-secret").read()

def chmod_outside(c):
    os.chmod(c["victim_file"], 0o777)

def utime_outside(c):
    os.utime(c["victim_file"], (1, 1))

def setxattr_outside(c):
    os.setxattr(c["victim_file"], "user.x", b"y")

def stat_outside(c):
    os.stat(c["secret"])

def list_outside(c):
    os.listdir(c["outside"])

def inotify_outside(c):
    fd = libc.inotify_init1(0)
    if libc.inotify_add_watch(fd, c["outside"].encode(), 0xFFF) < 0:
        raise OSError(ctypes.get_errno(), "inotify")

def rewrite_skill(c):
    open(c["skill"] + "/SKILL.md", "a").write("changed")

def write_tmp(c):
    open(c["tmp_file"], "w").write("x")

def write_shm(c):
    open(c["shm_file"], "w").write("x")

def read_parent_environ(c):
    assert len(open("/proc/%d/environ" % c["victim"], "rb").read()) > 0

def read_parent_cmdline(c):
    assert len(open("/proc/%d/cmdline" % c["victim"], "rb").read()) > 0

def read_parent_memory(c):
    open("/proc/%d/mem" % c["victim"], "rb")

def enter_parent_root(c):
    assert "SECRET" in open("/proc/%d/root%s" % (c["victim"], c["secret"])).read()

def connect_tcp(c):
    socket.create_connection(("127.0.0.1", c["tcp"]), 2).sendall(b"hello")

def send_udp(c):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", ("127.0.0.1", c["udp"]))

def listen_tcp(c):
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()

def socket_inet6(c):
    socket.socket(socket.AF_INET6, socket.SOCK_STREAM)

def socket_vsock(c):
    socket.socket(40, socket.SOCK_STREAM)

def socket_netlink(c):
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)

def socket_mptcp(c):
    socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)

def socket_raw_packet(c):
    socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)

def unix_socket_by_path(c):
    s = socket.socket(socket.AF_UNIX); s.connect(c["unix"]); s.sendall(b"hello")

def unix_datagram_by_path(c):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b"hello", c["datagram"])

def unix_raw_by_path(c):
    # The kernel takes it for a datagram socket.
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW); a.sendto(b"hello", c["datagram"])

def unix_socket_abstract(c):
    s = socket.socket(socket.AF_UNIX); s.connect("\0" + c["abstract"]); s.sendall(b"hello")

def signal_victim(c):
    os.kill(c["victim"], 0)

def queue_signal_to_victim(c):
    fd = os.pidfd_open(c["victim"])
    import signal
    signal.pidfd_send_signal(fd, 0)

def kill_supervisor(c):
    # The process above this one: the sandbox's own watch, or whoever started the control.
    os.kill(os.getppid(), 0)
    if os.getppid() in (0, 1):
        raise OSError("the parent is not a process of the host")

def prlimit_victim(c):
    import resource
    resource.prlimit(c["victim"], resource.RLIMIT_CORE, (0, 0))

def ptrace_victim(c):
    call(numbers(101, 117), 16, c["victim"], 0, 0)
    os.waitpid(c["victim"], 0x40000000)
    call(numbers(101, 117), 17, c["victim"], 0, 0)

def read_victim_memory(c):
    buffer = ctypes.create_string_buffer(8)
    local = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(buffer), 8))
    remote = ctypes.create_string_buffer(struct.pack("QQ", 4096, 8))
    try:
        call(numbers(310, 270), c["victim"], local, 1, remote, 1, 0)
    except OSError as error:
        if error.errno != 14:  # EFAULT: nothing is there, but looking was allowed
            raise

def steal_descriptor(c):
    fd = os.pidfd_open(c["victim"])
    call(438, fd, 0, 0)

def io_uring(c):
    call(425, 4, ctypes.create_string_buffer(120))

def user_namespace(c):
    call(numbers(272, 97), 0x10000000)

def user_namespace_by_clone(c):
    pid = call(numbers(56, 220), 0x10000000 | 17, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)

def user_namespace_by_clone3(c):
    args = ctypes.create_string_buffer(struct.pack("Q" * 8, 0x10000000, 0, 0, 0, 17, 0, 0, 0))
    pid = call(435, args, 64)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)

def x32_socket(c):
    call(0x40000000 + 41, 2, 1, 0)

def keyring(c):
    call(numbers(248, 217), b"user", b"metier", b"x", 1, -3)

def userfaultfd(c):
    call(numbers(323, 282), 1)

def perf_events(c):
    attr = ctypes.create_string_buffer(128)
    struct.pack_into("II", attr, 0, 1, 128)
    call(numbers(298, 241), attr, 0, -1, -1, 0)

def bpf(c):
    attr = ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 8, 1) + bytes(112))
    call(numbers(321, 280), 0, attr, 128)

def mount_tmpfs(c):
    call(numbers(165, 40), b"tmpfs", c["mount_point"].encode(), b"tmpfs", 0, 0)
    call(numbers(166, 39), c["mount_point"].encode(), 2)

def change_root(c):
    os.chroot(".")

def open_by_handle(c):
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call(numbers(303, 264), -100, c["secret"].encode(), handle, ctypes.byref(mount), 0)
    root = os.open(c["outside"], os.O_RDONLY)
    fd = call(numbers(304, 265), root, handle, 0)
    assert b"SECRET" in os.read(fd, 100)

def gain_capability(c):
    caps = [line for line in open("/proc/self/status") if line.startswith("CapBnd")]
    assert int(caps[0].split()[1], 16) != 0

def inherited_descriptor(c):
    for fd in range(3, 64):
        try:
            if b"SECRET" in os.pread(fd, 100, 0):
                return
        except OSError:
            pass
    raise OSError("no descriptor leads to the secret")

def secret_variable(c):
    assert c["canary"] in os.environ.values()

def secret_variable_of_parent(c):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if c["canary"].encode() in open("/proc/%s/environ" % pid, "rb").read():
                return
        except OSError:
            pass
    raise OSError("no process shows it")

def read_terminal(c):
    data = sys.stdin.buffer.read(1)
    assert data

def much_memory(c):
    import mmap
    mmap.mmap(-1, 3 << 30)

def large_file(c):
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with open("large", "wb") as f:
        for _ in range(40):
            f.write(bytes(1 << 20))
    assert os.path.getsize("large") == 40 << 20

def many_descriptors(c):
    kept = [open("/dev/null") for _ in range(600)]

def many_processes(c):
    for _ in range(90):
        if os.fork() == 0:
            time.sleep(3)
            os._exit(0)
    time.sleep(1.5)

def main():
    name, config = sys.argv[1], json.loads(sys.argv[2])
    try:
        globals()[name](config)
    except BaseException as error:
        print("stopped:", type(error).__name__, error)
        sys.exit(7)
    print("through")

main()
