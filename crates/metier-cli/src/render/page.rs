//! The timeline of a run as one page of HTML that needs nothing else: no script, no other file.
//!
//! Requests, skills, outputs and answers are untrusted and may contain HTML. So every
//! text goes through [`escape`], attributes are ours alone, and the page's own policy lets a browser
//! load nothing and use no style but ours, by its digest.

use metier::model::StepStatus;
use metier::skill::Digest;
use metier::skill::text::{escape_lines, short_line};

use crate::render::count;
use crate::render::timeline::{End, Entry, Mark, Section, Timeline, total};

const STYLE: &str = include_str!("page.css");
/// A text of more lines is folded.
const FOLDED: usize = 8;

/// The page of a run. `status` is how it stands, `faults` what is wrong with its record.
pub(crate) fn page(timeline: &Timeline, status: &str, faults: &[String]) -> String {
    let mut out = Html(String::with_capacity(64 * 1024));
    let digest = base64(Digest::of(STYLE.as_bytes()).as_bytes());
    out.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.raw(&format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">\n"
    ));
    out.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.raw("<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    out.text(&short_line(timeline.request.lines().next().unwrap_or_default(), 80));
    out.raw(" - metier run ");
    out.text(&timeline.id);
    out.raw("</title>\n<style>");
    out.raw(STYLE);
    out.raw("</style>\n</head>\n<body>\n<header>\n");
    out.head(timeline, status);
    out.raw("</header>\n<main>\n");
    for fault in faults {
        out.within("p", "fault", fault);
    }
    out.body(timeline);
    out.raw(
        "</main>\n<footer>Made by metier from the record of the run.</footer>\n</body>\n</html>\n",
    );
    out.0
}

/// A page on its way. Only [`Html::text`] takes foreign text.
struct Html(String);

impl Html {
    fn raw(&mut self, html: &str) {
        self.0.push_str(html);
    }

    fn text(&mut self, text: &str) {
        escape(text, &mut self.0);
    }

    fn within(&mut self, tag: &str, class: &str, text: &str) {
        self.raw(&format!("<{tag} class=\"{class}\">"));
        self.text(text);
        self.raw(&format!("</{tag}>\n"));
    }

    fn head(&mut self, timeline: &Timeline, status: &str) {
        let class = match status {
            "completed" => "good",
            "failed" | "stuck" | "unreadable" => "bad",
            _ => "warn",
        };
        self.raw("<p class=\"id\">run ");
        self.text(&timeline.id);
        self.raw(&format!(" <span class=\"badge {class}\">"));
        self.text(&status.replace('_', " "));
        self.raw("</span></p>\n<h1>");
        self.text(&timeline.request);
        self.raw("</h1>\n");
        self.facts(timeline);
    }

    fn facts(&mut self, timeline: &Timeline) {
        let started: String = timeline.started.chars().take(19).collect();
        let mut facts = vec![
            ("model", timeline.model.clone()),
            ("started", format!("{} UTC", started.replace('T', " "))),
        ];
        if !timeline.skills.is_empty() {
            facts.push(("skills", timeline.skills.join(", ")));
        }
        if !timeline.files.is_empty() {
            facts.push(("files", timeline.files.join(", ")));
        }
        if timeline.dry {
            facts.push(("dry run", "nothing was done".to_owned()));
        }
        self.raw("<dl>\n");
        for (name, value) in facts {
            self.raw(&format!("<dt>{name}</dt><dd>"));
            self.text(&value);
            self.raw("</dd>\n");
        }
        self.raw("</dl>\n");
    }

    fn body(&mut self, timeline: &Timeline) {
        // What came of it is what a reader looks for first.
        if let Some(end) = &timeline.end {
            self.end(end, timeline.elapsed_ms);
        }
        for section in &timeline.sections {
            self.section(section);
        }
    }

    fn section(&mut self, section: &Section) {
        let title = match section.turn {
            Some(turn) => format!("Turn {turn}"),
            None => "Before the first turn".to_owned(),
        };
        self.raw(&format!("<section class=\"card\">\n<div class=\"top\"><h2>{title}</h2> <span>"));
        self.text(&section.cost);
        self.raw("</span></div>\n");
        for entry in &section.entries {
            self.entry(entry);
        }
        self.raw("</section>\n");
    }

    fn entry(&mut self, entry: &Entry) {
        let class = match entry.mark {
            Mark::Plain => "plain",
            Mark::Good => "good",
            Mark::Warn => "warn",
            Mark::Bad => "bad",
        };
        let label = entry.label;
        self.raw(&format!(
            "<div class=\"entry {class}\"><div class=\"label\">{label}</div><div>\
             <span class=\"title\">"
        ));
        self.text(&entry.title);
        self.raw("</span>");
        if !entry.notes.is_empty() {
            self.raw(" <span class=\"notes\">(");
            self.text(&entry.notes.join(", "));
            self.raw(")</span>");
        }
        self.raw("\n");
        if !entry.reason.is_empty() {
            self.within("div", "reason", &entry.reason);
        }
        self.plan(&entry.steps);
        self.long(&entry.text);
        if let Some(inner) = &entry.inner {
            self.raw("<details><summary>the loop of this skill: ");
            self.text(&inner.id);
            self.raw("</summary>\n<div class=\"inner\">\n");
            self.facts(inner);
            self.body(inner);
            self.raw("</div></details>\n");
        }
        self.raw("</div></div>\n");
    }

    fn plan(&mut self, steps: &[(StepStatus, String)]) {
        if steps.is_empty() {
            return;
        }
        self.raw("<ol class=\"plan\">\n");
        for (status, title) in steps {
            let (class, sign) = match status {
                StepStatus::Pending => ("pending", "○"),
                StepStatus::InProgress => ("now", "▸"),
                StepStatus::Completed => ("completed", "✓"),
                StepStatus::Skipped => ("skipped", "–"),
            };
            self.raw(&format!("<li class=\"{class}\"><b>{sign}</b>"));
            self.text(title);
            self.raw("</li>\n");
        }
        self.raw("</ol>\n");
    }

    /// A text: in place when it is short, behind its first line when it is long.
    fn long(&mut self, text: &str) {
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        let lines = text.lines().count();
        if lines <= FOLDED {
            self.within("pre", "text", text);
            return;
        }
        self.raw(&format!("<details><summary>{}</summary>", count(lines, "line")));
        self.within("pre", "text", text);
        self.raw("</details>\n");
    }

    fn end(&mut self, end: &End, elapsed_ms: u64) {
        self.raw("<section class=\"card\">\n<div class=\"top\"><h2>");
        self.raw(if end.answer.is_empty() { "End" } else { "Answer" });
        self.raw("</h2> <span>");
        self.text(&end.status.as_str().replace('_', " "));
        if !end.message.is_empty() {
            self.raw(": ");
            self.text(&end.message);
        }
        self.raw("</span></div>\n");
        if !end.answer.is_empty() {
            self.raw("<div class=\"answer\">");
            self.within("p", "text", end.answer.trim_end());
            self.raw("</div>\n");
        }
        if let Some(data) = &end.data {
            let data = serde_json::to_string_pretty(data).unwrap_or_default();
            self.raw("<div class=\"answer\">");
            self.long(&data);
            self.raw("</div>\n");
        }
        self.raw("<p class=\"spent\">spent: ");
        self.text(&total(&end.spent, elapsed_ms));
        self.raw("</p>\n</section>\n");
    }
}

/// A foreign text as text of a page. Hidden characters are shown, as on a terminal: they could make
/// a text read otherwise than it is.
fn escape(text: &str, out: &mut String) {
    for ch in escape_lines(text).chars() {
        match ch {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            ch => out.push(ch),
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_place() {
        let mut out = String::new();
        escape("</pre><script>alert('x')</script>\" onload=\"&\u{202e}\u{0}", &mut out);
        assert_eq!(
            out,
            "&lt;/pre&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot; onload=&quot;&amp;\\u{202e}\\x00"
        );
        assert!(!STYLE.contains('<'), "the style cannot end itself");
    }

    #[test]
    fn base64_is_as_everybody_writes_it() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
