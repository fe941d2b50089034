//! What an attack is pointed at: a victim's files, sockets and process, and the roots of a run.
//! Each attack gets a world of its own, as it may break it.

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use metier_sandbox::RunPlan;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{plan, scratch};

/// A value that must turn up nowhere.
pub(crate) const CANARY: &str = "canary-7f3a91c2d4e5";

/// Everything around one attack; it goes when it is dropped.
pub(crate) struct World {
    dir: TempDir,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    abstract_socket: UnixListener,
    datagram: UnixDatagram,
    config: Value,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = scratch();
        let at = |name: &str| dir.path().join(name);
        for name in ["outside/mount", "skill", "workspace", "work"] {
            std::fs::create_dir_all(at(name)).expect("dirs");
        }
        let write = |name: &str, text: &str| std::fs::write(at(name), text).expect("writes");
        write("outside/secret", "SECRET");
        write("outside/victim", "some text");
        write("outside/removable", "x");
        write("outside/renamable", "x");
        write("workspace/readable", "some text");
        write("skill/SKILL.md", "---\n---\n");
        write(
            "skill/attacks.py",
            concat!(include_str!("attacks_more.py"), include_str!("attacks.py")),
        );
        std::os::unix::fs::symlink(at("outside/secret"), at("work/link")).expect("link");
        std::fs::hard_link(at("outside/secret"), at("workspace/hard")).expect("link");
        for name in ["outside/victim", "workspace/readable"] {
            // A file system without attributes has no attack on them either; its control says so.
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(at(name), "user.origin", b"a token", flags).ok();
        }
        let victim = Command::new("sleep")
            .arg("300")
            .process_group(0)
            .env("VICTIM", CANARY)
            .stdin(Stdio::null())
            .spawn()
            .expect("a victim");
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        udp.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        let unix = UnixListener::bind(at("outside/socket")).expect("a socket");
        // Where a script sees it: minimal mounts must not be all that stops it.
        let datagram = UnixDatagram::bind(at("workspace/datagram")).expect("a socket");
        datagram.set_nonblocking(true).expect("a mode");
        let name = format!("metier-{}-{}", std::process::id(), victim.id());
        let address = SocketAddr::from_abstract_name(&name).expect("an address");
        let abstract_socket = UnixListener::bind_addr(&address).expect("a socket");
        tcp.set_nonblocking(true).expect("a mode");
        unix.set_nonblocking(true).expect("a mode");
        abstract_socket.set_nonblocking(true).expect("a mode");
        let text = |name: &str| at(name).to_string_lossy().into_owned();
        let config = json!({
            "secret": text("outside/secret"), "outside": text("outside"), "workspace": text("workspace"),
            "victim_file": text("outside/victim"), "removable": text("outside/removable"),
            "renamable": text("outside/renamable"), "mount_point": text("outside/mount"),
            "link": text("work/link"), "hard": text("workspace/hard"), "skill": text("skill"),
            "datagram": text("workspace/datagram"), "readable": text("workspace/readable"),
            "unix": text("outside/socket"), "abstract": name, "canary": CANARY,
            "tmp_file": format!("/tmp/metier-escape-{}", victim.id()),
            "shm_file": format!("/dev/shm/metier-escape-{}", victim.id()),
            "tcp": tcp.local_addr().expect("an address").port(),
            "udp": udp.local_addr().expect("an address").port(),
            "victim": victim.id(),
            // No process has a number as large as this key.
            "ipc_key": 0x4D00_0000 + victim.id(),
        });
        Self { dir, victim, tcp, udp, unix, abstract_socket, datagram, config }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The arguments of the attacker.
    pub(crate) fn args(&self, attack: &str) -> Vec<String> {
        let script = self.at("skill/attacks.py").to_string_lossy().into_owned();
        vec!["-I".to_owned(), script, attack.to_owned(), self.config.to_string()]
    }

    /// The attack as a run of a skill's script: skill and workspace readable, a fresh directory.
    pub(crate) fn plan(&self, python: &str, attack: &str) -> RunPlan {
        let mut plan = plan(&self.at("work"), &[python]);
        plan.args = self.args(attack);
        plan.read_only = vec![self.at("skill"), self.at("workspace")];
        plan.limits.wall = Duration::from_secs(20);
        plan.limits.grace = Duration::from_millis(300);
        plan.limits.memory_bytes = 2 << 30;
        plan.limits.file_bytes = 8 << 20;
        plan.limits.processes = 40;
        plan
    }

    /// Whether the host saw something of an attack that says of itself that it got through: a
    /// private `/tmp` may be written, a message that arrives nowhere is none.
    pub(crate) fn saw(&self, attack: &str) -> bool {
        let made = |key: &str| Path::new(self.config[key].as_str().unwrap_or_default()).exists();
        match attack {
            "write_tmp" => made("tmp_file"),
            "write_shm" => made("shm_file"),
            "connect_tcp" => self.tcp.accept().is_ok_and(|(mut stream, _)| said(&mut stream)),
            "unix_socket_by_path" => self.unix.accept().is_ok_and(|(mut s, _)| said(&mut s)),
            "unix_socket_abstract" => {
                self.abstract_socket.accept().is_ok_and(|(mut stream, _)| said(&mut stream))
            }
            "unix_datagram_by_path" | "unix_raw_by_path" => {
                self.datagram.recv(&mut [0; 16]).is_ok_and(|bytes| bytes == 5)
            }
            "send_udp" => self.udp.recv(&mut [0; 16]).is_ok(),
            "chmod_folder_above" => {
                let folder = std::fs::metadata(self.dir.path()).expect("a folder");
                folder.permissions().mode() & 0o777 == 0o711
            }
            "shared_memory" => self.has_ipc("shm"),
            "message_queue" => self.has_ipc("msg"),
            "semaphores" => self.has_ipc("sem"),
            _ => true,
        }
    }
}

impl World {
    fn ipc_key(&self) -> i32 {
        self.config["ipc_key"].as_i64().and_then(|key| i32::try_from(key).ok()).expect("a key")
    }

    /// Whether the machine has an object of System V under this world's key.
    fn has_ipc(&self, kind: &str) -> bool {
        let list = std::fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        let key = self.ipc_key().to_string();
        list.lines().any(|line| line.split_whitespace().next() == Some(key.as_str()))
    }

    fn remove_ipc(&self) {
        let key = self.ipc_key();
        // SAFETY: these calls take and give numbers only; nothing is attached.
        unsafe {
            libc::shmctl(libc::shmget(key, 0, 0), libc::IPC_RMID, std::ptr::null_mut());
            libc::msgctl(libc::msgget(key, 0), libc::IPC_RMID, std::ptr::null_mut());
            libc::semctl(libc::semget(key, 0, 0), 0, libc::IPC_RMID);
        }
    }
}

fn said(stream: &mut impl Read) -> bool {
    let mut bytes = [0; 5];
    stream.read_exact(&mut bytes).is_ok() && &bytes == b"hello"
}

impl Drop for World {
    fn drop(&mut self) {
        self.victim.kill().ok();
        self.victim.wait().ok();
        self.remove_ipc();
        for key in ["tmp_file", "shm_file"] {
            std::fs::remove_file(self.config[key].as_str().unwrap_or_default()).ok();
        }
    }
}
