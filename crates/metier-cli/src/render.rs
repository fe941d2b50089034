//! How things look on a terminal. Text that comes from a skill or a path is untrusted: it goes
//! through [`safe`] before it is shown.

pub(crate) mod diagnostic;
pub(crate) mod diff;
pub(crate) mod duration;
pub(crate) mod fetching;
pub(crate) mod findings;
pub(crate) mod markdown;
pub(crate) mod operation;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod sarif;
pub(crate) mod shell;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod timeline;
pub(crate) mod timeline_text;

use std::time::{Duration, UNIX_EPOCH};

use metier::agent::BudgetSetting;
use metier::fs::utc_text;
use metier::policy::UnixTime;
pub(crate) use metier::skill::text::{escape_line as safe, fold_line};

/// A time for people, to the minute.
pub(crate) fn time_text(time: UnixTime) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(time.0));
    let text = utc_text(time.unwrap_or(UNIX_EPOCH));
    text.chars().take(16).collect::<String>().replace('T', " ")
}

/// `1 skill`, `2 skills`.
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// That a budget is spent, and what follows; the end of the run says how much it was.
pub(crate) fn budget_text(budget: &str, setting: Option<&BudgetSetting>) -> String {
    let name = setting.map_or(budget, |setting| setting.key.as_str());
    match budget {
        "wall_ms" => format!("the time of `{name}` is up"),
        _ => format!("`{name}` is used up; one last turn follows"),
    }
}

/// Bytes as people read them.
pub(crate) fn bytes(size: u64) -> String {
    match size {
        0..1024 => format!("{size} B"),
        1024..1_048_576 => format!("{}.{} KB", size / 1024, size % 1024 * 10 / 1024),
        _ => format!("{}.{} MB", size / 1_048_576, size % 1_048_576 * 10 / 1_048_576),
    }
}
