//! Loads, stores and atomics: element by element in row-major order, each access checked.

use shoal_ir::numeric::binary_slice;
use shoal_ir::op::{BinaryOp, RmwOp};
use shoal_ir::{Elem, Scalar};

use crate::error::{AccessKind, Awaited, Error, Waiting};
use crate::memory::{AccessError, Memory};
use crate::program::{Machine, Program, Site, Step, Wait};
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
        }
    }

    /// Does `each` for every element that the mask (if there is one) does not hide; gives what it gave, zero elsewhere.
    fn at_each(
        &self,
        machine: &mut Machine<'p, '_>,
        site: Site<'p>,
        access: AccessKind,
        mask: Option<usize>,
        mut each: impl FnMut(&mut Memory, Elem, u64, usize) -> Result<u64, AccessError>,
    ) -> Result<Vec<u64>, Error> {
        let elem = self.pointee(site)?;
        let addresses = self.operand(site, 0).bits();
        let mask = mask.filter(|&i| i < site.operand_count()).map(|i| self.operand(site, i).bits());
        let mut out = vec![0; addresses.len()];
        for (i, &address) in addresses.iter().enumerate() {
            if mask.is_some_and(|m| m[i] == 0) {
                continue;
            }
            out[i] = each(machine.memory, elem, address, i).map_err(|fault| {
                let element = index_of(i, site.ty(0).shape());
                self.fault(machine.memory, site, fault, (address, elem.bytes()), access, element)
            })?;
        }
        Ok(out)
    }

    pub(crate) fn load(&self, machine: &mut Machine<'p, '_>, site: Site<'p>) -> Result<Val, Error> {
        let read = |memory: &mut Memory, elem, address, _| read(memory, elem, address);
        let mut out = self.at_each(machine, site, AccessKind::Read, Some(1), read)?;
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

    pub(crate) fn store(&mut self, machine: &mut Machine<'p, '_>, site: Site<'p>) -> Result<Step, Error> {
        let values = self.operand(site, 1).bits();
        self.at_each(machine, site, AccessKind::Write, Some(2), |memory, elem, address, i| {
            write(memory, elem, address, values[i]).map(|()| 0)
        })?;
        Ok(self.finish(site, []))
    }

    pub(crate) fn atomic_load(&mut self, machine: &mut Machine<'p, '_>, site: Site<'p>) -> Result<Step, Error> {
        let read = |memory: &mut Memory, elem, address, _| read(memory, elem, address);
        let out = self.at_each(machine, site, AccessKind::Atomic, Some(1), read)?;
        self.finish(site, [Val::of(site.result_ty(0), out)]);
        Ok(Step::Yield)
    }

    pub(crate) fn atomic_store(&mut self, machine: &mut Machine<'p, '_>, site: Site<'p>) -> Result<Step, Error> {
        let values = self.operand(site, 1).bits();
        self.at_each(machine, site, AccessKind::Atomic, Some(2), |memory, elem, address, i| {
            write(memory, elem, address, values[i]).map(|()| 0)
        })?;
        self.finish(site, []);
        Ok(Step::Yield)
    }

    pub(crate) fn atomic_rmw(
        &mut self,
        machine: &mut Machine<'p, '_>,
        site: Site<'p>,
        op: RmwOp,
    ) -> Result<Step, Error> {
        let values = self.operand(site, 1).bits();
        let out = self.at_each(machine, site, AccessKind::Atomic, Some(2), |memory, elem, address, i| {
            let old = read(memory, elem, address)?;
            let mut new = [values[i]];
            if let Some(op) = combination(op) {
                binary_slice(op, elem.scalar().unwrap_or(Scalar::U64), &[old], &[values[i]], &mut new);
            }
            write(memory, elem, address, new[0])?;
            Ok(old)
        })?;
        self.finish(site, [Val::of(site.result_ty(0), out)]);
        Ok(Step::Yield)
    }

    pub(crate) fn atomic_cas(&mut self, machine: &mut Machine<'p, '_>, site: Site<'p>) -> Result<Step, Error> {
        let (compare, values) = (self.operand(site, 1).bits(), self.operand(site, 2).bits());
        let out = self.at_each(machine, site, AccessKind::Atomic, Some(3), |memory, elem, address, i| {
            let old = read(memory, elem, address)?;
            if old == compare[i] {
                write(memory, elem, address, values[i])?;
            }
            Ok(old)
        })?;
        self.finish(site, [Val::of(site.result_ty(0), out)]);
        Ok(Step::Yield)
    }

    /// Looks once. If the value is not there, the operation stays the next one, to be tried again when memory has
    /// changed.
    pub(crate) fn atomic_poll(&mut self, machine: &mut Machine<'p, '_>, site: Site<'p>) -> Result<Step, Error> {
        let (address, expected) = (self.operand(site, 0).scalar(), self.operand(site, 1).scalar());
        let read = |memory: &mut Memory, elem, address, _| read(memory, elem, address);
        let found = self.at_each(machine, site, AccessKind::Atomic, None, read)?[0];
        if found == expected || self.expired {
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
        self.wait = Some(Wait { version: machine.memory.version(), deadline, report });
        if let Some(frame) = self.frames.last_mut() {
            frame.next -= 1;
        }
        Ok(Step::Waits)
    }
}
