//! The empty program: what a process costs before it does anything.
//! `cargo xtask bench` subtracts it from `metier --version`.

fn main() {}
