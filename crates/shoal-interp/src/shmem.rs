//! SHMEM operations: what programs issue (see [`crate::transfer`] for how it is delivered), what completes it, and
//! meetings. For the checker a transfer is an actor of its own, which nothing comes after until `quiet`, a signal behind it
//! or a barrier completes it. Meetings of teams go through words in memory, as on a device: see [`sync_words`].

use shoal_ir::Elem;
use shoal_ir::abi::team::{how_to_allocate, sync_words};
use shoal_ir::abi::{Topology, WaitCondition};
use shoal_ir::comm::SignalOp;
use shoal_ir::op::{Scope, Sem};
use shoal_ir::shmem::{Completion, Meeting, Participants, ShmemOp, Way};
use smallvec::SmallVec;

use crate::access::{Follow, Order};
use crate::check::Effect;
use crate::error::{AccessKind, Awaited, Error, Waiting};
use crate::machine::{Machine, Seen, Step, Wait};
use crate::memory::Memory;
use crate::program::{Program, Site};
use crate::rank::Heap;
use crate::transfer::{CopyWork, SignalWork, Source, Transfer, WORD};
use crate::value::Val;

impl<'p> Program<'p> {
    pub(crate) fn shmem(&mut self, machine: &mut Machine<'_>, site: Site<'p>, op: ShmemOp) -> Result<Step, Error> {
        self.heap(machine, site)?;
        match op {
            ShmemOp::TeamRank => self.answer(site, |view, [team, ..]| view.team_rank(team)),
            ShmemOp::TeamSize => self.answer(site, |view, [team, ..]| view.team_size(team)),
            ShmemOp::TeamTranslate => {
                self.answer(site, |view, [team, member, other]| view.translate(team, member, other))
            }
            ShmemOp::Fence | ShmemOp::Quiet => {
                if op == ShmemOp::Quiet {
                    self.quiet(machine)?
                } else {
                    self.order_transfers(machine)
                }
                self.finish(site, []);
                Ok(Step::Yield)
            }
            ShmemOp::Meet { meeting, by } => {
                if by == Participants::Program {
                    self.lanes_meet(machine);
                }
                let step = self.meet(machine, site, meeting)?;
                if by == Participants::Program {
                    self.lanes_meet(machine);
                }
                Ok(step)
            }
            ShmemOp::Collect { .. } => self.collect(machine, site),
            ShmemOp::SignalWait { cmp } => self.signal_wait(machine, site, op, cmp.into()),
            ShmemOp::Copy { .. } | ShmemOp::PutSignal { .. } | ShmemOp::PutValue | ShmemOp::Signal { .. } => {
                self.participants_meet(machine, site, op);
                for lane in self.acting(site, op) {
                    self.act(machine, site, op, lane)?;
                }
                self.participants_meet(machine, site, op);
                self.changed_memory();
                self.finish(site, []);
                Ok(Step::Yield)
            }
        }
    }

    /// Those who take part in an operation together meet, where lanes are told apart.
    fn participants_meet(&self, machine: &mut Machine<'_>, site: Site<'p>, op: ShmemOp) {
        let Some(checker) = &mut machine.checker else { return };
        match op.participants() {
            Participants::Lane => {}
            Participants::Warp if site.plan.is_by_lanes(site.id) => match self.active() {
                Some(active) => checker.warps_meet(self.actor, crate::dispatch::lanes_of(active)),
                None => checker.warps_meet(self.actor, 0..self.rank.lanes()),
            },
            Participants::Warp | Participants::Program => checker.lanes_meet(self.actor),
        }
    }

    /// Who acts for the checker: a lane that does it for itself or for its warp, or the program.
    fn issuer(&self, machine: &mut Machine<'_>, site: Site<'p>, op: ShmemOp, lane: usize) -> u32 {
        let by_lane = site.plan.is_by_lanes(site.id) && op.participants() != Participants::Program;
        match &mut machine.checker {
            Some(checker) if by_lane => checker.lane(self.actor, lane as u32),
            Some(_) | None => self.actor,
        }
    }

    /// The lane that speaks for the program where only some run this; else the program.
    fn speaker(&self, machine: &mut Machine<'_>) -> u32 {
        match (&mut machine.checker, self.first_active()) {
            (Some(checker), Some(lane)) => checker.lane(self.actor, lane),
            (Some(_) | None, _) => self.actor,
        }
    }

    /// What was issued is delivered before what is issued from now on.
    fn order_transfers(&mut self, machine: &mut Machine<'_>) {
        self.epoch += 1;
        let by = self.speaker(machine);
        if let Some(checker) = &mut machine.checker {
            checker.fence(self.actor, by);
        }
    }

    /// What was issued is delivered.
    fn quiet(&mut self, machine: &mut Machine<'_>) -> Result<(), Error> {
        machine.complete(self.number)?;
        self.epoch += 1;
        let by = self.speaker(machine);
        if let Some(checker) = &mut machine.checker {
            checker.quiet(self.actor, by);
        }
        self.changed_memory();
        Ok(())
    }

    fn answer(
        &mut self,
        site: Site<'p>,
        ask: impl Fn(&Topology, [i32; 3]) -> Result<i32, String>,
    ) -> Result<Step, Error> {
        let given = [0, 1, 2].map(|i| if i < site.operand_count() { self.operand(site, i).scalar() as i32 } else { 0 });
        let answer = ask(&self.rank.topology, given).map_err(|message| self.world_error(site, message))?;
        Ok(self.finish(site, [Val::Scalar(u64::from(answer as u32))]))
    }

    /// The lanes that act: of each group the first that takes part.
    fn acting(&self, site: Site<'p>, op: ShmemOp) -> Vec<usize> {
        let lanes = self.operand(site, 0).bits().len();
        let group = op.participants().group(lanes as u32) as usize;
        let mask = op.mask_at().filter(|&at| at < site.operand_count()).map(|at| self.operand(site, at).bits());
        let takes_part = |lane: &usize| mask.is_none_or(|mask| mask[*lane] != 0);
        (0..lanes).step_by(group.max(1)).filter_map(|first| (first..first + group).find(takes_part)).collect()
    }

    /// What one participant does.
    fn act(&mut self, machine: &mut Machine<'_>, site: Site<'p>, op: ShmemOp, lane: usize) -> Result<(), Error> {
        let values: SmallVec<[u64; 6]> =
            (0..site.operand_count()).map(|i| self.operand(site, i).bits()[lane]).collect();
        let at = |index: usize| values[index];
        let issuer = self.issuer(machine, site, op, lane);
        match op {
            ShmemOp::Copy { way: Way::Get, completion: Completion::Local, .. } => {
                let (target, bytes) = (at(0), at(2));
                let source = self.symmetric_range(machine, site, at(1), bytes, at(3) as i32)?;
                self.copy_now(machine, site, issuer, (target, source, bytes))
            }
            ShmemOp::Copy { way, completion, .. } => {
                let (target, source, bytes, rank) = (at(0), at(1), at(2), at(3) as i32);
                let (target, source) = match way {
                    Way::Put => (self.symmetric_range(machine, site, target, bytes, rank)?, source),
                    Way::Get => (target, self.symmetric_range(machine, site, source, bytes, rank)?),
                };
                let copy = self.copy_work(machine, site, issuer, (target, source, bytes), completion)?;
                let to = (way == Way::Put).then_some(rank);
                self.issue(machine, site, issuer, to, (Some(copy), None))
            }
            ShmemOp::PutSignal { op, completion, .. } => {
                let (bytes, rank) = (at(2), at(5) as i32);
                let target = self.symmetric_range(machine, site, at(0), bytes, rank)?;
                let word = self.symmetric_range(machine, site, at(3), u64::from(WORD), rank)?;
                let copy = self.copy_work(machine, site, issuer, (target, at(1), bytes), completion)?;
                let signal = signal(word, op, at(4), Sem::Release);
                self.issue(machine, site, issuer, Some(rank), (Some(copy), Some(signal)))
            }
            ShmemOp::PutValue => {
                let element = site.ty(1).elem().map_or(WORD, Elem::bytes);
                let (bytes, rank) = (u64::from(element), at(2) as i32);
                let target = self.symmetric_range(machine, site, at(0), bytes, rank)?;
                let fault = |e| self.fault(machine.memory, site, e, (target, element), AccessKind::Write, Vec::new());
                machine.memory.load(target, element).map_err(fault)?;
                let source = Source::Taken(at(1).to_le_bytes()[..element as usize].to_vec());
                let copy = CopyWork { target, source, bytes, element };
                self.issue(machine, site, issuer, Some(rank), (Some(copy), None))
            }
            // Fences order it after what was put.
            ShmemOp::Signal { op } => {
                let rank = at(2) as i32;
                let word = self.symmetric_range(machine, site, at(0), u64::from(WORD), rank)?;
                self.load_word(machine, site, word)?;
                let actor =
                    machine.checker.as_mut().map(|checker| checker.start_signal(issuer, (machine.numbers, rank)));
                let (actor, releases) = actor.unwrap_or((issuer, true));
                let sem = if releases { Sem::Release } else { Sem::Relaxed };
                let signal = signal(word, op, at(1), sem);
                machine.issue(self.transfer(machine.numbers, actor, site, Some(rank), (None, Some(signal))))?;
                machine.numbers += 1;
                Ok(())
            }
            ShmemOp::TeamRank
            | ShmemOp::TeamSize
            | ShmemOp::TeamTranslate
            | ShmemOp::SignalWait { .. }
            | ShmemOp::Fence
            | ShmemOp::Quiet
            | ShmemOp::Meet { .. }
            | ShmemOp::Collect { .. } => {
                Err(Error::Invalid { what: "no operation of lanes".into(), at: self.place(site) })
            }
        }
    }

    /// Bytes of this rank's heap as another rank has them; or that rank's own, by their address.
    fn symmetric_range(
        &self,
        machine: &Machine<'_>,
        site: Site<'p>,
        address: u64,
        bytes: u64,
        rank: i32,
    ) -> Result<u64, Error> {
        let heap = self.heap(machine, site)?;
        if i64::try_from(bytes).is_err() {
            return Err(self.world_error(site, format!("{} bytes cannot be copied", bytes as i64)));
        }
        let within = |heap: Heap| {
            let offset = address.wrapping_sub(heap.base.0);
            (offset <= heap.bytes && heap.bytes - offset >= bytes).then_some(offset)
        };
        if usize::try_from(rank).ok().and_then(|rank| machine.heaps.get(rank).copied()).and_then(within).is_some() {
            return Ok(address);
        }
        let Some(offset) = within(heap) else {
            let near = machine.memory.describe(address);
            let message = format!(
                "{bytes} bytes at {address:#x} are not in the symmetric heap of rank {} ({near}); {}",
                self.rank.number,
                how_to_allocate(address)
            );
            return Err(self.world_error(site, message));
        };
        self.at_rank(machine, site, offset, i64::from(rank))
    }

    /// The data of a copy: taken now, or when it is delivered. What is not there is told now.
    fn copy_work(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        issuer: u32,
        (target, source, bytes): (u64, u64, u64),
        completion: Completion,
    ) -> Result<CopyWork, Error> {
        let fault =
            |memory: &Memory, e, address: u64, access| self.fault(memory, site, e, (address, 1), access, Vec::new());
        let data =
            machine.memory.copy_from(source, bytes).map_err(|e| fault(machine.memory, e, source, AccessKind::Read))?;
        machine.memory.copy_from(target, bytes).map_err(|e| fault(machine.memory, e, target, AccessKind::Write))?;
        let source = match completion {
            Completion::Issued => Source::Memory(source),
            Completion::Local => {
                let mut reads = Follow::of(issuer, site.op.span, AccessKind::Read, Order::Plain, 1);
                reads.bytes(machine, source, bytes);
                Source::Taken(data)
            }
        };
        Ok(CopyWork { target, source, bytes, element: 1 })
    }

    fn issue(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        issuer: u32,
        to: Option<i32>,
        work: (Option<CopyWork>, Option<SignalWork>),
    ) -> Result<(), Error> {
        let actor =
            machine.checker.as_mut().map_or(issuer, |checker| checker.start_transfer(issuer, machine.numbers, to));
        machine.issue(self.transfer(machine.numbers, actor, site, to, work))?;
        machine.numbers += 1;
        Ok(())
    }

    fn transfer(
        &self,
        number: u64,
        actor: u32,
        site: Site<'p>,
        to: Option<i32>,
        (copy, signal): (Option<CopyWork>, Option<SignalWork>),
    ) -> Transfer {
        let (program, epoch, at) = (self.number, self.epoch, self.place(site));
        Transfer { number, program, epoch, to, actor, at, copy, signal, overtaken: 0 }
    }

    /// A copy that is complete when it returns.
    fn copy_now(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        actor: u32,
        range: (u64, u64, u64),
    ) -> Result<(), Error> {
        let copy = self.copy_work(machine, site, actor, range, Completion::Local)?;
        machine.deliver(self.transfer(0, actor, site, None, (Some(copy), None)))
    }

    fn load_word(&self, machine: &Machine<'_>, site: Site<'p>, word: u64) -> Result<u64, Error> {
        let found = machine.memory.load(word, WORD);
        found.map_err(|e| self.fault(machine.memory, site, e, (word, WORD), AccessKind::Atomic, Vec::new()))
    }

    fn store_word(&self, machine: &mut Machine<'_>, site: Site<'p>, word: u64, value: u64) -> Result<(), Error> {
        let stored = machine.memory.store(word, WORD, value);
        stored.map_err(|e| self.fault(machine.memory, site, e, (word, WORD), AccessKind::Atomic, Vec::new()))
    }

    /// Looks once at the words of all lanes that take part.
    fn signal_wait(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        op: ShmemOp,
        condition: WaitCondition,
    ) -> Result<Step, Error> {
        let mut words = Vec::new();
        for lane in self.acting(site, op) {
            let (address, expected) = (self.operand(site, 0).bits()[lane], self.operand(site, 1).bits()[lane]);
            let own = self.rank.number as i32;
            let word = self.symmetric_range(machine, site, address, u64::from(WORD), own)?;
            let found = self.load_word(machine, site, word)?;
            if !condition.holds(found, expected) {
                let awaited = Awaited::Comparison { address: word, condition, expected, found };
                return Ok(self.wait_on(site, Seen { address: word, bytes: WORD, value: found }, awaited));
            }
            words.push((lane, word, found));
        }
        for (lane, word, value) in words {
            self.follow_word(machine, site, (lane, word), Effect::Read, Sem::Acquire);
            self.saw(Seen { address: word, bytes: WORD, value });
        }
        self.wait = None;
        self.finish(site, []);
        Ok(Step::Yield)
    }

    /// The operation stays the next one, to be tried again when the word has changed.
    fn wait_on(&mut self, site: Site<'p>, seen: Seen, awaited: Awaited) -> Step {
        let report = Waiting { at: self.place(site), awaited };
        self.wait_at(Wait::on_word(seen, None, report));
        Step::Waits
    }

    /// Tells the checker of an atomic access to a word.
    fn follow_word(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        (lane, word): (usize, u64),
        effect: Effect,
        sem: Sem,
    ) {
        let order = Order::Atomic(sem, Scope::Sys);
        Follow::new(self, site, AccessKind::Atomic, order, WORD).element(machine, lane, word, effect);
        if effect.writes() {
            self.changed_memory();
        }
    }

    /// Comes to a meeting, and looks whether all have come. What is told again is the same again.
    fn meet(&mut self, machine: &mut Machine<'_>, site: Site<'p>, meeting: Meeting) -> Result<Step, Error> {
        if (meeting, self.meeting) == (Meeting::Barrier, None) {
            self.quiet(machine)?;
        }
        let (team, own) = (self.operand(site, 0).scalar() as i32, self.rank.number);
        let rank = self.rank;
        let round = |k| rank.topology.round(team, k);
        if round(0).map_err(|message| self.world_error(site, message))?.is_none() {
            return Ok(self.finish(site, []));
        }
        let count = match self.meeting {
            Some(count) => count,
            None => self.come(machine, site, team)?,
        };
        for k in 0.. {
            let Some(round) = round(k).map_err(|message| self.world_error(site, message))? else { break };
            let (there, here) =
                (word_of(machine, round.tell, team, round.word), word_of(machine, own, team, round.word));
            if self.load_word(machine, site, there)? < count {
                self.store_word(machine, site, there, count)?;
                self.follow_word(machine, site, (0, there), Effect::Write, Sem::Release);
            }
            let found = self.load_word(machine, site, here)?;
            if found < count {
                let awaited = Awaited::Arrival { address: here, team, rank: round.hear, expected: count, found };
                return Ok(self.wait_on(site, Seen { address: here, bytes: WORD, value: found }, awaited));
            }
            self.follow_word(machine, site, (0, here), Effect::Read, Sem::Acquire);
        }
        self.store_word(machine, site, word_of(machine, own, team, sync_words::BUSY), 0)?;
        (self.meeting, self.wait) = (None, None);
        self.finish(site, []);
        Ok(Step::Yield)
    }

    /// The number of the meeting that the program comes to. One program of a rank can be there at a time.
    fn come(&mut self, machine: &mut Machine<'_>, site: Site<'p>, team: i32) -> Result<u64, Error> {
        let own = self.rank.number;
        if machine.sync_words.is_empty() {
            return Err(self.world_error(site, "this world has no place for teams to meet".into()));
        }
        let [busy, counter] = [sync_words::BUSY, sync_words::COUNT].map(|word| word_of(machine, own, team, word));
        if self.load_word(machine, site, busy)? != 0 {
            let message = format!(
                "two programs of rank {own} are at meetings of team {team} at a time, or a launch was ended there; let \
                 one program of each rank come"
            );
            return Err(self.world_error(site, message));
        }
        let count = self.load_word(machine, site, counter)? + 1;
        self.store_word(machine, site, busy, 1)?;
        self.store_word(machine, site, counter, count)?;
        self.meeting = Some(count);
        Ok(count)
    }

    fn collect(&mut self, machine: &mut Machine<'_>, site: Site<'p>) -> Result<Step, Error> {
        let [team, target, source, bytes] = [0, 1, 2, 3].map(|i| self.operand(site, i).scalar());
        let rank = self.rank;
        let members = rank.topology.members(team as i32).map_err(|message| self.world_error(site, message))?;
        self.lanes_meet(machine);
        for (index, &member) in (0..).zip(members) {
            let from = self.symmetric_range(machine, site, source, bytes, member as i32)?;
            self.copy_now(machine, site, self.actor, (target.wrapping_add(bytes * index), from, bytes))?;
        }
        self.lanes_meet(machine);
        self.changed_memory();
        self.finish(site, []);
        Ok(Step::Yield)
    }
}

/// Where a word of a team is in a rank's memory.
fn word_of(machine: &Machine<'_>, rank: u32, team: i32, word: usize) -> u64 {
    machine.sync_words[rank as usize] + sync_words::offset(team, word) as u64
}

/// A signal: a change of a word that all ranks see as one.
fn signal(word: u64, op: SignalOp, value: u64, sem: Sem) -> SignalWork {
    SignalWork { word, bytes: WORD, op, value, sem, scope: Scope::Sys }
}
