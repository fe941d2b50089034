//! Words for a shell, in commands that a person can paste.
//! How they are quoted is the library's: it gives such advice too.

pub(crate) use metier::skill::text::shell_word as quoted;
