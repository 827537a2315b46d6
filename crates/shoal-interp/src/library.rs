//! Functions of device math libraries that the interpreter computes itself.

use shoal_ir::Scalar;
use shoal_ir::op::{BinaryOp, ExternFn, MathFn, UnaryOp};

use crate::elementwise::Elementwise;

/// What an external function computes, if it is one of the target's own math library on these types.
pub(crate) fn known(function: &ExternFn, operands: &[Scalar], result: Scalar) -> Option<Elementwise> {
    let own = matches!(function.library.as_str(), "" | "libm" | "libdevice");
    let one_float_type = result.is_float() && operands.iter().all(|&ty| ty == result);
    if !own || !one_float_type {
        return None;
    }
    let (found, arity) = spellings(&function.symbol).find_map(|name| named(name, result))?;
    (operands.len() == arity).then_some(found)
}

/// A symbol without the prefixes and suffixes by which libraries name the variants of a function.
fn spellings(symbol: &str) -> impl Iterator<Item = &str> {
    let name = ["__nv_", "__ocml_"].iter().find_map(|p| symbol.strip_prefix(p)).unwrap_or(symbol);
    let name = ["_f16", "_f32", "_f64"].iter().find_map(|s| name.strip_suffix(s)).unwrap_or(name);
    [Some(name), name.strip_suffix('f')].into_iter().flatten()
}

/// The function of that name, with the number of its operands.
fn named(name: &str, ty: Scalar) -> Option<(Elementwise, usize)> {
    Some(match name {
        "fabs" => (Elementwise::Unary(UnaryOp::Abs, ty), 1),
        "fma" => (Elementwise::Fma(ty), 3),
        "fmin" => (Elementwise::Binary(BinaryOp::Min, ty), 2),
        "fmax" => (Elementwise::Binary(BinaryOp::Max, ty), 2),
        _ => MathFn::from_name(name).map(|f| (Elementwise::Math(f, ty), f.arity()))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(symbol: &str, library: &str) -> Option<Elementwise> {
        let function = ExternFn { symbol: symbol.into(), library: library.into(), pure: true };
        known(&function, &[Scalar::F32], Scalar::F32)
    }

    #[test]
    fn math_libraries_are_known_by_their_spellings() {
        for symbol in ["erf", "erff", "__nv_erff", "__nv_erf", "__ocml_erf_f32"] {
            assert!(matches!(lookup(symbol, ""), Some(Elementwise::Math(MathFn::Erf, _))), "{symbol}");
        }
        assert!(matches!(lookup("__nv_fabsf", "libdevice"), Some(Elementwise::Unary(UnaryOp::Abs, _))));
    }

    #[test]
    fn user_functions_are_not() {
        assert!(lookup("erf", "mine.bc").is_none());
        assert!(lookup("my_function", "").is_none());
        assert!(lookup("powf", "").is_none(), "one operand too few");
    }
}
