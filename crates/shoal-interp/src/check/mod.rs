//! Who orders what: happens-before between all accesses of a run, and the races that it leaves.
//!
//! The interpreter tells a [`Checker`] every access; the checker keeps a vector clock for each actor (a program, a lane
//! of one, a transfer under way, a stream, the host of a rank) and the history of every byte, and decides by the rules of
//! the memory model: program order, synchronisation by release and acquire whose scopes contain each other, fences, chains
//! of read-modify-writes, the order of streams, events and host barriers. Two accesses to a common byte, one of them a write, that nothing orders and that are not
//! both atomic at scopes which contain both, are a race. Its verdict does not depend on luck within the schedule that
//! was run: accesses race whether or not they happened to come in a harmless order.

mod access;
mod agents;
mod clock;
mod fence;
mod lanes;
mod race;
mod shadow;
mod sync;
mod transfers;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use shoal_ir::Span;
use shoal_ir::op::{Scope, Sem};
use smallvec::SmallVec;

pub use access::{Access, By, Party};
pub(crate) use agents::LaneOrder;
pub(crate) use clock::Clock;
pub use race::{Cause, Race, Unordered, Unwritten};

use crate::error::{AccessKind, Place};
use crate::memory::Memory;
use access::{AtomicStamp, Identity, Stamp, contains};
use fence::{Fences, Flag, Seen};
use lanes::Lanes;
use race::NearMiss;
use shadow::{History, Shadow};
use sync::{Miss, Sight, SyncWrite, Words, releases};
use transfers::Transfers;

/// What an atomic access does to its word.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Read,
    Write,
    /// A read-modify-write.
    Both,
    /// A read-modify-write that left what was there, as programs look at flags with.
    Kept,
}

impl Effect {
    pub(crate) fn reads(self) -> bool {
        matches!(self, Effect::Read | Effect::Both | Effect::Kept)
    }

    pub(crate) fn writes(self) -> bool {
        matches!(self, Effect::Write | Effect::Both | Effect::Kept)
    }

    pub(crate) fn changes(self) -> bool {
        matches!(self, Effect::Write | Effect::Both)
    }
}

/// A run of bytes that one element after the other is accessed in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The size of an element.
    pub(crate) element: u32,
}

#[derive(Clone, Debug)]
struct Actor {
    identity: Identity,
    party: Party,
    at: Place,
    clock: Clock,
    /// The number of a transfer among all that take turns.
    transfer: Option<u64>,
    fences: Fences,
    /// Its lanes, if it is a program with code for single threads.
    lanes: Option<Box<Lanes>>,
}

/// A signal that nothing holds to come before a later change of its word.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Overtakable {
    /// Where it was issued.
    pub(crate) span: Span,
    /// Changes of its word from the first that might have overtaken it on.
    pub(crate) changes: u32,
}

/// How many findings of one run are kept: more are the same mistake again.
const MAX_FINDINGS: usize = 16;

/// How many reads of an actor that missed their write are remembered.
const MAX_MISSES: usize = 64;

/// Follows all accesses of a run.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    /// The hosts of all ranks first.
    actors: Vec<Actor>,
    ranks: u32,
    /// The actors of the streams: rank, number.
    streams: HashMap<(u32, u32), u32>,
    /// What the ended programs of each stream's current launch know; by the stream's actor.
    ended: HashMap<u32, Clock>,
    /// What had happened at the events of each rank.
    events_of: HashMap<(u32, u32), Clock>,
    shadow: Shadow,
    words: Words,
    /// By program: what it has issued and not completed.
    transfers: HashMap<u32, Transfers>,
    infos: Vec<Access>,
    known_infos: HashMap<(u32, Span, bool, u8), u32>,
    /// By the reader.
    misses: HashMap<u32, VecDeque<NearMiss>>,
    races: Vec<Race>,
    unwritten: Vec<Unwritten>,
    reported: HashSet<(Span, Span, bool)>,
    /// By the transfer's number.
    overtakable: BTreeMap<u64, Overtakable>,
    /// Accesses followed, tiles counted by their elements.
    pub(crate) events: u64,
}

impl Checker {
    /// Of a world of so many ranks.
    #[must_use]
    pub fn new(ranks: u32) -> Checker {
        let mut checker = Checker { ranks, ..Checker::default() };
        for rank in 0..ranks {
            let at = Place { span: Span::NONE, rank: Some(rank), program: [0; 3] };
            checker.add_actor(rank, None, Party::Host, at, Clock::default());
        }
        checker
    }

    /// The races found, each pair of places once.
    #[must_use]
    pub fn races(&self) -> &[Race] {
        &self.races
    }

    /// Reads of memory that nothing was written to.
    #[must_use]
    pub fn unwritten_reads(&self) -> &[Unwritten] {
        &self.unwritten
    }

    /// Accesses followed.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Memory whose contents mean nothing until they are written.
    pub fn mark_fresh(&mut self, start: u64, bytes: u64) {
        self.shadow.mark_fresh(start, start + bytes);
    }

    /// Signals that nothing holds to come before a later change of their word, in the order in which they were issued.
    pub(crate) fn overtakable(&self) -> Vec<(u64, Overtakable)> {
        self.overtakable.iter().map(|(&transfer, &signal)| (transfer, signal)).collect()
    }

    /// The first byte in a range that was never written.
    #[must_use]
    pub fn first_unwritten(&self, start: u64, bytes: u64) -> Option<u64> {
        (start..start + bytes).find(|&byte| self.shadow.at(byte).is_some_and(|history| history.fresh))
    }

    /// The access that wrote a word last.
    pub(crate) fn last_writer(&self, address: u64) -> Option<Access> {
        let info = self.shadow.at(address)?.changed?;
        self.infos.get(info as usize).copied()
    }

    fn add_actor(&mut self, rank: u32, program: Option<u32>, party: Party, at: Place, clock: Clock) -> u32 {
        let id = self.actors.len() as u32;
        let identity = Identity { rank, program: program.unwrap_or(id) };
        self.actors.push(Actor { identity, party, at, clock, transfer: None, fences: Fences::default(), lanes: None });
        self.actors[id as usize].clock.advance(id);
        id
    }

    /// The number of an access in the table of accesses: of one actor at one place, the same every time.
    pub(crate) fn info(
        &mut self,
        actor: u32,
        span: Span,
        kind: AccessKind,
        writes: bool,
        order: Option<(Sem, Scope)>,
        bytes: u32,
    ) -> u32 {
        let strength = match order {
            None => kind as u8,
            Some((sem, scope)) => 16 + (sem as u8) * 4 + scope as u8,
        };
        let next = self.infos.len() as u32;
        let known = *self.known_infos.entry((actor, span, writes, strength)).or_insert(next);
        if known == next {
            let Actor { at, party, .. } = self.actors[actor as usize];
            self.infos.push(Access { at: Place { span, ..at }, party, kind, order, bytes, writes });
        }
        known
    }

    /// A plain access to a run of bytes, by its number in the table.
    pub(crate) fn plain(&mut self, memory: &Memory, actor: u32, info: u32, writes: bool, run: Bytes) {
        self.events += (run.end - run.start) / u64::from(run.element.max(1));
        let Checker { actors, shadow, .. } = self;
        let Actor { clock, fences, .. } = &actors[actor as usize];
        let (mut found, mut fresh) = (None, None);
        let stamp = Stamp { actor, time: clock.get(actor), info };
        let unknown = |other: &AtomicStamp| !fences.knows(other.start, other.stamp.actor, other.stamp.time);
        shadow.update(run.start, run.end, |start, history| {
            let race = || first_race(history, clock, writes, unknown);
            found = found.or_else(|| race().map(|other| (start, other)));
            if writes {
                history.plain_write(stamp);
            } else {
                if history.fresh && fresh.is_none() {
                    fresh = Some(start);
                }
                history.plain_read(stamp, clock);
            }
        });
        if writes {
            self.words.overwritten(run.start, run.end);
        }
        self.report(memory, stamp, found);
        self.report_fresh(memory, info, fresh);
    }

    /// An atomic access to a word.
    pub(crate) fn atomic(
        &mut self,
        memory: &Memory,
        actor: u32,
        span: Span,
        (address, bytes): (u64, u32),
        effect: Effect,
        (sem, scope): (Sem, Scope),
    ) {
        self.events += 1;
        let info = self.info(actor, span, AccessKind::Atomic, effect.writes(), Some((sem, scope)), bytes);
        if effect.reads() {
            self.acquire(actor, info, (address, bytes), (sem, scope));
        }
        let me = self.actors[actor as usize].identity;
        let Checker { actors, shadow, infos, overtakable, .. } = self;
        let (clock, mut found) = (&actors[actor as usize].clock, None);
        let stamp = Stamp { actor, time: clock.get(actor), info };
        let atomic = AtomicStamp { stamp, start: address, bytes, scope, effect };
        let mut fresh = None;
        shadow.update(address, address + u64::from(bytes), |start, history| {
            // Atomic accesses of one size at one place, each of which reaches the other's program, do not race.
            let clashes = |other: &AtomicStamp| {
                let them = actors[other.stamp.actor as usize].identity;
                let same = (other.start, other.bytes) == (address, bytes);
                !(same && contains(scope, me, them) && contains(other.scope, them, me))
            };
            let race = || first_race(history, clock, effect.writes(), clashes);
            found = found.or_else(|| race().map(|other| (start, other)));
            if history.fresh && effect.reads() && fresh.is_none() {
                fresh = Some(start);
            }
            if effect.changes() && start == address {
                for signal in history.atomics.iter().filter(|signal| signal.effect.changes()) {
                    let Stamp { actor: signaller, time, info } = signal.stamp;
                    let Some(transfer) = actors[signaller as usize].transfer else { continue };
                    // Two signals that add may come in any order.
                    let both_add = signal.effect.reads() && effect.reads() && actors[actor as usize].transfer.is_some();
                    if let Some(known) = overtakable.get_mut(&transfer) {
                        known.changes += 1;
                    } else if !both_add && !clock.covers(signaller, time) {
                        overtakable.insert(transfer, Overtakable { span: infos[info as usize].at.span, changes: 1 });
                    }
                }
            }
            history.atomic(atomic);
            if effect.changes() {
                history.changed = Some(info);
            }
        });
        if effect.writes() {
            self.publish(actor, info, (address, bytes), effect, (sem, scope));
        }
        self.report(memory, stamp, found);
        self.report_fresh(memory, info, fresh);
    }

    /// What a read of a word brings along, and what it misses.
    fn acquire(&mut self, actor: u32, info: u32, (address, bytes): (u64, u32), order: (Sem, Scope)) {
        let me = &self.actors[actor as usize];
        let time = me.clock.get(actor);
        let mut joined: SmallVec<[Rc<Clock>; 2]> = SmallVec::new();
        let mut missed: SmallVec<[(Miss, Seen); 2]> = SmallVec::new();
        let mut known: SmallVec<[Flag; 2]> = SmallVec::new();
        for Sight { write, clock, outcome } in self.words.seen(address, bytes, (actor, me.identity), order) {
            let flag = Flag { address, actor: write.actor, time: write.time };
            match outcome {
                Ok(()) => {
                    joined.push(Rc::clone(clock));
                    known.extend((!releases(write.sem)).then_some(flag));
                }
                // Who only looked at the word told nothing by it.
                Err(Miss::WriteOrder) if !write.effect.changes() => {}
                Err(why) => {
                    let clock = Rc::clone(clock);
                    missed.push((why, Seen { writer: write.who, write: write.info, read: info, clock, flag }));
                }
            }
        }
        for (why, seen) in missed {
            self.missed(actor, time, (seen.write, info), why, Rc::clone(&seen.clock));
            if why == Miss::ReadOrder {
                self.actors[actor as usize].fences.saw(seen);
            }
        }
        for flag in known {
            self.actors[actor as usize].fences.know(flag);
        }
        for other in joined {
            self.actors[actor as usize].clock.join(&other);
            self.lanes_learn(actor, &other);
        }
    }

    /// A read saw a write and did not bring its past along.
    fn missed(&mut self, actor: u32, time: u32, (writer, reader): (u32, u32), why: Miss, clock: Rc<Clock>) {
        let misses = self.misses.entry(actor).or_default();
        misses.retain(|m| (m.writer, m.reader, m.why) != (writer, reader, why));
        if misses.len() == MAX_MISSES {
            misses.pop_front();
        }
        misses.push_back(NearMiss { time, writer, reader, why, clock });
    }

    /// What a write of a word offers to those who read it.
    fn publish(
        &mut self,
        actor: u32,
        info: u32,
        (address, bytes): (u64, u32),
        effect: Effect,
        (sem, scope): (Sem, Scope),
    ) {
        let Actor { identity, clock, fences, .. } = &self.actors[actor as usize];
        let fenced = fences.released.clone();
        let (time, clock) = (clock.get(actor), Rc::new(clock.clone()));
        let write = SyncWrite { who: *identity, actor, sem, scope, clock, time, fenced, info, effect };
        self.words.written(address, bytes, write);
        // What the writer does from now on is not behind this write.
        self.actors[actor as usize].clock.advance(actor);
    }

    fn report(&mut self, memory: &Memory, second: Stamp, found: Option<(u64, Stamp)>) {
        let Some((address, first)) = found else { return };
        let access = |stamp: Stamp| self.infos[stamp.info as usize];
        let (a, b) = (access(first), access(second));
        let pair = (a.at.span.min(b.at.span), a.at.span.max(b.at.span), a.writes && b.writes);
        if self.races.len() >= MAX_FINDINGS || !self.reported.insert(pair) {
            return;
        }
        let cause = self.cause(first, second);
        let near = memory.describe(address);
        self.races.push(Race { first: a, second: b, address, near, cause });
    }

    fn report_fresh(&mut self, memory: &Memory, info: u32, fresh: Option<u64>) {
        let Some(address) = fresh else { return };
        let access = self.infos[info as usize];
        let known = self.unwritten.iter().any(|u| u.access.at.span == access.at.span);
        if self.unwritten.len() < MAX_FINDINGS && !known {
            self.unwritten.push(Unwritten { access, address, near: memory.describe(address) });
        }
    }
}

/// The first access of a history that a new one races with. Of atomic ones, those that clash.
fn first_race(history: &History, clock: &Clock, writes: bool, clashes: impl Fn(&AtomicStamp) -> bool) -> Option<Stamp> {
    let open = |stamp: &Stamp| !clock.covers(stamp.actor, stamp.time);
    let atomics = history.atomics.iter().filter(|a| (writes || a.effect.writes()) && clashes(a)).map(|a| a.stamp);
    let reads = history.reads.iter().copied().filter(|_| writes);
    history.write.into_iter().chain(reads).chain(atomics).find(open)
}
