//! Which tiles get memory.
//!
//! A tile is *virtual* if its elements are computed where they are used, inside the loop of whoever uses them, and
//! *kept* if it is written to scratch once. Operations that run a loop of their own (stores, reductions, dots, control
//! flow) are *roots*; everything a root can compute on the way is fused into its loop. A tile is kept if
//!
//! - it only comes to be as a whole: a dot, a scan, a loop's carried value;
//! - somebody needs it as memory: a dot's operand, a gather's source;
//! - several roots, or a root in a loop further in, use it and computing it again would cost more than reading it.

use std::collections::HashMap;

use shoal_ir::op::{BinaryOp, OpKind};
use shoal_ir::{Func, OpId, Value, effects};

/// Costs up to this are paid again rather than kept.
const CHEAP: u32 = 12;

/// What a load of whole vectors costs, beside its addresses and its mask.
const RUN_LOAD: u32 = 2;

/// The decisions for one function.
#[derive(Debug, Default)]
pub(super) struct Plan {
    kept: HashMap<Value, ()>,
    roots: HashMap<Value, Vec<OpId>>,
}

impl Plan {
    pub(super) fn new(func: &Func) -> Plan {
        let order = func.walk();
        let costs = costs(func, &order);
        let mut plan = Plan::default();
        for &op in order.iter().rev() {
            plan.visit(func, op, &costs);
        }
        plan
    }

    /// Whether a tile is written to scratch.
    pub(super) fn is_kept(&self, value: Value) -> bool {
        self.kept.contains_key(&value)
    }

    /// The roots whose loops read a tile, directly or through virtual tiles.
    pub(super) fn roots(&self, value: Value) -> &[OpId] {
        self.roots.get(&value).map_or(&[], Vec::as_slice)
    }

    fn demand(&mut self, value: Value, root: OpId) {
        let roots = self.roots.entry(value).or_default();
        if !roots.contains(&root) {
            roots.push(root);
        }
    }

    fn visit(&mut self, func: &Func, op: OpId, costs: &HashMap<Value, u32>) {
        let data = func.op(op);
        let tiles =
            |values: &[Value]| -> Vec<Value> { values.iter().copied().filter(|&v| func.ty(v).is_tile()).collect() };
        let operands = tiles(data.operands());
        for &operand in &needed_in_memory(func, &data.kind, data.operands()) {
            if func.ty(operand).is_tile() {
                self.kept.insert(operand, ());
            }
        }
        let results = tiles(data.results());
        let computes_on_the_way = is_fusible(&data.kind) && !results.is_empty();
        if !computes_on_the_way {
            for &result in &results {
                self.kept.insert(result, ());
            }
            for operand in operands {
                self.demand(operand, op);
            }
            return;
        }
        let mut roots: Vec<OpId> = results.iter().flat_map(|r| self.roots(*r).to_vec()).collect();
        roots.sort_unstable();
        roots.dedup();
        let region = data.parent();
        let elsewhere = roots.iter().any(|&root| func.op(root).parent() != region);
        let costly = results.iter().any(|r| costs.get(r).is_none_or(|&c| c > CHEAP));
        let asked_for = results.iter().any(|&r| self.is_kept(r));
        if asked_for || (costly && (roots.len() > 1 || elsewhere)) {
            for &result in &results {
                self.kept.insert(result, ());
            }
            roots = vec![op];
        }
        for operand in operands {
            for &root in &roots {
                self.demand(operand, root);
            }
        }
    }
}

/// The tile behind a transpose of its last two dimensions, and whether there was one.
pub(super) fn behind_transpose(func: &Func, value: Value) -> (Value, bool) {
    let Some(op) = func.def_op(value) else { return (value, false) };
    let swaps_last = |perm: &[u8]| {
        let n = perm.len();
        n >= 2 && perm.iter().enumerate().all(|(i, &p)| usize::from(p) == if i + 2 < n { i } else { 2 * n - 3 - i })
    };
    let swapped = matches!(&func.op(op).kind, OpKind::Transpose { perm } if swaps_last(perm));
    if swapped { (func.op(op).operands()[0], true) } else { (value, false) }
}

/// Operands that must be memory.
#[expect(clippy::wildcard_enum_match_arm, reason = "chunks do for all other operations")]
fn needed_in_memory(func: &Func, kind: &OpKind, operands: &[Value]) -> Vec<Value> {
    match kind {
        OpKind::Dot { .. } => operands[..2].iter().map(|&v| behind_transpose(func, v).0).collect(),
        OpKind::Gather { .. } => operands[..1].to_vec(),
        OpKind::Print { .. } => operands.to_vec(),
        _ => Vec::new(),
    }
}

/// Whether single chunks of the result can be computed from chunks of the operands.
pub(super) fn is_fusible(kind: &OpKind) -> bool {
    match kind {
        OpKind::Const(_)
        | OpKind::Iota { .. }
        | OpKind::Unary(_)
        | OpKind::Binary(_)
        | OpKind::Math(_)
        | OpKind::Cmp(_)
        | OpKind::Select
        | OpKind::Fma
        | OpKind::Cast(_)
        | OpKind::Bitcast
        | OpKind::PtrAdd
        | OpKind::Splat
        | OpKind::Broadcast
        | OpKind::Reshape
        | OpKind::Transpose { .. }
        | OpKind::Join
        | OpKind::Split
        | OpKind::Gather { .. } => true,
        OpKind::Extern(function) => function.pure,
        OpKind::Load(attrs) => !attrs.volatile,
        OpKind::ProgramId { .. }
        | OpKind::NumPrograms { .. }
        | OpKind::InlineAsm(_)
        | OpKind::ConvertLayout
        | OpKind::MapElementwise { .. }
        | OpKind::Reduce { .. }
        | OpKind::Scan { .. }
        | OpKind::Histogram
        | OpKind::Dot { .. }
        | OpKind::Store { .. }
        | OpKind::AtomicRmw { .. }
        | OpKind::AtomicCas { .. }
        | OpKind::AtomicLoad { .. }
        | OpKind::AtomicStore { .. }
        | OpKind::AtomicPoll { .. }
        | OpKind::MakeDesc
        | OpKind::DescLoad
        | OpKind::DescStore
        | OpKind::Barrier
        | OpKind::Print { .. }
        | OpKind::Assert { .. }
        | OpKind::Assume
        | OpKind::If
        | OpKind::For(_)
        | OpKind::While { .. }
        | OpKind::Condition
        | OpKind::Yield
        | OpKind::Return
        | OpKind::Call { .. } => false,
    }
}

/// What computing one chunk of each tile takes, in simple instructions, saturating.
fn costs(func: &Func, order: &[OpId]) -> HashMap<Value, u32> {
    let mut costs: HashMap<Value, u32> = HashMap::new();
    for &op in order {
        let data = func.op(op);
        let own = if reads_runs(func, op) { RUN_LOAD } else { own_cost(&data.kind) };
        let inputs: u32 = data
            .operands()
            .iter()
            .filter(|&&v| func.ty(v).is_tile())
            .map(|v| costs.get(v).copied().unwrap_or(100))
            .fold(0, u32::saturating_add);
        for &result in data.results() {
            if func.ty(result).is_tile() {
                costs.insert(result, own.saturating_add(inputs));
            }
        }
    }
    costs
}

/// Whether an operation loads whole vectors: reading them again costs no more than reading a copy.
fn reads_runs(func: &Func, op: OpId) -> bool {
    let data = func.op(op);
    let (OpKind::Load(_), Some(&pointers)) = (&data.kind, data.operands().first()) else { return false };
    let (shape, runs) = (func.ty(pointers).shape(), &func.value(pointers).facts.contiguous);
    shape.last().zip(runs.last()).is_some_and(|(&size, &run)| run >= u64::from(size.min(16)))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all other operations are long")]
fn own_cost(kind: &OpKind) -> u32 {
    match kind {
        OpKind::Const(_)
        | OpKind::Splat
        | OpKind::Broadcast
        | OpKind::Reshape
        | OpKind::Iota { .. }
        | OpKind::Bitcast => 0,
        OpKind::Binary(BinaryOp::Div | BinaryOp::DivRn | BinaryOp::Rem) => 8,
        OpKind::Unary(_)
        | OpKind::Binary(_)
        | OpKind::Cmp(_)
        | OpKind::Select
        | OpKind::Fma
        | OpKind::Cast(_)
        | OpKind::PtrAdd
        | OpKind::Join
        | OpKind::Split
        | OpKind::Transpose { .. } => 1,
        other if effects::of_kind(other).is_pure() => 20,
        _ => 100,
    }
}
