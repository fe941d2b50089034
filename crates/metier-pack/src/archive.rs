//! Archives, read strictly: zip (also called `.skill`) and gzipped tar.
//!
//! | module | owns |
//! |---|---|
//! | `fault` | what is wrong with an archive, with stable codes ([`ArchiveFault`]) |
//! | `read_at` | bytes at a place ([`ReadAt`]): a file, or memory |
//! | `names` | names of entries: checked, and compared with each other |
//! | `zip` | the pre-flight over the structure of a zip, and one entry's data |
//! | `gzip`, `tar` | a gzipped tar, from its first byte to its last |
//! | `inflate` | the one caller of the inflater, bounded |
//! | `unpack` | an archive into a directory, or only into digests |
//!
//! Nothing is repaired. An archive that two programs could read in two ways is refused: what was
//! scanned, shown and approved has to be what every program unpacks. The common `zip` crate accepts most
//! of such archives and rewrites names instead of refusing them, which is why the structure is read here.

mod fault;
mod gzip;
mod inflate;
mod names;
mod read_at;
mod tar;
mod unpack;
mod zip;

pub use fault::{ArchiveError, ArchiveFault};
pub use read_at::ReadAt;
pub use unpack::{ArchiveKind, inspect_archive};

pub(crate) use names::{NameSet, check_entry_name, fold};
pub(crate) use unpack::{archive_kind, unpack};
