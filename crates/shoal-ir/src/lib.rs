//! The tile IR: the one language between the front end and every backend.
//!
//! # What a module means
//!
//! A [`Module`] is a list of functions. A *kernel* is a function that the host launches on a grid: each point of the
//! grid is one *program*, and a program runs the kernel's body once, from the first operation to the last. A *device*
//! function is called by kernels or by other device functions.
//!
//! **Values.** Every operation defines zero or more values, each exactly once. A value is a scalar, a *tile* (a dense,
//! row-major array whose dimensions are powers of two), a tensor descriptor or a token; see [`types`]. Tiles are
//! values, not memory: nothing can change one.
//!
//! **Layouts.** A tile's type may say where on a device its elements are ([`types::TileType::layout`]). As long as none
//! does, layouts are open. Once they are decided, every tile of an operation has one, the results' follow from the
//! operands' ([`layouts`]), and `convert_layout` is the only operation that moves elements. Layouts never change what a
//! program computes.
//!
//! **Scope.** Control flow is structured. A function has one body [`Region`]; operations such as `if`, `for`, `while`,
//! `reduce` and `scan` own further regions. A region is a list of parameters and a list of operations. An operation
//! may use the results of operations before it in its own region, the parameters of its region, and whatever the
//! operation that owns its region may use. There is no other control flow: dominance is nesting and order.
//!
//! **Order.** The operations of a region happen in their order. Passes may move an operation only as far as its
//! [`Effects`] allow; they need to know nothing else about it.
//!
//! **Elementwise operations** take operands that are all scalars or all tiles of one shape, and apply to each element
//! on its own. There is no implicit broadcast: `splat` and `broadcast` are operations.
//!
//! **Signedness** is part of a scalar's type (`i32`, `u32`), so `div`, `rem`, `shr`, `cmp`, `min`, `max` and `cast`
//! have one spelling each.
//!
//! **Numbers.** Integers wrap. Signed division truncates; division by zero, and a shift by the width or more, give an
//! unspecified value but do not trap. Floating-point operations round to nearest even in the type of their result;
//! 8-bit and 16-bit floats are computed in `f32` and rounded once. `mul` followed by `add` is not contracted.
//! Masked-out elements of a load without `other` are zero. [`numeric`] is the definition, element by element.
//!
//! **Order of combination.** `reduce` along the last axis of length `n` combines with `w = min(n, 64)` lanes: lane `l`
//! combines elements `l`, `l + w`, `l + 2w`, … in that order; then lanes `l` and `l + w/2` are combined for `l < w/2`,
//! and so on by halves. With `in_order`, which is for regions that are associative but do not commute ([`combine`]), lane
//! `l` combines the `n/w` neighbours from `r * n/w` on instead, where `r` is `l` with its `log2(w)` bits in reverse, so that
//! everything is combined in index order. Along any other axis elements are combined in index order anyway. `scan` combines in index order (from
//! the end if `reverse`). `dot` starts from the accumulator and adds the products in order of `k`, one fused
//! multiply-add each: in `f64` if the accumulator is `f64`; in `f32` for every other float accumulator, rounded once to
//! its type at the end; wrapping for integers. Inputs that a precision such as `tf32` allows to be rounded are not
//! rounded here: `ieee` is one of the results allowed. Backends may deviate for speed only where they document a
//! tolerance.
//!
//! # Where things are
//!
//! | module | concern |
//! |---|---|
//! | [`types`] | scalars, pointers, tiles, descriptors |
//! | [`op`] | the closed set of operations |
//! | [`comm`] | those between ranks |
//! | [`class`] | their families, and how they run their regions |
//! | [`func`] | functions, regions, values, use lists, editing |
//! | [`builder`] | appending operations with inferred result types |
//! | [`infer`] | the result types of an operation |
//! | [`combine`] | which combinations of elements commute |
//! | [`nonnegative`] | scalars that are never negative |
//! | [`layouts`] | what becomes of a tile's layout |
//! | [`effects`] | what an operation reads, writes, orders |
//! | [`weight`] | what an operation costs the compiler |
//! | [`tensor_map`] | descriptors that a GPU's copy engine takes over |
//! | [`verify()`] | what must hold of a function |
//! | [`mod@print`], [`mod@parse`] | the text format, which round-trips |
//! | [`numeric`] | the meaning of operations on single elements |
//! | [`abi`] | what of the binary interface follows from types |
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

pub mod abi;
pub mod builder;
pub mod class;
pub mod combine;
pub mod comm;
pub mod effects;
mod extreme;
pub mod func;
pub mod infer;
pub mod layouts;
pub mod nonnegative;
pub mod numeric;
pub mod op;
pub mod parse;
pub mod print;
pub mod provenance;
pub mod shmem;
pub mod tensor_map;
pub mod types;
mod variants;
pub mod verify;
pub mod weight;

pub use builder::Builder;
pub use class::{OpClass, Structure};
pub use comm::CommOp;
pub use effects::Effects;
pub use extreme::{Extreme, Nan};
pub use func::{
    Facts, Func, FuncKind, GpuShape, MAX_WARPS, Module, Op, OpId, Region, RegionData, Use, Value, ValueData, ValueDef,
};
pub use numeric::Const;
pub use op::OpKind;
pub use shmem::ShmemOp;
pub use types::{DescType, Elem, Ptr, Scalar, Shape, Space, TileType, Type};
pub use verify::verify;
pub use weight::MAX_WEIGHT;

/// Places in source text and what is said about them: every operation has one, so the IR brings them along.
pub use shoal_source as source;
pub use shoal_source::Span;
