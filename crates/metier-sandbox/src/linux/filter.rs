//! The filter of system calls: the list of `calls`, and what is looked at in the arguments of some.
//!
//! Landlock judges paths, mounts hide them, and a list of what exists closes the rest of the kernel. What is
//! left for this file are calls that a script needs and that also reach beyond it: by a mode (set-user-id
//! gives the user's identity to others), by another process's number, by a flag. A filter sees numbers and
//! no paths. So without mounts, changes of mode, owner and times are decided by the supervisor (`changes`).

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{EINVAL, ENOSYS, ENOTSUP, ENOTTY, EPERM, sock_filter};

use super::bpf::{ArgumentCase, ArgumentIs, CallAnswer, CallRule, compile};
use super::calls::{ATTRIBUTES, CHECKED, Call, NETWORK, NONE, PLAIN};
use crate::plan::NetworkAccess;
use crate::tier::Tier;

/// What the filter depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) tier: Tier,
    pub(super) network: NetworkAccess,
    /// The kernel's level of Landlock.
    pub(super) landlock: i32,
    /// Which processes a number can name.
    pub(super) processes: VisibleProcesses,
}

/// Which processes a script's numbers can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VisibleProcesses {
    /// Its own: it is in a process namespace.
    Own,
    /// All of the machine, its supervisor among them.
    All {
        /// The process that watches over this one.
        supervisor: i32,
    },
}

/// A machine whose numbers are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Machine {
    X86_64,
    Aarch64,
}

impl Machine {
    fn here() -> io::Result<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Ok(Self::X86_64),
            "aarch64" => Ok(Self::Aarch64),
            other => Err(io::Error::other(format!("no list of system calls for {other}"))),
        }
    }

    /// The kernel's word for it.
    const fn architecture(self) -> u32 {
        match self {
            Self::X86_64 => 0xC000_003E,
            Self::Aarch64 => 0xC000_00B7,
        }
    }

    fn number(self, call: &Call) -> Option<u32> {
        let number = match self {
            Self::X86_64 => call.1,
            Self::Aarch64 => call.2,
        };
        Some(number).filter(|number| *number != NONE)
    }
}

/// The name of a call that the supervisor may be asked about.
pub(super) fn name_of(number: u32) -> Option<&'static str> {
    let machine = Machine::here().ok()?;
    CHECKED.iter().find(|call| machine.number(call) == Some(number)).map(|call| call.0)
}

/// Installs the filter, which cannot be taken off again. Gives the descriptor on which the supervisor is
/// asked, if it can be.
pub(super) fn install(setting: Setting) -> io::Result<Option<OwnedFd>> {
    let program = program(Machine::here()?, setting)?;
    let asks = program.iter().any(|step| step.k == CallAnswer::Ask.word());
    if !asks {
        return set_filter(&program, 0).map(|_| None);
    }
    let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // From Linux 5.19 on: a call that the supervisor has begun to decide is not interrupted by a signal, and so
    // never done twice.
    let whole = libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let descriptor = set_filter(&program, listener | whole).or_else(|error| {
        if error.raw_os_error() == Some(EINVAL) {
            set_filter(&program, listener)
        } else {
            Err(error)
        }
    })?;
    // SAFETY: the kernel has just made this descriptor, and no one else knows it.
    Ok(Some(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

fn set_filter(program: &[sock_filter], flags: libc::c_ulong) -> io::Result<i32> {
    let len = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
    let set = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the kernel copies the program, which lives until the call returns, and does not write to it.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, set, flags, &raw const program) };
    match answer {
        -1 => Err(match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::EBUSY) => {
                io::Error::other("another program already decides about system calls here")
            }
            error => error,
        }),
        answer => i32::try_from(answer).map_err(io::Error::other),
    }
}

fn program(machine: Machine, setting: Setting) -> io::Result<Vec<sock_filter>> {
    compile(machine.architecture(), &rules(machine, setting), CallAnswer::Errno(ENOSYS))
}

fn rules(machine: Machine, setting: Setting) -> Vec<CallRule> {
    let network = match setting.network {
        NetworkAccess::Open => NETWORK,
        NetworkAccess::Closed => &[],
    };
    let allowed = PLAIN.iter().chain(network).map(|call| (call, always(CallAnswer::Allow)));
    let attributes = ATTRIBUTES.iter().map(|call| (call, always(CallAnswer::Errno(ENOTSUP))));
    let checked = CHECKED.iter().map(|call| (call, checked(call.0, setting)));
    let all = checked.chain(attributes).chain(allowed);
    let rule = |(call, (cases, otherwise)): (&Call, Answers)| {
        Some(CallRule { number: machine.number(call)?, cases, otherwise })
    };
    all.filter_map(rule).collect()
}

type Answers = (Vec<ArgumentCase>, CallAnswer);

const fn always(answer: CallAnswer) -> Answers {
    (Vec::new(), answer)
}

/// Exactly these values of an argument, and this error for all others.
fn only(argument: u8, values: &[u32], errno: i32) -> Answers {
    let case = |value: &u32| (vec![equals(argument, *value)], CallAnswer::Allow);
    (values.iter().map(case).collect(), CallAnswer::Errno(errno))
}

fn equals(argument: u8, value: u32) -> ArgumentIs {
    ArgumentIs { argument, mask: u32::MAX, value }
}

fn has(argument: u8, bit: u32) -> ArgumentIs {
    ArgumentIs { argument, mask: bit, value: bit }
}

const REFUSED: CallAnswer = CallAnswer::Errno(EPERM);

/// The rules of [`CHECKED`]. A name without one would be refused, and a test looks for those.
fn checked(name: &str, setting: Setting) -> Answers {
    let of_itself = |cases: Answers| match setting.processes {
        VisibleProcesses::Own => always(CallAnswer::Allow),
        VisibleProcesses::All { .. } => cases,
    };
    let change = if setting.tier == Tier::Strong { CallAnswer::Allow } else { CallAnswer::Ask };
    match name {
        "open" => (opening(1, 2), CallAnswer::Allow),
        "openat" => (opening(2, 3), CallAnswer::Allow),
        "creat" | "mkdir" | "mknod" => (set_id(1), CallAnswer::Allow),
        "mkdirat" | "mknodat" => (set_id(2), CallAnswer::Allow),
        "chmod" | "fchmod" => (set_id(1), change),
        "fchmodat" | "fchmodat2" => (set_id(2), change),
        "chown" | "lchown" | "fchown" | "fchownat" | "utime" | "utimes" | "futimesat"
        | "utimensat" => always(change),
        // Landlock judges it from its third level on.
        "truncate" if setting.landlock < 3 => always(REFUSED),
        "truncate" => always(CallAnswer::Allow),
        "clone" => (namespaces(), CallAnswer::Allow),
        "socket" => sockets(setting.network),
        "socketpair" => socket_pairs(),
        "ioctl" => only(1, IOCTLS, ENOTTY),
        "fcntl" => only(1, FCNTLS, EINVAL),
        "prctl" => only(0, PRCTLS, EINVAL),
        "kill" | "tkill" | "tgkill" | "rt_sigqueueinfo" | "rt_tgsigqueueinfo" | "pidfd_open" => {
            signals(setting.processes)
        }
        "prlimit64" => only(0, &[0], EPERM),
        "sched_setaffinity" | "sched_setparam" | "sched_setscheduler" | "sched_setattr" => {
            of_itself(only(0, &[0], EPERM))
        }
        "setpriority" => priority(setting.processes, PRIO_PROCESS),
        "ioprio_set" => priority(setting.processes, IOPRIO_WHO_PROCESS),
        _ => always(CallAnswer::Errno(ENOSYS)),
    }
}

/// The bits that give a program its owner's or its group's identity. Nothing in a run needs them, and a file
/// that has them, in a folder that is kept, is the user's identity for every other account.
const SET_ID: [u32; 2] = [0o4000, 0o2000];

fn set_id(mode: u8) -> Vec<ArgumentCase> {
    SET_ID.map(|bit| (vec![has(mode, bit)], REFUSED)).into()
}

/// What is refused of opening: set-id bits where the mode counts, and emptying a file without writing it,
/// which Landlock does not see before its third level and no program asks for.
fn opening(flags: u8, mode: u8) -> Vec<ArgumentCase> {
    const MAKES: [i32; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];
    let emptying = [libc::O_RDONLY, libc::O_ACCMODE].map(|access| {
        let mask = (libc::O_ACCMODE | libc::O_TRUNC).cast_unsigned();
        let value = (access | libc::O_TRUNC).cast_unsigned();
        (vec![ArgumentIs { argument: flags, mask, value }], REFUSED)
    });
    let set_id = MAKES.into_iter().flat_map(|makes| {
        SET_ID.map(|bit| (vec![has(flags, makes.cast_unsigned()), has(mode, bit)], REFUSED))
    });
    emptying.into_iter().chain(set_id).collect()
}

fn namespaces() -> Vec<ArgumentCase> {
    let spaces = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    spaces.map(|flag| (vec![has(0, flag.cast_unsigned())], REFUSED)).into()
}

/// No socket of any family: connections, netlink, vsock and the user's agents are all behind it.
fn sockets(network: NetworkAccess) -> Answers {
    match network {
        NetworkAccess::Closed => always(REFUSED),
        NetworkAccess::Open => {
            only(0, &[libc::AF_INET, libc::AF_INET6].map(i32::cast_unsigned), EPERM)
        }
    }
}

/// Pairs that only know each other. One of datagrams can also send to a third one, by path.
fn socket_pairs() -> Answers {
    /// The bits of a socket's type; the others are flags.
    const TYPE: u32 = 0xF;
    let case = |kind: i32| {
        let kind = ArgumentIs { argument: 1, mask: TYPE, value: kind.cast_unsigned() };
        (vec![equals(0, libc::AF_UNIX.cast_unsigned()), kind], CallAnswer::Allow)
    };
    ([libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(case).into(), REFUSED)
}

/// Landlock keeps signals inside from its sixth level on. Before that, at least those that end the watch over
/// this process are stopped.
fn signals(processes: VisibleProcesses) -> Answers {
    let VisibleProcesses::All { supervisor } = processes else {
        return always(CallAnswer::Allow);
    };
    let targets = [supervisor, -supervisor, -1];
    let case = |target: i32| (vec![equals(0, target.cast_unsigned())], REFUSED);
    (targets.map(case).into(), CallAnswer::Allow)
}

/// The priority of the calling thread, which is named by 0. By number it could be anyone's, and lowering it
/// cannot be taken back.
fn priority(processes: VisibleProcesses, process: u32) -> Answers {
    match processes {
        VisibleProcesses::All { .. } => {
            (vec![(vec![equals(0, process), equals(1, 0)], CallAnswer::Allow)], REFUSED)
        }
        // All processes of a user: in a namespace of processes these are its own, but not for every kernel.
        VisibleProcesses::Own => {
            let user = process + (PRIO_USER - PRIO_PROCESS);
            (vec![(vec![equals(0, user)], REFUSED)], CallAnswer::Allow)
        }
    }
}

// The one has another type in each C library, the other is in none.
const PRIO_PROCESS: u32 = 0;
const PRIO_USER: u32 = 2;
const IOPRIO_WHO_PROCESS: u32 = 1;

/// What a program asks to learn whether it has a terminal, and about its own descriptors. The others change
/// files (`FS_IOC_SETFLAGS`), type into terminals (`TIOCSTI`) or reach drivers.
const IOCTLS: &[u32] = &[
    0x5401,      // TCGETS: isatty
    0x802C_542A, // TCGETS2: the same in newer C libraries
    0x540F,      // TIOCGPGRP
    0x5413,      // TIOCGWINSZ
    0x541B,      // FIONREAD
    0x5421,      // FIONBIO
    0x5450,      // FIONCLEX
    0x5451,      // FIOCLEX
];

/// Copies and flags of descriptors, locks, pipes. Not leases, delegations and notices of changes, with which a
/// reader makes the owner of a file wait, and not who gets the signals of a descriptor.
const FCNTLS: &[u32] = &[
    0, 1, 2, 3, 4, // F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL
    5, 6, 7, // F_GETLK, F_SETLK, F_SETLKW
    36, 37, 38, // F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW
    1027, 1030, // F_DUPFD_QUERY, F_DUPFD_CLOEXEC
    1031, 1032, // F_SETPIPE_SZ, F_GETPIPE_SZ
];

/// What concerns the calling process alone.
const PRCTLS: &[u32] = &[
    1,
    2, // PR_SET_PDEATHSIG, PR_GET_PDEATHSIG
    3,
    4, // PR_GET_DUMPABLE, PR_SET_DUMPABLE
    7,
    8, // PR_GET_KEEPCAPS, PR_SET_KEEPCAPS
    15,
    16, // PR_SET_NAME, PR_GET_NAME
    21,
    22, // PR_GET_SECCOMP, PR_SET_SECCOMP
    23,
    24, // PR_CAPBSET_READ, PR_CAPBSET_DROP
    25,
    26, // PR_GET_TSC, PR_SET_TSC
    27,
    28, // PR_GET_SECUREBITS, PR_SET_SECUREBITS
    29,
    30, // PR_SET_TIMERSLACK, PR_GET_TIMERSLACK
    36,
    37, // PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER
    38,
    39, // PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS
    41,
    42, // PR_SET_THP_DISABLE, PR_GET_THP_DISABLE
    47, // PR_CAP_AMBIENT
    50,
    51, // PR_SVE_SET_VL, PR_SVE_GET_VL
    52,
    53, // PR_GET_SPECULATION_CTRL, PR_SET_SPECULATION_CTRL
    54,
    60,
    61, // PR_PAC_RESET_KEYS, PR_PAC_SET_ENABLED_KEYS, PR_PAC_GET_ENABLED_KEYS
    55,
    56, // PR_SET_TAGGED_ADDR_CTRL, PR_GET_TAGGED_ADDR_CTRL
    63,
    64, // PR_SME_SET_VL, PR_SME_GET_VL
    65,
    66,          // PR_SET_MDWE, PR_GET_MDWE
    0x4155_5856, // PR_GET_AUXV
    0x5356_4D41, // PR_SET_VMA
];

#[cfg(test)]
mod tests {
    use super::super::bpf::answer_of;
    use super::*;

    const MACHINES: [Machine; 2] = [Machine::X86_64, Machine::Aarch64];

    fn setting(tier: Tier) -> Setting {
        let processes = match tier {
            Tier::Strong => VisibleProcesses::Own,
            _ => VisibleProcesses::All { supervisor: 42 },
        };
        Setting { tier, network: NetworkAccess::Closed, landlock: 7, processes }
    }

    /// What a call gets, by its name; what is in no table has no number here.
    fn answer(machine: Machine, setting: Setting, name: &str, arguments: [u64; 6]) -> Option<u32> {
        let tables = PLAIN.iter().chain(NETWORK).chain(ATTRIBUTES).chain(CHECKED);
        let call = tables.into_iter().find(|call| call.0 == name).expect("a call of the tables");
        let number = machine.number(call)?;
        let program = program(machine, setting).expect("compiles");
        Some(answer_of(&program, machine.architecture(), number, arguments))
    }

    fn assert_answer(setting: Setting, name: &str, arguments: [u64; 6], wanted: CallAnswer) {
        let mut known = 0;
        for machine in MACHINES {
            if let Some(found) = answer(machine, setting, name, arguments) {
                assert_eq!(found, wanted.word(), "{name} {arguments:?} on {machine:?}");
                known += 1;
            }
        }
        assert!(known > 0, "{name} is known on no machine");
    }

    #[test]
    fn no_call_has_two_rules_and_no_number_two_names() {
        for machine in MACHINES {
            let setting = Setting { network: NetworkAccess::Open, ..setting(Tier::Medium) };
            let mut numbers: Vec<u32> =
                rules(machine, setting).iter().map(|rule| rule.number).collect();
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all, "{machine:?}");
            assert!(numbers.iter().all(|number| *number < 500), "{machine:?}");
        }
    }

    #[test]
    fn every_call_that_is_checked_has_a_rule() {
        for (name, ..) in CHECKED {
            let (cases, otherwise) = checked(name, setting(Tier::Medium));
            assert!(
                !cases.is_empty() || otherwise != CallAnswer::Errno(ENOSYS),
                "{name} is checked by nothing"
            );
        }
    }

    /// The numbers of both machines, as the kernel's own headers have them.
    #[test]
    fn the_numbers_are_those_of_the_headers() {
        let headers = [
            (Machine::X86_64, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
            (Machine::Aarch64, "/usr/include/asm-generic/unistd.h"),
        ];
        for (machine, path) in headers {
            let text = metier_fs::read_bounded(path.as_ref(), 1 << 20).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            let mut known = std::collections::BTreeMap::new();
            for line in text.lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                if let ["#define", name, number, ..] = words[..]
                    && let Some(name) =
                        name.strip_prefix("__NR_").or_else(|| name.strip_prefix("__NR3264_"))
                    && let Ok(number) = number.parse::<u32>()
                {
                    known.entry(name.to_owned()).or_insert(number);
                }
            }
            if known.is_empty() {
                metier_testkit::not_tested(format_args!(
                    "the numbers of {machine:?}: {path} is not there"
                ));
                continue;
            }
            let tables = PLAIN.iter().chain(NETWORK).chain(ATTRIBUTES).chain(CHECKED);
            let newer_than_headers = |number: u32| Some(number) > known.values().copied().max();
            let mut compared = 0;
            for call in tables {
                let Some(number) = machine.number(call) else { continue };
                let header = if call.0 == "newfstatat" { "fstatat" } else { call.0 };
                let found = known.get(call.0).or_else(|| known.get(header));
                if found.is_none() && newer_than_headers(number) {
                    continue;
                }
                assert_eq!(found, Some(&number), "{} on {machine:?}", call.0);
                compared += 1;
            }
            assert!(compared > 200, "{machine:?}: {compared}");
        }
    }

    #[test]
    fn what_is_on_no_list_is_not_implemented() {
        // ptrace, mount, bpf, memfd_create, clone3, openat2, shmget, file_setattr, and what no kernel has yet.
        let numbers = [
            (Machine::X86_64, [101, 165, 321, 319, 435, 437, 29, 469, 599]),
            (Machine::Aarch64, [117, 40, 280, 279, 435, 437, 194, 469, 599]),
        ];
        for (machine, numbers) in numbers {
            for tier in [Tier::Medium, Tier::Strong] {
                let program = program(machine, setting(tier)).expect("compiles");
                for number in numbers {
                    let found = answer_of(&program, machine.architecture(), number, [0; 6]);
                    assert_eq!(found, CallAnswer::Errno(ENOSYS).word(), "{number} on {machine:?}");
                }
            }
        }
    }

    #[test]
    fn the_program_is_small_and_each_machine_takes_only_its_own_calls() {
        for machine in MACHINES {
            let program = program(machine, setting(Tier::Medium)).expect("compiles");
            assert!(program.len() < 1000, "{}", program.len());
            let other = MACHINES.into_iter().find(|other| *other != machine).expect("the other");
            let found = answer_of(&program, other.architecture(), 63, [0; 6]);
            assert_eq!(found, libc::SECCOMP_RET_KILL_PROCESS);
        }
    }

    #[test]
    fn set_id_bits_are_refused_in_every_mode_of_every_tier() {
        const CREATE: u64 = 0o100;
        const TEMPORARY: u64 = 0o20_000_000;
        for tier in [Tier::Medium, Tier::Strong] {
            for mode in [0o4755, 0o2755, 0o6777, 0o104_755] {
                for (name, arguments) in [
                    ("open", [1, CREATE, mode, 0, 0, 0]),
                    ("open", [1, TEMPORARY | 2, mode, 0, 0, 0]),
                    ("openat", [1, 1, CREATE | 1, mode, 0, 0]),
                    ("openat", [1, 1, TEMPORARY | 2, mode, 0, 0]),
                    ("creat", [1, mode, 0, 0, 0, 0]),
                    ("mkdir", [1, mode, 0, 0, 0, 0]),
                    ("mkdirat", [1, 1, mode, 0, 0, 0]),
                    ("mknod", [1, mode, 0, 0, 0, 0]),
                    ("mknodat", [1, 1, mode, 0, 0, 0]),
                    ("chmod", [1, mode, 0, 0, 0, 0]),
                    ("fchmod", [1, mode, 0, 0, 0, 0]),
                    ("fchmodat", [1, 1, mode, 0, 0, 0]),
                    ("fchmodat2", [1, 1, mode, 0, 0, 0]),
                ] {
                    assert_answer(setting(tier), name, arguments, CallAnswer::Errno(EPERM));
                }
            }
            // Where nothing is made, there may be anything in the place of the mode.
            let read_only = [1, 1, 0, 0o6777, 0, 0];
            assert_answer(setting(tier), "openat", read_only, CallAnswer::Allow);
            assert_answer(setting(tier), "openat", [1, 1, CREATE, 0o1777, 0, 0], CallAnswer::Allow);
        }
    }

    #[test]
    fn without_mounts_the_supervisor_decides_about_modes_owners_and_times() {
        for name in ["chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown"]
            .into_iter()
            .chain(["fchownat", "utime", "utimes", "futimesat", "utimensat"])
        {
            assert_answer(setting(Tier::Medium), name, [0; 6], CallAnswer::Ask);
            assert_answer(setting(Tier::Strong), name, [0; 6], CallAnswer::Allow);
        }
    }

    #[test]
    fn threads_are_made_and_namespaces_never() {
        let thread = [0x003D_0F00, 0, 0, 0, 0, 0];
        for tier in [Tier::Medium, Tier::Strong] {
            assert_answer(setting(tier), "clone", thread, CallAnswer::Allow);
            let user_namespace = [0x1000_0011, 0, 0, 0, 0, 0];
            assert_answer(setting(tier), "clone", user_namespace, CallAnswer::Errno(EPERM));
        }
    }

    #[test]
    fn where_a_script_sees_its_own_processes_alone_it_may_name_them() {
        let own = Setting { processes: VisibleProcesses::Own, ..setting(Tier::Medium) };
        for (name, arguments) in [
            ("kill", [0, 15, 0, 0, 0, 0]),
            ("setpriority", [0, 43, 5, 0, 0, 0]),
            ("ioprio_set", [1, 43, 5, 0, 0, 0]),
            ("sched_setaffinity", [43, 8, 1, 0, 0, 0]),
        ] {
            assert_answer(own, name, arguments, CallAnswer::Allow);
        }
        for (name, arguments) in [
            ("prlimit64", [43, 1, 0, 0, 0, 0]),
            ("setpriority", [2, 0, 19, 0, 0, 0]),
            ("ioprio_set", [3, 0, 5, 0, 0, 0]),
        ] {
            assert_answer(own, name, arguments, CallAnswer::Errno(EPERM));
        }
        assert_answer(own, "chmod", [0; 6], CallAnswer::Ask);
    }

    #[test]
    fn attributes_are_not_supported_in_any_tier() {
        for tier in [Tier::Medium, Tier::Strong] {
            for (name, ..) in ATTRIBUTES {
                assert_answer(setting(tier), name, [0; 6], CallAnswer::Errno(ENOTSUP));
            }
        }
    }

    #[test]
    fn arguments_that_reach_beyond_the_run_are_refused() {
        let medium = setting(Tier::Medium);
        let refused = CallAnswer::Errno(EPERM);
        let minus = |number: i64| number.cast_unsigned();
        for (name, arguments, wanted) in [
            ("socket", [2, 1, 0, 0, 0, 0], refused),
            ("socketpair", [1, 1, 0, 0, 0, 0], CallAnswer::Allow),
            ("socketpair", [1, 0o2_000_005, 0, 0, 0, 0], CallAnswer::Allow),
            ("socketpair", [1, 2, 0, 0, 0, 0], refused),
            ("socketpair", [1, 3, 0, 0, 0, 0], refused),
            ("socketpair", [2, 1, 0, 0, 0, 0], refused),
            ("kill", [42, 9, 0, 0, 0, 0], refused),
            ("kill", [minus(-42), 9, 0, 0, 0, 0], refused),
            ("kill", [minus(-1), 9, 0, 0, 0, 0], refused),
            ("kill", [43, 9, 0, 0, 0, 0], CallAnswer::Allow),
            ("setpriority", [0, 0, 5, 0, 0, 0], CallAnswer::Allow),
            ("setpriority", [0, 43, 5, 0, 0, 0], refused),
            ("setpriority", [2, 0, 5, 0, 0, 0], refused),
            ("ioprio_set", [1, 0, 5, 0, 0, 0], CallAnswer::Allow),
            ("ioprio_set", [3, 0, 5, 0, 0, 0], refused),
            ("sched_setaffinity", [0, 8, 1, 0, 0, 0], CallAnswer::Allow),
            ("sched_setaffinity", [43, 8, 1, 0, 0, 0], refused),
            ("sched_setattr", [43, 1, 0, 0, 0, 0], refused),
            ("prlimit64", [43, 1, 0, 0, 0, 0], refused),
            ("fcntl", [3, 1030, 0, 0, 0, 0], CallAnswer::Allow),
            ("fcntl", [3, 1024, 0, 0, 0, 0], CallAnswer::Errno(EINVAL)),
            ("fcntl", [3, 1026, 0, 0, 0, 0], CallAnswer::Errno(EINVAL)),
            ("fcntl", [3, 8, 0, 0, 0, 0], CallAnswer::Errno(EINVAL)),
            ("ioctl", [1, 0x5401, 0, 0, 0, 0], CallAnswer::Allow),
            ("ioctl", [1, 0x5412, 0, 0, 0, 0], CallAnswer::Errno(ENOTTY)),
            ("ioctl", [1, 0x4008_6602, 0, 0, 0, 0], CallAnswer::Errno(ENOTTY)),
            ("prctl", [15, 1, 0, 0, 0, 0], CallAnswer::Allow),
            ("prctl", [62, 1, 0, 0, 0, 0], CallAnswer::Errno(EINVAL)),
            ("openat", [1, 1, 0o1000, 0, 0, 0], refused),
            ("openat", [1, 1, 0o1003, 0, 0, 0], refused),
            ("openat", [1, 1, 0o1001, 0, 0, 0], CallAnswer::Allow),
            ("truncate", [1, 0, 0, 0, 0, 0], CallAnswer::Allow),
        ] {
            assert_answer(medium, name, arguments, wanted);
        }
        let old_kernel = Setting { landlock: 2, ..medium };
        assert_answer(old_kernel, "truncate", [1, 0, 0, 0, 0, 0], refused);
    }

    #[test]
    fn a_granted_network_is_the_internet_and_no_other_family() {
        let open = Setting { network: NetworkAccess::Open, ..setting(Tier::Medium) };
        for (family, wanted) in [
            (2, CallAnswer::Allow),
            (10, CallAnswer::Allow),
            (1, CallAnswer::Errno(EPERM)),
            (16, CallAnswer::Errno(EPERM)),
            (40, CallAnswer::Errno(EPERM)),
        ] {
            assert_answer(open, "socket", [family, 1, 0, 0, 0, 0], wanted);
        }
        for (name, ..) in NETWORK {
            assert_answer(open, name, [0; 6], CallAnswer::Allow);
            assert_answer(setting(Tier::Medium), name, [0; 6], CallAnswer::Errno(ENOSYS));
        }
    }
}
