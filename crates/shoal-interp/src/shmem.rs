//! SHMEM operations: a copy is done at once, by the program that asks for it, which is one of the things that may
//! happen. The checker knows better: for it a transfer is an actor of its own, which nothing comes after until `quiet`, a
//! signal behind it or a barrier completes it. Meetings of teams go through words in memory, as on a device: see [`sync_words`].

use shoal_ir::Elem;
use shoal_ir::abi::team::sync_words;
use shoal_ir::abi::{Topology, WaitCondition};
use shoal_ir::comm::SignalOp;
use shoal_ir::op::{CmpOp, Scope, Sem};
use shoal_ir::shmem::{Completion, Meeting, ShmemOp, Way};
use smallvec::SmallVec;

use crate::access::{Follow, Order};
use crate::check::Effect;
use crate::error::{AccessKind, Awaited, Error, Waiting};
use crate::machine::{Machine, Seen, Step, Wait};
use crate::memory::Memory;
use crate::program::{Program, Site};
use crate::value::Val;

/// Who reads the source of a copy, and who writes its target, for the checker.
#[derive(Copy, Clone)]
struct Sides {
    reader: u32,
    writer: u32,
}

/// Bytes of a word.
const WORD: u32 = 8;

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
                self.fenced = true;
                if let Some(checker) = &mut machine.checker {
                    if op == ShmemOp::Quiet { checker.quiet(self.actor) } else { checker.fence(self.actor) }
                }
                self.finish(site, []);
                Ok(Step::Yield)
            }
            ShmemOp::Meet { meeting, .. } => self.meet(machine, site, meeting),
            ShmemOp::Collect { .. } => self.collect(machine, site),
            ShmemOp::SignalWait { cmp } => self.signal_wait(machine, site, op, condition(cmp)),
            ShmemOp::Copy { .. } | ShmemOp::PutSignal { .. } | ShmemOp::PutValue | ShmemOp::Signal { .. } => {
                for lane in self.acting(site, op) {
                    self.act(machine, site, op, lane)?;
                }
                self.finish(site, []);
                Ok(Step::Yield)
            }
        }
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
        match op {
            ShmemOp::Copy { way, completion, .. } => {
                let (target, source, bytes, rank) = (at(0), at(1), at(2), at(3) as i32);
                let (target, source) = match way {
                    Way::Put => (self.symmetric_range(machine, site, target, bytes, rank)?, source),
                    Way::Get => (target, self.symmetric_range(machine, site, source, bytes, rank)?),
                };
                let sides = self.sides(machine, way, completion);
                self.copy(machine, site, (target, source, bytes), sides)
            }
            ShmemOp::PutSignal { op, completion, .. } => {
                let (bytes, rank) = (at(2), at(5) as i32);
                let target = self.symmetric_range(machine, site, at(0), bytes, rank)?;
                let sides = self.sides(machine, Way::Put, completion);
                self.copy(machine, site, (target, at(1), bytes), sides)?;
                self.signal(machine, site, (op, Sem::Release, sides.writer), (at(3), at(4), rank))
            }
            ShmemOp::PutValue => {
                let bytes = site.ty(1).elem().map_or(WORD, Elem::bytes);
                let target = self.symmetric_range(machine, site, at(0), u64::from(bytes), at(2) as i32)?;
                let stored = machine.memory.store(target, bytes, at(1));
                stored
                    .map_err(|e| self.fault(machine.memory, site, e, (target, bytes), AccessKind::Write, Vec::new()))?;
                let writer = self.sides(machine, Way::Put, Completion::Local).writer;
                let mut follow = Follow::new(self, site, AccessKind::Write, Order::Plain, bytes).by(writer);
                follow.element(machine, target, Effect::Write);
                follow.flush(machine);
                self.changed_memory();
                Ok(())
            }
            // Fences order it after what was put.
            ShmemOp::Signal { op } => {
                let actor = machine.checker.as_mut().map(|checker| checker.start_signal(self.actor));
                let (actor, releases) = actor.unwrap_or((self.actor, self.fenced));
                let sem = if releases { Sem::Release } else { Sem::Relaxed };
                self.signal(machine, site, (op, sem, actor), (at(0), at(1), at(2) as i32))
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

    /// Bytes of this rank's heap as another rank has them.
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
        let offset = address.wrapping_sub(heap.base.0);
        if offset > heap.bytes || heap.bytes - offset < bytes {
            let near = machine.memory.describe(address);
            let message = format!(
                "{bytes} bytes at {address:#x} are not in the symmetric heap of rank {} ({near}); allocate it on all \
                 ranks together",
                self.rank.number
            );
            return Err(self.world_error(site, message));
        }
        self.at_rank(machine, site, offset, i64::from(rank))
    }

    /// Who reads and who writes a copy: the program itself, or a transfer that goes on after the operation.
    fn sides(&self, machine: &mut Machine<'_>, way: Way, completion: Completion) -> Sides {
        let Some(checker) = &mut machine.checker else { return Sides { reader: self.actor, writer: self.actor } };
        match (way, completion) {
            (Way::Get, Completion::Local) => Sides { reader: self.actor, writer: self.actor },
            (Way::Put, Completion::Local) => Sides { reader: self.actor, writer: checker.start_transfer(self.actor) },
            (Way::Put | Way::Get, Completion::Issued) => {
                let transfer = checker.start_transfer(self.actor);
                Sides { reader: transfer, writer: transfer }
            }
        }
    }

    fn copy(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        (target, source, bytes): (u64, u64, u64),
        sides: Sides,
    ) -> Result<(), Error> {
        // The ends first: a copy of what is not there begins nothing.
        let read = |memory: &Memory, offset: u64| {
            let address = source.wrapping_add(offset);
            memory.load(address, 1).map_err(|e| self.fault(memory, site, e, (address, 1), AccessKind::Read, Vec::new()))
        };
        if let Some(last) = bytes.checked_sub(1) {
            read(machine.memory, last)?;
        }
        let data: Vec<u64> = (0..bytes).map(|offset| read(machine.memory, offset)).collect::<Result<_, _>>()?;
        for (offset, byte) in (0..).zip(data) {
            let address = target.wrapping_add(offset);
            machine
                .memory
                .store(address, 1, byte)
                .map_err(|e| self.fault(machine.memory, site, e, (address, 1), AccessKind::Write, Vec::new()))?;
        }
        let mut reads = Follow::new(self, site, AccessKind::Read, Order::Plain, 1).by(sides.reader);
        let mut writes = Follow::new(self, site, AccessKind::Write, Order::Plain, 1).by(sides.writer);
        for offset in 0..bytes {
            reads.element(machine, source.wrapping_add(offset), Effect::Read);
        }
        reads.flush(machine);
        for offset in 0..bytes {
            writes.element(machine, target.wrapping_add(offset), Effect::Write);
        }
        writes.flush(machine);
        self.changed_memory();
        Ok(())
    }

    fn signal(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        (op, sem, actor): (SignalOp, Sem, u32),
        (address, signal, rank): (u64, u64, i32),
    ) -> Result<(), Error> {
        let word = self.symmetric_range(machine, site, address, u64::from(WORD), rank)?;
        let held = self.load_word(machine, site, word)?;
        let (next, effect) = match op {
            SignalOp::Set => (signal, Effect::Write),
            SignalOp::Add => (held.wrapping_add(signal), Effect::Both),
        };
        self.store_word(machine, site, word, next)?;
        let order = Order::Atomic(sem, Scope::Sys);
        Follow::new(self, site, AccessKind::Atomic, order, WORD).by(actor).element(machine, word, effect);
        self.changed_memory();
        Ok(())
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
            words.push((word, found));
        }
        for (word, value) in words {
            self.follow_word(machine, site, word, Effect::Read, Sem::Acquire);
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
    fn follow_word(&mut self, machine: &mut Machine<'_>, site: Site<'p>, word: u64, effect: Effect, sem: Sem) {
        let order = Order::Atomic(sem, Scope::Sys);
        Follow::new(self, site, AccessKind::Atomic, order, WORD).element(machine, word, effect);
        if effect.writes() {
            self.changed_memory();
        }
    }

    /// Comes to a meeting, and looks whether all have come. What is told again is the same again.
    fn meet(&mut self, machine: &mut Machine<'_>, site: Site<'p>, meeting: Meeting) -> Result<Step, Error> {
        if let (Meeting::Barrier, None, Some(checker)) = (meeting, self.meeting, &mut machine.checker) {
            checker.quiet(self.actor);
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
                self.follow_word(machine, site, there, Effect::Write, Sem::Release);
            }
            let found = self.load_word(machine, site, here)?;
            if found < count {
                let awaited = Awaited::Arrival { address: here, team, rank: round.hear, expected: count, found };
                return Ok(self.wait_on(site, Seen { address: here, bytes: WORD, value: found }, awaited));
            }
            self.follow_word(machine, site, here, Effect::Read, Sem::Acquire);
        }
        self.store_word(machine, site, word_of(machine, own, team, sync_words::BUSY), 0)?;
        (self.meeting, self.wait, self.fenced) = (None, None, true);
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
        for (index, &member) in (0..).zip(members) {
            let from = self.symmetric_range(machine, site, source, bytes, member as i32)?;
            let sides = Sides { reader: self.actor, writer: self.actor };
            self.copy(machine, site, (target.wrapping_add(bytes * index), from, bytes), sides)?;
        }
        self.finish(site, []);
        Ok(Step::Yield)
    }
}

/// Where a word of a team is in a rank's memory.
fn word_of(machine: &Machine<'_>, rank: u32, team: i32, word: usize) -> u64 {
    machine.sync_words[rank as usize] + sync_words::offset(team, word) as u64
}

fn condition(cmp: CmpOp) -> WaitCondition {
    match cmp {
        CmpOp::Eq => WaitCondition::Equal,
        CmpOp::Ne => WaitCondition::NotEqual,
        CmpOp::Lt => WaitCondition::Less,
        CmpOp::Le => WaitCondition::LessEqual,
        CmpOp::Gt => WaitCondition::Greater,
        CmpOp::Ge => WaitCondition::GreaterEqual,
    }
}
