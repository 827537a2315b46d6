//! A module prepared for running: what is worth knowing about each operation before the first program starts.

use std::collections::HashMap;

use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use shoal_ir::class::DescOp;
use shoal_ir::provenance::{self, Provenance};
use shoal_ir::{Func, FuncKind, Module, OpClass, OpId, OpKind, Region, Structure, Value, ValueDef};
use smallvec::SmallVec;

use crate::elementwise::Elementwise;
use crate::memory::Reach;
use crate::vector_region::VectorRegion;

/// A module and what is known about its functions.
pub(crate) struct Plan<'m> {
    funcs: HashMap<&'m str, FuncPlan<'m>>,
}

/// A function and what is known about its operations.
pub(crate) struct FuncPlan<'m> {
    pub(crate) func: &'m Func,
    elementwise: SecondaryMap<OpId, Option<Elementwise>>,
    /// The values that nothing needs after an operation. A program holds no tile longer than it must.
    last_uses: SecondaryMap<OpId, SmallVec<[Value; 2]>>,
    vector_regions: HashMap<Region, VectorRegion>,
    /// For each branch that lanes take for themselves, the mask of those that do.
    lane_masks: HashMap<OpId, Value>,
    /// Operations that access memory at addresses which come from memory or numbers.
    at_found_addresses: EntitySet<OpId>,
}

impl<'m> Plan<'m> {
    pub(crate) fn new(module: &'m Module) -> Plan<'m> {
        Plan { funcs: module.funcs.iter().map(|f| (f.name.as_str(), FuncPlan::new(module, f))).collect() }
    }

    pub(crate) fn kernel(&self, name: &str) -> Option<&FuncPlan<'m>> {
        self.funcs.get(name).filter(|f| f.func.kind == FuncKind::Kernel)
    }

    /// Whether there is code for single threads.
    pub(crate) fn has_lanes(&self) -> bool {
        self.funcs.values().any(|plan| !plan.func.by_lanes.is_empty())
    }

    pub(crate) fn func(&self, name: &str) -> Option<&FuncPlan<'m>> {
        self.funcs.get(name)
    }
}

impl<'m> FuncPlan<'m> {
    fn new(module: &'m Module, func: &'m Func) -> FuncPlan<'m> {
        let mut plan = FuncPlan {
            func,
            elementwise: SecondaryMap::with_capacity(func.num_ops()),
            last_uses: SecondaryMap::new(),
            vector_regions: HashMap::new(),
            lane_masks: lane_masks(func),
            at_found_addresses: EntitySet::new(),
        };
        plan.last_uses = last_uses(func, &plan.lane_masks);
        for op in func.walk() {
            plan.elementwise[op] = Elementwise::of(func, op);
            if accesses_found_addresses(func, op) {
                plan.at_found_addresses.insert(op);
            }
            if Structure::of_op(func, op) == Structure::Elements {
                for &region in func.op(op).regions() {
                    plan.vector_regions
                        .extend(VectorRegion::new(module, func, region).map(|vectors| (region, vectors)));
                }
            }
        }
        plan
    }

    pub(crate) fn elementwise(&self, op: OpId) -> Option<Elementwise> {
        self.elementwise[op]
    }

    /// How far the accesses of an operation reach.
    pub(crate) fn reach(&self, op: OpId) -> Reach {
        if self.at_found_addresses.contains(op) { Reach::Host } else { Reach::Ranges }
    }

    pub(crate) fn last_uses(&self, op: OpId) -> &[Value] {
        &self.last_uses[op]
    }

    /// Whether lanes do an operation, each for itself.
    pub(crate) fn is_by_lanes(&self, op: OpId) -> bool {
        self.func.by_lanes.contains(op)
    }

    /// The mask of the lanes that take a branch.
    pub(crate) fn lane_mask(&self, branch: OpId) -> Option<Value> {
        self.lane_masks.get(&branch).copied()
    }

    /// The region as a function of many lanes at once, if it can be one.
    pub(crate) fn vector_region(&self, region: Region) -> Option<&VectorRegion> {
        self.vector_regions.get(&region)
    }
}

/// Whether an operation accesses memory through pointers or a descriptor whose addresses come from no parameter.
fn accesses_found_addresses(func: &Func, op: OpId) -> bool {
    let data = func.op(op);
    let accesses = matches!(
        data.kind.class(),
        OpClass::Access(_) | OpClass::Atomic(..) | OpClass::Desc(DescOp::Load | DescOp::Store)
    );
    accesses && provenance::of(func, data.operands()[0]) == Provenance::Elsewhere
}

/// The masks of the lanes that take branches: what their conditions combine.
fn lane_masks(func: &Func) -> HashMap<OpId, Value> {
    let branches = func.by_lanes.keys().filter(|&op| matches!(func.op(op).kind, OpKind::If));
    let mask = |op: OpId| {
        let combined = func.def_op(func.op(op).operands()[0])?;
        Some((op, *func.op(combined).operands().first()?))
    };
    branches.filter_map(mask).collect()
}

/// For each operation the values whose last use it is, seen from the region that defines them: a use inside a loop
/// counts as a use by the loop. A branch of lanes uses its mask.
fn last_uses(func: &Func, lane_masks: &HashMap<OpId, Value>) -> SecondaryMap<OpId, SmallVec<[Value; 2]>> {
    let mut last_uses: SecondaryMap<OpId, SmallVec<[Value; 2]>> = SecondaryMap::with_capacity(func.num_ops());
    let mut place = SecondaryMap::<OpId, u32>::with_capacity(func.num_ops());
    for (index, op) in func.walk().into_iter().enumerate() {
        place[op] = index as u32;
    }
    for value in (0..func.num_values()).map(Value::new) {
        let data = func.value(value);
        let (home, definition) = match data.def() {
            ValueDef::Param(region, _) => (region, None),
            ValueDef::Result(op, _) => match func.op(op).parent() {
                Some(region) => (region, Some(op)),
                None => continue,
            },
        };
        let branches = lane_masks.iter().filter(|(_, mask)| **mask == value).map(|(&op, _)| op);
        let uses = data.uses().iter().map(|u| u.op).chain(branches).filter_map(|op| user_in(func, op, home));
        let last = uses.max_by_key(|&op| place[op]).or(definition);
        if let Some(op) = last {
            last_uses[op].push(value);
        }
    }
    last_uses
}

/// The operation in `home` that is `op` or contains it.
fn user_in(func: &Func, op: OpId, home: Region) -> Option<OpId> {
    let mut op = op;
    loop {
        let region = func.op(op).parent()?;
        if region == home {
            return Some(op);
        }
        op = func.region(region).owner()?;
    }
}
