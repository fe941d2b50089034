//! Server-sent events from bytes, however they are cut.
//!
//! Bytes are collected to whole lines before anything is decoded, so a character that is split
//! between two packets stays whole. Lines end with LF, CR LF or CR; a byte order mark at the start,
//! comments, `id` and `retry` are skipped. What the data means is `reader`'s business.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name, where it has one.
    pub event: Option<String>,
    /// Its data; several lines are joined by a line feed.
    pub data: String,
}

/// A line, or the data of one event, is longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// Collects bytes to events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseDecoder {
    line: Vec<u8>,
    event: Option<String>,
    data: Option<String>,
    /// The last byte was a CR: a LF that follows belongs to it.
    after_cr: bool,
    /// No line was complete yet: a byte order mark may stand here.
    first: bool,
    limit: usize,
}

const MARK: &[u8] = b"\xef\xbb\xbf";

impl SseDecoder {
    /// A decoder for lines and data of up to `limit` bytes.
    pub const fn new(limit: usize) -> Self {
        Self { line: Vec::new(), event: None, data: None, after_cr: false, first: true, limit }
    }

    /// Takes more bytes and gives the events that are complete now.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, TooLong> {
        let mut events = Vec::new();
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.keep(&bytes[..end])?;
            events.extend(self.line()?);
            let is_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if is_cr {
                self.after_cr = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
        }
        self.keep(bytes)?;
        Ok(events)
    }

    /// What stands there at the end of all bytes. By the standard it is not an event; a caller that takes it
    /// must be able to tell whether it is whole.
    pub fn rest(&mut self) -> Result<Option<SseEvent>, TooLong> {
        let last = if self.line.is_empty() { None } else { self.line()? };
        Ok(last.or_else(|| self.dispatch()))
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > self.limit {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn line(&mut self) -> Result<Option<SseEvent>, TooLong> {
        let line = std::mem::take(&mut self.line);
        let mut bytes = line.as_slice();
        if std::mem::take(&mut self.first) {
            bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
        }
        if bytes.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = match bytes.iter().position(|byte| *byte == b':') {
            Some(colon) => (&bytes[..colon], &bytes[colon + 1..]),
            None => (bytes, &bytes[bytes.len()..]),
        };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"data" => {
                let data = match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data
                    }
                    none => none.insert(String::new()),
                };
                data.push_str(&value);
                if data.len() > self.limit {
                    return Err(TooLong);
                }
            }
            b"event" => self.event = Some(value.into_owned()),
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = self.event.take();
        self.data.take().map(|data| SseEvent { event, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(chunks: &[&[u8]]) -> Vec<SseEvent> {
        let mut decoder = SseDecoder::new(1000);
        let mut events: Vec<_> =
            chunks.iter().flat_map(|chunk| decoder.feed(chunk).expect("short")).collect();
        events.extend(decoder.rest().expect("short"));
        events
    }

    fn data(text: &str) -> Vec<String> {
        events(&[text.as_bytes()]).into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn lines_end_in_all_three_ways() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("event: a{end}data: 1{end}{end}: note{end}data:2{end}{end}");
            let first = SseEvent { event: Some("a".into()), data: "1".into() };
            let second = SseEvent { event: None, data: "2".into() };
            assert_eq!(events(&[text.as_bytes()]), [first, second], "{end:?}");
        }
    }

    #[test]
    fn oddities_of_the_format_are_known() {
        assert_eq!(data("\u{feff}data: a\n\n"), ["a"]);
        assert_eq!(data("data: a\ndata: b\n\n"), ["a\nb"]);
        assert_eq!(data("data:  a\n\n"), [" a"], "one blank belongs to the field");
        assert_eq!(data("data\n\n"), [""]);
        assert_eq!(data("data\ndata: b\n\n"), ["\nb"]);
        assert_eq!(data("event: x\n\ndata: a\n\n"), ["a"], "an event without data is none");
        assert_eq!(data("id: 1\nretry: 5\nwhat: ever\n\n\n\n"), [] as [&str; 0]);
        assert_eq!(data("data: a\n\ndata: b"), ["a", "b"], "the rest is given at the end");
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_for_ever() {
        let mut decoder = SseDecoder::new(10);
        assert_eq!(decoder.feed(b"data: 1234"), Ok(vec![]));
        assert_eq!(decoder.feed(b"5"), Err(TooLong));
        let mut decoder = SseDecoder::new(10);
        assert_eq!(decoder.feed(b"data: 1234\ndata: 5678\ndata: 9\n"), Err(TooLong));
    }

    proptest! {
        #[test]
        fn the_events_do_not_depend_on_how_the_bytes_are_cut(
            text in "(data: ?|event: |: |\u{feff}|[aé漢😀{}]{0,3}|\r|\n|\r\n|\n\n){0,40}",
            cuts in proptest::collection::vec(0usize..200, 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            let whole = events(&[bytes]);
            prop_assert_eq!(&events(&chunks), &whole);
            prop_assert_eq!(&events(&single), &whole);
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>) {
            let mut decoder = SseDecoder::new(64);
            let _ = decoder.feed(&bytes);
            let _ = decoder.rest();
        }
    }
}
