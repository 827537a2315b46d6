//! Loads, stores and atomics: element by element in row-major order, each access checked.

use shoal_ir::numeric::binary_slice;
use shoal_ir::op::{BinaryOp, LoadAttrs, RmwOp, Scope, Sem};
use shoal_ir::{Elem, Scalar};

use crate::check::{Bytes, Effect};
use crate::error::{AccessKind, Awaited, Error, Waiting};
use crate::machine::{Machine, Seen, Step, Wait};
use crate::memory::{AccessError, Memory};
use crate::program::{Program, Site};
use crate::shape::index_of;
use crate::value::Val;

/// An element as it comes from memory: a truth value is any byte but zero.
pub(crate) fn read(memory: &Memory, elem: Elem, address: u64) -> Result<u64, AccessError> {
    let bits = memory.load(address, elem.bytes())?;
    Ok(if elem == Elem::Scalar(Scalar::I1) { u64::from(bits != 0) } else { bits })
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

/// What an access to one element gives, and what it did there.
pub(crate) type Accessed = Result<(u64, Effect), AccessError>;

impl<'p> Program<'p> {
    /// The element type behind the pointers of an operation's first operand.
    fn pointee(&self, site: Site<'p>) -> Result<Elem, Error> {
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
        for (i, &address) in addresses.iter().enumerate() {
            if mask.is_some_and(|m| m[i] == 0) {
                continue;
            }
            let (value, effect) = each(machine.memory, elem, address, i).map_err(|fault| {
                let element = index_of(i, site.ty(0).shape());
                self.fault(machine.memory, site, fault, (address, elem.bytes()), access, element)
            })?;
            out[i] = value;
            follow.element(machine, address, effect);
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
        // A volatile load is atomic, and orders nothing.
        let order = if attrs.volatile { Order::Atomic(Sem::Relaxed, Scope::Sys) } else { Order::Plain };
        let mut out = self.at_each(machine, site, (AccessKind::Read, order), Some(1), read)?;
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
        let values = self.operand(site, 1).clone();
        let how = (AccessKind::Write, Order::Plain);
        self.at_each(machine, site, how, Some(2), |memory, elem, address, i| {
            write(memory, elem, address, values.bits()[i]).map(|()| (0, Effect::Write))
        })?;
        Ok(self.finish(site, []))
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
        let values = self.operand(site, 1).clone();
        let out = self.at_each(machine, site, (AccessKind::Atomic, order), Some(2), |memory, elem, address, i| {
            let old = read(memory, elem, address)?;
            let mut new = [values.bits()[i]];
            if let Some(op) = combination(op) {
                binary_slice(op, elem.scalar().unwrap_or(Scalar::U64), &[old], &[values.bits()[i]], &mut new);
            }
            write(memory, elem, address, new[0])?;
            Ok((old, Effect::Both))
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
            let old = read(memory, elem, address)?;
            if old != compare.bits()[i] {
                return Ok((old, Effect::Read));
            }
            write(memory, elem, address, values.bits()[i])?;
            Ok((old, Effect::Both))
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
        let found = read(machine.memory, elem, address).map_err(|fault| {
            self.fault(machine.memory, site, fault, (address, elem.bytes()), AccessKind::Atomic, Vec::new())
        })?;
        if found == expected || self.expired {
            let mut follow = Follow::new(self, site, AccessKind::Atomic, order, elem.bytes());
            follow.element(machine, address, Effect::Read);
            self.saw(Seen { address, bytes: elem.bytes(), value: found });
            self.finish(site, [Val::Scalar(u64::from(found == expected))]);
            self.wait = None;
            self.expired = false;
            return Ok(Step::Yield);
        }
        let deadline = self.wait.take().map_or_else(
            || (site.operand_count() > 2).then(|| machine.steps.saturating_add(self.operand(site, 2).scalar())),
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

/// Tells the checker, if there is one, what an operation accesses: plain accesses to neighbouring elements at once.
pub(crate) struct Follow {
    actor: u32,
    span: shoal_ir::Span,
    kind: AccessKind,
    order: Order,
    bytes: u32,
    run: Option<Bytes>,
}

impl Follow {
    pub(crate) fn new(program: &Program<'_>, site: Site<'_>, kind: AccessKind, order: Order, bytes: u32) -> Follow {
        Follow { actor: program.actor, span: site.op.span, kind, order, bytes, run: None }
    }

    /// The same, done by another actor than the program.
    pub(crate) fn by(self, actor: u32) -> Follow {
        Follow { actor, ..self }
    }

    /// An element was accessed.
    #[inline]
    pub(crate) fn element(&mut self, machine: &mut Machine<'_>, address: u64, effect: Effect) {
        if machine.checker.is_none() {
            return;
        }
        match self.order {
            Order::Plain => {
                let end = address + u64::from(self.bytes);
                match &mut self.run {
                    Some(run) if run.end == address => run.end = end,
                    _ => {
                        self.flush(machine);
                        self.run = Some(Bytes { start: address, end, element: self.bytes });
                    }
                }
            }
            Order::Atomic(sem, scope) => {
                if let Some(checker) = &mut machine.checker {
                    let word = (address, self.bytes);
                    checker.atomic(machine.memory, self.actor, self.span, word, effect, (sem, scope));
                }
            }
        }
    }

    /// Tells what is not told yet.
    pub(crate) fn flush(&mut self, machine: &mut Machine<'_>) {
        if let (Some(run), Some(checker)) = (self.run.take(), &mut machine.checker) {
            checker.plain(machine.memory, self.actor, self.span, self.kind, run);
        }
    }
}
