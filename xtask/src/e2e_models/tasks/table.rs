//! The closing table: a line for each arm, a line for each request, and the arms compared with the first.
//!
//! It computes nothing but sums; intervals are in `compare`.

use std::fmt::Write as _;

use super::arm::Arm;
use super::compare::{self, Interval};
use super::figures::RunFigures;
use super::judge::Score;
use super::requests::TaskRequest;
use super::results::{ResultStore, TaskResult};

/// A result with what the judge says of it now.
#[derive(Debug, Clone, Copy)]
struct Scored<'a> {
    result: &'a TaskResult,
    score: Score,
}

/// The table of all results that there are.
pub(crate) fn of(arms: &[Arm], requests: &[TaskRequest], results: &ResultStore) -> String {
    let scored = |arm, request| {
        let result: &TaskResult = results.get(arm, request)?;
        Some(Scored { result, score: result.score(request) })
    };
    let rows: Vec<Vec<Option<Scored<'_>>>> = arms
        .iter()
        .map(|arm| requests.iter().map(|request| scored(arm, request)).collect())
        .collect();
    let mut table = String::new();
    for (arm, lines) in arms.iter().zip(&rows) {
        let present: Vec<Scored<'_>> = lines.iter().flatten().copied().collect();
        table += &summary(&arm.name(), &present);
    }
    table.push('\n');
    for (at, request) in requests.iter().enumerate() {
        let words: Vec<String> = rows.iter().map(|lines| in_a_word(lines[at])).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{:<11} {:<18} {}", request.kind, request.id, words.join(" | "));
    }
    let right = |one: &Option<Scored<'_>>| Some((*one)?.score == Score::Right);
    for (arm, lines) in arms.iter().zip(&rows).skip(1) {
        let both = rows[0].iter().zip(lines);
        let pairs: Vec<(bool, bool)> =
            both.filter_map(|(first, second)| Some((right(first)?, right(second)?))).collect();
        table += &comparison(&arms[0].name(), &arm.name(), &pairs);
    }
    table
}

/// The figures of one arm, as one line and one more.
fn summary(name: &str, lines: &[Scored<'_>]) -> String {
    let count = |of: &dyn Fn(&Scored<'_>) -> bool| {
        u32::try_from(lines.iter().filter(|line| of(line)).count()).unwrap_or(u32::MAX)
    };
    let status = |name: &'static str| count(&|line| line.result.measured.status == name);
    let sum = |of: fn(&RunFigures) -> u32| {
        lines.iter().map(|line| of(&line.result.measured)).sum::<u32>()
    };
    let all = count(&|_| true);
    let right = count(&|line| line.score == Score::Right);
    let (completed, stuck) = (status("completed"), status("stuck"));
    let decisions = sum(|run| run.decisions);
    let repeated = sum(|run| run.repeated);
    let input: u64 = lines.iter().map(|line| line.result.measured.input).sum();
    let output: u64 = lines.iter().map(|line| line.result.measured.output).sum();
    let seconds: f64 = lines.iter().map(|line| line.result.measured.seconds).sum();
    format!(
        "{name}: {right} of {all} right ({}), {completed} completed, {stuck} stuck, {} ended otherwise, \
         {} without an answer\n    {} turns, {decisions} decisions, {repeated} repeated ({}), {} \
         invalid replies, {} tokens in, {} out, {:.0} s\n",
        percent(compare::wilson(right, all)),
        all - completed - stuck,
        count(&|line| line.score == Score::None),
        sum(|run| run.turns),
        share(repeated, decisions),
        sum(|run| run.invalid),
        input,
        output,
        seconds,
    )
}

fn in_a_word(line: Option<Scored<'_>>) -> String {
    let Some(line) = line else { return "not run".to_owned() };
    let word = if line.score == Score::Right { "right" } else { "wrong" };
    format!("{word}, {}, {} turns", line.result.measured.status, line.result.measured.turns)
}

fn comparison(first: &str, second: &str, pairs: &[(bool, bool)]) -> String {
    let compared = compare::paired(pairs);
    let rights = |of: fn(&(bool, bool)) -> bool| pairs.iter().filter(|pair| of(pair)).count();
    format!(
        "\n{second} against {first}, {} requests: {} right against {}; {} gained, {} lost; difference {} \
         (paired bootstrap), p = {:.4} (exact McNemar)\n",
        pairs.len(),
        rights(|pair| pair.1),
        rights(|pair| pair.0),
        compared.gained,
        compared.lost,
        percent(compared.difference),
        compared.p,
    )
}

fn percent(Interval { low, high }: Interval) -> String {
    format!("95 %: {:.0} to {:.0} %", low * 100.0, high * 100.0)
}

fn share(part: u32, all: u32) -> String {
    if all == 0 {
        return "none".to_owned();
    }
    format!("{:.0} %", f64::from(part) * 100.0 / f64::from(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(status: &str, repeated: u32) -> TaskResult {
        let text = serde_json::json!({
            "arm": "a", "arm_name": "a", "request": "r", "text": "t",
            "measured": {
                "run_id": "", "status": status, "answer": null, "turns": 3, "decisions": 3,
                "repeated": repeated, "invalid": 1, "input": 100, "output": 10, "seconds": 1.5,
                "actions": [],
            },
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn an_arm_is_summed_up_with_its_interval() {
        let (good, bad) = (line("completed", 0), line("stuck", 2));
        let good = Scored { result: &good, score: Score::Right };
        let bad = Scored { result: &bad, score: Score::None };
        let expected = "m: 1 of 2 right (95 %: 9 to 91 %), 1 completed, 1 stuck, 0 ended otherwise, \
                        1 without an answer\n    6 turns, 6 decisions, 2 repeated (33 %), 2 invalid \
                        replies, 200 tokens in, 20 out, 3 s\n";
        assert_eq!(summary("m", &[good, bad]), expected);
    }

    #[test]
    fn two_arms_are_compared_on_the_requests_that_both_have() {
        let text = comparison("a", "b", &[(false, true), (true, true), (false, false)]);
        let expected = "\nb against a, 3 requests: 2 right against 1; 1 gained, 0 lost; difference \
                        95 %: 0 to 100 % (paired bootstrap), p = 1.0000 (exact McNemar)\n";
        assert_eq!(text, expected);
    }
}
