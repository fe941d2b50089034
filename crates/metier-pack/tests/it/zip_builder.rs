//! Zips made by hand, field by field: the honest ones and every way to lie.

use miniz_oxide::deflate::compress_to_vec;

pub(crate) const SKILL: &str = "---\nname: pdf\ndescription: Fill PDF forms.\n---\n\n# PDF\n";

/// What follows the data of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Descriptor {
    None,
    Signed,
    Bare,
    Wrong,
}

/// An entry, and what its two records say of it.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) data: Vec<u8>,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    pub(crate) version: u16,
    pub(crate) made_by: u16,
    pub(crate) mode: u32,
    pub(crate) dos: u32,
    pub(crate) crc: u32,
    pub(crate) packed: u32,
    pub(crate) size: u32,
    pub(crate) extra: Vec<u8>,
    pub(crate) comment: Vec<u8>,
    pub(crate) disk: u16,
    pub(crate) descriptor: Descriptor,
    /// What the header before the data says, where it differs.
    pub(crate) local: Option<Box<Entry>>,
    /// Whether the directory lists it.
    pub(crate) listed: bool,
    /// Whether it is there.
    pub(crate) there: bool,
    /// Bytes before its header.
    pub(crate) gap: Vec<u8>,
    /// Where the directory says that it is.
    pub(crate) offset: Option<u32>,
}

impl Entry {
    /// A stored file.
    pub(crate) fn stored(name: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Self {
        let data = data.as_ref().to_vec();
        let name = name.as_ref().to_vec();
        let (crc, bytes) = (crc32fast::hash(&data), u32::try_from(data.len()).expect("small"));
        let is_dir = name.ends_with(b"/");
        Self {
            flags: if name.is_ascii() { 0 } else { 1 << 11 },
            mode: if is_dir { 0o040_755 } else { 0o100_644 },
            dos: if is_dir { 0x10 } else { 0 },
            name,
            data,
            method: 0,
            version: 20,
            made_by: 3 << 8 | 20,
            crc,
            packed: bytes,
            size: bytes,
            extra: Vec::new(),
            comment: Vec::new(),
            disk: 0,
            descriptor: Descriptor::None,
            local: None,
            listed: true,
            there: true,
            gap: Vec::new(),
            offset: None,
        }
    }

    /// A deflated file.
    pub(crate) fn deflated(name: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Self {
        let mut entry = Self::stored(name, &data);
        entry.data = compress_to_vec(data.as_ref(), 6);
        entry.method = 8;
        entry.packed = u32::try_from(entry.data.len()).expect("small");
        entry
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The same, with another header before the data.
    pub(crate) fn local(mut self, change: impl FnOnce(&mut Self)) -> Self {
        let mut local = self.clone();
        change(&mut local);
        self.local = Some(Box::new(local));
        self
    }

    fn shared(&self, later: bool) -> Vec<u8> {
        let mut out = Vec::new();
        for field in [self.version, self.flags, self.method, 0, 0x21] {
            out.extend(field.to_le_bytes());
        }
        for field in [self.crc, self.packed, self.size] {
            out.extend(if later { 0u32 } else { field }.to_le_bytes());
        }
        out.extend(u16::try_from(self.name.len()).expect("short").to_le_bytes());
        out.extend(u16::try_from(self.extra.len()).expect("short").to_le_bytes());
        out
    }
}

/// A zip, and what its end record says.
#[derive(Clone, Default)]
pub(crate) struct Zip {
    pub(crate) entries: Vec<Entry>,
    pub(crate) prefix: Vec<u8>,
    /// Whether offsets count the prefix.
    pub(crate) shifted: bool,
    pub(crate) before_directory: Vec<u8>,
    pub(crate) before_end: Vec<u8>,
    pub(crate) suffix: Vec<u8>,
    pub(crate) comment: Vec<u8>,
    pub(crate) comment_length: Option<u16>,
    pub(crate) count: Option<u16>,
    pub(crate) count_here: Option<u16>,
    pub(crate) directory_size: Option<u32>,
    pub(crate) directory_offset: Option<u32>,
    pub(crate) disk: u16,
}

impl Zip {
    pub(crate) fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        Self { entries: entries.into_iter().collect(), ..Self::default() }
    }

    /// An honest skill, and these entries after it.
    pub(crate) fn skill(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut all = vec![Entry::deflated("pdf/SKILL.md", SKILL)];
        all.extend(entries);
        Self::of(all)
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = self.prefix.clone();
        let shift = if self.shifted { 0 } else { self.prefix.len() };
        let at = |out: &Vec<u8>| u32::try_from(out.len() - shift).expect("small");
        let mut offsets = Vec::new();
        for entry in &self.entries {
            if entry.there {
                out.extend(&entry.gap);
            }
            offsets.push(entry.offset.unwrap_or_else(|| at(&out)));
            if !entry.there {
                continue;
            }
            let local = entry.local.as_deref().unwrap_or(entry);
            out.extend(b"PK\x03\x04");
            out.extend(local.shared(entry.descriptor != Descriptor::None));
            out.extend(&local.name);
            out.extend(&local.extra);
            out.extend(&entry.data);
            let fields = [entry.crc, entry.packed, entry.size].map(u32::to_le_bytes).concat();
            match entry.descriptor {
                Descriptor::None => {}
                Descriptor::Signed => out.extend([b"PK\x07\x08".as_slice(), &fields].concat()),
                Descriptor::Bare => out.extend(fields),
                Descriptor::Wrong => out.extend([b"PK\x07\x08".as_slice(), &[7; 12]].concat()),
            }
        }
        out.extend(&self.before_directory);
        let directory_at = at(&out);
        let mut count = 0u64;
        for (entry, offset) in self.entries.iter().zip(offsets).filter(|(entry, _)| entry.listed) {
            count += 1;
            out.extend(b"PK\x01\x02");
            out.extend(entry.made_by.to_le_bytes());
            out.extend(entry.shared(false));
            out.extend(u16::try_from(entry.comment.len()).expect("short").to_le_bytes());
            out.extend(entry.disk.to_le_bytes());
            out.extend([0, 0]);
            out.extend((entry.mode << 16 | entry.dos).to_le_bytes());
            out.extend(offset.to_le_bytes());
            out.extend([&entry.name, &entry.extra, &entry.comment].map(Vec::as_slice).concat());
        }
        let directory_size = at(&out) - directory_at;
        out.extend(&self.before_end);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a count that wraps is one of the cases"
        )]
        let wrapped = count as u16;
        let entries = self.count.unwrap_or(wrapped);
        out.extend(b"PK\x05\x06");
        out.extend(self.disk.to_le_bytes());
        out.extend(self.disk.to_le_bytes());
        out.extend(self.count_here.unwrap_or(entries).to_le_bytes());
        out.extend(entries.to_le_bytes());
        out.extend(self.directory_size.unwrap_or(directory_size).to_le_bytes());
        out.extend(self.directory_offset.unwrap_or(directory_at).to_le_bytes());
        let length = u16::try_from(self.comment.len()).expect("short");
        out.extend(self.comment_length.unwrap_or(length).to_le_bytes());
        out.extend(&self.comment);
        out.extend(&self.suffix);
        out
    }
}

/// An extra field.
pub(crate) fn extra(id: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).expect("short");
    [&id.to_le_bytes(), length.to_le_bytes().as_slice(), data].concat()
}
