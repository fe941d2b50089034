//! Inflating, bounded: whoever calls gets a chunk at a time, and stops when it is too much.
//!
//! The inflater is `miniz_oxide`: it has no `unsafe`, so a hostile stream can be wrong and nothing
//! worse. Memory is one window, whatever the stream says.

use std::io;
use std::ops::Range;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::fault::{ArchiveError, ArchiveFault};

/// What is unpacked at a time. A power of two, as the inflater wants it for a window that wraps; nearly
/// every file of a skill fits, and is written by one call.
const WINDOW_BYTES: usize = 256 << 10;
/// What is read at a time.
const INPUT_BYTES: usize = 64 << 10;

/// A deflate stream that is being unpacked.
pub(super) struct Inflater {
    state: Box<DecompressorOxide>,
    window: Vec<u8>,
    at: usize,
    input: Vec<u8>,
    input_at: usize,
    input_end: usize,
    has_ended: bool,
}

impl Inflater {
    pub(super) fn new() -> Self {
        Self {
            state: Box::default(),
            window: vec![0; WINDOW_BYTES],
            at: 0,
            input: vec![0; INPUT_BYTES],
            input_at: 0,
            input_end: 0,
            has_ended: false,
        }
    }

    /// Begins a new stream. Bytes that were read and not used are kept, for [`Inflater::unused`].
    pub(super) fn restart(&mut self) {
        self.state.init();
        self.at = 0;
        (self.input_at, self.input_end) = (0, 0);
        self.has_ended = false;
    }

    /// Bytes that were read and not used, after the end of the stream.
    pub(super) fn unused(&self) -> &[u8] {
        &self.input[self.input_at..self.input_end]
    }

    /// The bytes that [`Inflater::next`] spoke of, until it is called again.
    pub(super) fn chunk(&self, range: Range<usize>) -> &[u8] {
        &self.window[range]
    }

    /// Where the next bytes are; `None` at the end of the stream. `fill` reads input and gives 0 when
    /// there is no more.
    pub(super) fn next(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<Option<Range<usize>>, ArchiveError> {
        while !self.has_ended {
            let mut is_last = false;
            if self.input_at == self.input_end {
                self.input_at = 0;
                self.input_end = fill(&mut self.input)?;
                is_last = self.input_end == 0;
            }
            if self.at == WINDOW_BYTES {
                self.at = 0;
            }
            let input = &self.input[self.input_at..self.input_end];
            let flags = if is_last { 0 } else { TINFL_FLAG_HAS_MORE_INPUT };
            let (status, read, written) =
                decompress(&mut self.state, input, &mut self.window, self.at, flags);
            self.input_at += read;
            let start = self.at;
            self.at += written;
            match status {
                TINFLStatus::Done => self.has_ended = true,
                TINFLStatus::HasMoreOutput => {}
                TINFLStatus::NeedsMoreInput if !is_last => {}
                _ => return Err(ArchiveFault::DataDamaged.into()),
            }
            if written > 0 {
                return Ok(Some(start..start + written));
            }
        }
        Ok(None)
    }
}
