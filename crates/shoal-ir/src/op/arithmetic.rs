//! Names of arithmetic on elements.

spelled! {
    /// Elementwise operations on one operand.
    UnaryOp {
        /// Negation of integers (wrapping) and floats.
        Neg = "neg",
        /// Bitwise complement of integers.
        Not = "not",
        /// Absolute value of integers (wrapping) and floats.
        Abs = "abs",
        /// Leading zero bits of an integer; the result has the operand's type.
        Clz = "clz",
        /// Set bits of an integer.
        Popc = "popc",
        /// The bits of an integer in reverse order.
        Brev = "brev",
    }
}

spelled! {
    /// Elementwise operations on two operands of one type.
    BinaryOp {
        /// Sum.
        Add = "add",
        /// Difference.
        Sub = "sub",
        /// Product.
        Mul = "mul",
        /// Quotient: truncating for integers; a backend may use an approximation for `f32`.
        Div = "div",
        /// Quotient of floats, correctly rounded.
        DivRn = "div_rn",
        /// Remainder with the sign of the dividend, for integers and floats.
        Rem = "rem",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Shift left.
        Shl = "shl",
        /// Shift right: arithmetic for signed integers, else logical.
        Shr = "shr",
        /// The lesser. Of floats: the other one if one is NaN; -0 is less than +0.
        Min = "min",
        /// The greater. Of floats: the other one if one is NaN; +0 is greater than -0.
        Max = "max",
        /// The lesser of floats, -0 being less than +0; NaN if either is.
        MinNan = "min_nan",
        /// The greater of floats, +0 being greater than -0; NaN if either is.
        MaxNan = "max_nan",
        /// The upper half of the product of integers.
        MulHi = "mulhi",
    }
}

spelled! {
    /// Comparisons. On floats all but `ne` are false if an operand is NaN.
    CmpOp {
        /// Equal.
        Eq = "eq",
        /// Not equal.
        Ne = "ne",
        /// Less.
        Lt = "lt",
        /// Less or equal.
        Le = "le",
        /// Greater.
        Gt = "gt",
        /// Greater or equal.
        Ge = "ge",
    }
}

spelled! {
    /// How `f32` inputs of a `dot` may be rounded before they are multiplied.
    DotPrecision {
        /// Not at all.
        Ieee = "ieee",
        /// To 10 mantissa bits.
        Tf32 = "tf32",
        /// Three products of rounded parts.
        Tf32x3 = "tf32x3",
        /// Three products of bf16 parts.
        Bf16x3 = "bf16x3",
        /// Six products of bf16 parts.
        Bf16x6 = "bf16x6",
    }
}
