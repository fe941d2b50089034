//! Colours by meaning, in one place. Where colour is not wanted the output stream removes it.
//!
//! Nothing else in the program names a colour.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// `text` in `style`.
pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}
