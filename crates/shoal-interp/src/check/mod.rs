//! Who orders what: happens-before between all accesses of a run, and the races that it leaves.
//!
//! The interpreter tells a [`Checker`] every access; the checker keeps a vector clock for each actor (a program, the
//! host of a rank) and the history of every byte, and decides by the rules of the memory model: program order,
//! synchronisation by release and acquire whose scopes contain each other, chains of read-modify-writes, the order of
//! launches and host barriers. Two accesses to a common byte, one of them a write, that nothing orders and that are not
//! both atomic at scopes which contain both, are a race. Its verdict does not depend on luck within the schedule that
//! was run: accesses race whether or not they happened to come in a harmless order.

mod access;
mod clock;
mod race;
mod shadow;
mod sync;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use shoal_ir::Span;
use shoal_ir::op::{Scope, Sem};

pub use access::{Access, Party};
pub use race::{Cause, Race, Unordered, Unwritten};

use crate::error::{AccessKind, Place};
use crate::memory::Memory;
use access::{AtomicStamp, Identity, Stamp, contains};
use clock::Clock;
use race::NearMiss;
use shadow::{History, Shadow};
use sync::{SyncWrite, Words, releases};

/// What an atomic access does to its word.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Read,
    Write,
    /// A read-modify-write.
    Both,
}

impl Effect {
    pub(crate) fn reads(self) -> bool {
        matches!(self, Effect::Read | Effect::Both)
    }

    pub(crate) fn writes(self) -> bool {
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
}

/// What a program has issued and not completed.
#[derive(Clone, Debug, Default)]
struct Transfers {
    /// Their actors.
    open: Vec<u32>,
    /// What is delivered before whatever is issued from now on.
    fenced: Clock,
}

/// How many findings of one run are kept: more are the same mistake again.
const MAX_FINDINGS: usize = 16;

/// How many reads that missed their write are remembered.
const MAX_MISSES: usize = 256;

/// Follows all accesses of a run.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    actors: Vec<Actor>,
    /// What the ended programs of each rank's current launch know.
    ended: Vec<Clock>,
    shadow: Shadow,
    words: Words,
    /// By program: what it has issued and not completed.
    transfers: HashMap<u32, Transfers>,
    infos: Vec<Access>,
    known_infos: HashMap<(u32, Span, bool, u8), u32>,
    misses: Vec<NearMiss>,
    races: Vec<Race>,
    unwritten: Vec<Unwritten>,
    reported: HashSet<(Span, Span, bool)>,
    /// Accesses followed, tiles counted by their elements.
    pub(crate) events: u64,
}

impl Checker {
    /// Of a world of so many ranks.
    #[must_use]
    pub fn new(ranks: u32) -> Checker {
        let mut checker = Checker { ended: vec![Clock::default(); ranks as usize], ..Checker::default() };
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

    /// The first byte in a range that was never written.
    #[must_use]
    pub fn first_unwritten(&self, start: u64, bytes: u64) -> Option<u64> {
        (start..start + bytes).find(|&byte| self.shadow.at(byte).is_some_and(|history| history.fresh))
    }

    /// The access that wrote a word last.
    pub(crate) fn last_writer(&self, address: u64) -> Option<Access> {
        let info = self.shadow.at(address)?.last_writer()?;
        self.infos.get(info as usize).copied()
    }

    fn add_actor(&mut self, rank: u32, program: Option<u32>, party: Party, at: Place, clock: Clock) -> u32 {
        let id = self.actors.len() as u32;
        let identity = Identity { rank, program: program.unwrap_or(id) };
        self.actors.push(Actor { identity, party, at, clock });
        self.actors[id as usize].clock.advance(id);
        id
    }

    /// A program begins: after all that its rank's host knows.
    pub(crate) fn start_program(&mut self, launch: u32, at: Place) -> u32 {
        let rank = at.rank.unwrap_or(0);
        let clock = self.actors[rank as usize].clock.clone();
        self.add_actor(rank, None, Party::Program { launch, lane: None, pending: false }, at, clock)
    }

    pub(crate) fn end_program(&mut self, actor: u32) {
        let actor = &self.actors[actor as usize];
        self.ended[actor.identity.rank as usize].join(&actor.clock);
    }

    /// All programs of a rank's launch have ended: what comes next on the rank comes after them.
    pub(crate) fn end_launch(&mut self, rank: u32) {
        let ended = std::mem::take(&mut self.ended[rank as usize]);
        let host = &mut self.actors[rank as usize].clock;
        host.join(&ended);
        host.advance(rank);
    }

    /// The hosts of all ranks meet.
    pub(crate) fn host_barrier(&mut self) {
        let ranks = self.ended.len();
        let mut all = Clock::default();
        // Hosts that meet have completed what their kernels issued.
        for transfers in std::mem::take(&mut self.transfers).into_values() {
            for transfer in transfers.open {
                all.join(&self.actors[transfer as usize].clock);
            }
        }
        for actor in &self.actors[..ranks] {
            all.join(&actor.clock);
        }
        for (rank, actor) in (0..).zip(&mut self.actors[..ranks]) {
            actor.clock = all.clone();
            actor.clock.advance(rank);
        }
    }

    /// A program issues a transfer. It comes after all that the program did before; nothing comes after it until it is
    /// complete. Gives the actor that does it.
    pub(crate) fn start_transfer(&mut self, program: u32) -> u32 {
        let Actor { identity, party, at, mut clock } = self.actors[program as usize].clone();
        let party = match party {
            Party::Program { launch, lane, .. } => Party::Program { launch, lane, pending: true },
            Party::Host => Party::Host,
        };
        clock.join(&self.transfers.entry(program).or_default().fenced);
        // What the program does from now on is not the transfer's past.
        self.actors[program as usize].clock.advance(program);
        let transfer = self.add_actor(identity.rank, Some(identity.program), party, at, clock);
        self.transfers.entry(program).or_default().open.push(transfer);
        transfer
    }

    /// What the program has issued is delivered before what it issues from now on.
    pub(crate) fn fence(&mut self, program: u32) {
        let transfers = self.transfers.entry(program).or_default();
        for &transfer in &transfers.open {
            transfers.fenced.join(&self.actors[transfer as usize].clock);
        }
        transfers.fenced.join(&self.actors[program as usize].clock);
        self.actors[program as usize].clock.advance(program);
    }

    /// All that the program has issued is complete.
    pub(crate) fn quiet(&mut self, program: u32) {
        self.fence(program);
        let transfers = std::mem::take(self.transfers.entry(program).or_default());
        self.actors[program as usize].clock.join(&transfers.fenced);
        self.transfers.entry(program).or_default().fenced = transfers.fenced;
    }

    /// A signal by itself: ordered only after what was issued before a fence. Gives the actor that does it, and whether it
    /// releases anything.
    pub(crate) fn start_signal(&mut self, program: u32) -> (u32, bool) {
        let fenced = self.transfers.entry(program).or_default().fenced.clone();
        let releases = fenced != Clock::default();
        let transfer = self.start_transfer(program);
        if releases {
            let own = self.actors[transfer as usize].clock.get(transfer);
            let clock = &mut self.actors[transfer as usize].clock;
            *clock = fenced;
            for _ in 0..own {
                clock.advance(transfer);
            }
        }
        (transfer, releases)
    }

    /// The host of a rank copies to memory.
    pub(crate) fn host_write(&mut self, memory: &Memory, rank: u32, start: u64, bytes: u64) {
        let run = Bytes { start, end: start + bytes, element: 1 };
        self.plain(memory, rank, Span::NONE, AccessKind::Write, run);
    }

    /// The host of a rank copies from memory.
    pub(crate) fn host_read(&mut self, memory: &Memory, rank: u32, start: u64, bytes: u64) {
        let run = Bytes { start, end: start + bytes, element: 1 };
        self.plain(memory, rank, Span::NONE, AccessKind::Read, run);
    }

    fn info(
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

    /// A plain access to a run of bytes.
    pub(crate) fn plain(&mut self, memory: &Memory, actor: u32, span: Span, kind: AccessKind, run: Bytes) {
        self.events += (run.end - run.start) / u64::from(run.element.max(1));
        let writes = kind == AccessKind::Write;
        let info = self.info(actor, span, kind, writes, None, run.element);
        let Checker { actors, shadow, .. } = self;
        let (clock, mut found) = (&actors[actor as usize].clock, None);
        let mut fresh = None;
        let stamp = Stamp { actor, time: clock.get(actor), info };
        shadow.update(run.start, run.end, |start, history| {
            let race = || first_race(history, clock, writes, |_| true);
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
        let Checker { actors, shadow, .. } = self;
        let (clock, mut found) = (&actors[actor as usize].clock, None);
        let stamp = Stamp { actor, time: clock.get(actor), info };
        let atomic = AtomicStamp { stamp, start: address, bytes, scope, writes: effect.writes() };
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
            history.atomic(atomic);
        });
        if effect.writes() {
            self.publish(actor, info, (address, bytes), effect.reads(), (sem, scope));
        }
        self.report(memory, stamp, found);
        self.report_fresh(memory, info, fresh);
    }

    /// What a read of a word brings along, and what it misses.
    fn acquire(&mut self, actor: u32, info: u32, (address, bytes): (u64, u32), order: (Sem, Scope)) {
        let me = &self.actors[actor as usize];
        let mut joined: Vec<Rc<Clock>> = Vec::new();
        for (write, outcome) in self.words.seen(address, bytes, (actor, me.identity), order) {
            match outcome {
                Ok(()) => joined.push(Rc::clone(&write.clock)),
                Err(why) => {
                    let miss = NearMiss {
                        actor,
                        time: me.clock.get(actor),
                        writer: write.info,
                        reader: info,
                        why,
                        clock: Rc::clone(&write.clock),
                    };
                    let same = |m: &NearMiss| (m.writer, m.reader, m.why) == (miss.writer, miss.reader, miss.why);
                    self.misses.retain(|m| !same(m));
                    if self.misses.len() < MAX_MISSES {
                        self.misses.push(miss);
                    }
                }
            }
        }
        let clock = &mut self.actors[actor as usize].clock;
        for other in joined {
            clock.join(&other);
        }
    }

    /// What a write of a word offers to those who read it.
    fn publish(
        &mut self,
        actor: u32,
        info: u32,
        (address, bytes): (u64, u32),
        reads: bool,
        (sem, scope): (Sem, Scope),
    ) {
        let Actor { identity, clock, .. } = &self.actors[actor as usize];
        let write = SyncWrite { who: *identity, actor, sem, scope, clock: Rc::new(clock.clone()), info };
        self.words.written(address, bytes, reads, write);
        if releases(sem) {
            self.actors[actor as usize].clock.advance(actor);
        }
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
    let atomics = history.atomics.iter().filter(|a| (writes || a.writes) && clashes(a)).map(|a| a.stamp);
    let reads = history.reads.iter().copied().filter(|_| writes);
    history.write.into_iter().chain(reads).chain(atomics).find(open)
}
