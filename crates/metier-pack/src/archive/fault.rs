//! What is wrong with an archive: one variant a fault, each with a stable code.
//!
//! The table is the contract: codes are printed, documented and tested. A code may be retired, never
//! reused.

use std::fmt;
use std::io;

use metier_skill::PathFault;

macro_rules! faults {
    ($($variant:ident $code:literal $message:literal;)*) => {
        /// What is wrong with an archive.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ArchiveFault {
            $(#[doc = $message] $variant,)*
        }

        impl ArchiveFault {
            /// Every fault, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable code.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// What is wrong, in a sentence about the archive or the entry.
            pub const fn message(self) -> &'static str {
                match self { $(Self::$variant => $message,)* }
            }
        }
    };
}

faults! {
    UnknownFormat "archive-format" "it is neither a zip nor a tar";
    Empty "archive-empty" "it holds no files";
    TooManyEntries "archive-entries" "it has too many entries";
    TooLarge "archive-size" "it is too large when unpacked";
    Ratio "archive-ratio" "it unpacks to far more than its size, like a decompression bomb";
    Changed "archive-changed" "it changed while it was read";

    NameEmpty "archive-name-empty" "an entry has no name";
    NameAbsolute "archive-name-absolute" "a name is absolute, or names a drive or a share";
    NameParent "archive-name-parent" "a name contains `..`";
    NameShape "archive-name-shape" "a name has an empty or `.` part";
    NameSeparator "archive-name-separator" "a name contains a backslash, a colon or a look-alike of `/`";
    NameHidden "archive-name-hidden" "a name contains a control or invisible character";
    NameBlank "archive-name-blank" "a part of a name starts or ends with a space, or ends with a dot";
    NameReserved "archive-name-reserved" "a name cannot exist on some systems";
    NameTooLong "archive-name-long" "a name is too long or too deep";
    NameEncoding "archive-name-encoding" "a name is not UTF-8, or does not say that it is";
    NameDuplicate "archive-name-duplicate" "two entries have the same name";
    NameCollision "archive-name-collision" "two names are one on systems that ignore case or accents' encoding";
    NameConflict "archive-name-conflict" "a name is both a file and a directory";

    Link "archive-link" "it contains a link";
    SpecialFile "archive-special" "it contains a device, a pipe or a socket";
    Mode "archive-mode" "a file asks for a setuid, setgid or sticky bit";
    DirectoryData "archive-directory-data" "a directory has data";
    DirectoryKind "archive-directory-kind" "the name and the attributes of an entry disagree about whether it is a directory";

    Checksum "archive-checksum" "the checksum of the data is wrong";
    SizeMismatch "archive-size-mismatch" "the data are not as long as declared";
    TrailingData "archive-trailing-data" "there are bytes after the end of the data";
    DataDamaged "archive-data" "the data cannot be unpacked: they are damaged or cut off";

    ZipEndMissing "zip-end" "it has no end record: it is cut off, or something else";
    ZipEndTwice "zip-end-twice" "it has two end records";
    ZipComment "zip-comment" "a comment is not plain text, or its length is wrong";
    ZipMultiDisk "zip-multi-disk" "it says that it is one of several parts";
    Zip64 "zip-64" "it uses ZIP64, which only archives above 4 GiB need";
    ZipCount "zip-count" "the number of entries is not the declared one";
    ZipDirectorySize "zip-directory-size" "the directory is not as large as declared";
    ZipDirectoryOffset "zip-directory-offset" "the directory is not where it is declared to be";
    ZipGap "zip-gap" "there are bytes that belong to no entry";
    ZipOverlap "zip-overlap" "entries overlap";
    ZipPrefix "zip-prefix" "something stands before the first entry";
    ZipSuffix "zip-suffix" "something stands after the end";
    ZipHiddenEntry "zip-hidden-entry" "an entry is missing from the directory";
    ZipEntryMissing "zip-entry-missing" "the directory lists an entry that is not there";
    ZipNameMismatch "zip-name-mismatch" "the entry and the directory give different names";
    ZipMethodMismatch "zip-method-mismatch" "the entry and the directory give different methods or flags";
    ZipChecksumMismatch "zip-checksum-mismatch" "the entry and the directory give different checksums";
    ZipSizeMismatch "zip-size-mismatch" "the entry and the directory give different sizes";
    ZipDescriptor "zip-descriptor" "the record after the data of an entry is missing or wrong";
    ZipEncrypted "zip-encrypted" "it is encrypted";
    ZipMethod "zip-method" "an entry is packed in a way that is not read: only stored and deflated ones are";
    ZipVersion "zip-version" "an entry needs a newer version of the format";
    ZipFlags "zip-flags" "an entry has flags that are not known";
    ZipExtraField "zip-extra-field" "an entry has an extra field that is unknown, repeated or malformed";

    GzipHeader "gzip-header" "the gzip header is damaged or has unknown flags";
    GzipTrailer "gzip-trailer" "the gzip checksum or length is wrong";
    TarHeader "tar-header" "a tar header is malformed";
    TarChecksum "tar-checksum" "the checksum of a tar header is wrong";
    TarType "tar-type" "an entry is of a kind that is not read: only files and directories are";
    TarExtension "tar-extension" "an extended header sets something that is not read";
    TarEnd "tar-end" "the archive does not end as a tar does";
}

impl From<PathFault> for ArchiveFault {
    fn from(fault: PathFault) -> Self {
        match fault {
            PathFault::Empty => Self::NameEmpty,
            PathFault::Absolute => Self::NameAbsolute,
            PathFault::Parent => Self::NameParent,
            PathFault::Separator => Self::NameSeparator,
            PathFault::Hidden => Self::NameHidden,
            PathFault::Blank => Self::NameBlank,
            PathFault::Reserved | PathFault::Dotfile | PathFault::Guarded => Self::NameReserved,
            PathFault::TooLong => Self::NameTooLong,
            // `PathFault` may grow; what is not named here is still no name.
            _ => Self::NameShape,
        }
    }
}

impl fmt::Display for ArchiveFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

/// Why an archive could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ArchiveError {
    /// It is not sound.
    Fault {
        /// What is wrong.
        fault: ArchiveFault,
        /// The entry, as it is named, where one is at fault.
        entry: Option<String>,
    },
    /// It could not be read from the disk.
    Read(io::Error),
    /// What was unpacked could not be written.
    Write {
        /// The path in the archive.
        path: String,
        /// What the system said.
        error: io::Error,
    },
}

impl ArchiveError {
    /// The fault `fault` of the entry `name`.
    pub(crate) fn of(fault: ArchiveFault, name: &str) -> Self {
        Self::Fault { fault, entry: Some(name.to_owned()) }
    }

    /// The same error, about the entry `name` where it is about none yet.
    pub(crate) fn about(self, name: &str) -> Self {
        match self {
            Self::Fault { fault, entry: None } => Self::of(fault, name),
            other => other,
        }
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Fault { fault, .. } => fault.code(),
            Self::Read(_) => "not-readable",
            Self::Write { .. } => "not-written",
        }
    }
}

impl From<ArchiveFault> for ArchiveError {
    fn from(fault: ArchiveFault) -> Self {
        Self::Fault { fault, entry: None }
    }
}

impl From<io::Error> for ArchiveError {
    /// An archive that ends before what it declares is cut off; that is no fault of the disk.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveFault::DataDamaged.into(),
            _ => Self::Read(error),
        }
    }
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault { fault, entry: Some(entry) } => write!(f, "`{entry}`: {fault}"),
            Self::Fault { fault, entry: None } => fault.fmt(f),
            Self::Read(error) => error.fmt(f),
            Self::Write { path, error } => write!(f, "`{path}` cannot be written: {error}"),
        }
    }
}

impl std::error::Error for ArchiveError {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_fault_has_a_code_of_its_own() {
        let codes: BTreeSet<&str> = ArchiveFault::ALL.iter().map(|fault| fault.code()).collect();
        assert_eq!(codes.len(), ArchiveFault::ALL.len());
        let is_code = |code: &&str| {
            code.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        assert!(codes.iter().all(is_code), "{codes:?}");
    }
}
