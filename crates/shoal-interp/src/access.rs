//! Loads, stores and atomics: element by element in row-major order, each access checked.

use std::collections::HashMap;
use std::ops::Range;

use shoal_ir::numeric::binary_slice;
use shoal_ir::op::{BinaryOp, LoadAttrs, LoadMode, RmwOp, Scope, Sem};
use shoal_ir::{Elem, Scalar};

use crate::check::{Bytes, Effect};
use crate::error::{AccessKind, Awaited, Error, Waiting};
use crate::launch::ElementOrder;
use crate::machine::{Machine, Seen, Step, Wait};
use crate::memory::{AccessError, Memory};
use crate::program::{Program, Site};
use crate::shape::index_of;
use crate::value::Val;

/// An element as it comes from memory.
pub(crate) fn read(memory: &Memory, elem: Elem, address: u64) -> Result<u64, AccessError> {
    let mut bits = [memory.load(address, elem.bytes())?];
    normalise(elem, &mut bits);
    Ok(bits[0])
}

/// A truth value is any byte but zero.
fn normalise(elem: Elem, bits: &mut [u64]) {
    if elem == Elem::Scalar(Scalar::I1) {
        bits.iter_mut().for_each(|bit| *bit = u64::from(*bit != 0));
    }
}

pub(crate) fn write(memory: &mut Memory, elem: Elem, address: u64, bits: u64) -> Result<(), AccessError> {
    memory.store(address, elem.bytes(), bits)
}

/// How an access takes part in the order of things.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Plain,
    Atomic(Sem, Scope),
}

/// The combination of an atomic, or `None` for the operand alone.
fn combination(op: RmwOp) -> Option<BinaryOp> {
    match op {
        RmwOp::Add => Some(BinaryOp::Add),
        RmwOp::Min => Some(BinaryOp::Min),
        RmwOp::Max => Some(BinaryOp::Max),
        RmwOp::And => Some(BinaryOp::And),
        RmwOp::Or => Some(BinaryOp::Or),
        RmwOp::Xor => Some(BinaryOp::Xor),
        RmwOp::Xchg => None,
    }
}

/// The elements that a mask (if there is one) does not hide, in runs that lie side by side in memory.
fn runs<'a>(addresses: &'a [u64], mask: Option<&'a [u64]>, bytes: u32) -> impl Iterator<Item = Range<usize>> + 'a {
    let wanted = move |i: usize| mask.is_none_or(|mask| mask[i] != 0);
    let mut next = 0;
    std::iter::from_fn(move || {
        let start = (next..addresses.len()).find(|&i| wanted(i))?;
        let follows = |&i: &usize| wanted(i) && addresses[i] == addresses[i - 1].wrapping_add(u64::from(bytes));
        next = (start + 1..addresses.len()).find(|i| !follows(i)).unwrap_or(addresses.len());
        Some(start..next)
    })
}

/// What an access to one element gives, and what it did there.
pub(crate) type Accessed = Result<(u64, Effect), AccessError>;

impl<'p> Program<'p> {
    /// The element type behind the pointers of an operation's first operand.
    pub(crate) fn pointee(&self, site: Site<'p>) -> Result<Elem, Error> {
        let ptr = site.ty(0).elem().and_then(Elem::ptr);
        ptr.map(|p| p.element()).ok_or_else(|| Error::Invalid {
            what: "an access through something else than a pointer".into(),
            at: self.place(site),
        })
    }

    pub(crate) fn fault(
        &self,
        memory: &Memory,
        site: Site<'p>,
        fault: AccessError,
        (address, bytes): (u64, u32),
        access: AccessKind,
        element: Vec<u32>,
    ) -> Error {
        let at = self.place(site);
        match fault {
            AccessError::OutOfBounds => {
                let near = memory.describe(address);
                Error::OutOfBounds { address, bytes, access, element, near, at }
            }
            AccessError::Misaligned => Error::Misaligned { address, bytes, access, element, at },
            AccessError::ReadOnly => Error::ReadOnly { address, near: memory.describe(address), at },
        }
    }

    /// Does `each` for every element that the mask (if there is one) does not hide; gives what it gave, zero elsewhere.
    fn at_each(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        (access, order): (AccessKind, Order),
        mask: Option<usize>,
        mut each: impl FnMut(&mut Memory, Elem, u64, usize) -> Accessed,
    ) -> Result<Vec<u64>, Error> {
        let elem = self.pointee(site)?;
        let addresses = self.operand(site, 0).clone();
        let addresses = addresses.bits();
        let mask = mask.filter(|&i| i < site.operand_count()).map(|i| self.operand(site, i).clone());
        let mask = mask.as_ref().map(Val::bits);
        let mut out = vec![0; addresses.len()];
        let before = machine.memory.version();
        let mut follow = Follow::new(self, site, access, order, elem.bytes());
        for step in 0..addresses.len() {
            let i = match machine.elements {
                ElementOrder::Forward | ElementOrder::Unordered => step,
                ElementOrder::Backward => addresses.len() - 1 - step,
                ElementOrder::From(first) => (first + step) % addresses.len(),
            };
            let address = addresses[i];
            if mask.is_some_and(|m| m[i] == 0) {
                continue;
            }
            let accessed = machine.memory.reaching(address, |memory| each(memory, elem, address, i));
            let (value, effect) = accessed.map_err(|fault| {
                let element = index_of(i, site.ty(0).shape());
                self.fault(machine.memory, site, fault, (address, elem.bytes()), access, element)
            })?;
            out[i] = value;
            follow.element(machine, i, address, effect);
            if effect.reads() && !self.laps.is_empty() {
                self.saw(Seen {
                    address,
                    bytes: elem.bytes(),
                    value: machine.memory.load(address, elem.bytes()).unwrap_or(value),
                });
            }
        }
        follow.flush(machine);
        if machine.memory.version() != before {
            self.changed_memory();
        }
        Ok(out)
    }

    pub(crate) fn load(&mut self, machine: &mut Machine<'_>, site: Site<'p>, attrs: LoadAttrs) -> Result<Val, Error> {
        let read = |memory: &mut Memory, elem, address, _| Ok((read(memory, elem, address)?, Effect::Read));
        let order = match attrs.mode {
            LoadMode::Volatile => Order::Atomic(Sem::Relaxed, Scope::Sys),
            LoadMode::Free | LoadMode::Pinned => Order::Plain,
        };
        let at_once = if order == Order::Plain { self.load_runs(machine, site)? } else { None };
        let mut out = match at_once {
            Some(out) => out,
            None => self.at_each(machine, site, (AccessKind::Read, order), Some(1), read)?,
        };
        if site.operand_count() > 2 {
            let (mask, other) = (self.operand(site, 1).bits(), self.operand(site, 2).bits());
            for ((out, &mask), &other) in out.iter_mut().zip(mask).zip(other) {
                if mask == 0 {
                    *out = other;
                }
            }
        }
        Ok(Val::of(site.result_ty(0), out))
    }

    pub(crate) fn store(&mut self, machine: &mut Machine<'_>, site: Site<'p>) -> Result<Step, Error> {
        if self.store_runs(machine, site)? {
            return Ok(self.finish(site, []));
        }
        self.refuse_to_choose(machine, site)?;
        let values = self.operand(site, 1).clone();
        let how = (AccessKind::Write, Order::Plain);
        self.at_each(machine, site, how, Some(2), |memory, elem, address, i| {
            write(memory, elem, address, values.bits()[i]).map(|()| (0, Effect::Write))
        })?;
        Ok(self.finish(site, []))
    }

    /// Where elements have no order: refuses a store of different values to one address.
    fn refuse_to_choose(&self, machine: &Machine<'_>, site: Site<'p>) -> Result<(), Error> {
        if machine.elements != ElementOrder::Unordered {
            return Ok(());
        }
        let (addresses, values) = (self.operand(site, 0).bits(), self.operand(site, 1).bits());
        let mask = (site.operand_count() > 2).then(|| self.operand(site, 2).bits());
        let mut stored = HashMap::new();
        for (i, (&address, &value)) in addresses.iter().zip(values).enumerate() {
            if mask.is_none_or(|mask| mask[i] != 0) && *stored.entry(address).or_insert(value) != value {
                let what = "a store of different values to one address".into();
                return Err(Error::Invalid { what, at: self.place(site) });
            }
        }
        Ok(())
    }

    /// Whether somebody wants to know of each single access.
    fn is_followed(&self, machine: &Machine<'_>) -> bool {
        machine.checker.is_some() || !self.laps.is_empty()
    }

    /// What a plain load reads, zero where the mask hides it: neighbouring elements at once. `None` where each element has
    /// to be looked at.
    fn load_runs(&self, machine: &Machine<'_>, site: Site<'p>) -> Result<Option<Vec<u64>>, Error> {
        if self.is_followed(machine) {
            return Ok(None);
        }
        let elem = self.pointee(site)?;
        let bytes = elem.bytes();
        let addresses = self.operand(site, 0).bits();
        let mask = (site.operand_count() > 1).then(|| self.operand(site, 1).bits());
        let mut out = vec![0; addresses.len()];
        for run in runs(addresses, mask, bytes) {
            if machine.memory.load_run(addresses[run.start], bytes, &mut out[run]).is_err() {
                return Ok(None);
            }
        }
        normalise(elem, &mut out);
        Ok(Some(out))
    }

    /// Does a plain store, neighbouring elements at once. Whether it is done; if not, doing it element by element finds out
    /// why.
    fn store_runs(&self, machine: &mut Machine<'_>, site: Site<'p>) -> Result<bool, Error> {
        if self.is_followed(machine) || machine.elements != ElementOrder::Forward {
            return Ok(false);
        }
        let bytes = self.pointee(site)?.bytes();
        let (addresses, values) = (self.operand(site, 0).bits(), self.operand(site, 1).bits());
        let mask = (site.operand_count() > 2).then(|| self.operand(site, 2).bits());
        let mut runs = runs(addresses, mask, bytes);
        Ok(runs.all(|run| machine.memory.store_run(addresses[run.start], bytes, &values[run]).is_ok()))
    }

    pub(crate) fn atomic_load(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        order: Order,
    ) -> Result<Step, Error> {
        let read = |memory: &mut Memory, elem, address, _| Ok((read(memory, elem, address)?, Effect::Read));
        let out = self.at_each(machine, site, (AccessKind::Atomic, order), Some(1), read)?;
        self.finish(site, [Val::of(site.result_ty(0), out)]);
        Ok(Step::Yield)
    }

    pub(crate) fn atomic_store(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        order: Order,
    ) -> Result<Step, Error> {
        if self.write_later(machine, site, order)? {
            self.finish(site, []);
            return Ok(Step::Yield);
        }
        self.refuse_to_choose(machine, site)?;
        let values = self.operand(site, 1).clone();
        self.at_each(machine, site, (AccessKind::Atomic, order), Some(2), |memory, elem, address, i| {
            write(memory, elem, address, values.bits()[i]).map(|()| (0, Effect::Write))
        })?;
        self.finish(site, []);
        Ok(Step::Yield)
    }

    pub(crate) fn atomic_rmw(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        op: RmwOp,
        order: Order,
    ) -> Result<Step, Error> {
        // An exchange of which nobody wants to know what was there is a write.
        let is_write = op == RmwOp::Xchg && site.op.results().iter().all(|v| site.plan.last_uses(site.id).contains(v));
        if is_write && self.write_later(machine, site, order)? {
            self.drop_dead(site);
            return Ok(Step::Yield);
        }
        if op == RmwOp::Xchg {
            self.refuse_to_choose(machine, site)?;
        }
        let values = self.operand(site, 1).clone();
        let out = self.at_each(machine, site, (AccessKind::Atomic, order), Some(2), |memory, elem, address, i| {
            let mut effect = Effect::Both;
            let old = memory.update(address, elem.bytes(), |old| {
                let mut new = [values.bits()[i]];
                if let Some(op) = combination(op) {
                    binary_slice(op, elem.scalar().unwrap_or(Scalar::U64), &[old], &[values.bits()[i]], &mut new);
                }
                if new[0] == old {
                    effect = Effect::Kept;
                }
                Some(new[0])
            })?;
            Ok((old, effect))
        })?;
        self.finish(site, [Val::of(site.result_ty(0), out)]);
        Ok(Step::Yield)
    }

    pub(crate) fn atomic_cas(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        order: Order,
    ) -> Result<Step, Error> {
        let (compare, values) = (self.operand(site, 1).clone(), self.operand(site, 2).clone());
        let out = self.at_each(machine, site, (AccessKind::Atomic, order), Some(3), |memory, elem, address, i| {
            let expected = compare.bits()[i];
            let old = memory.update(address, elem.bytes(), |old| (old == expected).then_some(values.bits()[i]))?;
            let effect = match (old == expected, values.bits()[i] == expected) {
                (false, _) => Effect::Read,
                (true, false) => Effect::Both,
                (true, true) => Effect::Kept,
            };
            Ok((old, effect))
        })?;
        self.finish(site, [Val::of(site.result_ty(0), out)]);
        Ok(Step::Yield)
    }

    /// Looks once. If the value is not there, the operation stays the next one, to be tried again when the word has
    /// changed.
    pub(crate) fn atomic_poll(
        &mut self,
        machine: &mut Machine<'_>,
        site: Site<'p>,
        order: Order,
    ) -> Result<Step, Error> {
        let (address, expected) = (self.operand(site, 0).scalar(), self.operand(site, 1).scalar());
        let elem = self.pointee(site)?;
        let found = machine.memory.reaching(address, |memory| read(memory, elem, address)).map_err(|fault| {
            self.fault(machine.memory, site, fault, (address, elem.bytes()), AccessKind::Atomic, Vec::new())
        })?;
        if found == expected || self.expired {
            let mut follow = Follow::new(self, site, AccessKind::Atomic, order, elem.bytes());
            follow.element(machine, 0, address, Effect::Read);
            self.saw(Seen { address, bytes: elem.bytes(), value: found });
            self.finish(site, [Val::Scalar(u64::from(found == expected))]);
            self.wait = None;
            self.expired = false;
            return Ok(Step::Yield);
        }
        let deadline = self.wait.take().map_or_else(
            || (site.operand_count() > 2).then(|| machine.now().saturating_add(self.operand(site, 2).scalar())),
            |earlier| earlier.deadline,
        );
        let report = Waiting { at: self.place(site), awaited: Awaited::Value { address, expected, found } };
        self.wait_at(Wait::on_word(Seen { address, bytes: elem.bytes(), value: found }, deadline, report));
        Ok(Step::Waits)
    }

    /// Waits at the operation that is being done: it is tried again when the wait may be over.
    pub(crate) fn wait_at(&mut self, wait: Wait) {
        self.wait = Some(wait);
        if let Some(frame) = self.frames.last_mut() {
            frame.next -= 1;
        }
    }
}

/// Who makes the accesses of an operation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum By {
    /// One actor all of them.
    Actor(u32),
    /// The program, or a lane of it where the program is in code of some lanes only.
    Lane(u32, u32),
    /// Each lane of the program its own element.
    Lanes(u32),
}

/// Tells the checker, if there is one, what an operation accesses: plain accesses to neighbouring elements at once.
pub(crate) struct Follow {
    by: By,
    span: shoal_ir::Span,
    kind: AccessKind,
    order: Order,
    bytes: u32,
    run: Option<(u32, Bytes)>,
    /// The number of the last actor's plain access in the checker's table.
    info: Option<(u32, u32)>,
}

impl Follow {
    pub(crate) fn new(program: &Program<'_>, site: Site<'_>, kind: AccessKind, order: Order, bytes: u32) -> Follow {
        let by = if !program.rank.has_lanes {
            By::Actor(program.actor)
        } else if site.plan.is_by_lanes(site.id) {
            By::Lanes(program.actor)
        } else {
            // A tile is the whole program's, wherever it is accessed.
            let one = site.op.operands().first().is_some_and(|&v| !site.plan.func.ty(v).is_tile());
            let lane = program.first_active().filter(|_| one);
            lane.map_or(By::Actor(program.actor), |lane| By::Lane(program.actor, lane))
        };
        Follow { by, span: site.op.span, kind, order, bytes, run: None, info: None }
    }

    /// Accesses of one actor.
    pub(crate) fn of(actor: u32, span: shoal_ir::Span, kind: AccessKind, order: Order, bytes: u32) -> Follow {
        Follow { by: By::Actor(actor), span, kind, order, bytes, run: None, info: None }
    }

    /// Who accesses the element with this number.
    pub(crate) fn actor(&self, machine: &mut Machine<'_>, number: usize) -> u32 {
        match (self.by, &mut machine.checker) {
            (By::Lane(program, lane), Some(checker)) => checker.lane(program, lane),
            (By::Lanes(program), Some(checker)) => checker.lane(program, number as u32),
            (By::Actor(actor) | By::Lane(actor, _) | By::Lanes(actor), _) => actor,
        }
    }

    /// The element with this number was accessed.
    #[inline]
    pub(crate) fn element(&mut self, machine: &mut Machine<'_>, number: usize, address: u64, effect: Effect) {
        if self.order != Order::Plain && effect.changes() {
            machine.changed_word(address);
        }
        let actor = self.actor(machine, number);
        let Some(checker) = &mut machine.checker else { return };
        match self.order {
            Order::Plain => {
                let end = address + u64::from(self.bytes);
                match &mut self.run {
                    Some((same, run)) if run.end == address && *same == actor => run.end = end,
                    _ => {
                        self.flush(machine);
                        self.run = Some((actor, Bytes { start: address, end, element: self.bytes }));
                    }
                }
            }
            Order::Atomic(sem, scope) => {
                checker.atomic(machine.memory, actor, self.span, (address, self.bytes), effect, (sem, scope));
            }
        }
    }

    /// So many bytes from an address on were accessed.
    pub(crate) fn bytes(&mut self, machine: &mut Machine<'_>, start: u64, bytes: u64) {
        let By::Actor(actor) = self.by else { return };
        self.flush(machine);
        self.run = (bytes > 0).then_some((actor, Bytes { start, end: start + bytes, element: self.bytes }));
        self.flush(machine);
    }

    /// Tells what is not told yet.
    pub(crate) fn flush(&mut self, machine: &mut Machine<'_>) {
        let (Some((actor, run)), Some(checker)) = (self.run.take(), &mut machine.checker) else { return };
        let writes = self.kind == AccessKind::Write;
        let info = match self.info {
            Some((same, info)) if same == actor => info,
            Some(_) | None => checker.info(actor, self.span, self.kind, writes, None, self.bytes),
        };
        self.info = Some((actor, info));
        checker.plain(machine.memory, actor, info, writes, run);
    }
}
