//! Conversions between types, by value and by bits.

use shoal_abi::float_format::encode_float;

use super::arithmetic::map;
use super::format::{Format, Real, layout, with_format};
use super::integer::Int;
use crate::op::Rounding;
use crate::types::Scalar;

/// [`super::cast`] for each element.
pub fn cast_slice(from: Scalar, to: Scalar, rounding: Rounding, a: &[u64], out: &mut [u64]) {
    with_format!(from, F => from_float::<F>(to, rounding, a, out), else from_int(from, to, a, out));
}

/// [`super::bitcast`] for each element.
pub fn bitcast_slice(to: Scalar, a: &[u64], out: &mut [u64]) {
    let mask = Int::of(to).mask();
    map(a, out, |x| x & mask);
}

fn from_int(from: Scalar, to: Scalar, a: &[u64], out: &mut [u64]) {
    let source = Int::of(from);
    with_format!(to, T => {
        if source.signed {
            map(a, out, |x| T::store(<T as Format>::Real::from_i64(source.extend(x))));
        } else {
            map(a, out, |x| T::store(<T as Format>::Real::from_u64(x)));
        }
    }, else int_to_int(source, to, a, out));
}

fn int_to_int(source: Int, to: Scalar, a: &[u64], out: &mut [u64]) {
    let mask = Int::of(to).mask();
    if to == Scalar::I1 {
        map(a, out, |x| u64::from(x != 0));
    } else if source.signed {
        map(a, out, |x| source.extend(x) as u64 & mask);
    } else {
        map(a, out, |x| x & mask);
    }
}

fn from_float<F: Format>(to: Scalar, rounding: Rounding, a: &[u64], out: &mut [u64]) {
    if to.is_int() {
        float_to_int::<F>(to, a, out);
    } else if to == F::SCALAR {
        out.copy_from_slice(a);
    } else if to == Scalar::F64 {
        map(a, out, |x| F::load(x).to_f64().to_bits());
    } else if F::SCALAR == Scalar::F64 || rounding == Rounding::Zero {
        let format = layout(to);
        map(a, out, |x| encode_float(format, F::load(x).to_f64(), rounding));
    } else {
        // The source computes in `f32`, so its value goes there without rounding.
        with_format!(to, T => {
            map(a, out, |x| T::store(<T as Format>::Real::from_f64(F::load(x).to_f64())));
        }, else ());
    }
}

fn float_to_int<F: Format>(to: Scalar, a: &[u64], out: &mut [u64]) {
    let target = Int::of(to);
    let mask = target.mask();
    if to == Scalar::I1 {
        map(a, out, |x| u64::from(F::load(x) != F::Real::ZERO));
    } else if target.signed {
        let (least, greatest) = (i64::MIN >> (64 - target.bits), i64::MAX >> (64 - target.bits));
        map(a, out, |x| (F::load(x).to_f64() as i64).clamp(least, greatest) as u64 & mask);
    } else {
        map(a, out, |x| (F::load(x).to_f64() as u64).min(mask));
    }
}
