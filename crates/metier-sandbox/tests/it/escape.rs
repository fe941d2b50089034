//! The escape matrix: each attack is a real program that gets through without the sandbox (or proves
//! nothing, and is reported as not tried) and is stopped inside, but for the gaps that are written down.

use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use metier_sandbox::{NetworkAccess, RunPlan, Tier};

use crate::support::{TIERS, has, holds, is_root, ran_as_nobody, run, system_program};
use crate::world::{CANARY, World};

/// Attacks that every tier stops.
const STOPPED: &[&str] = &[
    "read_secret",
    "read_secret_through_link",
    "write_outside",
    "truncate_outside",
    "empty_outside",
    "empty_outside_as_reader",
    "create_outside",
    "remove_outside",
    "rename_outside",
    "link_outside_in",
    "chmod_outside",
    "chown_outside",
    "utime_outside",
    "chmod_by_link",
    "chmod_by_folder",
    "chmod_by_way_of_itself",
    "chmod_by_handle",
    "chmod_by_handle_of_descriptor",
    "chmod_beside_working_directory",
    "chmod_readable_descriptor",
    "chmod_readable_folder",
    "chmod_skill",
    "chmod_folder_above",
    "chmod_in_a_race",
    "chmod_of_swapped_descriptor",
    "utime_by_handle",
    "utime_readable_descriptor",
    "utime_of_old",
    "getxattr_outside",
    "getxattr_of_descriptor",
    "lgetxattr_outside",
    "listxattr_outside",
    "removexattr_outside",
    "setxattrat_outside",
    "getxattrat_outside",
    "listxattrat_outside",
    "removexattrat_outside",
    "file_getattr_outside",
    "file_setattr_outside",
    "flags_of_readable",
    "project_of_readable",
    "lease_on_readable",
    "lease_on_own_file",
    "notices_of_readable",
    "signals_of_descriptor",
    "signal_number_of_descriptor",
    "shared_memory",
    "message_queue",
    "semaphores",
    "posix_message_queue",
    "renice_victim",
    "renice_group_of_victim",
    "affinity_of_victim",
    "scheduler_of_victim",
    "scheduler_parameters_of_victim",
    "scheduling_attributes_of_victim",
    "io_priority_of_victim",
    "set_id_by_chmod",
    "set_id_by_group_chmod",
    "set_id_by_fchmod",
    "set_id_by_fchmodat2",
    "set_id_by_open",
    "set_id_by_openat",
    "set_id_by_openat2",
    "set_id_by_temporary_file",
    "set_id_by_creat",
    "set_id_by_mknod",
    "setxattr_outside",
    "list_outside",
    "rewrite_skill",
    "write_tmp",
    "write_shm",
    "read_parent_environ",
    "read_parent_cmdline",
    "read_parent_memory",
    "enter_parent_root",
    "connect_tcp",
    "send_udp",
    "listen_tcp",
    "socket_inet6",
    "socket_vsock",
    "socket_netlink",
    "socket_mptcp",
    "socket_raw_packet",
    "unix_socket_by_path",
    "unix_datagram_by_path",
    "unix_raw_by_path",
    "unix_socket_abstract",
    "signal_victim",
    "queue_signal_to_victim",
    "kill_supervisor",
    "prlimit_victim",
    "ptrace_victim",
    "read_victim_memory",
    "steal_descriptor",
    "io_uring",
    "user_namespace",
    "user_namespace_by_clone",
    "user_namespace_by_clone3",
    "x32_socket",
    "keyring",
    "userfaultfd",
    "perf_events",
    "bpf",
    "mount_tmpfs",
    "change_root",
    "open_by_handle",
    "inherited_descriptor",
    "secret_variable",
    "secret_variable_of_parent",
    "read_terminal",
    "much_memory",
    "large_file",
    "many_descriptors",
    "many_processes",
    "int80_socket",
    "openat2_beneath_root",
    "read_by_path_descriptor",
    "read_by_folder_descriptor",
    "read_by_working_directory_of_parent",
    "read_by_root_of_parent",
    "read_by_map_of_parent",
    "read_by_handle",
    "read_by_execution",
    "read_by_interpreter_option",
    "read_by_hard_link",
    "read_by_hard_link_of_descriptor",
    "read_by_exchange",
    "read_by_copy_file_range",
    "fanotify",
    "listmount",
    "write_by_append",
    "write_by_truncate_of_reader",
    "write_by_shared_map",
    "write_by_reopening",
    "make_folder_in_project",
    "make_pipe_in_project",
    "make_link_in_project",
    "punch_hole",
    "clone_range",
    "set_id_by_mkdir",
    "set_id_by_umask",
    "set_id_by_archive",
    "device_node",
    "signal_by_group",
    "signal_everything",
    "signal_by_pidfd",
    "signal_by_folder_of_process",
    "descriptor_by_pidfd",
    "write_memory_by_process_vm",
    "compare_processes",
    "trace_seize",
    "join_namespace",
    "new_time_namespace",
    "new_mount",
    "clone_tree",
    "idmapped_mount",
    "secret_memory",
    "program_without_a_file",
    "rings",
    "kernel_aio",
    "kernel_keys",
    "read_kernel_log",
    "set_host_name",
    "set_clock",
    "personality",
    "nice_below",
    "real_time",
    "raise_limits",
    "lower_limits_of_victim",
    "netlink_audit",
    "netlink_route",
    "algorithm_socket",
    "vsock",
    "bluetooth",
    "can_bus",
    "xdp",
    "ping_socket",
    "pair_to_address",
    "pair_to_abstract",
    "pair_binds_a_name",
    "local_server",
    "shell_network",
    "posix_queue",
];

/// Attacks that Landlock and seccomp cannot stop and minimal mounts do.
const LEFT_BY_MEDIUM: &[&str] = &["stat_outside", "inotify_outside"];

/// Attacks that no tier stops: the file has a second name inside a readable root. `Stage` leaves
/// such files out of what a script sees of its skill; `scripts` tests it.
const LEFT_BY_ALL: &[&str] = &["read_secret_through_hard_link"];

/// Attacks that Landlock stops from its sixth level on, and nothing else in the medium tier.
const LEFT_BY_OLD_KERNELS: &[&str] = &["signal_victim", "queue_signal_to_victim"];

/// What a granted network is: sockets of the internet, and no others.
const LEFT_BY_OPEN_NETWORK: &[&str] = &[
    "connect_tcp",
    "send_udp",
    "listen_tcp",
    "socket_inet6",
    "socket_mptcp",
    "ping_socket",
    "shell_network",
];

fn is_left(attack: &str, tier: Tier, network: NetworkAccess) -> bool {
    if network == NetworkAccess::Open && LEFT_BY_OPEN_NETWORK.contains(&attack) {
        return true;
    }
    let by_medium = LEFT_BY_MEDIUM.contains(&attack)
        || (LEFT_BY_OLD_KERNELS.contains(&attack) && !has("landlock signals"));
    LEFT_BY_ALL.contains(&attack) || (tier == Tier::Medium && by_medium)
}

/// Not in the table: the world needs an outside for these, which a plain process has as well.
fn control(world: &World, python: &str, attack: &str) -> bool {
    // An inherited descriptor, a secret variable and an input are there for the taking.
    let secret = std::fs::File::open(world.at("outside/secret")).expect("opens");
    let mut command = Command::new(python);
    command.args(world.args(attack)).env("SECRET", CANARY).current_dir(world.at("work"));
    command.stdin(std::fs::File::open("/etc/passwd").expect("opens"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let number = secret.as_raw_fd();
    // SAFETY: fcntl only, which may be called between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let fd = std::os::fd::BorrowedFd::borrow_raw(number);
            Ok(rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?)
        })
    };
    command.status().expect("starts").success() && world.saw(attack)
}

/// The attacks of C: another architecture's call.
fn compile_int80(world: &World) -> Option<std::path::PathBuf> {
    const SOURCE: &str = "int main(void){int r;__asm__ volatile(\"int $0x80\":\"=a\"(r):\"a\"(359),\
        \"b\"(2),\"c\"(1),\"d\"(0):\"memory\");return r>=0?0:7;}";
    let cc = system_program("cc").filter(|_| cfg!(target_arch = "x86_64"))?;
    let (source, program) = (world.at("workspace/i.c"), world.at("workspace/int80"));
    std::fs::write(&source, SOURCE).expect("writes");
    let made = Command::new(cc).arg(&source).arg("-o").arg(&program).status().ok()?;
    made.success().then_some(program)
}

fn matrix(network: NetworkAccess) {
    let Some(python) = system_program("python3") else { return };
    let all = STOPPED.iter().chain(LEFT_BY_MEDIUM).chain(LEFT_BY_ALL);
    let mut wrong = Vec::new();
    let mut tried = 0;
    println!("{:<32} {:>8} {:>8} {:>8}  {network:?}", "attack", "outside", "medium", "strong");
    for attack in all {
        let (control, inside) = if *attack == "int80_socket" {
            int80()
        } else {
            let world = World::new();
            let control = control(&world, &python, attack);
            let inside = in_tiers(|tier| {
                // What the control broke is whole again.
                let world = World::new();
                let plan = RunPlan { network, ..world.plan(&python, attack) };
                let report = run(tier, &plan);
                assert!(
                    matches!(report.exit_code, Some(0 | 7))
                        || report.stopped.is_some()
                        || report.signal.is_some(),
                    "{attack} in {tier}: {report:?}"
                );
                report.exit_code == Some(0) && report.stopped.is_none() && world.saw(attack)
            });
            (control, inside)
        };
        let shown = |through: Option<bool>| match through {
            Some(true) => "THROUGH",
            Some(false) => ".",
            None => "?",
        };
        println!(
            "{attack:<32} {:>8} {:>8} {:>8}",
            shown(Some(control)),
            shown(inside[0]),
            shown(inside[1])
        );
        for (tier, through) in TIERS.into_iter().zip(inside) {
            if through == Some(true) && !is_left(attack, tier, network) {
                wrong.push(format!("{attack} got through {tier}"));
            }
        }
        if control {
            tried += 1;
        } else {
            eprintln!("NOT TRIED: `{attack}` fails on this machine without a sandbox, too");
        }
    }
    let user = if is_root() { "root" } else { "this user" };
    println!("{tried} attacks had a positive control as {user}");
    assert_eq!(wrong, [""; 0]);
    assert!(tried >= 120, "only {tried} attacks could be tried: this proves too little");
}

/// What came of an attack in each tier that this machine has.
fn in_tiers(attack: impl Fn(Tier) -> bool) -> [Option<bool>; 2] {
    TIERS.map(|tier| holds(tier).then(|| attack(tier)))
}

fn int80() -> (bool, [Option<bool>; 2]) {
    let world = World::new();
    let Some(program) = compile_int80(&world) else { return (false, [None; 2]) };
    let control = Command::new(&program).status().is_ok_and(|status| status.success());
    let inside = in_tiers(|tier| {
        let mut plan = world.plan("/usr/bin/true", "int80");
        plan.program.clone_from(&program);
        run(tier, &plan).exit_code == Some(0)
    });
    (control, inside)
}

#[test]
fn a_granted_network_opens_nothing_else() {
    matrix(NetworkAccess::Open);
}

#[test]
fn no_attack_gets_out_of_its_tier() {
    matrix(NetworkAccess::Closed);
}

#[test]
fn no_attack_of_an_ordinary_user_gets_out_of_its_tier() {
    if !ran_as_nobody("escape::no_attack_of_an_ordinary_user_gets_out_of_its_tier") && is_root() {
        return;
    }
    if !is_root() {
        matrix(NetworkAccess::Closed);
    }
}
