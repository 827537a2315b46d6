//! The closed set of operations.
//!
//! [`OpKind`] holds an operation's meaning and its compile-time attributes; operands, results and regions are uniform
//! edges of [`crate::Op`]. Each variant's documentation gives its operands, its results and its meaning, in the form
//! `(operands) -> results`. `T…` is a scalar or a tile; within one operation the same letter is the same type, and
//! all tiles of an elementwise operation have one shape.

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

mod access;
mod arithmetic;
mod math_fn;

pub use access::{Evict, LoadAttrs, LoadCache, LoadMode, RmwOp, Scope, Sem, StoreCache};
pub use arithmetic::{BinaryOp, CmpOp, DotPrecision, UnaryOp};
pub use math_fn::MathFn;
pub use shoal_abi::float_format::Rounding;

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
