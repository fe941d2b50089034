//! What libFuzzer's log says: how much ran, how much code was reached, whether it crashed.
//!
//! Pure: the log is text, and whether the process ended well comes beside it.

use std::fmt;

/// A fuzz target that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Everything it wrote to standard error.
    pub(crate) text: String,
    /// Whether its exit code was 0.
    pub(crate) success: bool,
}

/// The numbers of one run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    executions: u64,
    per_second: u64,
    coverage: u64,
    features: u64,
    corpus: u64,
    peak_mb: u64,
    /// What went wrong, with the file that makes it happen again.
    pub(crate) failure: Option<String>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} executions, {} a second, coverage {} ({} features), corpus {}, peak {} MB, {}",
            self.executions,
            self.per_second,
            self.coverage,
            self.features,
            self.corpus,
            self.peak_mb,
            if self.failure.is_some() { "CRASHED" } else { "no crash" }
        )
    }
}

/// Reads the log of a target that has ended.
pub(crate) fn read(ended: &Ended) -> Summary {
    let mut summary = Summary::default();
    for line in ended.text.lines() {
        if let Some((name, value)) = statistic(line) {
            match name {
                "number_of_executed_units" => summary.executions = value,
                "average_exec_per_sec" => summary.per_second = value,
                "peak_rss_mb" => summary.peak_mb = value,
                _ => {}
            }
        } else if line.starts_with('#') {
            let of = |label| number_after(line, label);
            summary.coverage = of(" cov: ").unwrap_or(summary.coverage);
            summary.features = of(" ft: ").unwrap_or(summary.features);
            summary.corpus = of(" corp: ").unwrap_or(summary.corpus);
        }
    }
    summary.failure = (!ended.success).then(|| failure(&ended.text));
    summary
}

/// The last lines of the log.
pub(crate) fn tail(ended: &Ended, most: usize) -> String {
    let lines: Vec<&str> = ended.text.lines().collect();
    lines[lines.len().saturating_sub(most)..].join("\n")
}

fn failure(text: &str) -> String {
    let last = |label: &str| text.lines().rev().find_map(|line| Some(line.split_once(label)?.1));
    let kind = last("SUMMARY: libFuzzer: ").unwrap_or("the target did not end well");
    // The message of a panic stands on the line after its place.
    let mut lines = text.lines();
    let place = lines.find_map(|line| Some(line.split_once("panicked at ")?.1));
    let what = match (place, lines.next()) {
        (Some(place), Some(message)) => format!("{kind}, {place} {message}"),
        _ => kind.to_owned(),
    };
    match last("Test unit written to ") {
        Some(artifact) => format!("{what}; input: {artifact}"),
        None => format!("{what}; no input was written"),
    }
}

fn statistic(line: &str) -> Option<(&str, u64)> {
    let (name, value) = line.strip_prefix("stat::")?.split_once(':')?;
    Some((name, value.trim().parse().ok()?))
}

fn number_after(line: &str, label: &str) -> Option<u64> {
    let rest = line.split_once(label)?.1;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
INFO: Seed: 1
#2\tINITED cov: 8 ft: 9 corp: 1/1b exec/s: 0 rss: 27Mb
#33787045\tDONE   cov: 11 ft: 12 corp: 4/20b lim: 4096 exec/s: 1608906 rss: 27Mb
Done 33787045 runs in 21 second(s)
stat::number_of_executed_units: 33787045
stat::average_exec_per_sec:     1608906
stat::peak_rss_mb:              27
";

    const CRASH: &str = "\
#2\tINITED cov: 8 ft: 9 corp: 1/1b exec/s: 0 rss: 27Mb
thread '<unnamed>' (1) panicked at src/main.rs:5:26:
found
==9279== ERROR: libFuzzer: deadly signal
SUMMARY: libFuzzer: deadly signal
artifact_prefix='art/'; Test unit written to art/crash-ebdf
stat::number_of_executed_units: 47960
";

    #[test]
    fn a_good_run_gives_its_numbers() {
        let summary = read(&Ended { text: GOOD.to_owned(), success: true });
        assert_eq!(
            summary.to_string(),
            "33787045 executions, 1608906 a second, coverage 11 (12 features), corpus 4, \
             peak 27 MB, no crash"
        );
    }

    #[test]
    fn a_crash_names_the_panic_and_the_input() {
        let summary = read(&Ended { text: CRASH.to_owned(), success: false });
        assert_eq!(
            summary.failure.unwrap(),
            "deadly signal, src/main.rs:5:26: found; input: art/crash-ebdf"
        );
    }

    #[test]
    fn a_target_that_dies_without_a_word_is_a_failure_too() {
        let ended = Ended { text: String::new(), success: false };
        assert_eq!(
            read(&ended).failure.unwrap(),
            "the target did not end well; no input was written"
        );
        assert_eq!(tail(&ended, 3), "");
    }
}
