//! What the fuzz targets share: the calls into Metier, and the tree that `scan` walks.
//!
//! | module | owns |
//! |---|---|
//! | [`under_test`] | every call of Metier's API, with what must hold about its answer |
//! | [`cases`] | what must hold of any file of cases |
//! | [`tree`] | bytes to a small tree on disk, and which skills in it a scan has to account for |

#![expect(
    clippy::disallowed_methods,
    reason = "the tree under test is made and looked at without the crates under test"
)]

pub mod cases;
pub mod tree;
pub mod under_test;
