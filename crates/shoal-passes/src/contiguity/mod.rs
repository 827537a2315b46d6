//! Contiguity: along each dimension of each value, how long runs of consecutive or equal elements are, and what divides
//! their first elements. An analysis; `annotate_contiguity` writes its result into the values' facts.
//!
//! ```text
//! %0 = program_id {axis = 0} () : i32
//! %1 = const {value = 128} () : i32
//! %2 = mul (%0, %1) : i32                    divisible by 128
//! %3 = iota {start = 0} () : tile<128xi32>   one run of 128 consecutive numbers, from a multiple of 128
//! %4 = splat (%2) : tile<128xi32>            one run of 128 equal numbers, divisible by 128
//! %5 = add (%3, %4) : tile<128xi32>          one run of 128 consecutive numbers, from a multiple of 128
//! ```
//!
//! A backend turns a load of a run of consecutive addresses into a vector load, and a mask that is equal along a run
//! into one branch.
//!
//! # What is taken for granted
//!
//! Everything said here is a promise to a backend. It follows from the operations' meaning, with two exceptions, both
//! of which hold in any kernel that computes addresses correctly (and which Triton takes for granted as well):
//!
//! - A run of consecutive integers does not wrap around the end of its type. (Divisibility does not depend on this: it
//!   is only ever by powers of two, which wrapping keeps.)
//! - Integer parameters of kernels, and divisors, are not negative. This matters only to `div` and `rem` of runs.
//!
//! # How loops are treated
//!
//! Optimistically: a carried value is first taken to be what it starts as; then its loop is gone through again with
//! what both the start and the end of a trip guarantee, until nothing changes. Each round can only take knowledge
//! away, and there is little of it, so two or three rounds suffice.

mod elementwise;
mod info;
mod shape;

pub use info::{AxisInfo, MAX_DIVISIBILITY, PerDim};
use shoal_ir::class::{ElementwiseOp, OpClass, ShapeOp, SourceOp};
use shoal_ir::{CommOp, Func, FuncKind, OpId, Region, Scalar, Type, Value};

use cranelift_entity::EntityRef;
use info::PowerOfTwo;

use shoal_ir::Structure;

/// What is known of every value of a function.
#[derive(Clone, Debug)]
pub struct AxisInfos {
    infos: Vec<Option<AxisInfo>>,
}

impl AxisInfos {
    /// What is known of a value.
    ///
    /// # Panics
    /// If the value is not live in the analysed function, or is a descriptor or a token.
    pub fn info(&self, value: Value) -> &AxisInfo {
        self.infos[value.index()].as_ref().expect("a live value of numbers or pointers")
    }

    /// What is known of a value that may have no elements.
    pub fn find(&self, value: Value) -> Option<&AxisInfo> {
        self.infos.get(value.index())?.as_ref()
    }
}

/// Analyses a function.
pub fn analyze(func: &Func) -> AxisInfos {
    let mut analysis = Analysis { func, infos: vec![None; func.num_values()] };
    for &param in func.params() {
        let mut info = AxisInfo::unknown(func.ty(param));
        info.non_negative |= func.kind == FuncKind::Kernel && func.ty(param).number().is_some_and(Scalar::is_int);
        analysis.set(param, info);
    }
    analysis.region(func.body());
    AxisInfos { infos: analysis.infos }
}

/// More rounds than any lattice height seen; then a loop's carried values are given up.
const MAX_ROUNDS: usize = 8;

struct Analysis<'f> {
    func: &'f Func,
    infos: Vec<Option<AxisInfo>>,
}

impl Analysis<'_> {
    fn region(&mut self, region: Region) {
        for &op in self.func.region(region).ops() {
            match Structure::of_op(self.func, op) {
                Structure::Plain => self.plain(op),
                Structure::If => self.branch(op),
                Structure::For => self.counted_loop(op),
                Structure::While => self.open_loop(op),
                Structure::Elements => self.elements(op),
            }
        }
    }

    /// Notes what is known of a value, and what is promised of it.
    fn set(&mut self, value: Value, mut info: AxisInfo) {
        let data = self.func.value(value);
        match data.ty {
            Type::Elem(_) | Type::Tile(_) => {}
            Type::Desc(_) | Type::Token => return,
        }
        info.raise(&data.facts);
        self.infos[value.index()] = Some(info);
    }

    fn info(&self, value: Value) -> &AxisInfo {
        self.infos[value.index()].as_ref().expect("operands come before their users")
    }

    fn unknown(&mut self, value: Value) {
        let info = AxisInfo::unknown(self.func.ty(value));
        self.set(value, info);
    }

    fn joined(&self, a: Value, b: Value) -> AxisInfo {
        match (self.infos[a.index()].as_ref(), self.infos[b.index()].as_ref()) {
            (Some(a), Some(b)) => a.join(b),
            (None, _) | (_, None) => AxisInfo::unknown(self.func.ty(a)),
        }
    }

    fn branch(&mut self, op: OpId) {
        let data = self.func.op(op);
        for &region in data.regions() {
            self.region(region);
        }
        let (a, b) = (self.func.yielded(data.regions()[0]), self.func.yielded(data.regions()[1]));
        for (index, &result) in data.results().iter().enumerate() {
            let info = self.joined(a[index], b[index]);
            self.set(result, info);
        }
    }

    fn elements(&mut self, op: OpId) {
        let data = self.func.op(op);
        for &region in data.regions() {
            for &param in self.func.region(region).params() {
                self.unknown(param);
            }
            self.region(region);
        }
        for &result in data.results() {
            self.unknown(result);
        }
    }

    fn counted_loop(&mut self, op: OpId) {
        let data = self.func.op(op);
        let body = data.regions()[0];
        let params = self.func.region(body).params();
        let (from, step) = (self.info(data.operands()[0]), self.info(data.operands()[2]));
        let mut induction = AxisInfo::unknown(self.func.ty(params[0]));
        induction.divisibility[0] = from.divisibility[0].min(step.divisibility[0]);
        induction.non_negative = from.non_negative;
        self.set(params[0], induction);
        let start = &data.operands()[3..];
        self.carry(&params[1..], start, |this| {
            this.region(body);
            this.func.yielded(body).to_vec()
        });
        for (index, &result) in data.results().iter().enumerate() {
            let info = self.joined(start[index], self.func.yielded(body)[index]);
            self.set(result, info);
        }
    }

    fn open_loop(&mut self, op: OpId) {
        let data = self.func.op(op);
        let [before, body] = [data.regions()[0], data.regions()[1]];
        let params = self.func.region(before).params();
        self.carry(params, data.operands(), |this| {
            this.region(before);
            for (&param, &value) in this.func.region(body).params().iter().zip(&this.func.yielded(before)[1..]) {
                this.copy(param, value);
            }
            this.region(body);
            this.func.yielded(body).to_vec()
        });
        for (&result, &value) in data.results().iter().zip(&self.func.yielded(before)[1..]) {
            self.copy(result, value);
        }
    }

    /// Finds what holds of `params` on every trip, when they start as `start` and `trip` gives their next values.
    fn carry(&mut self, params: &[Value], start: &[Value], mut trip: impl FnMut(&mut Self) -> Vec<Value>) {
        for (&param, &initial) in params.iter().zip(start) {
            self.copy(param, initial);
        }
        for round in 0.. {
            let next = trip(self);
            let mut stable = true;
            for (&param, &next) in params.iter().zip(&next) {
                let Some(known) = self.infos[param.index()].clone() else { continue };
                let info =
                    if round < MAX_ROUNDS { self.joined(param, next) } else { AxisInfo::unknown(self.func.ty(param)) };
                self.set(param, info);
                stable &= self.infos[param.index()].as_ref() == Some(&known);
            }
            if stable {
                break;
            }
        }
    }

    fn copy(&mut self, to: Value, from: Value) {
        if let Some(info) = self.infos[from.index()].clone() {
            self.set(to, info);
        }
    }

    fn plain(&mut self, op: OpId) {
        let data = self.func.op(op);
        let &[result] = data.results() else {
            for &result in data.results() {
                self.unknown(result);
            }
            return;
        };
        if matches!(self.func.ty(result), Type::Desc(_) | Type::Token) {
            return;
        }
        let info = self.transfer(op, result);
        self.set(result, info);
    }

    /// What is known of an operation's only result.
    fn transfer(&self, op: OpId, result: Value) -> AxisInfo {
        let data = self.func.op(op);
        let ty = self.func.ty(result);
        let operand = |index: usize| self.info(data.operands()[index]);
        match data.kind.class() {
            OpClass::Source(kind) => match kind {
                SourceOp::Const(c) => elementwise::constant(ty, c),
                SourceOp::Iota { start } => iota(ty, start),
                SourceOp::ProgramId { .. } | SourceOp::NumPrograms { .. } => {
                    AxisInfo { non_negative: true, ..AxisInfo::unknown(ty) }
                }
            },
            OpClass::Elementwise(kind) => match kind {
                ElementwiseOp::Unary(_) | ElementwiseOp::Math(_) | ElementwiseOp::Fma => {
                    let infos: Vec<&AxisInfo> = data.operands().iter().map(|&v| self.info(v)).collect();
                    elementwise::opaque(ty, &infos)
                }
                ElementwiseOp::Binary(kind) => elementwise::binary(ty, kind, operand(0), operand(1)),
                ElementwiseOp::Cmp(kind) => elementwise::compare(ty, kind, operand(0), operand(1)),
                ElementwiseOp::Select => elementwise::select(ty, operand(0), operand(1), operand(2)),
                ElementwiseOp::Cast(_) => elementwise::cast(self.func.ty(data.operands()[0]), ty, operand(0)),
                ElementwiseOp::PtrAdd => elementwise::ptr_add(ty, operand(0), operand(1)),
                ElementwiseOp::Bitcast | ElementwiseOp::Extern(_) | ElementwiseOp::InlineAsm(_) => {
                    AxisInfo::unknown(ty)
                }
            },
            OpClass::Shape(kind) => match kind {
                ShapeOp::Splat => shape::splat(ty, operand(0)),
                ShapeOp::Broadcast => shape::broadcast(ty, self.func.ty(data.operands()[0]), operand(0)),
                ShapeOp::Reshape => shape::reshape(ty, self.func.ty(data.operands()[0]), operand(0)),
                ShapeOp::Transpose { perm } => shape::transpose(perm, operand(0)),
                ShapeOp::ConvertLayout => operand(0).clone(),
                ShapeOp::Join | ShapeOp::Split | ShapeOp::Gather { .. } => AxisInfo::unknown(ty),
            },
            OpClass::Comm(kind) => {
                comm(ty, kind, data.operands().first().and_then(|&v| self.infos[v.index()].as_ref()))
            }
            OpClass::Tile(_)
            | OpClass::Apply(_)
            | OpClass::Access(_)
            | OpClass::Atomic(..)
            | OpClass::Desc(_)
            | OpClass::Effect(_)
            | OpClass::Control(_)
            | OpClass::Terminator(_)
            | OpClass::Call(_) => AxisInfo::unknown(ty),
        }
    }
}

/// Symmetric heaps start at multiples of this, on every rank.
const HEAP_ALIGNMENT: u64 = 4096;

fn comm(ty: &Type, kind: CommOp, operand: Option<&AxisInfo>) -> AxisInfo {
    let mut info = operand.cloned().unwrap_or_else(|| AxisInfo::unknown(ty));
    match kind {
        CommOp::Rank { .. } | CommOp::NumRanks { .. } => info.non_negative = true,
        // Lanes may ask for places at different ranks.
        CommOp::SymmAt if ty.is_tile() => return AxisInfo::unknown(ty),
        // The same offset from another base.
        CommOp::SymmAt => info.divisibility.iter_mut().for_each(|d| *d = (*d).min(HEAP_ALIGNMENT)),
        CommOp::ConsumeToken => {}
        CommOp::Wait { .. } | CommOp::Notify { .. } | CommOp::Shmem(_) => return AxisInfo::unknown(ty),
    }
    info
}

fn iota(ty: &Type, start: i32) -> AxisInfo {
    let mut info = AxisInfo::unknown(ty);
    info.contiguity[0] = u64::from(ty.shape()[0]);
    info.divisibility[0] = u64::from(start.unsigned_abs()).power_of_two();
    info.non_negative = start >= 0;
    info
}
