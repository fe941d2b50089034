//! The room that a trimmed body has: two limits, and what the notes about the rest take. Pure.
//!
//! Every piece counts as left out at first, with its share of a note. When it stays, that share comes
//! back, and the runs of neighbours that go are counted anew, for each run has one note.

use super::{Notes, Piece, label, placeholder, shared_note};
use crate::resource::LineRange;

/// Characters and lines of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) chars: usize,
    pub(super) lines: usize,
}

impl Size {
    pub(super) fn within(self, limit: Self) -> bool {
        self.chars <= limit.chars && self.lines <= limit.lines
    }

    pub(super) fn at_most(self, limit: Self) -> Self {
        Self { chars: self.chars.min(limit.chars), lines: self.lines.min(limit.lines) }
    }

    /// `None` if it is less than `other`.
    pub(super) fn minus(self, other: Self) -> Option<Self> {
        let chars = self.chars.checked_sub(other.chars)?;
        Some(Self { chars, lines: self.lines.checked_sub(other.lines)? })
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { chars: self.chars + other.chars, lines: self.lines + other.lines }
    }
}

/// The room that is left.
#[derive(Clone)]
pub(super) struct Room {
    /// Below zero while what must stay is more than there is room for.
    chars: isize,
    lines: isize,
    /// What each piece takes while it is left out, besides the note of its run.
    labels: Vec<Size>,
    /// The note of a run.
    run: Size,
    gone: Vec<bool>,
}

impl Room {
    pub(super) fn new(limits: Size, pieces: &[Piece<'_>], notes: Notes) -> Self {
        let size =
            |text: String| Size { chars: text.chars().count(), lines: text.matches('\n').count() };
        let label_size = |piece: &Piece<'_>| match notes {
            Notes::Separate => size(placeholder(piece)),
            Notes::Named => size(label(piece)),
            Notes::Counted => Size { chars: 0, lines: 0 },
        };
        let run = match (notes, pieces.last()) {
            (Notes::Separate, _) | (_, None) => Size { chars: 0, lines: 0 },
            // The longest that a run can have: no numbers are larger.
            (_, Some(last)) => {
                let lines = LineRange { first: last.at.last, last: last.at.last };
                size(shared_note(pieces.len(), last.at.last, "", lines))
            }
        };
        let labels: Vec<Size> = pieces.iter().map(label_size).collect();
        let mut room = Self { chars: 0, lines: 0, labels, run, gone: vec![true; pieces.len()] };
        room.add(limits, 1);
        (0..pieces.len()).for_each(|at| room.add(room.labels[at], -1));
        room.add(run, -1);
        room
    }

    /// The room that is left.
    pub(super) fn left(&self) -> Size {
        let positive = |left: isize| usize::try_from(left).unwrap_or(0);
        Size { chars: positive(self.chars), lines: positive(self.lines) }
    }

    /// The room that there would be for a piece that is left out, if it stayed.
    pub(super) fn left_for(&self, at: usize) -> Size {
        let mut room = Self { labels: Vec::new(), gone: Vec::new(), ..*self };
        room.add(self.labels[at], 1);
        room.add(self.run, 1 - self.runs_without(at));
        room.left()
    }

    /// A piece that was left out stays; its text is still to be paid for.
    pub(super) fn stay(&mut self, at: usize) {
        self.add(self.labels[at], 1);
        self.add(self.run, 1 - self.runs_without(at));
        self.gone[at] = false;
    }

    /// How many runs the run around `at` becomes when `at` stays.
    fn runs_without(&self, at: usize) -> isize {
        let gone =
            |at: Option<usize>| at.and_then(|at| self.gone.get(at)).is_some_and(|gone| *gone);
        isize::from(gone(at.checked_sub(1))) + isize::from(gone(Some(at + 1)))
    }

    pub(super) fn spend(&mut self, size: Size) {
        self.add(size, -1);
    }

    pub(super) fn give_back(&mut self, size: Size) {
        self.add(size, 1);
    }

    fn add(&mut self, size: Size, times: isize) {
        self.chars = self.chars.saturating_add(size.chars.cast_signed().saturating_mul(times));
        self.lines = self.lines.saturating_add(size.lines.cast_signed().saturating_mul(times));
    }
}
