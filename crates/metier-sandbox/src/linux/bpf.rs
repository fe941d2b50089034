//! A small compiler for seccomp: answers by system call, and by argument where it matters, become one
//! program of the kernel's packet filter. Pure: `filter` has the rules and installs the result.
//!
//! One program with every answer, not one for each answer: the kernel runs all that are installed at each
//! call. Calls that are allowed whatever their arguments cost nothing anyway, the kernel remembers them.

use std::io;

use libc::sock_filter;

/// What a call gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallAnswer {
    Allow,
    /// Not done; this error instead.
    Errno(i32),
    /// The supervisor decides.
    Ask,
}

impl CallAnswer {
    /// The word that the kernel understands.
    pub(super) const fn word(self) -> u32 {
        match self {
            Self::Allow => libc::SECCOMP_RET_ALLOW,
            Self::Errno(errno) => libc::SECCOMP_RET_ERRNO | errno.unsigned_abs(),
            Self::Ask => libc::SECCOMP_RET_USER_NOTIF,
        }
    }
}

/// What an argument is compared with. Only its lower 32 bits are looked at, which are all that the kernel
/// looks at in the arguments that are checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArgumentIs {
    pub(super) argument: u8,
    pub(super) mask: u32,
    pub(super) value: u32,
}

/// The answer where all of these hold.
pub(super) type ArgumentCase = (Vec<ArgumentIs>, CallAnswer);

/// The answers of one call: that of the first case that holds, or the last.
#[derive(Debug)]
pub(super) struct CallRule {
    pub(super) number: u32,
    pub(super) cases: Vec<ArgumentCase>,
    pub(super) otherwise: CallAnswer,
}

// Offsets in `seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

// Instructions: load a word, mask it, compare it, return.
const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_GREATER: u16 = 0x25;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

/// Makes the program for one architecture. Calls of another one (`int 0x80`) end the process: their numbers
/// mean other calls, and no C library would understand an error there.
pub(super) fn compile(
    architecture: u32,
    rules: &[CallRule],
    otherwise: CallAnswer,
) -> io::Result<Vec<sock_filter>> {
    let mut program = vec![
        step(LOAD, ARCHITECTURE),
        jump(JUMP_IF_EQUAL, architecture, 1, 0),
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        step(LOAD, NUMBER),
    ];
    let is_plain = |rule: &&CallRule| rule.cases.is_empty() && rule.otherwise == CallAnswer::Allow;
    for rule in rules.iter().filter(|rule| !is_plain(rule)) {
        let block = block_of(rule)?;
        program.push(jump(JUMP_IF_EQUAL, rule.number, 0, short(block.len())?));
        program.extend(block);
    }
    let plain = rules.iter().filter(is_plain).map(|rule| rule.number).collect();
    for (first, last) in ranges(plain) {
        program.extend([
            jump(JUMP_IF_GREATER, last, 3, 0),
            jump(JUMP_IF_AT_LEAST, first, 0, 1),
            step(RETURN, CallAnswer::Allow.word()),
            step(RETURN, otherwise.word()),
        ]);
    }
    program.push(step(RETURN, otherwise.word()));
    Ok(program)
}

/// The cases of one call. It never falls through, so the number need not be loaded again after it.
fn block_of(rule: &CallRule) -> io::Result<Vec<sock_filter>> {
    let mut block = Vec::new();
    for (conditions, answer) in &rule.cases {
        let mut case = vec![step(RETURN, answer.word())];
        // From the end to the start, as each jump leads behind the end.
        for condition in conditions.iter().rev() {
            let past_the_end = short(case.len())?;
            let mut test = vec![step(LOAD, ARGUMENTS + 8 * u32::from(condition.argument))];
            if condition.mask != u32::MAX {
                test.push(step(AND, condition.mask));
            }
            test.push(jump(JUMP_IF_EQUAL, condition.value, 0, past_the_end));
            case.splice(0..0, test);
        }
        block.extend(case);
    }
    block.push(step(RETURN, rule.otherwise.word()));
    Ok(block)
}

/// Sorted numbers as ranges, first and last.
fn ranges(mut numbers: Vec<u32>) -> Vec<(u32, u32)> {
    numbers.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if number <= *last + 1 => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

const fn step(code: u16, k: u32) -> sock_filter {
    jump(code, k, 0, 0)
}

const fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn short(length: usize) -> io::Result<u8> {
    u8::try_from(length).map_err(|_| io::Error::other("too many cases for one system call"))
}

/// What the kernel would do with a program: so that the rules of a machine that is not at hand can be tried.
#[cfg(test)]
pub(super) fn answer_of(
    program: &[sock_filter],
    architecture: u32,
    number: u32,
    arguments: [u64; 6],
) -> u32 {
    let load = |offset: u32| match offset {
        NUMBER => number,
        ARCHITECTURE => architecture,
        other => {
            let argument = arguments[((other - ARGUMENTS) / 8) as usize];
            u32::try_from(argument & u64::from(u32::MAX)).expect("masked")
        }
    };
    let (mut at, mut word) = (0, 0);
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        let holds = match code {
            LOAD => {
                word = load(k);
                false
            }
            AND => {
                word &= k;
                false
            }
            JUMP_IF_EQUAL => word == k,
            JUMP_IF_GREATER => word > k,
            JUMP_IF_AT_LEAST => word >= k,
            RETURN => return k,
            other => panic!("an instruction that is never made: {other:#x}"),
        };
        at += 1 + usize::from(if holds { jt } else { jf });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: u32 = 7;
    const NO: CallAnswer = CallAnswer::Errno(38);

    fn plain(number: u32) -> CallRule {
        CallRule { number, cases: Vec::new(), otherwise: CallAnswer::Allow }
    }

    fn is(argument: u8, mask: u32, value: u32) -> ArgumentIs {
        ArgumentIs { argument, mask, value }
    }

    #[test]
    fn what_is_listed_is_allowed_and_nothing_around_it() {
        let rules: Vec<CallRule> = [3, 4, 5, 9, 1, 300, 301].map(plain).into();
        let program = compile(HERE, &rules, NO).expect("compiles");
        for number in 0..400 {
            let listed = rules.iter().any(|rule| rule.number == number);
            let wanted = if listed { CallAnswer::Allow } else { NO };
            assert_eq!(answer_of(&program, HERE, number, [0; 6]), wanted.word(), "{number}");
        }
        let x32 = 0x4000_0000 + 3;
        assert_eq!(answer_of(&program, HERE, x32, [0; 6]), NO.word());
    }

    #[test]
    fn another_architecture_ends_the_process() {
        let program = compile(HERE, &[plain(3)], NO).expect("compiles");
        assert_eq!(answer_of(&program, 8, 3, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
    }

    #[test]
    fn the_first_case_whose_conditions_all_hold_answers() {
        let first = (vec![is(0, u32::MAX, 2), is(1, 0xF, 1)], CallAnswer::Allow);
        let second = (vec![is(0, u32::MAX, 2)], CallAnswer::Ask);
        let rule =
            CallRule { number: 41, cases: vec![first, second], otherwise: CallAnswer::Errno(1) };
        let program = compile(HERE, &[rule, plain(42)], NO).expect("compiles");
        let answer = |arguments| answer_of(&program, HERE, 41, arguments);
        assert_eq!(answer([2, 0xA1, 0, 0, 0, 0]), CallAnswer::Allow.word());
        // The kernel takes an `int`: what is above its 32 bits does not count.
        assert_eq!(answer([2 | 1 << 40, 0xA1, 0, 0, 0, 0]), CallAnswer::Allow.word());
        assert_eq!(answer([2, 0xA2, 0, 0, 0, 0]), CallAnswer::Ask.word());
        assert_eq!(answer([3, 0xA1, 0, 0, 0, 0]), CallAnswer::Errno(1).word());
        assert_eq!(answer_of(&program, HERE, 42, [0; 6]), CallAnswer::Allow.word());
    }
}
