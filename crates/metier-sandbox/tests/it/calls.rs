//! Every number of a system call is tried inside: what is not on the list does not exist there, whatever the
//! kernel has, and no number ends the program that tries it.

use std::collections::BTreeMap;
use std::process::Command;

use metier_sandbox::Tier;

use crate::support::{as_nobody, plan, ran_as_nobody, run, scratch, system_program, tiers};

/// Calls each number in a child of its own, with arguments that mean nothing, and prints what came of it:
/// `number errno`, 0 for success, or `number -signal`.
const TRY_ALL: &str = r#"
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
bad = [ctypes.c_long(-1)] * 6
for number in map(int, sys.argv[1].split(",")):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(2)
        own = os.getpid()
        answer = libc.syscall(ctypes.c_long(number), *bad)
        errno = ctypes.get_errno() if answer == -1 else 0
        if os.getpid() == own: os.write(write, str(errno).encode())
        os._exit(0)
    os.close(write)
    said = os.read(read, 16); os.close(read)
    status = os.waitpid(child, 0)[1]
    print(number, said.decode() if said else -os.WTERMSIG(status))
print("all were tried")
"#;

/// What x86-64 has on the list, written down a second time: a change of the one without the other is seen.
const LISTED: &[(u32, u32)] = &[
    (0, 28),
    (32, 41),
    (44, 48),
    (51, 53),
    (55, 63),
    (72, 100),
    (102, 102),
    (104, 128),
    (129, 133),
    (137, 138),
    (140, 152),
    (157, 158),
    (160, 160),
    (162, 162),
    (186, 187),
    (200, 204),
    (213, 213),
    (217, 219),
    (221, 226),
    (228, 235),
    (247, 247),
    (251, 255),
    (257, 271),
    (273, 273),
    (275, 277),
    (280, 287),
    (289, 297),
    (299, 299),
    (302, 302),
    (306, 307),
    (309, 309),
    (314, 318),
    (322, 322),
    (324, 332),
    (334, 334),
    (424, 424),
    (434, 434),
    (436, 436),
    (439, 439),
    (441, 441),
    (444, 446),
    (449, 449),
    (452, 456),
    (462, 462),
];

/// Attributes: not supported, rather than not there.
const ATTRIBUTES: &[(u32, u32)] = &[(188, 199), (463, 466)];

/// `uretprobe` and `uprobe`: the kernel calls them by itself, and from Linux 6.14 on shows them to no filter.
const BEYOND_FILTERS: &[(u32, u32)] = &[(335, 336)];

/// Those that make something that stays, whatever their arguments.
const NOT_OUTSIDE: &[u32] = &[29, 64, 68];

fn is_in(ranges: &[(u32, u32)], number: u32) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&number))
}

fn answers(text: &str) -> BTreeMap<u32, i32> {
    assert!(text.contains("all were tried"), "{text}");
    let pair = |line: &str| {
        let (number, answer) = line.split_once(' ')?;
        Some((number.parse().ok()?, answer.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

fn words(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn every_number() {
    let Some(python) = system_program("python3").filter(|_| cfg!(target_arch = "x86_64")) else {
        metier_testkit::not_tested("the numbers of this machine, or there is no Python");
        return;
    };
    // A new process by number would share its memory with the one that counts.
    let all: Vec<u32> = (0..=600).filter(|number| !(56..=58).contains(number)).collect();
    let forbidden: Vec<u32> = all
        .iter()
        .copied()
        .filter(|number| !is_in(LISTED, *number) && !is_in(BEYOND_FILTERS, *number))
        .collect();
    let outside: Vec<u32> =
        forbidden.iter().copied().filter(|number| !NOT_OUTSIDE.contains(number)).collect();
    let mut control = Command::new(&python);
    let control = as_nobody(control.args(["-I", "-c", TRY_ALL, &words(&outside)]));
    let control = control.output().expect("starts").stdout;
    let control = answers(&String::from_utf8_lossy(&control));
    let exists = control.values().filter(|answer| **answer != libc::ENOSYS).count();
    println!("{exists} forbidden calls exist on this kernel");
    assert!(exists > 70, "only {exists} forbidden calls exist outside: this proves too little");
    for tier in tiers() {
        let dir = scratch();
        let mut plan = plan(dir.path(), &[&python, "-I", "-c", TRY_ALL, &words(&all)]);
        plan.limits.output.shown_chars = 64 << 10;
        let report = run(tier, &plan);
        assert!(report.succeeded(), "{tier}: {report:?}");
        let inside = answers(&report.stdout.text);
        assert_eq!(inside.len(), all.len(), "{tier}");
        for number in &forbidden {
            let wanted = if is_in(ATTRIBUTES, *number) { libc::ENOTSUP } else { libc::ENOSYS };
            assert_eq!(inside[number], wanted, "number {number} in {tier}");
        }
        refused_by_argument(tier, &python);
    }
}

/// What is refused by its arguments answers as it is documented.
fn refused_by_argument(tier: Tier, python: &str) {
    let script = r#"
import errno, fcntl, os, socket, ctypes
libc = ctypes.CDLL(None, use_errno=True)
def answer(act):
    try: act()
    except OSError as error: return errno.errorcode[error.errno]
    return "done"
open("f", "w").close()
print(answer(lambda: socket.socket()), answer(lambda: os.chmod("f", 0o4755)),
      answer(lambda: fcntl.fcntl(0, 1024, 0)), answer(lambda: fcntl.ioctl(1, 0x5412, b"x")),
      answer(lambda: os.getxattr("f", "user.x")), answer(lambda: os.memfd_create("x")))
"#;
    let dir = scratch();
    let report = run(tier, &plan(dir.path(), &[python, "-I", "-c", script]));
    let wanted = "EPERM EPERM EINVAL ENOTTY EOPNOTSUPP ENOSYS\n";
    // Python names this error by its other name on some versions.
    let found = report.stdout.text.replace("ENOTSUP", "EOPNOTSUPP");
    assert_eq!(found, wanted, "{tier}: {report:?}");
}

#[test]
fn what_is_not_on_the_list_does_not_exist() {
    every_number();
}

#[test]
fn for_an_ordinary_user_what_is_not_on_the_list_does_not_exist() {
    if !ran_as_nobody("calls::for_an_ordinary_user_what_is_not_on_the_list_does_not_exist") {
        every_number();
    }
}
