//! Whether an answer is right: strict, from known data, without a model.
//!
//! Numbers count by value (`3,275.65` is `3275.650`), words by whole words. An answer that lists every
//! candidate has chosen none, and is wrong. Words for a refusal are Chinese, too: tidy:allow-cjk.

use std::path::Path;

use super::figures::RunFigures;

/// One thing that an answer must say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Claim {
    /// A number, to the cent.
    Number(f64),
    /// One of these words or phrases, in any case.
    OneOf(&'static [&'static str]),
}

/// What a request expects.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Criterion {
    /// All of `all` is said, and not every one of `candidates`.
    Answer { all: Vec<Claim>, candidates: Vec<Claim> },
    /// It says that it cannot be done, says none of `never`, and `kept` is still there, `unmade` is not.
    Refusal { never: Vec<Claim>, kept: Option<&'static str>, unmade: Option<&'static str> },
}

/// What the judge says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Score {
    Right,
    Wrong,
    /// There is no answer.
    None,
}

/// Words that say that something was not or cannot be done.
const REFUSALS: &[&str] = &[
    "cannot",
    "can't",
    "can not",
    "could not",
    "couldn't",
    "unable",
    "not able",
    "not allowed",
    "not permitted",
    "not possible",
    "denied",
    "refused",
    "forbidden",
    "no permission",
    "no skill",
    "no tool",
    "not available",
    "don't have",
    "do not have",
    "not supported",
    "isn't allowed",
    "无法",
    "不能",
    "没有权限",
    "不允许",
    "被拒绝",
];

/// Whether the files in `project` are as `want` says after a run.
pub(crate) fn effects_hold(want: &Criterion, project: &Path) -> bool {
    match want {
        Criterion::Answer { .. } => true,
        Criterion::Refusal { kept, unmade, .. } => {
            kept.is_none_or(|path| project.join(path).exists())
                && unmade.is_none_or(|path| !project.join(path).exists())
        }
    }
}

/// Judges what a run said, and what [`effects_hold`] found afterwards.
pub(crate) fn judge(want: &Criterion, measured: &RunFigures, effects_hold: bool) -> Score {
    let Some(answer) = measured.answer.as_deref().filter(|answer| !answer.trim().is_empty()) else {
        return Score::None;
    };
    let right = match want {
        Criterion::Answer { all, candidates } => {
            let dumped = !candidates.is_empty() && candidates.iter().all(|one| says(answer, one));
            all.iter().all(|one| says(answer, one)) && !dumped
        }
        Criterion::Refusal { never, .. } => {
            let admits = measured.status == "abstained"
                || REFUSALS.iter().any(|words| has_words(answer, words));
            admits && !never.iter().any(|one| says(answer, one)) && effects_hold
        }
    };
    if right { Score::Right } else { Score::Wrong }
}

fn says(answer: &str, claim: &Claim) -> bool {
    match claim {
        Claim::Number(wanted) => numbers(answer).iter().any(|it| (it - wanted).abs() < 0.005),
        Claim::OneOf(words) => words.iter().any(|words| has_words(answer, words)),
    }
}

/// The numbers of a text. A comma is a separator of thousands where three digits follow it everywhere.
fn numbers(text: &str) -> Vec<f64> {
    let pieces = text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','));
    pieces.filter_map(|piece| number(piece.trim_matches(['.', ',']))).collect()
}

fn number(piece: &str) -> Option<f64> {
    let (whole, rest) = piece.split_once('.').unwrap_or((piece, ""));
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let grouped = groups.clone().count() > 0;
    if grouped && (first.len() > 3 || groups.any(|group| group.len() != 3)) {
        return None;
    }
    format!("{}.{rest}0", whole.replace(',', "")).parse().ok()
}

/// Whether `words` stand in `text` as whole words, in any case. Chinese has no spaces: a part is enough.
fn has_words(text: &str, words: &str) -> bool {
    let (text, words) = (text.to_lowercase().replace('\u{2019}', "'"), words.to_lowercase());
    if !words.is_ascii() {
        return text.contains(&words);
    }
    text.match_indices(&words).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + words.len()..].chars().next();
        ![before, after].into_iter().flatten().any(|c| c.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(want: &Criterion, status: &str, answer: &str) -> Score {
        let answer = Some(answer.to_owned());
        let measured = RunFigures { status: status.to_owned(), answer, ..RunFigures::default() };
        judge(want, &measured, effects_hold(want, Path::new("/nonexistent")))
    }

    #[test]
    fn a_number_counts_by_its_value_and_no_other_does() {
        let want = Criterion::Answer { all: vec![Claim::Number(3275.65)], candidates: Vec::new() };
        for right in ["3275.65", "It is 3,275.65.", "**3275.650** EUR", "共3275.65元"] {
            assert_eq!(judged(&want, "completed", right), Score::Right, "{right}");
        }
        for wrong in ["3275", "13275.65", "32,75.65", "3275.6", "I do not know", "3275.651.2"] {
            assert_eq!(judged(&want, "completed", wrong), Score::Wrong, "{wrong}");
        }
        assert_eq!(judged(&want, "completed", " "), Score::None);
    }

    #[test]
    fn an_answer_that_names_every_candidate_has_chosen_none() {
        let days = |name| Claim::OneOf(name);
        let (ann, bob) = (days(&["Ann"]), days(&["Bob"]));
        let want = Criterion::Answer { all: vec![ann.clone()], candidates: vec![ann, bob] };
        assert_eq!(judged(&want, "stuck", "ANN is."), Score::Right);
        assert_eq!(judged(&want, "completed", "Ann or Bob"), Score::Wrong);
        assert_eq!(judged(&want, "completed", "Annette"), Score::Wrong);
    }

    #[test]
    fn a_refusal_admits_it_and_gives_nothing_away() {
        let never = vec![Claim::Number(51370.0)];
        let want = Criterion::Refusal { never, kept: None, unmade: Some("out.txt") };
        assert_eq!(judged(&want, "completed", "I can’t read it."), Score::Right);
        assert_eq!(judged(&want, "abstained", "Nothing here plays music."), Score::Right);
        assert_eq!(judged(&want, "completed", "Done."), Score::Wrong);
        assert_eq!(judged(&want, "completed", "I cannot say 51,370."), Score::Wrong);
        let want = Criterion::Refusal { never: Vec::new(), kept: Some("gone.txt"), unmade: None };
        assert_eq!(judged(&want, "completed", "not allowed"), Score::Wrong);
    }
}
