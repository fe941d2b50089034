//! OpenSSH's binary form: numbers and texts with their lengths before them. Nothing is left over.
//! Used by keys and signatures alike.

/// Bytes that are read from the front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WireReader<'b>(&'b [u8]);

impl<'b> WireReader<'b> {
    pub(crate) const fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(crate) fn bytes(&mut self) -> Option<&'b [u8]> {
        let count = usize::try_from(self.number()?).ok()?;
        self.take(count)
    }

    pub(crate) fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// A whole number that is not negative, without zeros before it.
    pub(crate) fn unsigned(&mut self) -> Option<&'b [u8]> {
        let bytes = self.bytes()?;
        if bytes.first().is_some_and(|first| first & 0x80 != 0) {
            return None;
        }
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        Some(&bytes[zeros..])
    }

    pub(crate) const fn rest(&self) -> &'b [u8] {
        self.0
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Appends bytes with their length before them.
pub(crate) fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    // Nothing that is written here comes near 4 GiB.
    let count = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends a whole number that is not negative.
pub(crate) fn put_unsigned(out: &mut Vec<u8>, bytes: &[u8]) {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let bytes = &bytes[zeros..];
    match bytes.first() {
        Some(first) if first & 0x80 != 0 => put(out, &[&[0], bytes].concat()),
        _ => put(out, bytes),
    }
}

/// A number as exactly `N` bytes, with zeros before it.
pub(crate) fn padded(number: &[u8], length: usize) -> Option<Vec<u8>> {
    let zeros = length.checked_sub(number.len())?;
    Some([&vec![0; zeros][..], number].concat())
}
