//! What the warps that feed specialised loops must compute: the way through the control flow around those loops, and the
//! offsets of the blocks they ask for. All of it is arithmetic on scalars.

use std::collections::{HashMap, HashSet};

use shoal_ir::{Func, OpId, OpKind, Structure, Type, Value, ValueDef};

use super::slice::is_arithmetic;

/// The part of a kernel that its feeding warps run.
#[derive(Clone, Default)]
pub(super) struct Feeder {
    /// The arithmetic they do.
    pub(super) ops: HashSet<OpId>,
    /// The branches and loops that they go through, with the carried values they need, by position.
    pub(super) around: HashMap<OpId, HashSet<usize>>,
}

impl Feeder {
    /// Adds a loop with the loads that it is to be fed with; `false` if that takes more than arithmetic on scalars.
    pub(super) fn add_loop(&mut self, func: &Func, op: OpId, loads: &[OpId]) -> bool {
        let mut roots: Vec<Value> = loads.iter().flat_map(|&load| func.op(load).operands()[1..].to_vec()).collect();
        let mut inner = Some(op);
        while let Some(op) = inner {
            let data = func.op(op);
            match Structure::of_op(func, op) {
                Structure::For => roots.extend_from_slice(&data.operands()[..3]),
                Structure::If => roots.extend_from_slice(&data.operands()[..1]),
                Structure::While | Structure::Plain | Structure::Elements => return false,
            }
            self.around.entry(op).or_default();
            inner = data.parent().and_then(|region| func.region(region).owner());
        }
        roots.into_iter().all(|value| self.need(func, value))
    }

    /// The carried values of a loop that are needed, in order.
    pub(super) fn carried(&self, op: OpId) -> Vec<usize> {
        let mut carried: Vec<usize> = self.around.get(&op).into_iter().flatten().copied().collect();
        carried.sort_unstable();
        carried
    }

    fn need(&mut self, func: &Func, value: Value) -> bool {
        if !matches!(func.ty(value), Type::Elem(_)) {
            return false;
        }
        match func.value(value).def() {
            ValueDef::Param(region, _) if region == func.body() => true,
            ValueDef::Param(region, 0) => self.is_loop_around(func, func.region(region).owner()),
            ValueDef::Param(region, index) => {
                let owner = func.region(region).owner();
                self.is_loop_around(func, owner) && owner.is_some_and(|op| self.carry(func, op, index as usize - 1))
            }
            ValueDef::Result(op, index) if self.is_loop_around(func, Some(op)) => self.carry(func, op, index as usize),
            ValueDef::Result(op, _) => {
                let data = func.op(op);
                if !is_arithmetic(&data.kind) {
                    return false;
                }
                !self.ops.insert(op) || data.operands().to_vec().into_iter().all(|operand| self.need(func, operand))
            }
        }
    }

    fn is_loop_around(&self, func: &Func, op: Option<OpId>) -> bool {
        op.is_some_and(|op| self.around.contains_key(&op) && matches!(func.op(op).kind, OpKind::For(_)))
    }

    fn carry(&mut self, func: &Func, op: OpId, index: usize) -> bool {
        let Some(carried) = self.around.get_mut(&op) else { return false };
        if !carried.insert(index) {
            return true;
        }
        let data = func.op(op);
        let (start, next) = (data.operands()[3 + index], func.yielded(data.regions()[0])[index]);
        self.need(func, start) && self.need(func, next)
    }
}
