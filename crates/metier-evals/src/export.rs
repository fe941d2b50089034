//! A run in the public shapes: `grading.json` and `timing.json` for each trial, one `benchmark.json`.
//!
//! The two published descriptions disagree, so each grading carries both spellings of its list, and the caller
//! chooses the rest. A trial that is an error gets no grading: readers would take a missing rate for zero. It is in
//! the notes. Nothing is written to disk here; the caller gets paths and texts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::case::Case;
use crate::plan::{Arm, EvalPlan};
use crate::report::called;
use crate::trial::{CheckOutcome, TrialResult};

/// Characters of a case's id in the name of its folder.
const MAX_SLUG: usize = 40;

/// Whose description is followed where the two disagree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublicShape {
    /// The documentation of Agent Skills: differences are numbers, and a single trial has no folder of its own.
    #[default]
    AgentSkills,
    /// The skill `skill-creator`: differences are signed texts, and every trial has a folder `run-N`.
    SkillCreator,
}

/// How a run is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// Whose description is followed.
    pub shape: PublicShape,
    /// The arm that is `with_skill`: listed where that was run, and else the last.
    pub with_skill: Option<Arm>,
    /// When the run was made, as `2026-11-18T12:00:00Z`; left out where it is not known.
    pub timestamp: Option<String>,
    /// The skill's folder; left out where it is not known.
    pub skill_path: Option<String>,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFile {
    /// Its path below the folder of the export, with `/`.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// Writes a run in the public shapes, one result after the other.
#[derive(Debug)]
pub struct RunExport<'a> {
    plan: &'a EvalPlan,
    places: HashMap<&'a str, usize>,
    options: ExportOptions,
    with_skill: Option<Arm>,
    runs: BTreeMap<(usize, &'static str, u32), Value>,
    errors: BTreeMap<&'static str, u64>,
    /// The trials that have a result, of each side, and the places of their cases.
    seen: BTreeMap<&'static str, u64>,
    cases_run: BTreeSet<usize>,
}

const WITH: &str = "with_skill";
const WITHOUT: &str = "without_skill";

impl<'a> RunExport<'a> {
    /// An export of a run of this plan.
    pub fn new(plan: &'a EvalPlan, options: ExportOptions) -> Self {
        let listed = plan.arms.iter().find(|arm| arm.measures_triggers());
        let with_skill = options.with_skill.or(listed.or(plan.arms.last()).copied());
        let places = plan.cases.iter().enumerate().map(|(at, case)| (case.id.as_str(), at));
        let places = places.collect();
        Self {
            plan,
            places,
            options,
            with_skill,
            runs: BTreeMap::new(),
            errors: BTreeMap::new(),
            seen: BTreeMap::new(),
            cases_run: BTreeSet::new(),
        }
    }

    /// The files of a result. None for an arm that is neither side, for an error, and where nothing is judged.
    pub fn add(&mut self, result: &TrialResult) -> Vec<ExportedFile> {
        let configuration = match result.arm {
            arm if Some(arm) == self.with_skill => WITH,
            Arm::None => WITHOUT,
            _ => return Vec::new(),
        };
        let place = self.places.get(result.case.as_str()).copied();
        let Some((place, case)) = place.and_then(|at| Some((at, self.plan.cases.get(at)?))) else {
            return Vec::new();
        };
        *self.seen.entry(configuration).or_default() += 1;
        self.cases_run.insert(place);
        if result.error_kind().is_some() {
            *self.errors.entry(configuration).or_default() += 1;
            return Vec::new();
        }
        let expectations = expectations(case, result);
        if expectations.is_empty() {
            return Vec::new();
        }
        let passed = expectations.iter().filter(|one| one["passed"] == true).count();
        let summary = json!({
            "passed": passed,
            "failed": expectations.len() - passed,
            "total": expectations.len(),
            "pass_rate": share(passed, expectations.len()),
        });
        let tokens = result.cost.tokens_in + result.cost.tokens_out;
        let seconds = seconds(result.cost.elapsed_ms);
        let run = json!({
            "eval_id": place + 1,
            "eval_name": case.id,
            "configuration": configuration,
            "run_number": result.trial + 1,
            "result": {
                "pass_rate": summary["pass_rate"],
                "passed": summary["passed"],
                "failed": summary["failed"],
                "total": summary["total"],
                "time_seconds": seconds,
                "tokens": tokens,
                "tool_calls": result.cost.tool_calls,
                "errors": failed_actions(result),
            },
            "expectations": expectations,
            "notes": [],
        });
        self.runs.insert((place, configuration, result.trial), run);
        let grading = json!({
            "assertion_results": expectations,
            "expectations": expectations,
            "summary": summary,
            "execution_metrics": {
                "tool_calls": tool_calls(result),
                "total_tool_calls": result.cost.tool_calls,
                "total_steps": result.actions.last().map_or(0, |action| action.step),
                "errors_encountered": failed_actions(result),
                "output_chars": result.answer.as_deref().map_or(0, |answer| answer.chars().count()),
            },
            "timing": {"executor_duration_seconds": seconds, "total_duration_seconds": seconds},
        });
        let timing = json!({
            "total_tokens": tokens,
            "duration_ms": result.cost.elapsed_ms,
            "total_duration_seconds": seconds,
        });
        let eval = folder(place, case);
        let run = self.run_folder(&eval, configuration, result.trial);
        let answer = result.answer.clone().unwrap_or_default();
        vec![
            file(format!("{run}/grading.json"), &grading),
            file(format!("{run}/timing.json"), &timing),
            ExportedFile { path: format!("{run}/outputs/answer.txt"), text: answer },
        ]
    }

    /// The file `benchmark.json` on all results that were added, and what each of their cases asks.
    pub fn finish(self) -> Vec<ExportedFile> {
        let mut files = self.described();
        files.push(self.benchmark());
        files
    }

    /// One `eval_metadata.json` a case, with what was judged of it: in the arm with the skill, if there.
    fn described(&self) -> Vec<ExportedFile> {
        let mut first: BTreeMap<usize, &Value> = BTreeMap::new();
        for ((place, _, _), run) in &self.runs {
            first.entry(*place).or_insert(run);
        }
        let described = first.into_iter().filter_map(|(place, run)| {
            let case = self.plan.cases.get(place)?;
            let expectations = run["expectations"].as_array()?;
            let texts: Vec<&Value> = expectations.iter().map(|one| &one["text"]).collect();
            let metadata = json!({
                "eval_id": place + 1,
                "eval_name": case.id,
                "prompt": case.input,
                "assertions": texts,
            });
            Some(file(format!("{}/eval_metadata.json", folder(place, case)), &metadata))
        });
        described.collect()
    }

    fn benchmark(&self) -> ExportedFile {
        let summary = self.summary();
        let mut metadata = json!({
            "skill_name": self.plan.skills.keys().next().cloned().unwrap_or_default(),
            "executor_model": self.plan.subject.model,
            "analyzer_model": self.plan.judge.clone().unwrap_or_default(),
            "evals_run": self.cases_run.iter().map(|place| place + 1).collect::<Vec<_>>(),
            "runs_per_configuration": self.plan.trials,
        });
        if let Some(path) = &self.options.skill_path {
            metadata["skill_path"] = json!(path);
        }
        if let Some(timestamp) = &self.options.timestamp {
            metadata["timestamp"] = json!(timestamp);
        }
        let mut notes = self.missing();
        let errors = self.errors.iter().map(|(configuration, count)| {
            let trials = crate::report::counted(*count, "trial is an error", "trials are errors");
            format!("{configuration}: {trials} and not counted")
        });
        notes.extend(errors);
        let benchmark = json!({
            "metadata": metadata,
            "runs": self.runs.values().collect::<Vec<_>>(),
            "run_summary": summary,
            "notes": notes,
        });
        file("benchmark.json".to_owned(), &benchmark)
    }

    /// The sides of which trials have no result: the run did not come to its end.
    fn missing(&self) -> Vec<String> {
        let planned = (self.plan.cases.len() as u64).saturating_mul(u64::from(self.plan.trials));
        let sides = [(WITH, self.with_skill), (WITHOUT, Some(Arm::None))];
        let sides = sides.into_iter().filter(|(side, arm)| {
            let is_other = *side == WITHOUT && *arm == self.with_skill;
            arm.is_some_and(|arm| self.plan.arms.contains(&arm)) && !is_other
        });
        let missing = sides.filter_map(|(side, _)| {
            let seen = self.seen.get(side).copied().unwrap_or_default();
            (seen < planned).then(|| {
                let missing = planned - seen;
                format!(
                    "{side}: {missing} of {planned} trials have no result: the run is not complete"
                )
            })
        });
        missing.collect()
    }

    fn run_folder(&self, eval: &str, configuration: &str, trial: u32) -> String {
        match self.options.shape {
            PublicShape::AgentSkills if self.plan.trials == 1 => format!("{eval}/{configuration}"),
            _ => format!("{eval}/{configuration}/run-{}", trial + 1),
        }
    }

    fn summary(&self) -> Value {
        let mut summary = json!({});
        let values = |configuration: &str, key: &str| -> Vec<f64> {
            let of = self.runs.values().filter(|run| run["configuration"] == configuration);
            of.filter_map(|run| run["result"][key].as_f64()).collect()
        };
        let keys = ["pass_rate", "time_seconds", "tokens"];
        for configuration in [WITH, WITHOUT] {
            if values(configuration, keys[0]).is_empty() {
                continue;
            }
            for key in keys {
                summary[configuration][key] = spread(&values(configuration, key));
            }
        }
        if let (Some(with), Some(without)) = (summary.get(WITH), summary.get(WITHOUT)) {
            let mut delta = json!({});
            for (key, digits) in keys.into_iter().zip([2, 1, 0]) {
                let mean = |side: &Value| side[key]["mean"].as_f64().unwrap_or_default();
                let difference = mean(with) - mean(without);
                delta[key] = match self.options.shape {
                    PublicShape::AgentSkills => json!(difference),
                    PublicShape::SkillCreator => json!(format!("{difference:+.digits$}")),
                };
            }
            summary["delta"] = delta;
        }
        summary
    }
}

/// Everything that was judged in a trial, in the public shape.
fn expectations(case: &Case, result: &TrialResult) -> Vec<Value> {
    let expects_none = case.expected.skills.as_ref().is_some_and(Vec::is_empty);
    let is_quiet = result.triggers.is_empty() && called(result).next().is_none();
    let none = (expects_none && is_quiet && result.arm.measures_triggers()).then(
        || json!({"text": "loads no skill", "passed": true, "evidence": "no skill was loaded"}),
    );
    let triggers = result.triggers.iter().map(|trigger| {
        let verb = if trigger.expected { "loads" } else { "does not load" };
        let evidence = match (&trigger.instead, trigger.fired) {
            (_, true) => "it was loaded".to_owned(),
            (Some(instead), false) => format!("it was not loaded; done first: {instead}"),
            (None, false) => "it was not loaded".to_owned(),
        };
        json!({
            "text": format!("{verb} the skill {}", trigger.skill),
            "passed": trigger.is_right(),
            "evidence": evidence,
        })
    });
    let checks = result.checks.iter().map(|check| {
        let evidence = match (check.detail.is_empty(), check.step) {
            (false, Some(step)) => format!("{} (step {step})", check.detail),
            (false, None) => check.detail.clone(),
            (true, Some(step)) => format!("step {step}"),
            (true, None) => String::new(),
        };
        json!({
            "text": format!("{}: {}", check.kind.as_str(), check.name),
            "passed": check.outcome == CheckOutcome::Passed,
            "evidence": evidence,
        })
    });
    none.into_iter().chain(triggers).chain(checks).collect()
}

fn tool_calls(result: &TrialResult) -> BTreeMap<&str, u64> {
    let mut calls = BTreeMap::new();
    for action in &result.actions {
        let name = action.tool.as_deref().unwrap_or(&action.action);
        *calls.entry(name).or_default() += 1;
    }
    calls
}

fn failed_actions(result: &TrialResult) -> usize {
    result.actions.iter().filter(|action| !action.ok).count()
}

/// `eval-3-fill-a-form`: the number is what readers take for the id.
fn folder(place: usize, case: &Case) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    let words = case.id.split(|c| !is_plain(c)).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-").to_lowercase();
    let slug = slug.get(..MAX_SLUG).unwrap_or(&slug).trim_end_matches('-');
    if slug.is_empty() {
        format!("eval-{}", place + 1)
    } else {
        format!("eval-{}-{slug}", place + 1)
    }
}

fn file(path: String, content: &Value) -> ExportedFile {
    ExportedFile { path, text: format!("{content:#}\n") }
}

/// Mean, sample standard deviation, least and largest.
fn spread(values: &[f64]) -> Value {
    let count = crate::statistics::binomial::as_f64(values.len() as u64);
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    json!({
        "mean": mean,
        "stddev": deviation,
        "min": values.iter().copied().fold(f64::INFINITY, f64::min),
        "max": values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}

fn share(part: usize, whole: usize) -> f64 {
    use crate::statistics::binomial::as_f64;
    as_f64(part as u64) / as_f64(whole as u64)
}

fn seconds(milliseconds: u64) -> f64 {
    crate::statistics::binomial::as_f64(milliseconds) / 1000.0
}
