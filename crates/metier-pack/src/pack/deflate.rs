//! The packer: `miniz_oxide` at one fixed level, called directly. A packer that chooses its way by the
//! processor's abilities gives other bytes on other machines.

use std::io;

use miniz_oxide::DataFormat;
use miniz_oxide::deflate::core::{CompressorOxide, TDEFLFlush, TDEFLStatus, compress_to_output};

/// The level. It is part of what makes two packs equal: do not change it without a new version.
const LEVEL: u8 = 6;

/// A deflate stream that is being made.
pub(super) struct Deflater {
    state: CompressorOxide,
}

impl Deflater {
    pub(super) fn new() -> Self {
        let mut state = CompressorOxide::default();
        state.set_format_and_level(DataFormat::Raw, LEVEL);
        Self { state }
    }

    /// Packs `chunk`; what is ready goes to `out`.
    pub(super) fn write(
        &mut self,
        chunk: &[u8],
        out: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.run(chunk, TDEFLFlush::None, out)
    }

    /// Ends the stream.
    pub(super) fn finish(mut self, out: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        self.run(&[], TDEFLFlush::Finish, out)
    }

    fn run(
        &mut self,
        chunk: &[u8],
        flush: TDEFLFlush,
        out: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut failed = None;
        let (status, _) = compress_to_output(&mut self.state, chunk, flush, |bytes| {
            failed = out(bytes).err();
            failed.is_none()
        });
        match (failed, status) {
            (Some(error), _) => Err(error),
            (None, TDEFLStatus::Okay | TDEFLStatus::Done) => Ok(()),
            (None, _) => Err(io::Error::other("the data cannot be packed")),
        }
    }
}
