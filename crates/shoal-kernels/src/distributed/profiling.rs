//! What a rank records of its launches.

use std::sync::{Mutex, MutexGuard, PoisonError};

use shoal::Error;
use shoal::profile::{ProfileBuffer, Recorder, Track};
use shoal::world::{Rank, Symm};

/// Records of kernels, of streams and of the host.
#[derive(Debug)]
pub(crate) struct Profiling {
    kernel: Mutex<KernelRecords>,
    host: Recorder,
    stream: Recorder,
}

/// What the last kernel that records itself has recorded.
#[derive(Debug)]
pub(crate) struct KernelRecords {
    pub(crate) buffer: ProfileBuffer,
    /// Names of its tasks.
    pub(crate) tasks: &'static [&'static str],
}

impl KernelRecords {
    /// Memory of the rank for as many words, as they are now. Collective over the world.
    pub(crate) fn resident(&mut self, rank: &Rank) -> Result<Symm<u64>, Error> {
        let words = rank.symm_zeros(self.buffer.len())?;
        words.write(self.buffer.words_mut())?;
        Ok(words)
    }
}

impl Profiling {
    /// For kernels whose clock is so many nanoseconds ahead of the host's.
    pub(crate) fn new(programs: usize, records: usize, ahead: i64) -> Profiling {
        let buffer = ProfileBuffer::new(programs, 1, records).with_clock(ahead);
        Profiling {
            kernel: Mutex::new(KernelRecords { buffer, tasks: &[] }),
            host: Recorder::new(),
            stream: Recorder::new(),
        }
    }

    /// What the host does: launches.
    pub(crate) fn host(&self) -> &Recorder {
        &self.host
    }

    /// What a stream does: copies.
    pub(crate) fn stream(&self) -> &Recorder {
        &self.stream
    }

    /// Memory for the records of a kernel with these tasks; those of an earlier one are forgotten.
    pub(crate) fn kernel(&self, tasks: &'static [&'static str]) -> MutexGuard<'_, KernelRecords> {
        let mut kernel = self.kernel.lock().unwrap_or_else(PoisonError::into_inner);
        kernel.buffer.reset();
        kernel.tasks = tasks;
        kernel
    }

    /// All tracks that have something. Of kernels that record themselves the host knows no more.
    pub(crate) fn tracks(self) -> Vec<Track> {
        let kernel = self.kernel.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut tracks = kernel.buffer.tracks(kernel.tasks);
        if tracks.iter().all(|track| track.spans.is_empty()) {
            tracks = vec![self.host.take("host")];
        }
        tracks.push(self.stream.take("stream"));
        tracks.retain(|track| !track.spans.is_empty());
        tracks
    }
}
