//! Matrix products.
//!
//! The order is the IR's: each element starts from the accumulator and adds its products in order of `k`. Rows of the
//! result are computed together, which keeps that order for each element.

use shoal_ir::numeric::cast_slice;
use shoal_ir::op::Rounding;
use shoal_ir::{Scalar, Type};

use crate::shape::len;
use crate::value::Val;

/// `a @ b + acc`, given their types and contents in that order.
pub(crate) fn dot(types: [&Type; 3], operands: [&Val; 3]) -> Val {
    let [a, b, acc] = types;
    let size = |ty: &Type, from_end: usize| ty.shape()[ty.shape().len() - from_end] as usize;
    let sizes = Sizes { batch: len(&a.shape()[..a.shape().len() - 2]), m: size(a, 2), k: size(a, 1), n: size(b, 1) };
    let number = |ty: &Type| ty.number().unwrap_or(Scalar::F32);
    let scalars = [number(a), number(b), number(acc)];
    if scalars[2] == Scalar::F64 {
        let [x, y, z] = convert(scalars, Scalar::F64, operands, f64::from_bits);
        let sum = sizes.accumulate(&x, &y, z, |x, y, z| x.mul_add(y, z));
        back(Scalar::F64, scalars[2], sum.iter().map(|v| v.to_bits()))
    } else if scalars[2].is_float() {
        let [x, y, z] = convert(scalars, Scalar::F32, operands, |bits| f32::from_bits(bits as u32));
        let sum = sizes.accumulate(&x, &y, z, |x, y, z| x.mul_add(y, z));
        back(Scalar::F32, scalars[2], sum.iter().map(|v| u64::from(v.to_bits())))
    } else {
        let [x, y, z] = convert(scalars, Scalar::I64, operands, u64::cast_signed);
        let sum = sizes.accumulate(&x, &y, z, |x, y, z| x.wrapping_mul(y).wrapping_add(z));
        back(Scalar::I64, scalars[2], sum.iter().map(|v| v.cast_unsigned()))
    }
}

struct Sizes {
    batch: usize,
    m: usize,
    k: usize,
    n: usize,
}

impl Sizes {
    fn accumulate<T: Copy>(&self, a: &[T], b: &[T], mut acc: Vec<T>, fma: impl Fn(T, T, T) -> T) -> Vec<T> {
        let Sizes { batch, m, k, n } = *self;
        for row in 0..batch * m {
            let b = &b[row / m * k * n..];
            let out = &mut acc[row * n..(row + 1) * n];
            for (&x, b_row) in a[row * k..(row + 1) * k].iter().zip(b.chunks_exact(n)) {
                for (out, &y) in out.iter_mut().zip(b_row) {
                    *out = fma(x, y, *out);
                }
            }
        }
        acc
    }
}

/// The operands in the type that computes.
fn convert<T>(from: [Scalar; 3], to: Scalar, operands: [&Val; 3], read: impl Fn(u64) -> T) -> [Vec<T>; 3] {
    [0, 1, 2].map(|i| {
        let mut bits = operands[i].bits().to_vec();
        if from[i] != to {
            cast_slice(from[i], to, Rounding::Nearest, operands[i].bits(), &mut bits);
        }
        bits.into_iter().map(&read).collect()
    })
}

/// The result in the accumulator's type.
fn back(from: Scalar, to: Scalar, bits: impl Iterator<Item = u64>) -> Val {
    let wide: Vec<u64> = bits.collect();
    if from == to {
        return Val::tile(wide);
    }
    let mut out = vec![0; wide.len()];
    cast_slice(from, to, Rounding::Nearest, &wide, &mut out);
    Val::tile(out)
}
