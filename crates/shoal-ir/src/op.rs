//! The closed set of operations.
//!
//! [`OpKind`] holds an operation's meaning and its compile-time attributes; operands, results and regions are uniform
//! edges of [`crate::Op`]. Each variant's documentation gives its operands, its results and its meaning, in the form
//! `(operands) -> results`. `T…` is a scalar or a tile; within one operation the same letter is the same type, and
//! all tiles of an elementwise operation have one shape.

use crate::comm::CommOp;
use crate::numeric::Const;

/// What an operation does.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    // Constants and the program's place in the grid.
    /// `() -> T`: a number, or a tile with that number everywhere. The constant's type is the result's element type.
    Const(Const),
    /// `() -> tile<n x i32>`: `start, start + 1, …, start + n - 1`.
    Iota {
        /// The first element.
        start: i32,
    },
    /// `() -> i32`: this program's place along a grid axis (0, 1 or 2).
    ProgramId {
        /// The grid axis.
        axis: u8,
    },
    /// `() -> i32`: the grid's size along an axis.
    NumPrograms {
        /// The grid axis.
        axis: u8,
    },

    // Elementwise.
    /// `(T) -> T`.
    Unary(UnaryOp),
    /// `(T, T) -> T`.
    Binary(BinaryOp),
    /// `(T, …) -> T`: a function of mathematics on floats, with [`MathFn::arity`] operands.
    Math(MathFn),
    /// `(T, T) -> i1…`: comparison of numbers or pointers.
    Cmp(CmpOp),
    /// `(i1…, T, T) -> T`: the second operand where the first is true, else the third.
    Select,
    /// `(T, T, T) -> T` on floats: `a * b + c`, rounded once.
    Fma,
    /// `(T) -> U`: conversion of numbers by value, between pointers and 64-bit integers, or between pointers. To `i1`:
    /// not zero.
    Cast(Rounding),
    /// `(T) -> U`: the same bits at another type of the same width.
    Bitcast,
    /// `(ptr…, int…) -> ptr…`: the address that many elements further. Unsigned offsets are zero-extended.
    PtrAdd,
    /// `(T, …) -> U…`: a function of user bitcode, applied to each element.
    Extern(Box<ExternFn>),
    /// `(T, …) -> U…`: target assembly, applied to each group of `pack` elements.
    InlineAsm(Box<InlineAsm>),
    /// `(T, …) -> U…` with a region: applied to each group of `pack` elements. Region parameters are scalars, `pack`
    /// for each operand in order; it yields `pack` scalars for each result.
    MapElementwise {
        /// Elements per application; divides the number of elements.
        pack: u32,
    },

    // Shape.
    /// `(scalar) -> tile`: the scalar everywhere.
    Splat,
    /// `(tile) -> tile`: dimensions of size 1 are repeated; the rank stays.
    Broadcast,
    /// `(tile or scalar) -> tile or scalar`: the same elements in row-major order at another shape. A one-element tile
    /// may become a scalar and back.
    Reshape,
    /// `(tile) -> tile`: dimension `i` of the result is dimension `perm[i]` of the operand.
    Transpose {
        /// A permutation.
        perm: Vec<u8>,
    },
    /// `(T, T) -> tile`: a new innermost dimension of size 2.
    Join,
    /// `(tile) -> T, T`: takes an innermost dimension of size 2 apart.
    Split,
    /// `(tile) -> tile`: the same tile in another layout. Elements move between registers, lanes and warps.
    ConvertLayout,
    /// `(tile, int tile) -> tile`: element `[…, i, …]` is `src[…, index[…, i, …], …]` along `axis`.
    Gather {
        /// The indexed dimension.
        axis: u8,
    },

    // Whole-tile computation.
    /// `(tile, …) -> T, …` with a region of `2n` scalar parameters that yields `n`: combines along an axis, which
    /// vanishes.
    Reduce {
        /// The dimension combined.
        axis: u8,
        /// In the order of the elements: the region does not commute.
        in_order: bool,
    },
    /// `(tile, …) -> tile, …` with a region as for [`OpKind::Reduce`]: inclusive prefixes along an axis.
    Scan {
        /// The dimension scanned.
        axis: u8,
        /// From the last element to the first.
        reverse: bool,
    },
    /// `(int tile, [i1 tile]) -> tile<bins x i32>`: how often each of `0..bins` occurs. Values outside are not counted.
    Histogram,
    /// `(tile<[b x] m x k>, tile<[b x] k x n>, acc: tile<[b x] m x n>) -> acc`: `a @ b + acc`.
    Dot {
        /// How `f32` inputs may be rounded.
        precision: DotPrecision,
        /// How many products of 8-bit floats may be summed in reduced precision; 0: as many as the target likes.
        max_imprecise_acc: u32,
    },

    // Memory.
    /// `(ptr…, [mask], [other]) -> T`: `other` (or zero) where the mask is false.
    Load(LoadAttrs),
    /// `(ptr…, T, [mask])`.
    Store {
        /// Which caches keep it.
        cache: StoreCache,
        /// How soon it may leave the cache.
        evict: Evict,
    },
    /// `(ptr…, T, [mask]) -> T`: read, combine, write as one; gives the old value (zero where masked out).
    AtomicRmw {
        /// How memory and operand are combined.
        op: RmwOp,
        /// Memory order.
        sem: Sem,
        /// Who takes part in the ordering.
        scope: Scope,
    },
    /// `(ptr…, compare, value, [mask]) -> T`: writes `value` where memory equals `compare`; gives the old value (zero
    /// where masked out).
    AtomicCas {
        /// Memory order.
        sem: Sem,
        /// Who takes part in the ordering.
        scope: Scope,
    },
    /// `(ptr…, [mask]) -> T`.
    AtomicLoad {
        /// Memory order.
        sem: Sem,
        /// Who takes part in the ordering.
        scope: Scope,
    },
    /// `(ptr…, T, [mask])`.
    AtomicStore {
        /// Memory order.
        sem: Sem,
        /// Who takes part in the ordering.
        scope: Scope,
    },
    /// `(ptr, expected, [timeout_ns: i64]) -> i1`: waits until memory equals `expected`; false if the time ran out.
    AtomicPoll {
        /// Memory order of the successful read.
        sem: Sem,
        /// Who takes part in the ordering.
        scope: Scope,
    },
    /// `(base: ptr, shape: i32…, strides: i64…) -> desc`: `rank` sizes, then `rank` strides in elements.
    MakeDesc,
    /// `(desc) -> ptr`: the tensor's first element.
    DescBase,
    /// `(desc) -> i32`: the size of a dimension of the tensor.
    DescSize {
        /// The dimension.
        dim: u8,
    },
    /// `(desc) -> i64`: the stride of a dimension of the tensor, in elements.
    DescStride {
        /// The dimension.
        dim: u8,
    },
    /// `(desc, offset: i32…) -> tile`: the block at these offsets; padding beyond the tensor's edges.
    DescLoad,
    /// `(desc, tile, offset: i32…)`: elements beyond the tensor's edges are dropped.
    DescStore,

    // Between ranks.
    /// An operation between ranks; see [`CommOp`].
    Comm(CommOp),

    // Order and observation.
    /// `()`: orders everything the program did before with everything after.
    Barrier,
    /// `()`: orders what each lane did before with what it does after, as seen by the programs of a scope. Atomics
    /// around it synchronise as if they had its order.
    Fence {
        /// Memory order.
        sem: Sem,
        /// Who takes part in the ordering.
        scope: Scope,
    },
    /// `() -> i64`: nanoseconds since some moment, the same for all programs of a device. Never goes back.
    Clock,
    /// `() -> ptr<u32>`: four words that all programs of the launch share, zero when it starts.
    GridWords,
    /// `(T, …)`: prints each element.
    Print {
        /// Printed before each value.
        prefix: String,
        /// In hexadecimal.
        hex: bool,
    },
    /// `(i1…, [mask])`: the program fails with `message` unless all (unmasked) elements are true.
    Assert {
        /// What to tell the user.
        message: String,
    },
    /// `(i1)`: the compiler may rely on it.
    Assume,

    // Control flow.
    /// `(i1) -> T, …` with two regions that yield the results.
    If,
    /// `(from, to, step, T, …) -> T, …` with a region `(i, T, …)` that yields the next carried values. `step` is
    /// positive.
    For(ForAttrs),
    /// `(T, …) -> U, …` with two regions: `before (T, …)` ends in `condition`; `body (U, …)` yields `T, …`.
    While {
        /// Keep invariant operations inside.
        disable_licm: bool,
    },
    /// `(i1, U, …)`: ends the first region of a `while`: goes on with the body, or leaves with these values.
    Condition,
    /// `(T, …)`: ends a region.
    Yield,
    /// `(T, …)`: ends a function.
    Return,
    /// `(T, …) -> U, …`: runs a device function of the module.
    Call {
        /// Its name.
        callee: String,
    },
}

/// Declares an enum whose variants have a spelling in the text format.
macro_rules! spelled {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every variant.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The spelling in the text format.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// The variant with that spelling.
            pub fn from_name(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|v| v.name() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use spelled;

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

pub use shoal_abi::float_format::Rounding;

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

spelled! {
    /// Which caches a load uses.
    LoadCache {
        /// The device's default.
        Default = "default",
        /// All levels.
        All = "ca",
        /// The device-wide level only.
        Global = "cg",
        /// Likely used once.
        Streaming = "cs",
        /// Never a stale copy.
        Volatile = "cv",
    }
}

spelled! {
    /// Whether a load stays where it stands, and whether it is atomic.
    LoadMode {
        /// A plain load: it may be moved, merged with others and removed.
        Free = "free",
        /// A plain load that is done exactly once, where it stands.
        Pinned = "pinned",
        /// The same, and atomic: relaxed, at `sys` scope.
        Volatile = "volatile",
    }
}

impl LoadMode {
    /// Whether it is done exactly once, where it stands.
    pub fn is_pinned(self) -> bool {
        self != LoadMode::Free
    }
}

spelled! {
    /// Which caches a store uses.
    StoreCache {
        /// The device's default.
        Default = "default",
        /// Write back.
        WriteBack = "wb",
        /// The device-wide level only.
        Global = "cg",
        /// Likely used once.
        Streaming = "cs",
        /// Write through.
        WriteThrough = "wt",
    }
}

spelled! {
    /// How soon data may leave the cache.
    Evict {
        /// The device's default.
        Normal = "normal",
        /// Early.
        First = "first",
        /// Late.
        Last = "last",
    }
}

spelled! {
    /// Memory order of an atomic operation.
    Sem {
        /// Atomic, but orders nothing.
        Relaxed = "relaxed",
        /// Later accesses stay later.
        Acquire = "acquire",
        /// Earlier accesses stay earlier.
        Release = "release",
        /// Both.
        AcqRel = "acq_rel",
    }
}

spelled! {
    /// Who takes part in an ordering.
    Scope {
        /// This program.
        Cta = "cta",
        /// All programs of this rank.
        Gpu = "gpu",
        /// All programs of all ranks, and the host.
        Sys = "sys",
    }
}

spelled! {
    /// How an atomic read-modify-write combines.
    RmwOp {
        /// Sum of integers or floats.
        Add = "add",
        /// Lesser, by the type's own order.
        Min = "min",
        /// Greater, by the type's own order.
        Max = "max",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// The operand.
        Xchg = "xchg",
    }
}

/// Attributes of a load.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoadAttrs {
    /// Which caches keep it.
    pub cache: LoadCache,
    /// How soon it may leave the cache.
    pub evict: Evict,
    /// Whether it stays where it stands.
    pub mode: LoadMode,
}

impl Default for LoadAttrs {
    fn default() -> Self {
        LoadAttrs { cache: LoadCache::Default, evict: Evict::Normal, mode: LoadMode::Free }
    }
}

/// Attributes of a `for` loop.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ForAttrs {
    /// Stages of software pipelining asked for.
    pub num_stages: Option<u32>,
    /// Iterations per trip asked for.
    pub unroll: Option<u32>,
    /// Merge with the loop around it.
    pub flatten: bool,
    /// Split the work over specialised warps.
    pub warp_specialize: bool,
    /// Keep one accumulator.
    pub disallow_acc_multi_buffer: bool,
    /// Keep invariant operations inside.
    pub disable_licm: bool,
}

/// A function of user bitcode.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExternFn {
    /// The function's symbol.
    pub symbol: String,
    /// The bitcode file that defines it; empty for the target's own library.
    pub library: String,
    /// Without effects: may be moved, merged and removed.
    pub pure: bool,
}

/// Target assembly on elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InlineAsm {
    /// The assembly text with `$n` operands.
    pub asm: String,
    /// Constraints in LLVM's form.
    pub constraints: String,
    /// Elements per application.
    pub pack: u32,
    /// Without effects: may be moved, merged and removed.
    pub pure: bool,
}
