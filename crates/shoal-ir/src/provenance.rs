//! Which argument a pointer or a tensor descriptor was computed from.

use std::collections::HashSet;

use crate::op::OpKind;
use crate::{CommOp, Func, OpId, Region, Structure, Value, ValueDef};

/// Where addresses come from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// The parameter of the kernel with this number.
    Param(usize),
    /// One parameter or another, which is decided at run time.
    SomeParam,
    /// Memory or integers: nothing is known.
    Elsewhere,
}

/// Where a pointer, the pointers of a tile, or the memory of a descriptor come from.
#[must_use]
pub fn of(func: &Func, pointers: Value) -> Provenance {
    search(Search { func, ranks: Ranks::Apart, seen: HashSet::new(), found: Vec::new() }, pointers)
}

/// The same, where a place in another rank's memory counts as the place in this one's.
#[must_use]
pub fn of_any_rank(func: &Func, pointers: Value) -> Provenance {
    search(Search { func, ranks: Ranks::Alike, seen: HashSet::new(), found: Vec::new() }, pointers)
}

fn search(mut search: Search<'_>, pointers: Value) -> Provenance {
    search.visit(pointers);
    match search.found[..] {
        [Some(param)] => Provenance::Param(param),
        _ if search.found.is_empty() || search.found.contains(&None) => Provenance::Elsewhere,
        _ => Provenance::SomeParam,
    }
}

/// Whether memory of ranks is told apart.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Ranks {
    Apart,
    Alike,
}

struct Search<'a> {
    func: &'a Func,
    ranks: Ranks,
    seen: HashSet<Value>,
    /// Parameters, or `None` for what is not one; each once.
    found: Vec<Option<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, value: Value) {
        if !self.seen.insert(value) {
            return;
        }
        match self.func.value(value).def() {
            ValueDef::Result(op, index) => self.result(op, index as usize),
            ValueDef::Param(region, index) => match self.func.region(region).owner() {
                None => self.find(Some(index as usize)),
                Some(owner) => self.region_param(owner, region, index as usize),
            },
        }
    }

    fn find(&mut self, param: Option<usize>) {
        if !self.found.contains(&param) {
            self.found.push(param);
        }
    }

    /// What the last operation of a region hands on.
    fn handed_on(&mut self, region: Region, index: usize) {
        match self.func.terminator(region).and_then(|last| self.func.op(last).operands().get(index)) {
            Some(&value) => self.visit(value),
            None => self.find(None),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing is known of all other operations")]
    fn result(&mut self, op: OpId, index: usize) {
        let data = self.func.op(op);
        let (operands, regions) = (data.operands(), data.regions());
        match &data.kind {
            OpKind::PtrAdd
            | OpKind::Comm(CommOp::ConsumeToken)
            | OpKind::Splat
            | OpKind::Broadcast
            | OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::Split
            | OpKind::ConvertLayout
            | OpKind::Gather { .. }
            | OpKind::MakeDesc
            | OpKind::DescBase => self.visit(operands[0]),
            OpKind::Comm(CommOp::SymmAt) if self.ranks == Ranks::Alike => self.visit(operands[0]),
            OpKind::Join => operands.iter().for_each(|&v| self.visit(v)),
            OpKind::Select => operands[1..].iter().for_each(|&v| self.visit(v)),
            OpKind::Cast(_) | OpKind::Bitcast
                if self.func.ty(operands[0]).elem().is_some_and(|e| e.ptr().is_some()) =>
            {
                self.visit(operands[0]);
            }
            OpKind::If => regions.iter().for_each(|&region| self.handed_on(region, index)),
            OpKind::For(_) => {
                self.visit(operands[3 + index]);
                self.handed_on(regions[0], index);
            }
            OpKind::While { .. } => self.handed_on(regions[0], 1 + index),
            _ => self.find(None),
        }
    }

    fn region_param(&mut self, owner: OpId, region: Region, index: usize) {
        let data = self.func.op(owner);
        let (operands, regions) = (data.operands(), data.regions());
        match Structure::of(&data.kind) {
            // The first parameter is the counter.
            Structure::For if index > 0 => {
                self.visit(operands[2 + index]);
                self.handed_on(region, index - 1);
            }
            Structure::While if region == regions[0] => {
                self.visit(operands[index]);
                self.handed_on(regions[1], index);
            }
            Structure::While => self.handed_on(regions[0], 1 + index),
            Structure::For | Structure::If | Structure::Elements | Structure::Plain => self.find(None),
        }
    }
}
