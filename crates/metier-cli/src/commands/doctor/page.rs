//! The doctor's page for people: roots, skills, cost, findings by kind, a verdict.
//!
//! Text of skills and paths goes through `safe`; a long list is cut unless all was asked for.

use std::io::{self, Write};
use std::path::Path;

use anstyle::Style;
use metier::skill::{Code, Severity};

use super::Doctor;
use super::findings::Finding;
use crate::commands::content::skill_file;
use crate::output::heading;
use crate::render::style::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, paint};
use crate::render::table::Table;
use crate::render::{count, safe};

/// Skills in the table of costs, and findings of one code.
const MAX_SHOWN: usize = 10;

impl Doctor {
    pub(super) fn write_page(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_roots(out)?;
        self.write_skills(out)?;
        self.write_cost(out)?;
        self.write_findings(out)?;
        self.write_sandbox(out)?;
        self.write_verdict(out)
    }

    fn write_sandbox(&self, out: &mut dyn Write) -> io::Result<()> {
        heading(out, "Sandbox")?;
        let Some(probe) = &self.sandbox.probe else {
            let fault = self.sandbox.fault.as_deref().unwrap_or_default();
            writeln!(out, "  it could not be tested: {}", safe(fault))?;
            return writeln!(out);
        };
        for tier in &probe.tiers {
            let says = match &tier.missing {
                None => format!("holds ({} forbidden acts tried)", tier.attempts.len()),
                Some(missing) => format!("does not hold: {missing}"),
            };
            writeln!(out, "  {:<8}{}", tier.tier.to_string(), safe(&says))?;
        }
        for feature in &probe.features {
            let mark = if feature.present { "+" } else { "-" };
            writeln!(out, "  {mark} {}: {}", feature.name, paint(DIM, safe(&feature.detail)))?;
        }
        let (best, least) = (probe.best, self.sandbox.least);
        let verdict = if best >= least {
            format!("scripts run in tier {best} (at least {least} is required)")
        } else {
            format!("scripts do not run: {least} is required, and this machine reaches {best}")
        };
        writeln!(out, "  {verdict}")?;
        writeln!(out)
    }

    fn write_roots(&self, out: &mut dyn Write) -> io::Result<()> {
        heading(out, "Roots")?;
        let plain = Style::new();
        let mut table =
            Table::new(&[("SOURCE", CYAN), ("STATE", plain), ("SKILLS", plain), ("PATH", plain)]);
        for root in &self.roots {
            table.row(vec![
                root.source.to_string(),
                root.state.as_str().to_owned(),
                root.found.to_string(),
                safe(&root.path.to_string_lossy()).into_owned(),
            ]);
        }
        table.write(out)?;
        if self.absent > 0 {
            let more = format!(
                "{} more folders would be searched if they existed (metier roots --all)",
                self.absent
            );
            writeln!(out, "{}", paint(DIM, more))?;
        }
        writeln!(out)
    }

    fn write_skills(&self, out: &mut dyn Write) -> io::Result<()> {
        let totals = &self.totals;
        heading(out, "Skills")?;
        let mut parts = vec![format!("{} listed", totals.listed)];
        for (number, word) in [
            (totals.conditional, "for some files only"),
            (totals.enabled - totals.listed - totals.conditional, "for people only"),
            (totals.skills - totals.enabled, "off"),
        ] {
            if number > 0 {
                parts.push(format!("{number} {word}"));
            }
        }
        writeln!(out, "  {}: {}", count(totals.skills, "skill"), parts.join(", "))?;
        let mut others = Vec::new();
        for (number, word) in [
            (totals.ignored, "ignored"),
            (totals.shadowed, "shadowed"),
            (totals.copies, "also elsewhere"),
        ] {
            if number > 0 {
                others.push(format!("{number} {word}"));
            }
        }
        if !others.is_empty() {
            writeln!(
                out,
                "  of {} found: {}",
                count(totals.found, "SKILL.md file"),
                others.join(", ")
            )?;
        }
        writeln!(out)
    }

    fn write_cost(&self, out: &mut dyn Write) -> io::Result<()> {
        let tokens = self.totals.tokens;
        heading(out, "Cost")?;
        writeln!(
            out,
            "  about {} tokens to list them all in every request, {} to load every body",
            thousands(tokens.catalog),
            thousands(tokens.body)
        )?;
        let plain = Style::new();
        let columns = [("  LISTED", plain), ("LOADED", plain), ("LINES", plain), ("SKILL", BOLD)];
        let mut table = Table::new(&columns);
        for skill in self.skills.iter().take(self.most()) {
            table.row(vec![
                format!("  {}", thousands(skill.tokens.catalog)),
                thousands(skill.tokens.body),
                thousands(skill.body_lines),
                safe(&skill.id).into_owned(),
            ]);
        }
        table.write(out)?;
        self.write_more(out, self.skills.len())?;
        writeln!(out)
    }

    fn write_findings(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut rest = self.findings.as_slice();
        while let Some(first) = rest.first() {
            let same = |it: &Finding| it.code == first.code && it.severity == first.severity;
            let length = rest.iter().take_while(|it| same(it)).count();
            let (group, others) = rest.split_at(length);
            rest = others;
            let word = paint(style(first.severity), format!("{}[{}]", first.severity, first.code));
            writeln!(out, "{word}: {}", first.code.info().what)?;
            let shown = &group[..length.min(self.most())];
            for (at, finding) in shown.iter().enumerate() {
                write_finding(out, finding)?;
                // One word of advice for all that share it.
                if shown.get(at + 1).is_none_or(|next| next.help != finding.help) {
                    writeln!(out, "    {} {}", paint(CYAN, "help:"), safe(&finding.help))?;
                }
            }
            self.write_more(out, length)?;
            writeln!(out)?;
        }
        Ok(())
    }

    fn write_verdict(&self, out: &mut dyn Write) -> io::Result<()> {
        let totals = &self.totals;
        let mut parts = Vec::new();
        for (number, word, style) in [
            (totals.errors, "error", RED),
            (totals.warnings, "warning", YELLOW),
            (totals.notes, "note", DIM),
        ] {
            if number > 0 {
                parts.push(paint(style, count(number, word)));
            }
        }
        if totals.errors == 0 {
            parts.insert(0, paint(GREEN, "every skill works"));
        }
        writeln!(out, "{}", parts.join(", "))
    }

    fn most(&self) -> usize {
        if self.all { usize::MAX } else { MAX_SHOWN }
    }

    fn write_more(&self, out: &mut dyn Write, length: usize) -> io::Result<()> {
        match length.saturating_sub(self.most()) {
            0 => Ok(()),
            more => {
                writeln!(out, "  {}", paint(DIM, format!("and {more} more (metier doctor --all)")))
            }
        }
    }
}

fn write_finding(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    let path = safe(&finding.path);
    let place = finding.line.map_or_else(String::new, |line| {
        // A rule stands in a file of settings, everything else in a skill's folder.
        if finding.code == Code::RuleUnmatched {
            return format!(":{line}");
        }
        let file = skill_file(Path::new(&finding.path));
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        format!("/{name}:{line}")
    });
    match &finding.skill {
        Some(id) => writeln!(out, "  {}  {}", safe(id), paint(DIM, format!("{path}{place}")))?,
        None => writeln!(out, "  {path}{place}")?,
    }
    writeln!(out, "    {}", safe(&finding.message))?;
    // The skill that is used instead is named in the message.
    if finding.code == Code::SkillCopied {
        for other in &finding.others {
            writeln!(out, "    also at {}", safe(other))?;
        }
    }
    Ok(())
}

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => RED,
        Severity::Warning => YELLOW,
        Severity::Note => CYAN,
    }
}

/// Digits in groups of three.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
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

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(
            ["7", "999", "1,000", "1,234,567"].map(str::to_owned),
            [7, 999, 1000, 1_234_567].map(thousands)
        );
    }
}
