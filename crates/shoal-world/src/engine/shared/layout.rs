//! How a rank's segment is divided: control block, signal pad, words in which teams meet, heap, and a page that nobody
//! may touch.

use crate::error::WorldError;
use crate::options::WorldOptions;

use super::Control;

pub(crate) const PAGE: usize = 4096;

/// Sizes of the parts of every rank's segment, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The control block, before what kernels see.
    pub(crate) control: usize,
    /// Signal pad, words of teams and heap.
    pub(crate) symmetric: usize,
    /// The signal pad, before the words of teams.
    pub(crate) pad: usize,
}

impl Layout {
    pub(crate) fn new(options: &WorldOptions) -> Result<Layout, WorldError> {
        let control = size_of::<Control>().next_multiple_of(PAGE);
        let symmetric = options
            .heap_start()
            .checked_add(options.heap_bytes)
            .and_then(|bytes| bytes.checked_next_multiple_of(PAGE))
            // Room for the control block, the guard page and pointer arithmetic.
            .filter(|&bytes| bytes < isize::MAX as usize / 2)
            .ok_or_else(|| WorldError::Setup(format!("a heap of {} bytes is too large", options.heap_bytes)))?;
        Ok(Layout { control, symmetric, pad: options.pad_bytes() })
    }

    /// Bytes of a segment, without the guard page behind it.
    pub(crate) fn segment(self) -> usize {
        self.control + self.symmetric
    }

    /// Distance of one rank's segment from the next.
    pub(crate) fn stride(self) -> usize {
        self.segment() + PAGE
    }
}
