//! Regions that are applied to elements, as functions of many lanes at once.
//!
//! A region of elementwise operations on scalars computes each application on its own, so all applications that do
//! not depend on each other run as one loop per operation. Calls of such functions are followed; regions with control
//! flow of their own are not (the program steps through them).

use std::collections::HashMap;

use shoal_ir::{Func, Module, OpKind, Region, Value};
use smallvec::SmallVec;

use crate::elementwise::Elementwise;

#[derive(Debug)]
enum What {
    Fill(u64),
    Apply(Elementwise),
}

#[derive(Debug)]
struct LaneOp {
    what: What,
    args: SmallVec<[usize; 3]>,
    out: usize,
}

/// A region as a list of operations over slots; the first slots are its parameters.
#[derive(Debug)]
pub(crate) struct VectorRegion {
    ops: Vec<LaneOp>,
    slots: usize,
    /// Values from outside the region, and their slots.
    outer: Vec<(Value, usize)>,
    outputs: Vec<usize>,
}

/// How deep calls are followed.
const MAX_DEPTH: u32 = 16;

impl VectorRegion {
    /// `None` if the region does more than elementwise computation.
    pub(crate) fn new(module: &Module, func: &Func, region: Region) -> Option<VectorRegion> {
        let mut vectors = VectorRegion { ops: Vec::new(), slots: 0, outer: Vec::new(), outputs: Vec::new() };
        let inputs: Vec<usize> = func.region(region).params().iter().map(|_| vectors.slot()).collect();
        vectors.outputs = vectors.region(module, func, region, &inputs, 0)?;
        Some(vectors)
    }

    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// Appends a region's operations; gives the slots of what it hands over.
    fn region(
        &mut self,
        module: &Module,
        func: &Func,
        region: Region,
        inputs: &[usize],
        depth: u32,
    ) -> Option<Vec<usize>> {
        let data = func.region(region);
        let mut slots: HashMap<Value, usize> = data.params().iter().copied().zip(inputs.iter().copied()).collect();
        for &id in data.ops() {
            let op = func.op(id);
            let mut args: SmallVec<[usize; 3]> = SmallVec::new();
            for &value in op.operands() {
                args.push(match slots.get(&value) {
                    Some(&slot) => slot,
                    // Only the region itself sees values from outside; a callee does not.
                    None if depth == 0 => {
                        let slot = self.slot();
                        self.outer.push((value, slot));
                        slots.insert(value, slot);
                        slot
                    }
                    None => return None,
                });
            }
            if matches!(op.kind, OpKind::Yield | OpKind::Return) {
                return Some(args.to_vec());
            }
            if let OpKind::Call { callee } = &op.kind {
                let callee = module.func(callee).filter(|_| depth < MAX_DEPTH)?;
                let results = self.region(module, callee, callee.body(), &args, depth + 1)?;
                slots.extend(op.results().iter().copied().zip(results));
                continue;
            }
            let what = if let OpKind::Const(c) = &op.kind {
                What::Fill(c.bits())
            } else {
                What::Apply(Elementwise::of(func, id)?)
            };
            let &[result] = op.results() else { return None };
            if func.ty(result).is_tile() {
                return None;
            }
            let out = self.slot();
            slots.insert(result, out);
            self.ops.push(LaneOp { what, args, out });
        }
        None
    }

    /// The values from outside that the region uses.
    pub(crate) fn outer(&self) -> impl Iterator<Item = Value> {
        self.outer.iter().map(|(value, _)| *value)
    }
}

/// A vector region with room for its lanes.
pub(crate) struct Lanes<'l> {
    region: &'l VectorRegion,
    slots: Vec<Vec<u64>>,
    /// What the outer values are, in the order of [`VectorRegion::outer`].
    outer: Vec<u64>,
}

impl<'l> Lanes<'l> {
    pub(crate) fn new(region: &'l VectorRegion, outer: Vec<u64>) -> Lanes<'l> {
        Lanes { region, slots: vec![Vec::new(); region.slots], outer }
    }

    /// Applies the region to `lanes` lanes of inputs. Outputs are then in [`Lanes::output`].
    pub(crate) fn run<'a>(&mut self, lanes: usize, inputs: impl Iterator<Item = &'a [u64]>) {
        for (slot, input) in self.slots.iter_mut().zip(inputs) {
            slot.clear();
            slot.extend_from_slice(input);
        }
        for (&(_, slot), &value) in self.region.outer.iter().zip(&self.outer) {
            self.slots[slot].clear();
            self.slots[slot].resize(lanes, value);
        }
        for lane in &self.region.ops {
            let mut out = std::mem::take(&mut self.slots[lane.out]);
            out.resize(lanes, 0);
            match lane.what {
                What::Fill(bits) => out.fill(bits),
                What::Apply(op) => {
                    let args: SmallVec<[&[u64]; 3]> = lane.args.iter().map(|&a| self.slots[a].as_slice()).collect();
                    op.apply(&args, &mut out);
                }
            }
            self.slots[lane.out] = out;
        }
    }

    pub(crate) fn output(&self, index: usize) -> &[u64] {
        &self.slots[self.region.outputs[index]]
    }
}
