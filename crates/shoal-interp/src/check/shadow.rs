//! Shadow memory: for each byte, who accessed it last in a way that a later access may race with.
//!
//! Bytes with the same history share a segment. What is kept of a byte is exact: an access is forgotten only when every
//! later access that races with it also races with one that is kept.
//!
//! - A plain write that raced with nothing comes after all before it, so it stands for all of them.
//! - A plain read stands for the plain reads that come before it.
//! - Atomic accesses do not race with each other, so none stands for a plain access, and for another atomic one only
//!   if that is of the same program, scope and size.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::access::{AtomicStamp, Stamp};
use super::clock::Clock;

/// The history of neighbouring bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// Nothing has been written here.
    pub(crate) fresh: bool,
    /// The access that changed the bytes last.
    pub(crate) changed: Option<u32>,
    pub(crate) write: Option<Stamp>,
    pub(crate) reads: SmallVec<[Stamp; 1]>,
    pub(crate) atomics: SmallVec<[AtomicStamp; 1]>,
}

impl History {
    pub(crate) fn plain_write(&mut self, stamp: Stamp) {
        self.fresh = false;
        self.changed = Some(stamp.info);
        self.write = Some(stamp);
        self.reads.clear();
        self.atomics.clear();
    }

    /// `clock` is the reader's.
    pub(crate) fn plain_read(&mut self, stamp: Stamp, clock: &Clock) {
        self.reads.retain(|read| !clock.covers(read.actor, read.time));
        self.reads.push(stamp);
    }

    pub(crate) fn atomic(&mut self, atomic: AtomicStamp) {
        self.fresh &= !atomic.effect.writes();
        let same = |a: &AtomicStamp| {
            (a.stamp.actor, a.start, a.bytes, a.scope) == (atomic.stamp.actor, atomic.start, atomic.bytes, atomic.scope)
                && (atomic.effect.writes() || !a.effect.writes())
        };
        self.atomics.retain(|a| !same(a));
        self.atomics.push(atomic);
    }
}

#[derive(Clone, Debug)]
struct Segment {
    end: u64,
    history: History,
}

/// The history of all bytes. Bytes that are in no segment were never accessed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shadow {
    segments: BTreeMap<u64, Segment>,
}

impl Shadow {
    /// Memory that nothing has been written to.
    pub(crate) fn mark_fresh(&mut self, start: u64, end: u64) {
        self.update(start, end, |_, history| *history = History { fresh: true, ..History::default() });
    }

    /// The history of a byte.
    pub(crate) fn at(&self, address: u64) -> Option<&History> {
        let (_, segment) = self.segments.range(..=address).next_back()?;
        (address < segment.end).then_some(&segment.history)
    }

    /// Changes the history of all bytes from `start` to `end`, piece by piece; the change sees where a piece starts.
    pub(crate) fn update(&mut self, start: u64, end: u64, mut change: impl FnMut(u64, &mut History)) {
        if start >= end {
            return;
        }
        // Accesses repeat: most find the segment that an earlier one made.
        if let Some(segment) = self.segments.get_mut(&start)
            && segment.end == end
        {
            change(start, &mut segment.history);
            return;
        }
        self.split(start);
        self.split(end);
        let mut at = start;
        while at < end {
            match self.segments.get_mut(&at) {
                Some(segment) => {
                    change(at, &mut segment.history);
                    at = segment.end;
                }
                None => {
                    let next = self.segments.range(at..end).next().map_or(end, |(&next, _)| next);
                    let mut history = History::default();
                    change(at, &mut history);
                    self.segments.insert(at, Segment { end: next, history });
                    at = next;
                }
            }
        }
        self.merge(start, end);
    }

    /// Makes a segment start here, if one lies across.
    fn split(&mut self, at: u64) {
        if let Some((_, segment)) = self.segments.range_mut(..at).next_back()
            && segment.end > at
        {
            let tail = segment.clone();
            segment.end = at;
            self.segments.insert(at, tail);
        }
    }

    /// Joins neighbours inside that have come to have the same history.
    fn merge(&mut self, start: u64, end: u64) {
        let mut last = start;
        while let Some((&next, _)) = self.segments.range(last + 1..end).next() {
            let joined = {
                let (a, b) = (&self.segments[&last], &self.segments[&next]);
                a.end == next && a.history == b.history
            };
            match joined.then(|| self.segments.remove(&next)).flatten() {
                Some(tail) => {
                    if let Some(segment) = self.segments.get_mut(&last) {
                        segment.end = tail.end;
                    }
                }
                None => last = next,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(actor: u32) -> Stamp {
        Stamp { actor, time: 1, info: 0 }
    }

    fn writer(shadow: &Shadow, address: u64) -> Option<u32> {
        shadow.at(address).and_then(|history| history.write).map(|write| write.actor)
    }

    #[test]
    fn bytes_keep_their_own_history() {
        let mut shadow = Shadow::default();
        shadow.update(8, 24, |_, h| h.plain_write(stamp(1)));
        shadow.update(12, 16, |_, h| h.plain_write(stamp(2)));
        shadow.update(20, 32, |_, h| h.plain_write(stamp(3)));
        let writers: Vec<_> = [4, 8, 11, 12, 15, 16, 19, 20, 31, 32].map(|a| writer(&shadow, a)).to_vec();
        let (one, two, three) = (Some(1), Some(2), Some(3));
        assert_eq!(writers, [None, one, one, two, two, one, one, three, three, None]);
    }

    #[test]
    fn equal_neighbours_become_one() {
        let mut shadow = Shadow::default();
        for start in (0..64).step_by(4) {
            shadow.update(start, start + 4, |_, h| h.plain_write(stamp(start as u32)));
        }
        assert_eq!(shadow.segments.len(), 16);
        shadow.update(0, 64, |_, h| h.plain_write(stamp(7)));
        assert_eq!(shadow.segments.len(), 1);
    }
}
