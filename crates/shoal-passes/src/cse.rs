//! **What.** Lets an operation that computes what an earlier one has computed use its results.
//!
//! ```text
//! %2 = add (%0, %1) : i32            %2 = add (%0, %1) : i32
//! %3 = add (%1, %0) : i32     ==>    %3 = mul (%2, %2) : i32
//! %4 = mul (%2, %3) : i32
//! ```
//!
//! **Why here.** After `canonicalize`, which gives equal things equal forms.
//!
//! What an earlier operation computed is available in its own region, later, and in the regions inside it. Loads are
//! merged as long as nothing that conflicts with a read happens between them: each such operation begins a new *epoch*
//! of the memory it concerns, and only loads of one epoch are equal. Calls are merged by what their functions do.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use shoal_ir::effects::{CallEffects, EffectTable, Spaces};
use shoal_ir::op::{BinaryOp, OpKind};
use shoal_ir::{Effects, Func, Module, OpId, Region, Space};
use smallvec::SmallVec;

use crate::facts::{can_replace, replace_value};
use shoal_ir::Structure;

/// Merges equal computations in every function.
pub fn cse(module: &mut Module) {
    let calls = CallEffects::of_module(module);
    for func in &mut module.funcs {
        let body = func.body();
        let mut merger = Merger {
            effects: calls.table(func),
            available: HashMap::new(),
            added: Vec::new(),
            epoch: [0; Space::ALL.len()],
            epochs: 0,
        };
        merger.region(func, body);
    }
}

struct Merger {
    effects: EffectTable,
    /// Operations by the hash of what they compute, with the epoch of memory they saw (0 for those that read none).
    available: HashMap<u64, SmallVec<[(OpId, u32); 1]>>,
    /// The hashes added, in order, so that leaving a region can take back what it added.
    added: Vec<u64>,
    /// The present epoch of each space of memory.
    epoch: [u32; Space::ALL.len()],
    /// How many epochs there have been.
    epochs: u32,
}

impl Merger {
    fn region(&mut self, func: &mut Func, region: Region) {
        let scope = self.added.len();
        for op in func.take_ops(region) {
            if self.replace(func, region, op) {
                func.erase(op);
            } else {
                func.append(region, op);
                self.inner_regions(func, op);
            }
        }
        for hash in self.added.drain(scope..) {
            if let Some(ops) = self.available.get_mut(&hash) {
                ops.pop();
            }
        }
    }

    fn inner_regions(&mut self, func: &mut Func, op: OpId) {
        let structure = Structure::of_op(func, op);
        let effects = self.effects[op];
        if structure == Structure::Plain {
            self.next_epoch(effects);
            return;
        }
        if structure == Structure::Elements {
            self.elements(func, op);
            return;
        }
        for region in func.op(op).regions().to_vec() {
            // What a loop's last trip wrote is seen by its next one, and the branches of an `if` do not see each other.
            let before = self.epoch;
            if structure != Structure::If {
                self.next_epoch(effects);
            }
            self.region(func, region);
            self.epoch = before;
        }
        self.next_epoch(effects);
    }

    /// A region that is applied to elements stays whole, so that a backend can see at a glance what it combines.
    fn elements(&mut self, func: &mut Func, op: OpId) {
        let (available, added) = (std::mem::take(&mut self.available), std::mem::take(&mut self.added));
        for region in func.op(op).regions().to_vec() {
            self.region(func, region);
        }
        (self.available, self.added) = (available, added);
    }

    /// Begins a new epoch in each space in which an operation conflicts with reads.
    fn next_epoch(&mut self, effects: Effects) {
        let effects = Effects { terminator: false, ..effects };
        self.epochs += 1;
        for (epoch, space) in self.epoch.iter_mut().zip(Space::ALL) {
            if effects.conflicts(Effects { reads: Spaces::one(space), ..Effects::PURE }) {
                *epoch = self.epochs;
            }
        }
    }

    /// The latest epoch of the spaces that are read.
    fn epoch_of(&self, reads: Spaces) -> u32 {
        let epochs = self.epoch.iter().zip(Space::ALL).filter(|&(_, space)| reads.contains(space));
        epochs.map(|(&epoch, _)| epoch).max().unwrap_or(0)
    }

    /// Looks for an earlier operation that computes the same, and puts it in the place of `op`.
    fn replace(&mut self, func: &mut Func, region: Region, op: OpId) -> bool {
        let data = func.op(op);
        if !data.regions().is_empty() || data.results().is_empty() {
            return false;
        }
        let effects = self.effects[op];
        let epoch = if effects.is_pure() {
            0
        } else if effects.only_reads() {
            self.epoch_of(effects.reads) + 1
        } else {
            return false;
        };
        let hash = hash_of(func, op);
        let ops = self.available.entry(hash).or_default();
        let earlier = ops.iter().find(|&&(earlier, at)| {
            let results = func.op(earlier).results().iter().zip(data.results());
            at == epoch
                && computes_the_same(func, earlier, op)
                && results.clone().all(|(&new, &old)| can_replace(func, region, old, new))
        });
        if let Some(&(earlier, _)) = earlier {
            for index in 0..func.op(op).results().len() {
                let (old, new) = (func.op(op).results()[index], func.op(earlier).results()[index]);
                replace_value(func, region, old, new);
            }
            return true;
        }
        ops.push((op, epoch));
        self.added.push(hash);
        false
    }
}

fn hash_of(func: &Func, op: OpId) -> u64 {
    let data = func.op(op);
    let mut hasher = DefaultHasher::new();
    std::mem::discriminant(&data.kind).hash(&mut hasher);
    if let OpKind::Const(c) = &data.kind {
        c.hash(&mut hasher);
    }
    if let OpKind::Binary(op) = &data.kind {
        op.hash(&mut hasher);
    }
    if swaps(&data.kind) {
        let (a, b) = (data.operands()[0], data.operands()[1]);
        (a.min(b), a.max(b)).hash(&mut hasher);
    } else {
        data.operands().hash(&mut hasher);
    }
    hasher.finish()
}

fn computes_the_same(func: &Func, a: OpId, b: OpId) -> bool {
    let (a, b) = (func.op(a), func.op(b));
    let operands = a.operands() == b.operands()
        || (swaps(&a.kind) && a.operands()[0] == b.operands()[1] && a.operands()[1] == b.operands()[0]);
    operands
        && a.kind == b.kind
        && a.results().len() == b.results().len()
        && a.results().iter().zip(b.results()).all(|(&x, &y)| func.ty(x) == func.ty(y))
}

/// Whether the operands may change places without any bit of the result changing. (`min` and `max` of floats give
/// their second operand on a tie, so they stay as they are.)
fn swaps(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Binary(BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::MulHi)
    )
}
