//! Operations between ranks.

use shoal_ir::abi::AxisPosition;
use shoal_ir::abi::team::{OUTSIDE_OF_A_WORLD, how_to_allocate};
use shoal_ir::comm::{CommOp, CommScope, SignalOp};
use shoal_ir::op::Sem;
use shoal_ir::{Elem, Scalar};

use crate::access::{Follow, Order};
use crate::check::Effect;
use crate::error::{AccessKind, Awaited, Error, Waiting};
use crate::machine::{Machine, Seen, Step, Wait};
use crate::memory::AccessError;
use crate::program::{Program, Site};
use crate::rank::Heap;
use crate::value::Val;

impl<'p> Program<'p> {
    pub(crate) fn comm(&mut self, machine: &mut Machine<'_>, site: Site<'p>, op: CommOp) -> Result<Step, Error> {
        match op {
            CommOp::Rank { axis } | CommOp::NumRanks { axis } => {
                self.heap(machine, site)?;
                let whole = AxisPosition { position: self.rank.number, size: machine.heaps.len() as u32 };
                let along = axis.map_or(Ok(whole), |axis| self.rank.topology.axis(axis.into()));
                let along = along.map_err(|message| self.world_error(site, message))?;
                let number = if matches!(op, CommOp::Rank { .. }) { along.position } else { along.size };
                Ok(self.finish(site, [Val::Scalar(number.into())]))
            }
            CommOp::SymmAt => {
                let places = self.symmetric_places(machine, site)?;
                Ok(self.finish(site, [places]))
            }
            CommOp::Wait { sem, scope } => self.wait_for_words(machine, site, Order::Atomic(sem, scope)),
            CommOp::ConsumeToken => {
                let value = self.operand(site, 0).clone();
                Ok(self.finish(site, [value]))
            }
            CommOp::Notify { op, scope } => self.notify(machine, site, op, scope),
            CommOp::Shmem(op) => self.shmem(machine, site, op),
        }
    }

    pub(crate) fn heap(&self, machine: &Machine<'_>, site: Site<'p>) -> Result<Heap, Error> {
        let heap = machine.heaps.get(self.rank.number as usize).copied();
        heap.filter(|_| self.rank.in_world).ok_or_else(|| self.world_error(site, OUTSIDE_OF_A_WORLD.into()))
    }

    pub(crate) fn world_error(&self, site: Site<'p>, message: String) -> Error {
        Error::World { message, at: self.place(site) }
    }

    /// The place of the first operand in the heap of the rank that the second one names.
    fn symmetric(&self, machine: &Machine<'_>, site: Site<'p>) -> Result<u64, Error> {
        self.place_at(machine, site, self.operand(site, 0).scalar(), self.rank_operand(site))
    }

    /// The places of the first operand's elements at the ranks of the second's; null where the mask says so.
    fn symmetric_places(&self, machine: &Machine<'_>, site: Site<'p>) -> Result<Val, Error> {
        let (addresses, ranks) = (self.operand(site, 0).bits(), self.operand(site, 1).bits());
        let mask = (site.operand_count() > 2).then(|| self.operand(site, 2).bits());
        let place = |i: usize| match mask.is_some_and(|mask| mask[i] == 0) {
            true => Ok(0),
            false => self.place_at(machine, site, addresses[i], i64::from(ranks[i] as i32)),
        };
        Ok(Val::of(site.result_ty(0), (0..addresses.len()).map(place).collect::<Result<_, _>>()?))
    }

    /// The place of an address of this rank's heap in the heap of another rank.
    fn place_at(&self, machine: &Machine<'_>, site: Site<'p>, address: u64, rank: i64) -> Result<u64, Error> {
        let heap = self.heap(machine, site)?;
        let offset = address.wrapping_sub(heap.base.0);
        if offset >= heap.bytes {
            let near = machine.memory.describe(address);
            let how = how_to_allocate(address);
            let message = format!("{address:#x} is not in the symmetric heap ({near}); {how}");
            return Err(self.world_error(site, message));
        }
        self.at_rank(machine, site, offset, rank)
    }

    /// An offset in the heap of a rank.
    pub(crate) fn at_rank(&self, machine: &Machine<'_>, site: Site<'p>, offset: u64, rank: i64) -> Result<u64, Error> {
        let peer = usize::try_from(rank).ok().and_then(|rank| machine.heaps.get(rank));
        let Some(peer) = peer else {
            let message = format!("there is no rank {rank}; the world has {}", machine.heaps.len());
            return Err(self.world_error(site, message));
        };
        Ok(peer.base.0 + offset)
    }

    fn rank_operand(&self, site: Site<'p>) -> i64 {
        i64::from(self.operand(site, 1).scalar() as i32)
    }

    /// Looks once at all words. If one is not there yet, the operation stays the next one, to be tried again when the
    /// word has changed.
    fn wait_for_words(&mut self, machine: &mut Machine<'_>, site: Site<'p>, order: Order) -> Result<Step, Error> {
        let bytes = site.ty(2).elem().map_or(4, Elem::bytes);
        let (base, expected) = (self.operand(site, 0).scalar(), self.operand(site, 2).scalar());
        let words = self.rank_operand(site).max(0) as u64;
        let address = |word: u64| base.wrapping_add(word * u64::from(bytes));
        for address in (0..words).map(address) {
            let found = machine.memory.load(address, bytes).map_err(|e| self.word_fault(machine, site, e, address))?;
            if found != expected {
                let report = Waiting { at: self.place(site), awaited: Awaited::Value { address, expected, found } };
                self.wait_at(Wait::on_word(Seen { address, bytes, value: found }, None, report));
                return Ok(Step::Waits);
            }
        }
        self.lanes_meet(machine);
        let mut follow = Follow::of(self.actor, site.op.span, AccessKind::Atomic, order, bytes);
        for address in (0..words).map(address) {
            follow.element(machine, 0, address, Effect::Read);
            self.saw(Seen { address, bytes, value: expected });
        }
        self.lanes_meet(machine);
        self.wait = None;
        self.finish(site, [Val::Empty]);
        Ok(Step::Yield)
    }

    fn notify(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        op: SignalOp,
        scope: CommScope,
    ) -> Result<Step, Error> {
        let address = match scope {
            CommScope::Gpu => {
                self.heap(machine, site)?;
                let rank = self.rank_operand(site);
                if rank != i64::from(self.rank.number) {
                    let message = format!("a signal at `gpu` scope stays on its rank, but is for rank {rank}");
                    return Err(self.world_error(site, message));
                }
                self.operand(site, 0).scalar()
            }
            CommScope::IntraNode | CommScope::InterNode => self.symmetric(machine, site)?,
        };
        let bytes = Scalar::I64.bytes();
        let signal = self.operand(site, 2).scalar();
        let next = |held: u64| match op {
            SignalOp::Set => Some(signal),
            SignalOp::Add => Some(held.wrapping_add(signal)),
        };
        let changed = machine.memory.update(address, bytes, next);
        changed.map_err(|e| self.word_fault(machine, site, e, address))?;
        let effect = match op {
            SignalOp::Set => Effect::Write,
            SignalOp::Add => Effect::Both,
        };
        let order = Order::Atomic(Sem::Release, scope.memory_scope());
        self.lanes_meet(machine);
        Follow::of(self.actor, site.op.span, AccessKind::Atomic, order, bytes).element(machine, 0, address, effect);
        self.changed_memory();
        self.finish(site, []);
        Ok(Step::Yield)
    }

    /// The lanes of the program meet, as at the beginning and the end of what the program does as a whole.
    pub(crate) fn lanes_meet(&self, machine: &mut Machine<'_>) {
        if let Some(checker) = &mut machine.checker {
            checker.lanes_meet(self.actor);
        }
    }

    fn word_fault(&self, machine: &Machine<'_>, site: Site<'p>, fault: AccessError, address: u64) -> Error {
        let bytes = site.ty(2).elem().map_or(4, Elem::bytes);
        self.fault(machine.memory, site, fault, (address, bytes), AccessKind::Atomic, Vec::new())
    }
}
