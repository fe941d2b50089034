//! The filter of system calls: what Landlock and namespaces leave open, and what no script needs.
//!
//! Everything else is allowed: a list of what is needed would break with each new C library. Three
//! programs are installed, because one has one answer: EPERM for what is forbidden, ENOSYS for
//! what has an older twin that can be looked into, and ENOSYS for the x32 calls.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

use super::rules::landlock_abi;
use crate::plan::NetworkAccess;
use crate::tier::Tier;

/// What the filter depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) tier: Tier,
    pub(super) network: NetworkAccess,
    /// The process that watches over this one.
    pub(super) supervisor: i32,
}

/// The bits of a socket's type; the others are flags.
const SOCKET_TYPE: u64 = 0xF;

type RulesByCall = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that are refused whatever their arguments.
const FORBIDDEN: &[i64] = &[
    // Other processes' memory, descriptors and relations.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // A second way to almost every call, which no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The kernel's own machinery.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_personality,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
];

#[cfg(target_arch = "x86_64")]
const FORBIDDEN_HERE: &[i64] = &[
    libc::SYS_modify_ldt,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_kexec_file_load,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
];
#[cfg(not(target_arch = "x86_64"))]
const FORBIDDEN_HERE: &[i64] = &[];

/// Landlock knows nothing of attributes, so they are as good as not supported without mounts.
const ATTRIBUTES: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Installs the filter. It cannot be taken off again.
pub(super) fn install(setting: Setting) -> io::Result<()> {
    let fail = |error: seccompiler::Error| io::Error::other(error.to_string());
    for program in programs(setting).map_err(io::Error::other)? {
        apply_filter(&program).map_err(fail)?;
    }
    Ok(())
}

fn programs(setting: Setting) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let compile = |rules: RulesByCall, errno: i32| {
        let answer = SeccompAction::Errno(errno.unsigned_abs());
        // Calls of another architecture (`int 0x80`) end the process: the crate checks it first.
        SeccompFilter::new(rules, SeccompAction::Allow, answer, arch)?.try_into()
    };
    // Its flags are behind a pointer that a filter cannot follow; C libraries fall back to clone.
    let mut unseen = RulesByCall::from([(libc::SYS_clone3, Vec::new())]);
    if landlock_abi() < 3 {
        // The same: its flags may ask to empty a file.
        unseen.insert(libc::SYS_openat2, Vec::new());
    }
    if setting.tier != Tier::Strong {
        unseen.extend(ATTRIBUTES.iter().map(|call| (*call, Vec::new())));
    }
    let mut programs =
        vec![compile(unseen, libc::ENOSYS)?, compile(forbidden(setting)?, libc::EPERM)?];
    if cfg!(target_arch = "x86_64") {
        programs.push(no_x32());
    }
    Ok(programs)
}

fn forbidden(setting: Setting) -> Result<RulesByCall, seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let mut rules: RulesByCall =
        FORBIDDEN.iter().chain(FORBIDDEN_HERE).map(|call| (*call, Vec::new())).collect();
    // No socket of any family: connections, netlink, vsock and the user's agents are all behind it.
    let sockets = match setting.network {
        NetworkAccess::Closed => Vec::new(),
        NetworkAccess::Open => vec![SeccompRule::new(vec![
            condition(0, Ne, libc::AF_INET)?,
            condition(0, Ne, libc::AF_INET6)?,
        ])?],
    };
    rules.insert(libc::SYS_socket, sockets);
    // A pair of datagram sockets can also send to a third one, by path; raw ones are the same.
    let kind = |kind: i32| one(1, MaskedEq(SOCKET_TYPE), kind);
    rules.insert(
        libc::SYS_socketpair,
        vec![one(0, Ne, libc::AF_UNIX)?, kind(libc::SOCK_DGRAM)?, kind(libc::SOCK_RAW)?],
    );
    // To empty a file and not to write it: before its third level Landlock lets it pass, and nobody
    // else asks for it.
    rules.insert(libc::SYS_openat, emptying(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, emptying(1)?);
    let spaces = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    let asks_for = |flag: i32| one(0, MaskedEq(u64::from(flag.unsigned_abs())), flag);
    rules.insert(libc::SYS_clone, spaces.into_iter().map(asks_for).collect::<Result<_, _>>()?);
    // Typing into a terminal's input.
    let typing = [0x5412, 0x541C].into_iter().map(|request| one(1, Eq, request));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    // Limits of others.
    rules.insert(libc::SYS_prlimit64, vec![one(0, Ne, 0)?]);
    if setting.tier != Tier::Strong {
        // Landlock keeps signals inside from its sixth level on. Before that, at least those that
        // end the watch over this process are stopped.
        for call in [
            libc::SYS_kill,
            libc::SYS_tkill,
            libc::SYS_tgkill,
            libc::SYS_rt_sigqueueinfo,
            libc::SYS_rt_tgsigqueueinfo,
            libc::SYS_pidfd_open,
        ] {
            let targets = [setting.supervisor, -setting.supervisor, -1];
            let targets = targets.into_iter().map(|target| one(0, Eq, target));
            rules.insert(call, targets.collect::<Result<_, _>>()?);
        }
    }
    if landlock_abi() < 3 {
        // Landlock judges truncation by path from its third level on.
        rules.insert(libc::SYS_truncate, Vec::new());
    }
    Ok(rules)
}

/// The rules for an `open` whose flags are this argument: emptying with neither way of writing.
fn emptying(argument: u8) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mask = u64::from((libc::O_ACCMODE | libc::O_TRUNC).unsigned_abs());
    let asked = [libc::O_RDONLY, libc::O_ACCMODE].into_iter();
    asked
        .map(|access| one(argument, SeccompCmpOp::MaskedEq(mask), access | libc::O_TRUNC))
        .collect()
}

fn one(
    argument: u8,
    op: SeccompCmpOp,
    value: i32,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![condition(argument, op, value)?])
}

/// Compares the lower 32 bits, which are all that the kernel looks at in these arguments.
fn condition(
    argument: u8,
    op: SeccompCmpOp,
    value: i32,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    let value = u64::from(u32::from_ne_bytes(value.to_ne_bytes()));
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
}

/// Refuses the calls of the x32 interface: same architecture, other numbers, so that no rule above
/// would match them. Loads the number; from `0x4000_0000` on, refuses.
fn no_x32() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7FFF_0000;
    let refuse = 0x0005_0000 | libc::ENOSYS.unsigned_abs();
    vec![
        sock_filter { code: LOAD_WORD, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: 0x4000_0000 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: refuse },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: ALLOW },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_compiles_for_every_setting_and_is_small() {
        for tier in [Tier::Medium, Tier::Strong] {
            for network in [NetworkAccess::Closed, NetworkAccess::Open] {
                let setting = Setting { tier, network, supervisor: 42 };
                let programs = programs(setting).expect("compiles");
                assert!(programs.iter().map(Vec::len).sum::<usize>() < 1000);
            }
        }
    }
}
