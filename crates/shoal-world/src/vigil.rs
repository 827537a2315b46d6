//! Waits for ranks that have left, where ranks are processes.
//!
//! A kernel does not say whom it waits for, and a rank may leave early that has done its part. But when some have left and
//! all others wait, in kernels or in collectives, nobody is left to end their waits. Ranks find that out together, once
//! one has left: each tells how often it has found all its programs waiting since one of them moved (it *beats*). If all
//! go on to do so and none has moved in between, they wait in vain.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use shoal_driver::Standing;

use crate::engine::{Engine, EngineKind};
use crate::rank::Rank;

/// How long nothing may move before that counts: threads of the program, which nobody sees, may be about to do something.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often each rank must have beaten meanwhile.
const BEATS: u32 = 3;

/// Streams of this process that carry something.
static BUSY_STREAMS: AtomicUsize = AtomicUsize::new(0);
/// Standstills of this process so far.
static STANDSTILLS: AtomicU32 = AtomicU32::new(0);

/// A stream of this process does something, which may end waits, until this is dropped.
pub(crate) struct BusyStream(());

impl BusyStream {
    pub(crate) fn begin() -> BusyStream {
        BUSY_STREAMS.fetch_add(1, Ordering::SeqCst);
        BusyStream(())
    }
}

impl Drop for BusyStream {
    fn drop(&mut self) {
        BUSY_STREAMS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a rank that waits tells all others: which of its standstills it is, from 1, and how often it has beaten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Beat {
    standstill: u32,
    beats: u32,
}

impl Beat {
    fn next() -> Beat {
        let before = STANDSTILLS.fetch_add(1, Ordering::Relaxed);
        Beat { standstill: before.wrapping_add(1).max(1), beats: 0 }
    }

    pub(crate) fn encode(beat: Option<Beat>) -> u64 {
        beat.map_or(0, |beat| u64::from(beat.standstill) << 32 | u64::from(beat.beats))
    }

    pub(crate) fn decode(word: u64) -> Option<Beat> {
        let (standstill, beats) = ((word >> 32) as u32, word as u32);
        (standstill != 0).then_some(Beat { standstill, beats })
    }

    /// Whether it is of the same standstill, and late enough.
    fn has_gone_on_since(self, before: Beat) -> bool {
        self.standstill == before.standstill && self.beats.wrapping_sub(before.beats) >= BEATS
    }
}

/// A wait of a rank in a collective: it beats by looking.
#[derive(Debug, Default)]
pub(crate) struct Beating {
    beat: Option<Beat>,
}

impl Beating {
    /// The rank has looked, and waits on.
    pub(crate) fn looked(&mut self, tell: impl FnOnce(Option<Beat>)) {
        let beat = self.beat.filter(|_| BUSY_STREAMS.load(Ordering::SeqCst) == 0).unwrap_or_else(Beat::next);
        self.beat = Some(Beat { beats: beat.beats.wrapping_add(1), ..beat });
        tell(self.beat);
    }

    /// The wait has ended.
    pub(crate) fn ended(&mut self, tell: impl FnOnce(Option<Beat>)) {
        if self.beat.take().is_some() {
            tell(None);
        }
    }
}

/// A launch of a rank, whose programs may wait for others.
#[derive(Debug)]
pub struct Vigil {
    rank: Rank,
    own: Option<Beat>,
    last: Option<Standing>,
    /// Since when all ranks that have not left have been waiting, and what each said then.
    since: Option<(Instant, Vec<Option<Beat>>)>,
    /// Once it was in vain, others may come to the same conclusion.
    in_vain: bool,
}

impl Vigil {
    /// The vigil of one launch.
    #[must_use]
    pub fn new(rank: &Rank) -> Vigil {
        Vigil { rank: rank.clone(), own: None, last: None, since: None, in_vain: false }
    }

    /// Whether programs that stand so wait in vain: the world has ended, or will not end their waits.
    pub fn is_in_vain(&mut self, standing: Standing) -> bool {
        if self.rank.has_failed() {
            return true;
        }
        let access = self.rank.access();
        if !matches!(access.kind(), EngineKind::Processes | EngineKind::OpenShmem) || !has_anyone_left(access) {
            return false;
        }
        let before = self.last.replace(standing);
        let is_still = !standing.loops && before.is_some_and(|before| before.moves == standing.moves);
        let beat = self.own.filter(|_| is_still && BUSY_STREAMS.load(Ordering::SeqCst) == 0);
        // A round that began before the last look may have found what has changed since.
        let has_beaten = before.is_some_and(|before| standing.rounds > before.rounds + 1);
        let beat = beat.map_or_else(Beat::next, |beat| Beat { beats: beat.beats + u32::from(has_beaten), ..beat });
        self.own = Some(beat);
        access.beat(self.own);
        self.in_vain = self.all_wait();
        self.in_vain
    }

    fn all_wait(&mut self) -> bool {
        let access = self.rank.access();
        let now: Vec<Option<Beat>> = (0..access.size())
            .map(|rank| if rank == access.rank() { self.own } else { access.beat_of(rank) })
            .collect();
        let waits = |rank: usize| access.has_left(rank) || now[rank].is_some();
        if !(0..access.size()).all(waits) {
            self.since = None;
            return false;
        }
        let (begun, then) = self.since.get_or_insert_with(|| (Instant::now(), now.clone()));
        let goes_on = |rank: usize| {
            access.has_left(rank) || now[rank].zip(then[rank]).is_some_and(|(now, then)| now.has_gone_on_since(then))
        };
        let has_moved = |rank: usize| {
            !access.has_left(rank) && now[rank].map(|beat| beat.standstill) != then[rank].map(|beat| beat.standstill)
        };
        if (0..access.size()).any(has_moved) {
            self.since = None;
            return false;
        }
        begun.elapsed() >= PATIENCE && (0..access.size()).all(goes_on)
    }
}

impl Drop for Vigil {
    fn drop(&mut self) {
        if self.own.is_some() && !self.in_vain {
            self.rank.access().beat(None);
        }
    }
}

/// Whether some rank takes part no more.
pub(crate) fn has_anyone_left(access: &dyn Engine) -> bool {
    (0..access.size()).any(|rank| access.has_left(rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_travel_as_words() {
        let beat = Beat { standstill: 7, beats: 3 };
        assert_eq!(Beat::decode(Beat::encode(Some(beat))), Some(beat));
        assert_eq!(Beat::decode(Beat::encode(None)), None);
        assert!(Beat { beats: 6, ..beat }.has_gone_on_since(beat));
        assert!(!Beat { beats: 5, ..beat }.has_gone_on_since(beat), "too few");
        assert!(!Beat { standstill: 8, beats: 9 }.has_gone_on_since(beat), "it has moved");
    }

    #[test]
    fn a_wait_beats_until_it_ends_unless_a_stream_is_busy() {
        let mut said = Vec::new();
        let mut beating = Beating::default();
        beating.looked(|beat| said.push(beat));
        beating.looked(|beat| said.push(beat));
        let busy = BusyStream::begin();
        beating.looked(|beat| said.push(beat));
        drop(busy);
        beating.ended(|beat| said.push(beat));
        beating.ended(|beat| said.push(beat));
        let [Some(one), Some(two), Some(three), None] = said[..] else { panic!("{said:?}") };
        assert_eq!((one.standstill, one.beats + 1), (two.standstill, two.beats));
        assert_ne!(three.standstill, two.standstill);
    }
}
