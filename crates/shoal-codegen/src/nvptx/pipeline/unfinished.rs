//! The product of a loop that is not waited for until the next trip.

use shoal_ir::{OpId, OpKind, Scalar, Value};
use shoal_layout::Major;

use super::super::control::{any_inside, is_control};
use super::super::dot;
use super::super::emitter::{Emitter, Held};
use super::super::shared_tile::{behind_transposes, major_of};
use super::AheadLoad;

/// A product that goes on while the next trip begins. Its result is carried to that trip and nobody else sees it.
#[derive(Clone, Debug)]
pub(in super::super) struct Unfinished {
    pub(in super::super) product: OpId,
    /// The position of its result among the carried values, and what the next trip knows it as.
    pub(in super::super) carried: usize,
    pub(in super::super) param: Value,
    /// The next trip's product adds to it as it is. Otherwise it is waited for before anybody looks at it.
    pub(in super::super) only_adds: bool,
    /// The early loads that it reads.
    pub(super) reads: Vec<OpId>,
}

impl Emitter<'_, '_> {
    /// The product of a loop that need not be waited for in its trip.
    pub(super) fn unfinished_product(&self, op: OpId, loads: &[AheadLoad]) -> Option<Unfinished> {
        let func = self.func;
        let body = func.op(op).regions()[0];
        let is_dot = |op: &OpId| matches!(func.op(*op).kind, OpKind::Dot { .. });
        let product = func.region(body).ops().iter().copied().rfind(is_dot)?;
        let data = func.op(product);
        let result = data.result();
        if !dot::is_wgmma(func, product, self.arch) || func.value(result).uses().len() != 1 {
            return None;
        }
        let carried = func.yielded(body).iter().position(|&value| value == result)?;
        let param = func.region(body).params()[1 + carried];
        let whole = matches!(self.number(data.operands()[2]), Scalar::F32 | Scalar::I32);
        let sum = data.operands()[2];
        let only_adds = sum == param && func.value(param).uses().len() == 1;
        if !whole || (!only_adds && any_inside(func, body, is_control)) {
            return None;
        }
        let mut inside = Vec::new();
        func.walk_region(body, &mut inside);
        if only_adds && inside.into_iter().filter(is_dot).count() != 1 {
            return None;
        }
        let mut reads = Vec::new();
        for (index, &operand) in data.operands()[..2].iter().enumerate() {
            let (source, flipped) = behind_transposes(func, operand);
            let load = func.def_op(source).and_then(|op| loads.iter().find(|load| load.op == op));
            let stays = matches!(self.held.get(&source), Some(Held::Shared(_)));
            match load {
                // The unit reads it where it lies.
                Some(load) if is_read_in_place(load, flipped, index) => reads.push(load.op),
                None if stays || index == 0 && self.is_wgmma_operand_layout(operand) => {}
                Some(_) | None => return None,
            }
        }
        Some(Unfinished { product, carried, param, only_adds, reads })
    }
}

/// Whether the unit can read a loaded operand from its ring: elements of 8 bits only along K.
pub(super) fn is_read_in_place(load: &AheadLoad, flipped: bool, index: usize) -> bool {
    let bits = load.bits;
    let Some(major) = major_of(&load.memory, bits) else { return false };
    let rows_along_last = (major == Major::Row) != flipped;
    bits == 16 || rows_along_last == (index == 0)
}
