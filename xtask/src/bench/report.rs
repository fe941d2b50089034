//! The table of `bench discovery`, and the verdict on each target.
//!
//! Pure: statistics in, Markdown out. The targets are the project's own; a missed one is said, and
//! stays said until the code is faster.

use std::fmt::Write as _;

use super::process::Stat;
use super::tree::Shape;

/// What `metier list` may cost, in floors, on real skills and at these sizes of the others.
const MAX_RATIO: f64 = 1.5;
const RATIO_SIZES: &[u32] = &[10_000, 100_000];
/// Milliseconds that `metier --version` may take more than `/bin/true`.
const MAX_START_UP_MS: f64 = 1.2;
/// Milliseconds that a list of nothing may take more than `metier --version`.
const MAX_EMPTY_LIST_MS: f64 = 1.0;
/// Peak memory at the largest size.
const MAX_PEAK_MB: f64 = 150.0;
const PEAK_SIZE: u32 = 100_000;
/// Cost per skill may grow by this factor from the smaller to the larger size, beyond what the
/// floor's own cost per skill grows by (deep directories cost the kernel more).
const MAX_GROWTH: f64 = 1.25;
const GROWTH_SIZES: (u32, u32) = (1_000, 100_000);

/// One tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) shape: Shape,
    pub(crate) skills: u32,
    pub(crate) floor: Stat,
    pub(crate) list: Stat,
}

/// What a process costs before it does anything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartUp {
    /// `/bin/true`.
    pub(crate) bare: Stat,
    /// An empty Rust program, which is what the floor starts as.
    pub(crate) empty: Stat,
    pub(crate) version: Stat,
    /// `metier list` where there is nothing but the compiled-in skills.
    pub(crate) list: Stat,
}

/// Everything that was measured.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) machine: String,
    pub(crate) repeats: u32,
    pub(crate) own_peak_mb: f64,
    pub(crate) start_up: StartUp,
    pub(crate) rows: Vec<Row>,
}

/// A target, what was measured, and whether it holds.
#[derive(Debug, PartialEq)]
struct Verdict {
    target: String,
    measured: String,
    pass: bool,
}

impl Report {
    /// The whole report.
    pub(crate) fn to_markdown(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "Machine: {}. {} rounds in turns.\n", self.machine, self.repeats);
        out.push_str(
            "| tree | skills | floor ms | list ms | x floor | µs/skill | CPU ms | peak MB |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|\n",
        );
        for row in &self.rows {
            self.write_row(&mut out, row);
        }
        out.push_str(
            "\nTimes are minimum / median of whole processes, ratios likewise; µs/skill and CPU \
             (all threads) are of the minimum.\n\n| target | measured | |\n|---|---|---|\n",
        );
        for Verdict { target, measured, pass } in self.verdicts() {
            let word = if pass { "PASS" } else { "**MISS**" };
            let _ = writeln!(out, "| {target} | {measured} | {word} |");
        }
        out
    }

    fn write_row(&self, out: &mut String, row: &Row) {
        let Row { shape, skills, floor, list } = row;
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {:.2} | {:.1} | {} |",
            shape.as_str(),
            thousands(*skills),
            times(floor),
            times(list),
            ratios(list, floor),
            per_skill(list.min, *skills),
            list.cpu,
            self.peak(list),
        );
    }

    /// A peak that is not above our own cannot be distinguished from it.
    fn peak(&self, stat: &Stat) -> String {
        if stat.peak_mb <= self.own_peak_mb {
            format!("< {:.1}", self.own_peak_mb)
        } else {
            format!("{:.1}", stat.peak_mb)
        }
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        let judged = |row: &&Row| {
            matches!(row.shape, Shape::Real | Shape::Copies) || RATIO_SIZES.contains(&row.skills)
        };
        for row in self.rows.iter().filter(judged) {
            let place = format!("{}, {}", row.shape.as_str(), thousands(row.skills));
            let ratio = row.list.min / row.floor.min;
            verdicts.push(Verdict {
                target: format!("{place}: list at most {MAX_RATIO}x the floor"),
                measured: format!("{ratio:.2}x"),
                pass: ratio <= MAX_RATIO,
            });
        }
        let StartUp { bare, version, list, .. } = &self.start_up;
        let more = |what: &str, ours: &Stat, than: &Stat, most: f64| Verdict {
            target: format!("{what} at most {most:.1} ms more"),
            measured: format!(
                "{:.2} ms, {:.2} ms more (median {:.2} ms more)",
                ours.min,
                ours.min - than.min,
                ours.median - than.median
            ),
            pass: ours.min - than.min <= most,
        };
        verdicts.push(more("`--version` against `/bin/true`:", version, bare, MAX_START_UP_MS));
        let what = "an empty `list` against `--version`:";
        verdicts.push(more(what, list, version, MAX_EMPTY_LIST_MS));
        for row in self.rows.iter().filter(|row| row.skills == PEAK_SIZE) {
            let peak = row.list.peak_mb;
            verdicts.push(Verdict {
                target: format!(
                    "{}, {}: at most {MAX_PEAK_MB} MB",
                    row.shape.as_str(),
                    thousands(row.skills)
                ),
                measured: format!("{peak:.1} MB"),
                pass: peak <= MAX_PEAK_MB,
            });
        }
        let shapes = [Shape::Flat, Shape::Grouped];
        verdicts.extend(shapes.iter().filter_map(|shape| self.growth_verdict(*shape)));
        verdicts
    }

    /// Start-up is taken off, or the smaller tree would look dearer per skill than it is.
    fn growth_verdict(&self, shape: Shape) -> Option<Verdict> {
        let row = |size| self.rows.iter().find(|row| row.shape == shape && row.skills == size);
        let (small, large) = (row(GROWTH_SIZES.0)?, row(GROWTH_SIZES.1)?);
        let growth = |start_up: f64, of: fn(&Row) -> f64| {
            let net = |row: &Row| per_skill((of(row) - start_up).max(0.001), row.skills);
            net(large) / net(small)
        };
        let ours = growth(self.start_up.version.min, |row| row.list.min);
        let floor = growth(self.start_up.empty.min, |row| row.floor.min);
        let limit = MAX_GROWTH * floor.max(1.0);
        Some(Verdict {
            target: format!(
                "{}: linear from {} to {} (cost per skill, without start-up, grows at most \
                 {MAX_GROWTH}x beyond the floor's)",
                shape.as_str(),
                thousands(GROWTH_SIZES.0),
                thousands(GROWTH_SIZES.1)
            ),
            measured: format!("{ours:.2}x (floor {floor:.2}x)"),
            pass: ours <= limit,
        })
    }
}

fn times(stat: &Stat) -> String {
    format!("{:.1} / {:.1}", stat.min, stat.median)
}

fn ratios(ours: &Stat, floor: &Stat) -> String {
    format!("**{:.2}** / {:.2}", ours.min / floor.min, ours.median / floor.median)
}

fn per_skill(milliseconds: f64, skills: u32) -> f64 {
    milliseconds * 1000.0 / f64::from(skills)
}

fn thousands(number: u32) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(min: f64, peak_mb: f64) -> Stat {
        Stat { min, median: min * 1.1, cpu: min, peak_mb }
    }

    fn row(skills: u32, floor: f64, list: f64) -> Row {
        Row { shape: Shape::Flat, skills, floor: stat(floor, 2.0), list: stat(list, 90.0) }
    }

    fn report(rows: Vec<Row>) -> Report {
        Report {
            machine: "2 cores".to_owned(),
            repeats: 3,
            own_peak_mb: 5.0,
            start_up: StartUp {
                bare: stat(0.9, 2.0),
                empty: stat(1.0, 2.0),
                version: stat(2.0, 2.0),
                list: stat(2.5, 2.0),
            },
            rows,
        }
    }

    fn passes(report: &Report) -> Vec<bool> {
        report.verdicts().iter().map(|verdict| verdict.pass).collect()
    }

    #[test]
    fn a_fast_and_linear_run_passes_every_target() {
        let report = report(vec![
            row(1_000, 5.0, 7.0),
            Row { shape: Shape::Real, ..row(1_209, 5.0, 7.0) },
            row(10_000, 41.0, 52.0),
            row(100_000, 401.0, 502.0),
        ]);
        // A ratio at each of two sizes and on real skills, start-up, an empty list, memory, growth.
        assert_eq!(passes(&report), [true; 7]);
        assert!(!report.to_markdown().contains("MISS"));
    }

    #[test]
    fn each_target_can_be_missed() {
        let mut report = report(vec![row(1_000, 5.0, 7.0), row(100_000, 401.0, 900.0)]);
        report.rows.push(Row { shape: Shape::Copies, ..row(12_090, 5.0, 8.0) });
        report.rows[1].list.peak_mb = 151.0;
        report.start_up.version.min = 4.5;
        report.start_up.list.min = 5.6;
        assert_eq!(passes(&report), [false; 6]);
        assert_eq!(report.to_markdown().matches("**MISS**").count(), 6);
    }

    #[test]
    fn sizes_that_were_not_measured_have_no_verdict() {
        assert_eq!(passes(&report(vec![row(100, 1.5, 2.5)])), [true; 2]);
    }

    #[test]
    fn a_row_shows_times_ratios_and_cost_per_skill() {
        let text = report(vec![row(10_000, 40.0, 60.0)]).to_markdown();
        let line = text.lines().find(|line| line.starts_with("| flat")).unwrap();
        assert_eq!(
            line,
            "| flat | 10,000 | 40.0 / 44.0 | 60.0 / 66.0 | **1.50** / 1.50 | 6.00 | 60.0 | 90.0 |"
        );
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(thousands(100), "100");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(1_000_000), "1,000,000");
    }
}
