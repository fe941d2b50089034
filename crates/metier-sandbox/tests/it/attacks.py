"""Attacks on the sandbox, one function each. `attacks.py NAME JSON` ends with 0 if the attack got
through, with 7 if it was stopped; the test compares that with a run outside of the sandbox."""
import ctypes, fcntl, json, mmap, os, socket, struct, subprocess, sys, time

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

def chown_outside(c):
    group = next(g for g in os.getgroups() + [1] if g != os.stat(c["victim_file"]).st_gid)
    os.chown(c["victim_file"], -1, group)

def mode_of(path):
    return os.stat(path).st_mode & 0o777

def changed(path, change, mode=0o642):
    assert mode_of(path) != mode
    change(mode)
    assert mode_of(path) == mode

def chmod_by_link(c):
    os.symlink(c["victim_file"], "to-victim")
    changed(c["victim_file"], lambda mode: os.chmod("to-victim", mode))

def chmod_by_folder(c):
    folder = os.open(os.path.dirname(c["victim_file"]), 0o10000000)
    name = os.path.basename(c["victim_file"])
    changed(c["victim_file"], lambda mode: os.chmod(name, mode, dir_fd=folder))

def chmod_by_way_of_itself(c):
    # Begins in its own folder and leaves it again.
    way = os.getcwd() + "/../work/../outside/victim"
    changed(c["victim_file"], lambda mode: os.chmod(way, mode))
    changed(c["victim_file"], lambda mode: os.chmod("../outside/victim", mode), 0o643)

def chmod_by_handle(c):
    fd = os.open(c["victim_file"], 0o10000000)
    changed(c["victim_file"], lambda mode: os.chmod("/proc/self/fd/%d" % fd, mode))

def chmod_by_handle_of_descriptor(c):
    fd = os.open(c["victim_file"], 0o10000000)
    changed(c["victim_file"], lambda mode: call(452, fd, b"", mode, 0x1000))

def chmod_beside_working_directory(c):
    os.chdir(os.path.dirname(c["victim_file"]))
    changed(c["victim_file"], lambda mode: os.chmod("victim", mode))

def chmod_readable_descriptor(c):
    with open(c["readable"]) as f:
        changed(c["readable"], lambda mode: os.fchmod(f.fileno(), mode))

def chmod_readable_folder(c):
    folder = os.path.dirname(c["readable"])
    changed(folder, lambda mode: os.chmod(folder, mode), 0o733)

def chmod_skill(c):
    changed(c["skill"] + "/SKILL.md", lambda mode: os.chmod(c["skill"] + "/SKILL.md", mode))

def chmod_folder_above(c):
    changed("..", lambda mode: os.chmod("..", mode), 0o711)

def chmod_in_a_race(c):
    # The name leads to a file of its own and to the victim's, in turns, while its mode is changed.
    import threading
    open("own", "w").close()
    done = False
    def swap():
        turn = 0
        while not done:
            turn += 1
            os.symlink(c["victim_file"] if turn % 2 else "own", "next")
            os.rename("next", "raced")
    thread = threading.Thread(target=swap)
    thread.start()
    until = time.time() + 1
    while time.time() < until and mode_of(c["victim_file"]) != 0o642:
        try:
            os.chmod("raced", 0o642)
        except OSError:
            pass
    done = True
    thread.join()
    assert mode_of(c["victim_file"]) == 0o642

def chmod_of_swapped_descriptor(c):
    import threading
    own, other = os.open("own", os.O_RDWR | os.O_CREAT), os.open(c["readable"], os.O_RDONLY)
    used = os.dup(own)
    done = False
    def swap():
        while not done:
            os.dup2(other, used)
            os.dup2(own, used)
    thread = threading.Thread(target=swap)
    thread.start()
    until = time.time() + 1
    while time.time() < until and mode_of(c["readable"]) != 0o642:
        try:
            os.fchmod(used, 0o642)
        except OSError:
            pass
    done = True
    thread.join()
    assert mode_of(c["readable"]) == 0o642

def utime_by_handle(c):
    fd = os.open(c["victim_file"], 0o10000000)
    times = ctypes.create_string_buffer(struct.pack("qqqq", 1, 0, 1, 0))
    call(numbers(280, 88), fd, b"", times, 0x1000)
    assert os.stat(c["victim_file"]).st_mtime == 1

def utime_readable_descriptor(c):
    with open(c["readable"]) as f:
        os.utime(f.fileno(), (1, 1))

def utime_of_old(c):
    # utime, utimes and futimesat, which only x86-64 has.
    seconds, pairs = struct.pack("qq", 1, 1), struct.pack("qqqq", 1, 0, 1, 0)
    path = c["victim_file"].encode()
    for number, args in [(132, (path, seconds)), (235, (path, pairs)), (261, (-100, path, pairs))]:
        try:
            call(number, *(ctypes.create_string_buffer(a) if isinstance(a, bytes) else a for a in args))
        except OSError:
            pass
    assert os.stat(c["victim_file"]).st_mtime == 1

def getxattr_outside(c):
    assert os.getxattr(c["victim_file"], "user.origin") == b"a token"

def getxattr_of_descriptor(c):
    with open(c["readable"]) as f:
        assert os.getxattr(f.fileno(), "user.origin") == b"a token"

def lgetxattr_outside(c):
    assert os.getxattr(c["victim_file"], "user.origin", follow_symlinks=False) == b"a token"

def listxattr_outside(c):
    assert "user.origin" in os.listxattr(c["victim_file"])

def removexattr_outside(c):
    os.removexattr(c["victim_file"], "user.origin")

def xattr_arguments(value):
    return ctypes.create_string_buffer(struct.pack("QII", ctypes.addressof(value), len(value), 0), 16)

def setxattrat_outside(c):
    value = ctypes.create_string_buffer(b"y", 1)
    call(463, -100, c["victim_file"].encode(), 0, b"user.x", xattr_arguments(value), 16)

def getxattrat_outside(c):
    value = ctypes.create_string_buffer(64)
    call(464, -100, c["victim_file"].encode(), 0, b"user.origin", xattr_arguments(value), 16)
    assert b"a token" in value.raw

def listxattrat_outside(c):
    names = ctypes.create_string_buffer(256)
    call(465, -100, c["victim_file"].encode(), 0, names, 256)
    assert b"user.origin" in names.raw

def removexattrat_outside(c):
    call(466, -100, c["victim_file"].encode(), 0, b"user.origin")

def file_getattr_outside(c):
    call(468, -100, c["victim_file"].encode(), ctypes.create_string_buffer(24), 24, 0)

def file_setattr_outside(c):
    attributes = ctypes.create_string_buffer(struct.pack("QIIII", 0x80, 0, 0, 0, 0), 24)
    call(469, -100, c["victim_file"].encode(), attributes, 24, 0)

def flags_of_readable(c):
    import fcntl
    with open(c["readable"]) as f:
        fcntl.ioctl(f, 0x40086602, struct.pack("l", 0x40))  # FS_IOC_SETFLAGS, no dump

def project_of_readable(c):
    import fcntl
    with open(c["readable"]) as f:
        fcntl.ioctl(f, 0x401C5820, struct.pack("IIIII8x", 0x80, 0, 0, 0, 0))  # FS_IOC_FSSETXATTR

def lease_on_readable(c):
    import fcntl
    with open(c["readable"]) as f:
        fcntl.fcntl(f, 1024, fcntl.F_RDLCK)
        assert fcntl.fcntl(f, 1025) == fcntl.F_RDLCK

def lease_on_own_file(c):
    import fcntl
    with open("leased", "w") as f:
        fcntl.fcntl(f, 1024, fcntl.F_WRLCK)

def notices_of_readable(c):
    import fcntl
    fd = os.open(os.path.dirname(c["readable"]), os.O_RDONLY)
    fcntl.fcntl(fd, 1026, 2)

def signals_of_descriptor(c):
    import fcntl
    read, write = os.pipe()
    fcntl.fcntl(read, 8, c["victim"])  # F_SETOWN
    assert fcntl.fcntl(read, 9) == c["victim"]

def signal_number_of_descriptor(c):
    import fcntl
    fcntl.fcntl(os.pipe()[0], 10, 9)  # F_SETSIG

def shared_memory(c):
    call(numbers(29, 194), c["ipc_key"], 4096, 0o1600)

def message_queue(c):
    call(numbers(68, 186), c["ipc_key"], 0o1600)

def semaphores(c):
    call(numbers(64, 190), c["ipc_key"], 1, 0o1600)

def posix_message_queue(c):
    import resource
    name = ("metier-%d" % c["victim"]).encode()
    call(numbers(240, 180), name, os.O_CREAT | os.O_RDWR, 0o600, 0)
    call(numbers(241, 181), name)

def renice_victim(c):
    os.setpriority(os.PRIO_PROCESS, c["victim"], 7)

def renice_group_of_victim(c):
    os.setpriority(os.PRIO_PGRP, c["victim"], 7)

def affinity_of_victim(c):
    before = os.sched_getaffinity(c["victim"])
    os.sched_setaffinity(c["victim"], {min(before)})
    assert len(before) == 1 or os.sched_getaffinity(c["victim"]) != before

def scheduler_of_victim(c):
    os.sched_setscheduler(c["victim"], os.SCHED_BATCH, os.sched_param(0))

def scheduler_parameters_of_victim(c):
    os.sched_setparam(c["victim"], os.sched_param(0))

def scheduling_attributes_of_victim(c):
    attributes = ctypes.create_string_buffer(struct.pack("IIQiIQQQ", 48, 3, 0, 5, 0, 0, 0, 0), 48)
    call(numbers(314, 274), c["victim"], attributes, 0)

def io_priority_of_victim(c):
    call(numbers(251, 30), 1, c["victim"], 3 << 13)

def has_set_id(path):
    assert os.stat(path).st_mode & 0o6000, oct(os.stat(path).st_mode)

def set_id_by_chmod(c):
    open("set-id", "w").close()
    os.chmod("set-id", 0o4755)
    has_set_id("set-id")

def set_id_by_group_chmod(c):
    open("set-id", "w").close()
    os.chmod("set-id", 0o2755)
    has_set_id("set-id")

def set_id_by_fchmod(c):
    with open("set-id", "w") as f:
        os.fchmod(f.fileno(), 0o4755)
    has_set_id("set-id")

def set_id_by_fchmodat2(c):
    open("set-id", "w").close()
    call(452, -100, b"set-id", 0o4755, 0)
    has_set_id("set-id")

def set_id_by_open(c):
    call(2, b"set-id", os.O_CREAT | os.O_WRONLY, 0o4755)
    has_set_id("set-id")

def set_id_by_openat(c):
    os.close(os.open("set-id", os.O_CREAT | os.O_WRONLY, 0o4755))
    has_set_id("set-id")

def set_id_by_openat2(c):
    how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24)
    call(437, -100, b"set-id", how, 24)
    has_set_id("set-id")

def set_id_by_temporary_file(c):
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o4755)
    libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"set-id", 0x400)
    has_set_id("set-id")

def set_id_by_creat(c):
    call(85, b"set-id", 0o4755)
    has_set_id("set-id")

def set_id_by_mknod(c):
    os.mknod("set-id", 0o104755)
    has_set_id("set-id")

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
