//! Control flow that hands descriptors on hands on their parts.

use shoal_ir::{Func, OpId, Region, Type, Value};

use super::{Lowering, Parts, as_desc};
use shoal_ir::Structure;

impl Lowering {
    /// Puts down an operation that is neither made of descriptors nor an access through one: as it is, or, if it
    /// hands descriptors on, anew.
    pub(super) fn control(&mut self, func: &mut Func, region: Region, op: OpId) {
        let any = |values: &[Value]| values.iter().any(|&v| as_desc(func, v).is_some());
        let data = func.op(op);
        let hands_on = any(data.operands())
            || any(data.results())
            || data.regions().iter().any(|&inner| any(func.region(inner).params()));
        if !hands_on {
            func.append(region, op);
            for inner in func.op(op).regions().to_vec() {
                self.region(func, inner);
            }
            return;
        }
        match Structure::of_op(func, op) {
            Structure::Plain | Structure::Elements => {
                // A terminator: everything else that takes descriptors was refused before.
                let operands = self.expanded(func, func.op(op).operands());
                func.set_operands(op, operands);
                func.append(region, op);
            }
            Structure::If | Structure::For | Structure::While => self.renewed(func, region, op),
        }
    }

    /// Values with the parts of descriptors in their places.
    fn expanded(&self, func: &Func, values: &[Value]) -> Vec<Value> {
        values
            .iter()
            .flat_map(|&value| match as_desc(func, value) {
                Some(_) => self.parts[&value].values(),
                None => vec![value],
            })
            .collect()
    }

    /// Puts down an operation like `op` whose operands, results and regions' parameters are parts.
    fn renewed(&mut self, func: &mut Func, region: Region, op: OpId) {
        let operands = self.expanded(func, func.op(op).operands());
        let old_results = func.op(op).results().to_vec();
        let types: Vec<Type> = old_results.iter().flat_map(|&v| types_of(func, v)).collect();
        let mut regions = Vec::new();
        for old in func.op(op).regions().to_vec() {
            let new = func.new_region();
            func.splice(old, 0, new, 0);
            for param in func.region(old).params().to_vec() {
                let values: Vec<Value> = types_of(func, param).into_iter().map(|ty| func.add_param(new, ty)).collect();
                self.stand_for(func, param, &values);
            }
            regions.push(new);
        }
        let (kind, span) = (func.op(op).kind.clone(), func.op(op).span);
        let new = func.make_op(kind, operands, types, regions.clone(), span);
        func.append(region, new);
        for inner in regions {
            self.region(func, inner);
        }
        let mut results = func.op(new).results().to_vec().into_iter();
        for old in old_results {
            let count = types_of(func, old).len();
            let values: Vec<Value> = results.by_ref().take(count).collect();
            self.stand_for(func, old, &values);
        }
        self.replaced.push(op);
    }

    /// Lets new values stand for an old one, whole or in parts.
    fn stand_for(&mut self, func: &mut Func, old: Value, new: &[Value]) {
        if as_desc(func, old).is_some() {
            self.parts.insert(old, Parts::from_values(new));
        } else {
            let facts = func.value(old).facts.clone();
            func.value_mut(new[0]).facts = facts;
            func.replace_all_uses(old, new[0]);
        }
    }
}

fn types_of(func: &Func, value: Value) -> Vec<Type> {
    match as_desc(func, value) {
        Some(desc) => Parts::types(desc),
        None => vec![func.ty(value).clone()],
    }
}
