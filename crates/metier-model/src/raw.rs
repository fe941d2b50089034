//! The readers without HTTP, for this crate's own tests and for fuzzing. Nothing here is promised.
//! They are the same readers that the adapters use.

pub use crate::failure::Failure;
pub use crate::model::OutputMode;
pub use crate::reader::{Dialect, Progress, ReplyReader};
pub use crate::reply_builder::{Call, RawReply, ReplyBuilder};
pub use crate::sse::{SseDecoder, SseEvent};

use crate::retry::wait_in_words;

/// Bytes of a reply here.
pub const LIMIT: usize = 1 << 20;

/// What was passed on while a reply was read, and what it says in the end.
pub type Heard = (Vec<String>, Result<RawReply, Failure>);

/// Reads a reply of chat completions.
pub fn read_openai_stream(bytes: &[u8]) -> Heard {
    read_chunks(Dialect::OpenAi, OutputMode::JsonSchema, [bytes])
}

/// Reads a reply of Messages.
pub fn read_anthropic_stream(bytes: &[u8]) -> Heard {
    read_chunks(Dialect::Anthropic, OutputMode::ToolCall, [bytes])
}

/// Reads a reply that comes in these pieces.
pub fn read_chunks<'a>(
    dialect: Dialect,
    mode: OutputMode,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Heard {
    let mut heard = Vec::new();
    let mut out = |piece: &str| heard.push(piece.to_owned());
    let mut reader = ReplyReader::new(dialect, mode, LIMIT);
    for chunk in chunks {
        match reader.feed(chunk, &mut out) {
            Ok(Progress::Done) => break,
            Ok(_) => {}
            Err(failure) => return (heard, Err(failure)),
        }
    }
    let said = reader.end(&mut out);
    (heard, said)
}

/// For a fuzzer: any bytes are read without harm, and how they are cut makes no difference. The
/// first byte says where to cut.
///
/// # Panics
///
/// When it does make a difference.
pub fn fuzz_readers(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let (left, right) = bytes.split_at(bytes.len() * usize::from(*first) / 256);
    for dialect in [Dialect::OpenAi, Dialect::Anthropic, Dialect::Responses] {
        for mode in [OutputMode::JsonSchema, OutputMode::ToolCall] {
            let whole = read_chunks(dialect, mode, [bytes]);
            assert_eq!(whole, read_chunks(dialect, mode, [left, right]), "cut in two");
            assert_eq!(whole, read_chunks(dialect, mode, bytes.chunks(1)), "cut in bytes");
            if let Ok(said) = &whole.1
                && said.parts == 1
            {
                assert_eq!(whole.0.concat(), said.text, "what was passed on is the text");
            }
        }
    }
    let header = |_: &str| None;
    let _ = Failure::of_status(400, header, bytes, std::time::SystemTime::UNIX_EPOCH);
    let _ = wait_in_words(&String::from_utf8_lossy(bytes));
}
