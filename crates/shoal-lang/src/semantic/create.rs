//! Values from nothing: the program's place in the grid, ranges, constants.

use shoal_ir::OpKind;
use shoal_ir::types::{Elem, Scalar, Type};
use shoal_source::Diagnostic;

use super::operand::{Number, Operand, constant};
use super::{broadcast, cast, shape};
use crate::builtin::{Args, Builtin, BuiltinContext, not_a_power_of_two};
use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::value::{Dtype, Tensor, Value};

/// `start..end` as a tile of `int32`.
pub(crate) fn arange(e: &mut Emit<'_>, start: i128, end: i128) -> LowerResult<Tensor> {
    let (Ok(first), true) = (i32::try_from(start), (-(1 << 31)..=1 << 31).contains(&end)) else {
        return Err(e.error(format!("`arange({start}, {end})` does not fit in `int32`")).into());
    };
    if end <= start {
        return Err(e
            .error(format!("`arange({start}, {end})` is empty"))
            .help("the end must be greater than the start")
            .into());
    }
    let len = end - start;
    let Some(len) = u32::try_from(len).ok().filter(|l| l.is_power_of_two()) else {
        return Err(not_a_power_of_two(e.span, "the length of `arange`", len));
    };
    if u64::from(len) > shoal_ir::types::MAX_TILE_ELEMENTS {
        return Err(e
            .error(format!("a tile of {len} elements is too large"))
            .help(format!("a tile has at most {} elements", shoal_ir::types::MAX_TILE_ELEMENTS))
            .into());
    }
    let value = e.b().iota(first, len);
    Ok(e.tensor(value))
}

/// One value everywhere.
pub(crate) fn full(e: &mut Emit<'_>, shape: &[u32], value: &Operand, dtype: &Dtype) -> LowerResult<Tensor> {
    let scalar = scalar_of(e, value, dtype)?;
    Ok(broadcast::expand(e, &scalar, shape))
}

/// A scalar of a type, from a number or a tensor of one element.
fn scalar_of(e: &mut Emit<'_>, value: &Operand, dtype: &Dtype) -> LowerResult<Tensor> {
    let Some(elem) = dtype.elem() else {
        return Err(e.lower_error(format!("no tile has elements of type `{dtype}`")));
    };
    cast::supported(e, elem)?;
    match (value, elem) {
        (Operand::Number(n), Elem::Scalar(ty)) => {
            check_constant(e, *n, ty, dtype)?;
            Ok(constant(e, *n, ty))
        }
        (Operand::Number(_), Elem::Ptr(_)) => {
            let number = super::operand::materialize(e, value)?;
            cast::by_value(e, &number, elem, None)
        }
        (Operand::Tensor(t), _) => {
            let one = shape::unsplat(e, t)?;
            cast::by_value(e, &one, elem, None)
        }
    }
}

/// Constants are written at the type they have: no fraction is cut off silently.
fn check_constant(e: &mut Emit<'_>, n: Number, ty: Scalar, dtype: &Dtype) -> LowerResult<()> {
    let shown = Operand::Number(n).describe();
    match (n, crate::dtype::int_range(ty)) {
        (Number::Float(f), Some(_)) if f != 0.0 => {
            return Err(e
                .error(format!("{shown} is not an integer, as needed for `{dtype}`"))
                .help("round it, or use a float dtype")
                .into());
        }
        (Number::Int(i), Some((low, high))) => {
            // Both readings of the bits are in use: `0xFFFFFFFF` for `int32` and `-1` for `uint32`.
            let lowest = low.min(-(1i128 << (ty.bits() - 1)));
            let highest = high.max((1i128 << ty.bits()) - 1);
            if i < lowest || i > highest {
                e.warn(format!("{shown} is out of range for `{dtype}`"), "it wraps around: use a wider dtype");
            }
        }
        _ => {}
    }
    Ok(())
}

/// Which question about the grid is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grid {
    Place,
    Size,
}

fn grid(l: &mut dyn BuiltinContext<'_>, a: &Args, what: Grid) -> LowerResult<Value> {
    let given = a.int("axis")?;
    let axis = match u8::try_from(given) {
        Ok(axis) if axis < 3 => axis,
        _ => {
            let message = format!("`axis` of `{}` must be 0, 1 or 2", a.function_name());
            return Err(Diagnostic::error(a.span_of("axis"), message).label(format!("this is {given}")).into());
        }
    };
    let e = l.emit();
    let kind = match what {
        Grid::Place => OpKind::ProgramId { axis },
        Grid::Size => OpKind::NumPrograms { axis },
    };
    let value = e.b().value_as(kind, &[], Type::scalar(Scalar::I32));
    Ok(e.tensor(value).into())
}

fn run_program_id(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    grid(l, a, Grid::Place)
}

fn run_num_programs(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    grid(l, a, Grid::Size)
}

fn run_arange(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    arange(l.emit(), a.int("start")?, a.int("end")?).map(Value::from)
}

fn run_full(l: &mut dyn BuiltinContext<'_>, a: &Args) -> LowerResult<Value> {
    let e = l.emit();
    let value = Operand::new(e, a.value("value"))?;
    full(e, &a.shape("shape")?, &value, a.dtype("dtype")?).map(Value::from)
}

/// The functions of this file.
pub(crate) static BUILTINS: &[Builtin] = &[
    Builtin::kernel("program_id", "axis: const", run_program_id),
    Builtin::kernel("num_programs", "axis: const", run_num_programs),
    Builtin::kernel("arange", "start: const, end: const", run_arange),
    Builtin::kernel("full", "shape: const, value, dtype: const", run_full),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantic::testing::{Sandbox, message, type_of};

    #[test]
    fn ranges_are_powers_of_two() {
        let mut s = Sandbox::new();
        let e = &mut s.emit;
        assert_eq!(type_of(&arange(e, 7, 15).unwrap()), "i32[8]");
        assert_eq!(message(arange(e, 0, 100)), "the length of `arange` must be a power of two");
        assert_eq!(message(arange(e, 4, 4)), "`arange(4, 4)` is empty");
        assert_eq!(message(arange(e, 0, 1 << 40)), format!("`arange(0, {})` does not fit in `int32`", 1i64 << 40));
        assert_eq!(message(arange(e, 0, 1 << 21)), "a tile of 2097152 elements is too large");
        s.verify();
    }

    #[test]
    fn constants_keep_their_value() {
        let mut s = Sandbox::new();
        let one = s.param(Scalar::I64, &[1]);
        let e = &mut s.emit;
        let dtype = |s| Dtype::scalar(s);
        let of = |n: Number| Operand::Number(n);
        assert_eq!(type_of(&full(e, &[4, 4], &of(Number::Float(1.5)), &dtype(Scalar::BF16)).unwrap()), "bf16[4, 4]");
        assert_eq!(type_of(&full(e, &[], &of(Number::Int(0)), &dtype(Scalar::F8E5M2)).unwrap()), "fp8e5");
        assert_eq!(type_of(&full(e, &[8], &one.into(), &dtype(Scalar::I32)).unwrap()), "i32[8]");
        assert!(full(e, &[8], &of(Number::Float(0.0)), &dtype(Scalar::I32)).is_ok());
        assert_eq!(
            message(full(e, &[8], &of(Number::Float(1.5)), &dtype(Scalar::I32))),
            "the float `1.5` is not an integer, as needed for `int32`"
        );
        full(e, &[8], &of(Number::Int(300)), &dtype(Scalar::I8)).unwrap();
        assert_eq!(e.notes[0].message, "the integer `300` is out of range for `int8`");
        s.verify();
    }
}
