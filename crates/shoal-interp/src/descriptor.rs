//! Tensor descriptors: blocks of a tensor, with its edges respected.

use std::rc::Rc;

use shoal_ir::numeric::Const;
use shoal_ir::types::Padding;
use shoal_ir::{DescType, Elem, Scalar, Type};

use crate::access::{Follow, Order, read, write};
use crate::check::Effect;
use crate::error::{AccessKind, Error};
use crate::machine::{Machine, Seen, Step};
use crate::program::{Program, Site};
use crate::shape::{for_each_index, index_of, len};
use crate::value::{Descriptor, Val};

fn signed(ty: Scalar, bits: u64) -> i64 {
    Const::from_bits(ty, bits).as_int().map_or(0, |v| v as i64)
}

/// What reads beyond the edge give.
fn padding(elem: Scalar, padding: Padding) -> u64 {
    match padding {
        Padding::Nan if elem.is_float() => Const::from_f64(elem, f64::NAN).bits(),
        Padding::Nan | Padding::Zero => 0,
    }
}

impl Descriptor {
    /// The address of each element of the block at `offsets`, in row-major order; `None` beyond the edges.
    fn addresses(&self, block: &[u32], offsets: &[i64], size: u64) -> Vec<Option<u64>> {
        let mut out = Vec::with_capacity(len(block));
        for_each_index(block, |index| {
            let mut address = Some(self.base);
            for (dim, &i) in index.iter().enumerate() {
                let place = offsets[dim] + i64::from(i);
                let inside = (0..self.shape[dim]).contains(&place);
                let step = place.wrapping_mul(self.strides[dim]).cast_unsigned().wrapping_mul(size);
                address = address.filter(|_| inside).map(|a| a.wrapping_add(step));
            }
            out.push(address);
        });
        out
    }
}

impl<'p> Program<'p> {
    pub(crate) fn make_desc(&self, site: Site<'p>) -> Val {
        let rank = (site.operand_count() - 1) / 2;
        let number = |i: usize, ty| signed(ty, self.operand(site, i).scalar());
        Val::Desc(Rc::new(Descriptor {
            base: self.operand(site, 0).scalar(),
            shape: (1..=rank).map(|i| number(i, Scalar::I32)).collect(),
            strides: (rank + 1..=2 * rank).map(|i| number(i, Scalar::I64)).collect(),
        }))
    }

    pub(crate) fn desc_base(&self, site: Site<'p>) -> Result<Val, Error> {
        let (_, desc) = self.desc(site)?;
        Ok(Val::Scalar(desc.base))
    }

    pub(crate) fn desc_size(&self, site: Site<'p>, dim: u8) -> Result<Val, Error> {
        let (_, desc) = self.desc(site)?;
        Ok(Val::Scalar(Const::from_i64(Scalar::I32, desc.shape[usize::from(dim)]).bits()))
    }

    pub(crate) fn desc_stride(&self, site: Site<'p>, dim: u8) -> Result<Val, Error> {
        let (_, desc) = self.desc(site)?;
        Ok(Val::Scalar(Const::from_i64(Scalar::I64, desc.strides[usize::from(dim)]).bits()))
    }

    /// The descriptor that an operation is about.
    fn desc(&self, site: Site<'p>) -> Result<(&'p DescType, &Descriptor), Error> {
        match (site.ty(0), self.operand(site, 0)) {
            (Type::Desc(ty), Val::Desc(desc)) => Ok((ty, desc)),
            _ => {
                let what = "something else than a descriptor is used as one".into();
                Err(Error::Invalid { what, at: self.place(site) })
            }
        }
    }

    /// The addresses of the block that an operation is about; its offsets start at operand `first`.
    fn block(&self, site: Site<'p>, first: usize) -> Result<(&'p DescType, Vec<Option<u64>>), Error> {
        let (ty, desc) = self.desc(site)?;
        let offsets: Vec<i64> =
            (first..site.operand_count()).map(|i| signed(Scalar::I32, self.operand(site, i).scalar())).collect();
        Ok((ty, desc.addresses(&ty.block, &offsets, u64::from(ty.elem.bytes()))))
    }

    pub(crate) fn desc_load(&mut self, machine: &mut Machine<'_>, site: Site<'p>) -> Result<Val, Error> {
        let (ty, addresses) = self.block(site, 1)?;
        let mut out = vec![padding(ty.elem, ty.padding); addresses.len()];
        let mut follow = Follow::of(self.actor, site.op.span, AccessKind::Read, Order::Plain, ty.elem.bytes());
        for (i, address) in addresses.into_iter().enumerate() {
            let Some(address) = address else { continue };
            let elem = Elem::Scalar(ty.elem);
            out[i] = machine.memory.reaching(address, |memory| read(memory, elem, address)).map_err(|fault| {
                let element = index_of(i, &ty.block);
                self.fault(machine.memory, site, fault, (address, ty.elem.bytes()), AccessKind::Read, element)
            })?;
            follow.element(machine, 0, address, Effect::Read);
            if !self.laps.is_empty() {
                self.saw(Seen { address, bytes: ty.elem.bytes(), value: out[i] });
            }
        }
        follow.flush(machine);
        Ok(Val::tile(out))
    }

    pub(crate) fn desc_store(&mut self, machine: &mut Machine<'_>, site: Site<'p>) -> Result<Step, Error> {
        let (ty, addresses) = self.block(site, 2)?;
        let values = self.operand(site, 1).clone();
        let before = machine.memory.version();
        let mut follow = Follow::of(self.actor, site.op.span, AccessKind::Write, Order::Plain, ty.elem.bytes());
        for (i, address) in addresses.into_iter().enumerate() {
            let Some(address) = address else { continue };
            let (elem, bits) = (Elem::Scalar(ty.elem), values.bits()[i]);
            machine.memory.reaching(address, |memory| write(memory, elem, address, bits)).map_err(|fault| {
                let element = index_of(i, &ty.block);
                self.fault(machine.memory, site, fault, (address, ty.elem.bytes()), AccessKind::Write, element)
            })?;
            follow.element(machine, 0, address, Effect::Write);
        }
        follow.flush(machine);
        if machine.memory.version() != before {
            self.changed_memory();
        }
        Ok(self.finish(site, []))
    }
}
