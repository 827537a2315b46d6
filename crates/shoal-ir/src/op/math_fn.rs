//! Functions of mathematics.

spelled! {
    /// Functions of mathematics on floats.
    MathFn {
        /// Arc cosine.
        Acos = "acos",
        /// Inverse hyperbolic cosine.
        Acosh = "acosh",
        /// Arc sine.
        Asin = "asin",
        /// Inverse hyperbolic sine.
        Asinh = "asinh",
        /// Arc tangent.
        Atan = "atan",
        /// Arc tangent of `y / x` by quadrant.
        Atan2 = "atan2",
        /// Inverse hyperbolic tangent.
        Atanh = "atanh",
        /// Cube root.
        Cbrt = "cbrt",
        /// Least integer not below.
        Ceil = "ceil",
        /// The first operand with the sign of the second.
        Copysign = "copysign",
        /// Cosine.
        Cos = "cos",
        /// Hyperbolic cosine.
        Cosh = "cosh",
        /// Cosine of `pi x`.
        Cospi = "cospi",
        /// Regular modified Bessel function of order 0.
        CylBesselI0 = "cyl_bessel_i0",
        /// Regular modified Bessel function of order 1.
        CylBesselI1 = "cyl_bessel_i1",
        /// Error function.
        Erf = "erf",
        /// Complementary error function.
        Erfc = "erfc",
        /// Inverse complementary error function.
        Erfcinv = "erfcinv",
        /// Scaled complementary error function.
        Erfcx = "erfcx",
        /// Inverse error function.
        Erfinv = "erfinv",
        /// e to the power.
        Exp = "exp",
        /// 10 to the power.
        Exp10 = "exp10",
        /// 2 to the power.
        Exp2 = "exp2",
        /// e to the power, minus 1.
        Expm1 = "expm1",
        /// Positive difference.
        Fdim = "fdim",
        /// Greatest integer not above.
        Floor = "floor",
        /// Remainder with the sign of the dividend.
        Fmod = "fmod",
        /// Length of a 2-vector.
        Hypot = "hypot",
        /// Bessel function of the first kind, order 0.
        J0 = "j0",
        /// Bessel function of the first kind, order 1.
        J1 = "j1",
        /// Bessel function of the first kind; the first operand is the order, an integer up to 2^20.
        Jn = "jn",
        /// Logarithm of the absolute value of the gamma function.
        Lgamma = "lgamma",
        /// Natural logarithm.
        Log = "log",
        /// Logarithm to base 10.
        Log10 = "log10",
        /// Natural logarithm of one more.
        Log1p = "log1p",
        /// Logarithm to base 2.
        Log2 = "log2",
        /// Exponent, as a float.
        Logb = "logb",
        /// The next number towards the second operand.
        Nextafter = "nextafter",
        /// Cumulative normal distribution.
        Normcdf = "normcdf",
        /// Its inverse.
        Normcdfinv = "normcdfinv",
        /// The first operand to the power of the second.
        Pow = "pow",
        /// Reciprocal cube root.
        Rcbrt = "rcbrt",
        /// IEEE remainder.
        Remainder = "remainder",
        /// Reciprocal length of a 2-vector.
        Rhypot = "rhypot",
        /// To the nearest integer, ties to even.
        Rint = "rint",
        /// To the nearest integer, ties away from zero.
        Round = "round",
        /// Reciprocal square root.
        Rsqrt = "rsqrt",
        /// Sine.
        Sin = "sin",
        /// Hyperbolic sine.
        Sinh = "sinh",
        /// Sine of `pi x`.
        Sinpi = "sinpi",
        /// Square root; a backend may use an approximation for `f32`.
        Sqrt = "sqrt",
        /// Square root, correctly rounded.
        SqrtRn = "sqrt_rn",
        /// Tangent.
        Tan = "tan",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Gamma function.
        Tgamma = "tgamma",
        /// Towards zero to an integer.
        Trunc = "trunc",
        /// Bessel function of the second kind, order 0.
        Y0 = "y0",
        /// Bessel function of the second kind, order 1.
        Y1 = "y1",
        /// Bessel function of the second kind; the first operand is the order, an integer up to 2^20.
        Yn = "yn",
    }
}

impl MathFn {
    /// How many operands it takes.
    pub fn arity(self) -> usize {
        match self {
            MathFn::Atan2
            | MathFn::Copysign
            | MathFn::Fdim
            | MathFn::Fmod
            | MathFn::Hypot
            | MathFn::Jn
            | MathFn::Nextafter
            | MathFn::Pow
            | MathFn::Remainder
            | MathFn::Rhypot
            | MathFn::Yn => 2,
            MathFn::Acos
            | MathFn::Acosh
            | MathFn::Asin
            | MathFn::Asinh
            | MathFn::Atan
            | MathFn::Atanh
            | MathFn::Cbrt
            | MathFn::Ceil
            | MathFn::Cos
            | MathFn::Cosh
            | MathFn::Cospi
            | MathFn::CylBesselI0
            | MathFn::CylBesselI1
            | MathFn::Erf
            | MathFn::Erfc
            | MathFn::Erfcinv
            | MathFn::Erfcx
            | MathFn::Erfinv
            | MathFn::Exp
            | MathFn::Exp10
            | MathFn::Exp2
            | MathFn::Expm1
            | MathFn::Floor
            | MathFn::J0
            | MathFn::J1
            | MathFn::Lgamma
            | MathFn::Log
            | MathFn::Log10
            | MathFn::Log1p
            | MathFn::Log2
            | MathFn::Logb
            | MathFn::Normcdf
            | MathFn::Normcdfinv
            | MathFn::Rcbrt
            | MathFn::Rint
            | MathFn::Round
            | MathFn::Rsqrt
            | MathFn::Sin
            | MathFn::Sinh
            | MathFn::Sinpi
            | MathFn::Sqrt
            | MathFn::SqrtRn
            | MathFn::Tan
            | MathFn::Tanh
            | MathFn::Tgamma
            | MathFn::Trunc
            | MathFn::Y0
            | MathFn::Y1 => 1,
        }
    }
}
