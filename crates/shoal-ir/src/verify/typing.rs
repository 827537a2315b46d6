//! The typing rule of each operation.

use super::{comm, control, memory};
use crate::effects::CallEffects;
use crate::func::{Func, Module, OpId};
use crate::infer;
use crate::layouts;
use crate::op::{BinaryOp, OpKind, UnaryOp};
use crate::types::{Elem, Scalar, Type};

/// A rule that is broken, in words.
pub(super) type Rule = Result<(), String>;

/// Gives up with a message unless a condition holds.
macro_rules! require {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(format!($($message)*));
        }
    };
}
pub(super) use require;

/// An operation's types, as the rules need them.
pub(super) struct Typed<'f> {
    pub(super) calls: &'f CallEffects,
    pub(super) func: &'f Func,
    pub(super) op: OpId,
    pub(super) operands: Vec<&'f Type>,
    pub(super) results: Vec<&'f Type>,
}

impl Typed<'_> {
    pub(super) fn operand_count(&self, counts: std::ops::RangeInclusive<usize>) -> Rule {
        let (n, least, most) = (self.operands.len(), *counts.start(), *counts.end());
        let expected = match most {
            usize::MAX => format!("{least} or more"),
            _ if least == most => format!("{least}"),
            _ => format!("{least} to {most}"),
        };
        require!(counts.contains(&n), "{n} operands, expected {expected}");
        Ok(())
    }

    pub(super) fn result_count(&self, count: usize) -> Rule {
        require!(self.results.len() == count, "{} results, expected {count}", self.results.len());
        Ok(())
    }

    fn counts(&self, operands: usize, results: usize) -> Rule {
        self.operand_count(operands..=operands)?;
        self.result_count(results)
    }

    /// All operands and results have one shape and one layout (and are scalars or tiles).
    fn elementwise(&self) -> Rule {
        for ty in self.operands.iter().chain(&self.results) {
            require!(ty.elem().is_some(), "`{ty}` is neither a scalar nor a tile");
        }
        let mut all = self.operands.iter().chain(&self.results);
        let Some(first) = all.next() else { return Ok(()) };
        for ty in all {
            require!(ty.shape() == first.shape(), "shapes of `{first}` and `{ty}` differ");
            same_layout(first, ty)?;
        }
        Ok(())
    }

    /// Layouts are decided of all tiles or of none.
    pub(super) fn layouts_decided_together(&self) -> Rule {
        let mut tiles = self.operands.iter().chain(&self.results).filter(|ty| ty.is_tile());
        let Some(first) = tiles.next() else { return Ok(()) };
        for ty in tiles {
            require!(
                ty.layout().is_some() == first.layout().is_some(),
                "one of `{first}` and `{ty}` has a layout, the other has none"
            );
        }
        Ok(())
    }

    pub(super) fn same(&self, a: &Type, b: &Type) -> Rule {
        require!(a == b, "types `{a}` and `{b}` differ");
        Ok(())
    }

    /// The results have the types that [`infer::result_types`] gives. What is made of no tile may have any layout.
    pub(super) fn inferred(&self) -> Rule {
        let expected = infer::result_types(&self.func.op(self.op).kind, &self.operands);
        let Some(expected) = expected else { return Err("operands of the wrong kind".into()) };
        self.result_count(expected.len())?;
        let any_layout = self.operands.iter().all(|ty| !ty.is_tile());
        for (found, expected) in self.results.iter().zip(&expected) {
            let fits = *found == expected || (any_layout && found.with_layout(None) == *expected);
            require!(fits, "the result is `{found}`, but must be `{expected}`");
        }
        Ok(())
    }
}

pub(super) fn same_layout(a: &Type, b: &Type) -> Rule {
    require!(a.layout() == b.layout(), "layouts of `{a}` and `{b}` differ");
    Ok(())
}

fn number(ty: &Type) -> Result<Scalar, String> {
    ty.number().ok_or_else(|| format!("`{ty}` is not a number"))
}

pub(super) fn int(ty: &Type) -> Rule {
    require!(ty.number().is_some_and(Scalar::is_int), "`{ty}` is not an integer");
    Ok(())
}

fn float(ty: &Type) -> Rule {
    require!(ty.number().is_some_and(Scalar::is_float), "`{ty}` is not a float");
    Ok(())
}

fn tile(ty: &Type) -> Rule {
    require!(ty.is_tile(), "`{ty}` is not a tile");
    Ok(())
}

/// Checks one operation, its visible operands given.
pub(super) fn check(module: &Module, calls: &CallEffects, func: &Func, op: OpId) -> Rule {
    let data = func.op(op);
    let t = Typed {
        calls,
        func,
        op,
        operands: data.operands().iter().map(|&v| func.ty(v)).collect(),
        results: data.results().iter().map(|&v| func.ty(v)).collect(),
    };
    match &data.kind {
        OpKind::Const(c) => {
            t.counts(0, 1)?;
            require!(t.results[0].number() == Some(c.ty()), "the constant is not of type `{}`", t.results[0]);
            Ok(())
        }
        OpKind::Iota { start } => iota(&t, *start),
        OpKind::ProgramId { axis } | OpKind::NumPrograms { axis } => {
            t.operand_count(0..=0)?;
            require!(*axis < 3, "the grid has axes 0, 1 and 2, not {axis}");
            t.inferred()
        }
        OpKind::Unary(op) => unary(&t, *op),
        OpKind::Binary(op) => binary(&t, *op),
        OpKind::Math(function) => {
            t.counts(function.arity(), 1)?;
            t.operands.iter().try_for_each(|ty| float(ty))?;
            t.operands.iter().try_for_each(|ty| t.same(ty, t.results[0]))
        }
        OpKind::Cmp(_) => {
            t.operand_count(2..=2)?;
            t.elementwise()?;
            t.same(t.operands[0], t.operands[1])?;
            t.inferred()
        }
        OpKind::Select => {
            t.operand_count(3..=3)?;
            t.elementwise()?;
            require!(t.operands[0].number() == Some(Scalar::I1), "the condition is not `i1`");
            t.same(t.operands[1], t.operands[2])?;
            t.inferred()
        }
        OpKind::Fma => {
            t.operand_count(3..=3)?;
            t.operands.iter().try_for_each(|ty| float(ty))?;
            t.operands.iter().try_for_each(|ty| t.same(ty, t.operands[0]))?;
            t.inferred()
        }
        OpKind::Cast(_) => cast(&t),
        OpKind::Bitcast => bitcast(&t),
        OpKind::PtrAdd => {
            t.operand_count(2..=2)?;
            t.elementwise()?;
            require!(t.operands[0].elem().and_then(Elem::ptr).is_some(), "`{}` is not a pointer", t.operands[0]);
            int(t.operands[1])?;
            t.inferred()
        }
        OpKind::Extern(_) => {
            require!(!t.results.is_empty(), "no result");
            t.elementwise()
        }
        OpKind::InlineAsm(asm) => {
            require!(asm.pack.is_power_of_two(), "`pack` is not a power of two");
            t.elementwise()
        }
        OpKind::MapElementwise { pack } => control::map_elementwise(&t, *pack),
        OpKind::Splat => {
            t.counts(1, 1)?;
            tile(t.results[0])?;
            t.same(t.operands[0], &Type::tile(t.results[0].elem().ok_or("not a tile")?, &[]))
        }
        OpKind::Broadcast => broadcast(&t),
        OpKind::Reshape => reshape(&t),
        OpKind::Transpose { perm } => transpose(&t, perm),
        OpKind::Join => {
            t.operand_count(2..=2)?;
            t.same(t.operands[0], t.operands[1])?;
            t.inferred()
        }
        OpKind::Split => split(&t),
        OpKind::ConvertLayout => convert_layout(&t),
        OpKind::Gather { axis } => gather(&t, usize::from(*axis)),
        OpKind::Reduce { axis, .. } | OpKind::Scan { axis, .. } => control::combine(&t, usize::from(*axis)),
        OpKind::Histogram => histogram(&t),
        OpKind::Dot { .. } => dot(&t),
        OpKind::Load(_) => memory::load(&t, 3),
        OpKind::AtomicLoad { .. } => memory::load(&t, 2),
        OpKind::Store { .. } | OpKind::AtomicStore { .. } => memory::store(&t),
        OpKind::AtomicRmw { op, .. } => memory::atomic_rmw(&t, *op),
        OpKind::AtomicCas { .. } => memory::atomic_cas(&t),
        OpKind::AtomicPoll { .. } => memory::atomic_poll(&t),
        OpKind::MakeDesc => memory::make_desc(&t),
        OpKind::DescBase => memory::desc_extent(&t, 0),
        OpKind::DescSize { dim } | OpKind::DescStride { dim } => memory::desc_extent(&t, *dim),
        OpKind::DescLoad => memory::desc_load(&t),
        OpKind::DescStore => memory::desc_store(&t),
        OpKind::Comm(op) => comm::check(&t, *op),
        OpKind::Barrier => t.counts(0, 0),
        OpKind::Fence { .. } => t.counts(0, 0),
        OpKind::Clock | OpKind::GridWords => {
            t.counts(0, 1)?;
            t.inferred()
        }
        OpKind::Print { .. } => {
            require!(t.operands.iter().all(|ty| ty.elem().is_some()), "only scalars and tiles are printed");
            t.result_count(0)
        }
        OpKind::Assert { .. } => {
            t.operand_count(1..=2)?;
            t.elementwise()?;
            require!(t.operands.iter().all(|ty| ty.number() == Some(Scalar::I1)), "an operand is not `i1`");
            t.result_count(0)
        }
        OpKind::Assume => {
            t.counts(1, 0)?;
            t.same(t.operands[0], &Type::scalar(Scalar::I1))
        }
        OpKind::If => control::if_(&t),
        OpKind::For(_) => control::for_(&t),
        OpKind::While { .. } => control::while_(&t),
        OpKind::Condition => {
            require!(t.operands.first() == Some(&&Type::scalar(Scalar::I1)), "the first operand is not `i1`");
            t.result_count(0)
        }
        OpKind::Yield => t.result_count(0),
        OpKind::Return => control::return_(&t),
        OpKind::Call { callee } => control::call(&t, module, callee),
    }
}

fn iota(t: &Typed<'_>, start: i32) -> Rule {
    t.counts(0, 1)?;
    require!(
        t.results[0].number() == Some(Scalar::I32) && t.results[0].shape().len() == 1,
        "the result is a one-dimensional `i32` tile"
    );
    let end = i64::from(start) + i64::from(t.results[0].shape()[0]);
    require!(end <= i64::from(i32::MAX) + 1, "the last element does not fit into `i32`");
    Ok(())
}

fn unary(t: &Typed<'_>, op: UnaryOp) -> Rule {
    t.operand_count(1..=1)?;
    match op {
        UnaryOp::Neg | UnaryOp::Abs => {
            number(t.operands[0])?;
        }
        UnaryOp::Not | UnaryOp::Clz | UnaryOp::Popc | UnaryOp::Brev => int(t.operands[0])?,
    }
    t.inferred()
}

fn binary(t: &Typed<'_>, op: BinaryOp) -> Rule {
    t.operand_count(2..=2)?;
    t.same(t.operands[0], t.operands[1])?;
    match op {
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::Min
        | BinaryOp::Max => {
            number(t.operands[0])?;
        }
        BinaryOp::DivRn | BinaryOp::MinNan | BinaryOp::MaxNan => float(t.operands[0])?,
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::MulHi => {
            int(t.operands[0])?
        }
    }
    t.inferred()
}

fn cast(t: &Typed<'_>) -> Rule {
    t.counts(1, 1)?;
    t.elementwise()?;
    let (from, to) = (t.operands[0], t.results[0]);
    match (from.elem(), to.elem()) {
        (Some(Elem::Ptr(_)), Some(Elem::Scalar(s))) | (Some(Elem::Scalar(s)), Some(Elem::Ptr(_))) => {
            require!(matches!(s, Scalar::I64 | Scalar::U64), "pointers convert to and from 64-bit integers only");
        }
        _ => {}
    }
    Ok(())
}

fn bitcast(t: &Typed<'_>) -> Rule {
    t.counts(1, 1)?;
    t.elementwise()?;
    let width = |ty: &Type| ty.elem().map(Elem::bits);
    require!(
        width(t.operands[0]) == width(t.results[0]),
        "widths of `{}` and `{}` differ",
        t.operands[0],
        t.results[0]
    );
    Ok(())
}

fn broadcast(t: &Typed<'_>) -> Rule {
    t.counts(1, 1)?;
    let (from, to) = (t.operands[0], t.results[0]);
    tile(from)?;
    let fits =
        from.shape().len() == to.shape().len() && from.shape().iter().zip(to.shape()).all(|(&a, &b)| a == b || a == 1);
    require!(fits && from.elem() == to.elem(), "`{from}` does not broadcast to `{to}`");
    t.layouts_decided_together()?;
    if let (Some(a), Some(b)) = (from.layout(), to.layout()) {
        require!(
            layouts::broadcasts(a, b),
            "the elements of `{from}` are not where `{to}` repeats them; convert the layout first"
        );
    }
    Ok(())
}

fn reshape(t: &Typed<'_>) -> Rule {
    t.counts(1, 1)?;
    let (from, to) = (t.operands[0], t.results[0]);
    require!(from.elem().is_some() && from.elem() == to.elem(), "`{from}` does not reshape to `{to}`");
    let count = |ty: &Type| ty.shape().iter().map(|&d| u64::from(d)).product::<u64>();
    require!(count(from) == count(to), "`{from}` and `{to}` have different numbers of elements");
    t.layouts_decided_together()?;
    if let (Some(layout), true) = (from.layout(), to.is_tile()) {
        let expected = to.with_layout(layouts::reshaped(layout, to.shape()));
        require!(*to == expected, "the result is `{to}`, but must be `{expected}`");
    }
    Ok(())
}

fn split(t: &Typed<'_>) -> Rule {
    t.operand_count(1..=1)?;
    let from = t.operands[0];
    if let Some(layout) = from.layout()
        && from.shape().len() > 1
    {
        require!(
            from.shape().last() != Some(&2) || layouts::split(layout).is_some(),
            "the halves of `{from}` are not in registers of one lane; convert the layout first"
        );
    }
    t.inferred()
}

fn convert_layout(t: &Typed<'_>) -> Rule {
    t.counts(1, 1)?;
    let (from, to) = (t.operands[0], t.results[0]);
    for ty in [from, to] {
        require!(ty.layout().is_some(), "`{ty}` is not a tile with a layout");
    }
    let same = from.with_layout(None) == to.with_layout(None);
    require!(same, "`{from}` and `{to}` differ in more than their layout");
    Ok(())
}

fn transpose(t: &Typed<'_>, perm: &[u8]) -> Rule {
    t.operand_count(1..=1)?;
    tile(t.operands[0])?;
    let mut sorted = perm.to_vec();
    sorted.sort_unstable();
    let is_permutation =
        sorted.iter().enumerate().all(|(i, &p)| i == usize::from(p)) && perm.len() == t.operands[0].shape().len();
    require!(is_permutation, "{perm:?} is not a permutation of the dimensions of `{}`", t.operands[0]);
    t.inferred()
}

fn gather(t: &Typed<'_>, axis: usize) -> Rule {
    t.operand_count(2..=2)?;
    let (src, index) = (t.operands[0], t.operands[1]);
    tile(src)?;
    int(index)?;
    let ranks = src.shape().len() == index.shape().len() && axis < src.shape().len();
    require!(ranks, "`{index}` does not index axis {axis} of `{src}`");
    let others = src.shape().iter().zip(index.shape()).enumerate().all(|(d, (a, b))| d == axis || a == b);
    require!(others, "`{src}` and `{index}` differ in more than axis {axis}");
    t.layouts_decided_together()?;
    t.inferred()
}

fn histogram(t: &Typed<'_>) -> Rule {
    t.operand_count(1..=2)?;
    t.result_count(1)?;
    int(t.operands[0])?;
    require!(t.operands[0].shape().len() == 1, "`{}` is not one-dimensional", t.operands[0]);
    if let Some(mask) = t.operands.get(1) {
        t.same(mask, &t.operands[0].with_elem(Scalar::I1))?;
    }
    let result = t.results[0];
    require!(
        result.number() == Some(Scalar::I32) && result.shape().len() == 1,
        "the result is a one-dimensional `i32` tile"
    );
    t.layouts_decided_together()
}

fn dot(t: &Typed<'_>) -> Rule {
    t.operand_count(3..=3)?;
    let (a, b, acc) = (t.operands[0], t.operands[1], t.operands[2]);
    let shapes = match (a.shape(), b.shape(), acc.shape()) {
        ([m, k], [k2, n], [m2, n2]) => k == k2 && m == m2 && n == n2,
        ([b0, m, k], [b1, k2, n], [b2, m2, n2]) => b0 == b1 && b1 == b2 && k == k2 && m == m2 && n == n2,
        _ => false,
    };
    require!(shapes, "shapes of `{a}`, `{b}` and `{acc}` do not fit together");
    let types = (number(a)?, number(b)?, number(acc)?);
    let fits = match types {
        (Scalar::I8, Scalar::I8, Scalar::I32) | (Scalar::U8, Scalar::U8, Scalar::I32) => true,
        (Scalar::F64, Scalar::F64, Scalar::F64) => true,
        (x, y, Scalar::F32) => x == y && x.is_float() && x != Scalar::F64 || x.is_fp8() && y.is_fp8(),
        (x, y, Scalar::F16) => x == y && (x == Scalar::F16 || x.is_fp8()) || x.is_fp8() && y.is_fp8(),
        _ => false,
    };
    require!(fits, "`{}` times `{}` does not accumulate in `{}`", types.0, types.1, types.2);
    t.layouts_decided_together()?;
    t.inferred()
}
