//! What is true in the project: figures computed from its own tables and texts, for the judge.
//!
//! No figure of a table stands in a request: a change of the data changes what is right.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Figures of the project's data.
#[derive(Debug)]
pub(crate) struct Facts {
    sales: Csv,
    hours: Csv,
    brief: String,
    log: String,
}

impl Facts {
    /// Reads the project's template.
    pub(crate) fn read(project: &Path) -> Result<Self> {
        let text = |path: &str| {
            fs::read_to_string(project.join(path)).with_context(|| format!("cannot read {path}"))
        };
        Ok(Self {
            sales: Csv::parse(&text("data/sales.csv")?),
            hours: Csv::parse(&text("data/hours.csv")?),
            brief: text("notes/brief.txt")?,
            log: text("logs/server.log")?,
        })
    }

    /// A column of the sales, added up, for one region or all.
    pub(crate) fn sales(&self, column: &str, region: Option<&str>) -> f64 {
        self.sales.sum(column, region.map(|region| ("region", region)))
    }

    /// The mean of the amounts of all sales.
    pub(crate) fn mean_amount(&self) -> f64 {
        let rows = u32::try_from(self.sales.rows.len()).unwrap_or(u32::MAX);
        self.sales("amount", None) / f64::from(rows)
    }

    /// Hours of one employee, or of all.
    pub(crate) fn hours(&self, name: Option<&str>) -> f64 {
        self.hours.sum("hours", name.map(|name| ("name", name)))
    }

    /// Words of the brief.
    pub(crate) fn words(&self) -> usize {
        self.brief.split_whitespace().count()
    }

    /// Lines of the log with these words.
    pub(crate) fn log_lines(&self, words: &str) -> usize {
        self.log.lines().filter(|line| line.contains(words)).count()
    }
}

/// A table without quotes.
#[derive(Debug)]
struct Csv {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Csv {
    fn parse(text: &str) -> Self {
        let mut rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect());
        Self { head: rows.next().unwrap_or_default(), rows: rows.collect() }
    }

    fn sum(&self, column: &str, only: Option<(&str, &str)>) -> f64 {
        let cell = |row: &[String], column: &str| {
            let at = self.head.iter().position(|name| name == column)?;
            row.get(at).cloned()
        };
        let wanted = |row: &&Vec<String>| {
            only.is_none_or(|(column, value)| cell(row, column).as_deref() == Some(value))
        };
        let cells = self.rows.iter().filter(wanted).filter_map(|row| cell(row, column));
        cells.filter_map(|cell| cell.parse::<f64>().ok()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_added_up_for_some_rows_or_all() {
        let table = Csv::parse("name,n\na,1\nb,2.5\na,4\n");
        let sums = [table.sum("n", None), table.sum("n", Some(("name", "a")))];
        assert!((sums[0] - 7.5).abs() < 1e-9 && (sums[1] - 5.0).abs() < 1e-9, "{sums:?}");
    }
}
