//! The buffer that kernels record into.
//!
//! Words of 64 bits. Word 0 holds the number of programs and of groups; one word for each program follows, with its
//! number and where it ran; then records. Those of program `p` and group `g` begin behind the heads at `p * groups + g`
//! and lie `programs * groups` words apart. The lower half of a record is its tag, the upper half the lower half of a
//! clock in nanoseconds, which wraps around after 4.29 seconds: a profile may not be longer.

use super::{Span, Track, now};

/// A word that nothing was written to.
const EMPTY: u64 = 0x7fff_ffff_ffff_ffff;

/// Memory for records of the programs of a launch.
#[derive(Debug, Clone)]
pub struct ProfileBuffer {
    words: Vec<u64>,
    /// When it was emptied, by the kernels' clock.
    since: u64,
    /// How far that clock is ahead of the host's.
    ahead: i64,
}

impl ProfileBuffer {
    /// Memory for so many records of each group of each program. A span takes two.
    #[must_use]
    pub fn new(programs: usize, groups: usize, records: usize) -> ProfileBuffer {
        let tracks = programs.saturating_mul(groups);
        let words = tracks.saturating_mul(records).saturating_add(programs).saturating_add(1);
        ProfileBuffer { words: vec![EMPTY; words], since: now(), ahead: 0 }
    }

    /// The same for kernels whose clock is so many nanoseconds ahead of the host's, as a GPU's is; see
    /// [`clock_ahead`](super::clock_ahead).
    #[must_use]
    pub fn with_clock(mut self, ahead: i64) -> ProfileBuffer {
        self.ahead = ahead;
        self.reset();
        self
    }

    /// Forgets all records.
    pub fn reset(&mut self) {
        self.words.fill(EMPTY);
        self.since = now().wrapping_add_signed(self.ahead);
    }

    /// The words, for a launch.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// How many words there are; a kernel writes none beyond.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there is no room for anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// A track for each group of each program; tasks have these names, others their numbers. Something that began and did
    /// not end ends with the last record of its track.
    #[must_use]
    pub fn tracks(&self, tasks: &[&str]) -> Vec<Track> {
        let Some(&head) = self.words.first().filter(|&&head| head != EMPTY) else { return Vec::new() };
        let (programs, groups) = ((head & 0xffff_ffff) as usize, (head >> 32) as usize);
        let mut tracks = Vec::new();
        for program in 0..programs {
            for group in 0..groups {
                let first = 1 + programs + program * groups + group;
                let records = self.words.iter().skip(first).step_by((programs * groups).max(1));
                let spans = self.spans(records.copied().take_while(|&word| word != EMPTY), tasks);
                let group = if groups > 1 { format!(".{group}") } else { String::new() };
                // Who has multiprocessors says which one it was, counted from 1.
                let place =
                    match self.words.get(1 + program).filter(|&&word| word != EMPTY).map_or(0, |word| word >> 32) {
                        0 => String::new(),
                        number => format!(" on SM {}", number - 1),
                    };
                let mut track = Track { name: format!("program {program}{group}{place}"), spans };
                track.shift(self.ahead);
                tracks.push(track);
            }
        }
        tracks
    }

    fn spans(&self, records: impl Iterator<Item = u64>, tasks: &[&str]) -> Vec<Span> {
        let mut open: Vec<(u32, u64)> = Vec::new();
        let mut spans = Vec::new();
        let mut last = self.since;
        let name = |task: u32| tasks.get(task as usize).map_or_else(|| format!("task {task}"), |&name| name.to_owned());
        for record in records {
            let (task, is_start) = ((record as u32 >> 1) & 0x7ff, record & 1 == 1);
            last = self.unwrapped((record >> 32) as u32);
            if is_start {
                open.push((task, last));
            } else if let Some(at) = open.iter().rposition(|&(other, _)| other == task) {
                let (_, start) = open.remove(at);
                spans.push(Span { task: name(task), start, end: last });
            }
        }
        spans.extend(open.into_iter().map(|(task, start)| Span { task: name(task), start, end: last }));
        spans
    }

    /// A time of which only the lower half is known; it is less than 4.29 seconds after the last reset.
    fn unwrapped(&self, time: u32) -> u64 {
        self.since + u64::from(time.wrapping_sub(self.since as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(buffer: &ProfileBuffer, task: u64, is_start: bool, after: u64) -> u64 {
        ((buffer.since + after) & 0xffff_ffff) << 32 | task << 1 | u64::from(is_start)
    }

    #[test]
    fn records_become_spans() {
        let mut buffer = ProfileBuffer::new(2, 1, 4);
        // The clock wraps around between the records.
        buffer.since = u64::from(u32::MAX) - 50;
        assert_eq!(buffer.tracks(&[]), []);
        buffer.words[0] = 2 | 1 << 32;
        // Of program 1: a span in a span, the outer of which does not end.
        buffer.words[4] = record(&buffer, 7, true, 10);
        buffer.words[6] = record(&buffer, 0, true, 40);
        buffer.words[8] = record(&buffer, 0, false, 100);
        let tracks = buffer.tracks(&["wait"]);
        assert_eq!((tracks.len(), tracks[0].spans.len(), tracks[1].name.as_str()), (2, 0, "program 1"));
        let shown: Vec<_> =
            tracks[1].spans.iter().map(|s| (s.task.as_str(), s.start - buffer.since, s.end - buffer.since)).collect();
        assert_eq!(shown, [("wait", 40, 100), ("task 7", 10, 100)]);
        buffer.reset();
        assert_eq!(buffer.tracks(&[]), []);
    }
}
