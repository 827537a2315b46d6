//! How a rank's segment is divided: control block, signal pad, words in which teams meet, heap, and a page that nobody
//! may touch.

use crate::error::WorldError;
use crate::options::{PAGE, WorldOptions};

use super::Control;

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
        Ok(Layout { control, symmetric: options.segment_bytes()?, pad: options.pad_bytes() })
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
