//! `exp` and `exp2` on `f32`: a power of two, put into the exponent's bits, times a polynomial.
//!
//! Other functions are arithmetic by the time they get here (the passes' `expand_math`). These two are not, because
//! AVX-512 has an instruction for either end of them: one takes the nearest integer off a number, infinite ones
//! included; one multiplies by a power of two and makes zero, subnormal numbers or infinity of what leaves the range.
//! Without the two, limits at the start and a second factor at the end do the same. The results are the same bits; the
//! greatest error is 1 unit of the last place.

use inkwell::FloatPredicate;
use inkwell::values::InstructionOpcode as Op;

use super::avx512::Avx512;
use super::isa::Isa;
use crate::shared::llvm::{Llvm, V};

/// `e^x = 2^n e^r`, where `n` is `x / ln 2` rounded and `r = x - n ln 2`, at most `ln 2 / 2`.
pub(super) fn exp<'ctx>(llvm: &Llvm<'ctx>, isa: &Isa, x: V<'ctx>) -> V<'ctx> {
    let f = Floats { llvm, like: x };
    // Beyond these the result is zero or infinite, and stays so.
    let x = f.clamp(x, -104.0, 89.0);
    let to_integer = f.constant(TO_INTEGER);
    let shifted = f.fma(x, f.constant(std::f64::consts::LOG2_E), to_integer);
    let n = llvm.bin(Op::FSub, shifted, to_integer);
    let r = f.fma(n, f.constant(-LN_2_HIGH), x);
    let r = f.fma(n, f.constant(-LN_2_LOW), r);
    let p = f.polynomial(r, &EXP);
    match Avx512::of(llvm, isa, x) {
        Some(avx512) => avx512.scale(p, n),
        None => f.scale(p, shifted),
    }
}

/// `2^x = 2^n 2^r`, where `n` is `x` rounded and `r = x - n`, at most a half.
pub(super) fn exp2<'ctx>(llvm: &Llvm<'ctx>, isa: &Isa, x: V<'ctx>) -> V<'ctx> {
    let f = Floats { llvm, like: x };
    if let Some(avx512) = Avx512::of(llvm, isa, x) {
        let r = avx512.less_nearest_integer(x);
        let n = llvm.bin(Op::FSub, x, r);
        return avx512.scale(f.polynomial(r, &EXP2), n);
    }
    let x = f.clamp(x, -151.0, 128.5);
    let to_integer = f.constant(TO_INTEGER);
    let shifted = llvm.bin(Op::FAdd, x, to_integer);
    let n = llvm.bin(Op::FSub, shifted, to_integer);
    let r = llvm.bin(Op::FSub, x, n);
    f.scale(f.polynomial(r, &EXP2), shifted)
}

/// Arithmetic on single numbers and vectors alike.
struct Floats<'a, 'ctx> {
    llvm: &'a Llvm<'ctx>,
    like: V<'ctx>,
}

impl<'ctx> Floats<'_, 'ctx> {
    fn spread(&self, scalar: V<'ctx>) -> V<'ctx> {
        let V::VectorValue(like) = self.like else { return scalar };
        self.llvm.splat(scalar, like.get_type().get_size()).into()
    }

    fn constant(&self, value: f64) -> V<'ctx> {
        self.spread(self.llvm.f32().const_float(value).into())
    }

    fn integer(&self, value: i64) -> V<'ctx> {
        self.spread(self.llvm.const_i32(value).into())
    }

    fn fma(&self, x: V<'ctx>, y: V<'ctx>, z: V<'ctx>) -> V<'ctx> {
        self.llvm.intrinsic("llvm.fma", &[x.get_type()], &[x, y, z]).expect("a value")
    }

    /// `c[0] + c[1] x + c[2] x^2 + …`.
    fn polynomial(&self, x: V<'ctx>, coefficients: &[f64]) -> V<'ctx> {
        let (last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
        rest.iter().rev().fold(self.constant(*last), |sum, &c| self.fma(sum, x, self.constant(c)))
    }

    /// `x` brought between two limits; NaN stays. In this form each limit is one instruction of most processors.
    fn clamp(&self, x: V<'ctx>, low: f64, high: f64) -> V<'ctx> {
        let llvm = self.llvm;
        let (low, high) = (self.constant(low), self.constant(high));
        let x = llvm.select(llvm.fcmp(FloatPredicate::OLT, high, x), high, x);
        llvm.select(llvm.fcmp(FloatPredicate::OGT, low, x), low, x)
    }

    /// `p * 2^n`, where `n` stands in the lowest bits of `shifted`: two multiplications by half of it each, because
    /// `2^n` itself may have no exponent. Only the second one rounds, to a subnormal number or to infinity.
    fn scale(&self, p: V<'ctx>, shifted: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let n = llvm.cast(Op::BitCast, shifted, llvm.i32().into());
        let half = llvm.bin(Op::AShr, n, self.integer(1));
        let other_half = llvm.bin(Op::Sub, n, half);
        let p = llvm.bin(Op::FMul, p, self.power_of_two(half));
        llvm.bin(Op::FMul, p, self.power_of_two(other_half))
    }

    /// `2^n` for an integer whose upper bits are shifted out.
    fn power_of_two(&self, n: V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let exponent = llvm.bin(Op::Shl, n, self.integer(23));
        let pattern = llvm.bin(Op::Add, exponent, self.integer(127 << 23));
        llvm.cast(Op::BitCast, pattern, llvm.f32().into())
    }
}

/// Added to a small number, rounds it to an integer, which then stands in the lowest bits of the sum.
const TO_INTEGER: f64 = 12_582_912.0;

/// `ln 2` in two parts. The first has few enough bits for its product with an exponent to be exact.
const LN_2_HIGH: f64 = 0.693_145_751_953_125;
/// What the first part leaves out.
const LN_2_LOW: f64 = 1.428_606_765_330_187e-6;

/// `e^r` on `[-ln 2 / 2, ln 2 / 2]`, exactly 1 at 0.
const EXP: [f64; 7] = [1.0, 1.0, 0.500000002859, 0.166665733614, 0.0416663634068, 0.00836377612553, 0.00139421649324];

/// `2^r` on `[-1/2, 1/2]`, exactly 1 at 0.
const EXP2: [f64; 7] =
    [1.0, 0.693147188029, 0.240226510842, 0.0555035710568, 0.00961803077723, 0.00133908668061, 0.000154697326644];
