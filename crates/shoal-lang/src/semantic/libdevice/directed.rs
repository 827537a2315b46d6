//! Results rounded towards zero, down or up.
//!
//! Each is the result rounded to nearest and the sign of what that leaves out. Where the sign says that the result lies
//! on the wrong side of the exact value, the number next to it is the answer. What is left out is held as an `fp64`
//! whose sign alone counts; it is NaN, which moves nothing, where an operand is infinite or NaN.

use shoal_ir::op::{BinaryOp, CmpOp, MathFn, UnaryOp};
use shoal_ir::types::{Scalar, Type};
use shoal_ir::{Builder, OpKind, Value as IrValue};

/// Where results go that lie between two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Zero,
    Down,
    Up,
}

/// What is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Rcp,
    Sqrt,
}

/// The operations of this file on values of one shape.
struct Maker<'b> {
    b: Builder<'b>,
    /// The type at which what is left out is computed.
    wide: Type,
}

/// `arithmetic` on operands of one float type.
pub(super) fn arithmetic(b: Builder<'_>, what: Arithmetic, direction: Direction, args: &[IrValue]) -> IrValue {
    let mut m = Maker::new(b, args[0]);
    let args = match what {
        Arithmetic::Rcp => {
            let ty = m.b.func.ty(args[0]).clone();
            vec![m.b.float(1.0, ty), args[0]]
        }
        _ => args.to_vec(),
    };
    let nearest = m.nearest(what, direction, &args);
    let left_out = m.left_out(what, &args, nearest);
    m.step(nearest, left_out, direction)
}

/// A number at a float type that does not hold it exactly.
pub(super) fn convert(b: Builder<'_>, to: Scalar, direction: Direction, x: IrValue) -> IrValue {
    let mut m = Maker::new(b, x);
    let nearest = m.b.cast(x, to);
    let found = m.widen(nearest);
    let from = m.b.func.ty(x).clone();
    let left_out = match from.number() {
        Some(Scalar::I64 | Scalar::U64) => {
            // No float type holds all of it, but one holds each half.
            let (half, low) = (m.b.int(32, from.clone()), m.b.int(0xffff_ffff, from));
            let upper = m.b.binary(BinaryOp::Shr, x, half);
            let lower = m.b.binary(BinaryOp::And, x, low);
            let (upper, lower) = (m.widen(upper), m.widen(lower));
            let upper = m.times_power(upper, 32);
            let rest = m.sub(upper, found);
            m.add(rest, lower)
        }
        _ => {
            let exact = m.widen(x);
            m.sub(exact, found)
        }
    };
    m.step(nearest, left_out, direction)
}

/// The upper half of an approximate `1 / x`, with zeros below; subnormal numbers count as zeros, in and out.
pub(super) fn rcp64h(b: Builder<'_>, x: IrValue) -> IrValue {
    let mut m = Maker::new(b, x);
    let flushed = m.flush(x);
    let one = m.float(1.0);
    let inverse = m.b.binary(BinaryOp::DivRn, one, flushed);
    let inverse = m.flush(inverse);
    let bits = m.b.bitcast(inverse, Scalar::I64);
    let upper = m.b.int(-1 << 32, m.wide.with_elem(Scalar::I64));
    let bits = m.b.binary(BinaryOp::And, bits, upper);
    m.b.bitcast(bits, Scalar::F64)
}

impl<'b> Maker<'b> {
    fn new(b: Builder<'b>, like: IrValue) -> Maker<'b> {
        let wide = b.func.ty(like).with_elem(Scalar::F64);
        Maker { b, wide }
    }

    fn nearest(&mut self, what: Arithmetic, direction: Direction, args: &[IrValue]) -> IrValue {
        match what {
            Arithmetic::Mul => self.b.binary(BinaryOp::Mul, args[0], args[1]),
            Arithmetic::Div | Arithmetic::Rcp => self.b.binary(BinaryOp::DivRn, args[0], args[1]),
            Arithmetic::Sqrt => self.b.value(OpKind::Math(MathFn::SqrtRn), args),
            // A sum that cancels is a negative zero when rounded down: the negative of the sum of negatives is that.
            _ if direction == Direction::Down => {
                let (first, last) = (self.neg(args[0]), self.neg(args[args.len() - 1]));
                let opposite = match what {
                    Arithmetic::Fma => self.sum(what, &[first, args[1], last]),
                    _ => self.sum(what, &[first, last]),
                };
                self.neg(opposite)
            }
            _ => self.sum(what, args),
        }
    }

    fn sum(&mut self, what: Arithmetic, args: &[IrValue]) -> IrValue {
        match what {
            Arithmetic::Fma => self.b.value(OpKind::Fma, args),
            Arithmetic::Sub => self.b.binary(BinaryOp::Sub, args[0], args[1]),
            _ => self.b.binary(BinaryOp::Add, args[0], args[1]),
        }
    }

    /// The sign of the exact result less the one that was found.
    fn left_out(&mut self, what: Arithmetic, args: &[IrValue], found: IrValue) -> IrValue {
        let narrow = self.b.func.ty(found).number() == Some(Scalar::F32);
        let args: Vec<IrValue> = args.iter().map(|&v| self.widen(v)).collect();
        let found = self.widen(found);
        let of_sum = if narrow { Maker::of_narrow_sum } else { Maker::of_sum };
        match what {
            Arithmetic::Add => {
                let one = self.float(1.0);
                of_sum(self, [args[0], one, args[1]], found)
            }
            Arithmetic::Sub => {
                let (one, subtracted) = (self.float(1.0), self.neg(args[1]));
                of_sum(self, [args[0], one, subtracted], found)
            }
            Arithmetic::Mul => {
                let zero = self.float(0.0);
                of_sum(self, [args[0], args[1], zero], found)
            }
            Arithmetic::Fma => of_sum(self, [args[0], args[1], args[2]], found),
            Arithmetic::Div | Arithmetic::Rcp => self.of_quotient(args[0], args[1], found),
            Arithmetic::Sqrt => self.of_root(args[0], found),
        }
    }

    /// `x * y + z - found` for numbers of `fp32`, whose products are exact in `fp64`.
    fn of_narrow_sum(&mut self, [x, y, z]: [IrValue; 3], found: IrValue) -> IrValue {
        let product = self.mul(x, y);
        let (sum, rest) = self.two_sum(product, z);
        let beyond = self.sub(sum, found);
        self.add(beyond, rest)
    }

    /// `x * y + z - found` for numbers of `fp64`: what an `fma` leaves out is the sum of two numbers (Boldo and Muller),
    /// once the operands are scaled so that no step leaves the range of exponents.
    fn of_sum(&mut self, operands: [IrValue; 3], found: IrValue) -> IrValue {
        let overflow = self.of_overflow(operands, found);
        let infinite = self.is_infinite(found);
        let ([x, y, z], found) = self.scaled(operands, found);
        let product = self.mul(x, y);
        let opposite = self.neg(product);
        let product_rest = self.b.value(OpKind::Fma, &[x, y, opposite]);
        let (small, smaller) = self.two_sum(z, product_rest);
        let (sum, sum_rest) = self.two_sum(product, small);
        let beyond = self.sub(sum, found);
        let beyond = self.add(beyond, sum_rest);
        let exact = self.add(beyond, smaller);
        self.b.select(infinite, overflow, exact)
    }

    /// The sign where the result is infinite: NaN if an operand is, too.
    fn of_overflow(&mut self, operands: [IrValue; 3], found: IrValue) -> IrValue {
        let reduced = operands.map(|v| self.times_power(v, -600));
        let reduced = self.b.value(OpKind::Fma, &reduced);
        self.sub(reduced, found)
    }

    /// The operands of `x * y + z` and its result times a power of two that keeps the sign of what is left out.
    fn scaled(&mut self, [x, y, z]: [IrValue; 3], found: IrValue) -> ([IrValue; 3], IrValue) {
        let product = self.mul(x, y);
        let (x_size, y_size, z_size) = (self.abs(x), self.abs(y), self.abs(z));
        let size = self.abs(product);

        // A tiny product: upwards. Beside a `z` that is far greater it only gives the sign: `z` and the result are one.
        let tiny = self.below(size, -900);
        let near = self.below(z_size, -700);
        let (x_up, y_up) = (self.times_power(x, 600), self.times_power(y, 600));
        let up = |m: &mut Self, v| {
            let half = m.times_power(v, 600);
            m.times_power(half, 600)
        };
        let (z_up, found_up) = (up(self, z), up(self, found));
        let (no_difference, zero) = (self.sub(z, found), self.float(0.0));
        let z_up = self.b.select(near, z_up, no_difference);
        let found_up = self.b.select(near, found_up, zero);

        // A huge one: downwards, by its greater factor. A small `z` beside it only gives the sign.
        let limit = self.power(1000);
        let huge_product = self.b.cmp(CmpOp::Ge, size, limit);
        let huge_z = self.b.cmp(CmpOp::Ge, z_size, limit);
        let huge = self.b.binary(BinaryOp::Or, huge_product, huge_z);
        let x_greater = self.b.cmp(CmpOp::Gt, x_size, y_size);
        let small_z = self.below(z_size, 0);
        let [x_down, y_down, z_down, found_down] = [x, y, z, found].map(|v| self.times_power(v, -4));
        let x_down = self.b.select(x_greater, x_down, x);
        let y_down = self.b.select(x_greater, y, y_down);
        let z_down = self.b.select(small_z, z, z_down);

        let [x, y, z, found] = [
            (x_up, x_down, x), //
            (y_up, y_down, y),
            (z_up, z_down, z),
            (found_up, found_down, found),
        ]
        .map(|(up, down, plain)| {
            let down = self.b.select(huge, down, plain);
            self.b.select(tiny, up, down)
        });
        ([x, y, z], found)
    }

    /// `x / y - found`: the sign of the remainder over that of `y`.
    fn of_quotient(&mut self, x: IrValue, y: IrValue, found: IrValue) -> IrValue {
        let (x_size, y_size) = (self.abs(x), self.abs(y));
        let (tiny, room) = (self.below(x_size, -900), self.below(y_size, 800));
        let scale = self.b.binary(BinaryOp::And, tiny, room);
        let [x, y] = [x, y].map(|v| {
            let up = self.times_power(v, 200);
            self.b.select(scale, up, v)
        });
        let opposite = self.neg(found);
        let remainder = self.b.value(OpKind::Fma, &[opposite, y, x]);
        let (zero, other) = (self.float(0.0), self.neg(remainder));
        let negative = self.b.cmp(CmpOp::Lt, y, zero);
        self.b.select(negative, other, remainder)
    }

    /// `sqrt(x) - found`: the sign of `x - found * found`.
    fn of_root(&mut self, x: IrValue, found: IrValue) -> IrValue {
        let tiny = self.below(x, -900);
        let (x_up, found_up) = (self.times_power(x, 200), self.times_power(found, 100));
        let (x, found) = (self.b.select(tiny, x_up, x), self.b.select(tiny, found_up, found));
        let opposite = self.neg(found);
        self.b.value(OpKind::Fma, &[opposite, found, x])
    }

    /// The number next to `nearest` where that is on the wrong side. The bits of a float count its size: one more is the
    /// next number away from zero, be it an infinity, and one less the next one towards it.
    fn step(&mut self, nearest: IrValue, left_out: IrValue, direction: Direction) -> IrValue {
        let float = self.b.func.ty(nearest).number().expect("a float");
        let int = Scalar::int(float.bits(), true).expect("32 or 64 bits");
        let int_ty = self.wide.with_elem(int);
        let bits = self.b.bitcast(nearest, int);
        let [less, none, more] = [-1, 0, 1].map(|step| self.b.int(step, int_ty.clone()));
        let negative = self.b.cmp(CmpOp::Lt, bits, none);
        let zero = self.float(0.0);
        let above = self.b.cmp(CmpOp::Gt, left_out, zero);
        let below = self.b.cmp(CmpOp::Lt, left_out, zero);
        let (wrong, step) = match direction {
            Direction::Zero => (self.b.select(negative, above, below), less),
            Direction::Down => (below, self.b.select(negative, more, less)),
            Direction::Up => (above, self.b.select(negative, less, more)),
        };
        let step = self.b.select(wrong, step, none);
        let bits = self.b.binary(BinaryOp::Add, bits, step);
        self.b.bitcast(bits, float)
    }

    /// A sum and what its rounding leaves out, exactly (Knuth).
    fn two_sum(&mut self, x: IrValue, y: IrValue) -> (IrValue, IrValue) {
        let sum = self.add(x, y);
        let y_part = self.sub(sum, x);
        let x_part = self.sub(sum, y_part);
        let (x_rest, y_rest) = (self.sub(x, x_part), self.sub(y, y_part));
        (sum, self.add(x_rest, y_rest))
    }

    /// Zero of the same sign in place of a subnormal number.
    fn flush(&mut self, x: IrValue) -> IrValue {
        let (size, zero) = (self.abs(x), self.float(0.0));
        let subnormal = self.below(size, f64::MIN_EXP - 1);
        let signed_zero = self.mul(x, zero);
        self.b.select(subnormal, signed_zero, x)
    }

    fn is_infinite(&mut self, x: IrValue) -> IrValue {
        let (size, infinity) = (self.abs(x), self.float(f64::INFINITY));
        self.b.cmp(CmpOp::Eq, size, infinity)
    }

    /// Whether `x` is less than a power of two.
    fn below(&mut self, x: IrValue, exponent: i32) -> IrValue {
        let power = self.power(exponent);
        self.b.cmp(CmpOp::Lt, x, power)
    }

    fn times_power(&mut self, x: IrValue, exponent: i32) -> IrValue {
        let power = self.power(exponent);
        self.mul(x, power)
    }

    fn power(&mut self, exponent: i32) -> IrValue {
        self.float(2f64.powi(exponent))
    }

    fn float(&mut self, value: f64) -> IrValue {
        self.b.float(value, self.wide.clone())
    }

    fn widen(&mut self, x: IrValue) -> IrValue {
        self.b.cast(x, Scalar::F64)
    }

    fn add(&mut self, x: IrValue, y: IrValue) -> IrValue {
        self.b.binary(BinaryOp::Add, x, y)
    }

    fn sub(&mut self, x: IrValue, y: IrValue) -> IrValue {
        self.b.binary(BinaryOp::Sub, x, y)
    }

    fn mul(&mut self, x: IrValue, y: IrValue) -> IrValue {
        self.b.binary(BinaryOp::Mul, x, y)
    }

    fn neg(&mut self, x: IrValue) -> IrValue {
        self.b.unary(UnaryOp::Neg, x)
    }

    fn abs(&mut self, x: IrValue) -> IrValue {
        self.b.unary(UnaryOp::Abs, x)
    }
}
