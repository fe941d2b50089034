"""More attacks, of the same families as in `attacks.py`, which this stands before in one file: other calls, other
objects and other ways to the same things."""


def as_text(word):
    return ctypes.c_char_p(os.fsencode(word))

def holds_secret(path):
    return "SECRET" in open(path, errors="replace").read()

# Files by other ways.

def openat2_beneath_root(c):
    how = struct.pack("QQQ", os.O_RDONLY, 0, 0)
    fd = call(437, -100, as_text(c["secret"]), ctypes.create_string_buffer(how), len(how))
    assert "SECRET" in os.read(fd, 100).decode()

def read_by_path_descriptor(c):
    fd = os.open(c["secret"], os.O_PATH)
    assert holds_secret("/proc/self/fd/%d" % fd)

def read_by_folder_descriptor(c):
    fd = os.open(os.path.dirname(c["secret"]), os.O_PATH)
    assert "SECRET" in os.read(os.open(os.path.basename(c["secret"]), os.O_RDONLY, dir_fd=fd), 99).decode()

def read_by_working_directory_of_parent(c):
    assert holds_secret("/proc/%d/cwd/%s" % (os.getppid(), "outside/secret"))

def read_by_root_of_parent(c):
    assert holds_secret("/proc/%d/root%s" % (os.getppid(), c["secret"]))

def read_by_map_of_parent(c):
    assert os.listdir("/proc/%d/map_files" % os.getppid())

def read_by_handle(c):
    size = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    call(303 if X86 else 264, -100, as_text(c["secret"]), size, ctypes.byref(ctypes.c_int()), 0)

def read_by_execution(c):
    done = subprocess.run(["/bin/sh", c["secret"]], capture_output=True, text=True)
    assert "SECRET" in done.stderr + done.stdout

def read_by_interpreter_option(c):
    done = subprocess.run(["/usr/bin/env", "-S", "sh", "-c", "read x < '%s'; echo $x" % c["secret"]], capture_output=True, text=True)
    assert "SECRET" in done.stdout

def read_by_hard_link(c):
    os.link(c["secret"], "taken"); assert holds_secret("taken")

def read_by_hard_link_of_descriptor(c):
    fd = os.open(c["secret"], os.O_PATH)
    call(265 if X86 else 37, fd, as_text(""), -100, as_text("taken2"), 0x1000); assert holds_secret("taken2")

def read_by_exchange(c):
    open("bait", "w").close()
    call(316 if X86 else 276, -100, as_text(c["secret"]), -100, as_text("bait"), 2); assert holds_secret("bait")

def read_by_copy_file_range(c):
    fd = os.open(c["secret"], os.O_PATH); to = os.open("copied", os.O_RDWR | os.O_CREAT)
    call(326 if X86 else 285, fd, 0, to, 0, 100, 0); assert holds_secret("copied")

def fanotify(c):
    fd = call(300 if X86 else 262, 0, 0)
    call(301 if X86 else 263, fd, 1, 0x20, -100, as_text(c["secret"]))

def listmount(c):
    buffer = ctypes.create_string_buffer(8 * 64)
    request = struct.pack("IIQQQ", 32, 0, 0xffffffffffffffff, 0, 0)
    assert call(458, ctypes.create_string_buffer(request), buffer, 64, 0) > 0

# Changing what is not its own.

def write_by_append(c):
    os.write(os.open(c["victim_file"], os.O_WRONLY | os.O_APPEND), b"x")

def write_by_truncate_of_reader(c):
    fd = os.open(c["readable"], os.O_RDONLY); os.ftruncate(fd, 0)

def write_by_shared_map(c):
    fd = os.open(c["readable"], os.O_RDONLY)
    mmap.mmap(fd, 4, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ | mmap.PROT_WRITE)[0:1] = b"X"

def write_by_reopening(c):
    fd = os.open(c["readable"], os.O_RDONLY); os.write(os.open("/proc/self/fd/%d" % fd, os.O_WRONLY), b"X")

def make_folder_in_project(c):
    os.mkdir(os.path.join(c["workspace"], "made"))

def make_pipe_in_project(c):
    os.mkfifo(os.path.join(c["workspace"], "made"))

def make_link_in_project(c):
    os.symlink("/", os.path.join(c["workspace"], "made"))

def punch_hole(c):
    fd = os.open(c["readable"], os.O_RDONLY); call(285 if X86 else 47, fd, 3, 0, 4)

def clone_range(c):
    fd = os.open(c["readable"], os.O_RDONLY); fcntl.ioctl(fd, 0x40049409, os.open("/etc/passwd", os.O_RDONLY))

def set_id_by_mkdir(c):
    os.mkdir("d", 0o7777); os.chmod("d", 0o2777)
    assert os.stat("d").st_mode & 0o6000

def set_id_by_umask(c):
    os.umask(0); os.close(os.open("s", os.O_CREAT | os.O_WRONLY, 0o6755)); assert os.stat("s").st_mode & 0o6000

def set_id_by_archive(c):
    import io, tarfile
    data = io.BytesIO(); archive = tarfile.open(fileobj=data, mode="w")
    info = tarfile.TarInfo("f"); info.mode = 0o6755; archive.addfile(info); archive.close(); data.seek(0)
    try: tarfile.open(fileobj=data).extractall("outputs", filter="fully_trusted")
    except TypeError: tarfile.open(fileobj=data).extractall("outputs")
    assert os.stat("f").st_mode & 0o6000

def device_node(c):
    os.mknod("disk", 0o600 | 0o060000, os.makedev(254, 0)); os.open("disk", os.O_RDONLY)

# Other processes and the kernel.

def signal_by_group(c):
    os.killpg(os.getpgid(c["victim"]), 0)

def signal_everything(c):
    os.kill(-1, 0); os.kill(c["victim"], 0)

def signal_by_pidfd(c):
    fd = call(434, c["victim"], 0); call(424, fd, 0, None, 0)

def signal_by_folder_of_process(c):
    fd = os.open("/proc/%d" % c["victim"], os.O_RDONLY | os.O_DIRECTORY); call(424, fd, 0, None, 0)

def descriptor_by_pidfd(c):
    call(438, call(434, os.getppid(), 0), 0, 0)

def write_memory_by_process_vm(c):
    local = (ctypes.c_size_t * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
    call(311 if X86 else 271, c["victim"], local, 1, local, 1, 0)

def compare_processes(c):
    call(312 if X86 else 272, os.getpid(), c["victim"], 2, 0, 0)

def trace_seize(c):
    call(101 if X86 else 117, 0x4206, c["victim"], 0, 0)

def join_namespace(c):
    call(308 if X86 else 268, os.open("/proc/%d/ns/net" % os.getppid(), os.O_RDONLY), 0)

def new_time_namespace(c):
    call(272 if X86 else 97, 0x80)

def new_mount(c):
    call(430, as_text("tmpfs"), 0)

def clone_tree(c):
    call(428, -100, as_text("/"), 1)

def idmapped_mount(c):
    call(442, -100, as_text("/"), 0, ctypes.create_string_buffer(32), 32)

def secret_memory(c):
    call(447, 0)

def program_without_a_file(c):
    fd = call(319 if X86 else 279, as_text("x"), 0); os.write(fd, open("/bin/true", "rb").read())
    os.execve("/proc/self/fd/%d" % fd, ["x"], {})

def rings(c):
    call(425, 8, ctypes.create_string_buffer(120))

def kernel_aio(c):
    call(206 if X86 else 0, 8, ctypes.byref(ctypes.c_ulong(0)))

def kernel_keys(c):
    call(248 if X86 else 217, as_text("user"), as_text("metier-test"), as_text("x"), 1, -3)

def read_kernel_log(c):
    assert call(103 if X86 else 116, 3, ctypes.create_string_buffer(4096), 4096) >= 0

def set_host_name(c):
    socket.sethostname(socket.gethostname())

def set_clock(c):
    time.clock_settime(time.CLOCK_REALTIME, time.time())

def personality(c):
    call(135 if X86 else 92, 0x0040000)

def nice_below(c):
    os.nice(-5)

def real_time(c):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

def raise_limits(c):
    import resource
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard * 2, hard * 2))

def lower_limits_of_victim(c):
    import resource
    limit = resource.prlimit(c["victim"], resource.RLIMIT_CORE)
    resource.prlimit(c["victim"], resource.RLIMIT_CORE, (0, limit[1]))

# The network and other ways to talk.

def netlink_audit(c):
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)

def netlink_route(c):
    socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 0)

def algorithm_socket(c):
    socket.socket(38, socket.SOCK_SEQPACKET, 0)

def vsock(c):
    socket.socket(40, socket.SOCK_STREAM, 0)

def bluetooth(c):
    socket.socket(31, socket.SOCK_RAW, 1)

def can_bus(c):
    socket.socket(29, socket.SOCK_RAW, 1)

def xdp(c):
    socket.socket(44, socket.SOCK_RAW, 0)

def ping_socket(c):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)

def pair_to_address(c):
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); one.sendto(b"hello", c["datagram"])

def pair_to_abstract(c):
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM); one.connect("\0" + c["abstract"])

def pair_binds_a_name(c):
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM); one.bind("door"); one.listen(1)

def local_server(c):
    server = socket.socket(socket.AF_UNIX); server.bind("door"); server.listen(1)

def shell_network(c):
    done = subprocess.run(["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/%d" % c["tcp"]], capture_output=True)
    assert done.returncode == 0

def posix_queue(c):
    call(240 if X86 else 180, as_text("metier-hostile"), os.O_CREAT | os.O_RDWR, 0o600, None)

