//! Linear layouts: which register of which lane of which warp holds which element of a tile.
//!
//! # The idea
//!
//! All sizes on a GPU and all sizes of a tile are powers of two, so an index is a handful of bits. Almost every way to
//! spread a tile over the hardware that anyone has found useful has one property: when two hardware indices are
//! combined bit by bit with *xor*, so are the tile indices they hold,
//!
//! ```text
//! L(a ^ b) = L(a) ^ L(b)
//! ```
//!
//! In other words, `L` is a *linear map over F2*, the field of two elements, where adding is xor. Such a map is known
//! once one knows what it does to the powers of two. Those images are its *bases*, and they are all that is stored:
//! ten short vectors describe where each of 1 024 elements lives.
//!
//! ```
//! use shoal_layout::{InDim, LinearLayout, Place};
//!
//! // A 4 × 8 tile on 8 lanes: each lane holds four neighbours of one row.
//! let layout: LinearLayout =
//!     "#layout<register=[[0,1],[0,2]], lane=[[0,4],[1,0],[2,0]], out=[4,8]>".parse()?;
//!
//! // Lane 3 = 0b011 is basis 0 and basis 1: [0,4] ^ [1,0]. Register 2 adds [0,2].
//! assert_eq!(layout.apply(Place { register: 2, lane: 3, ..Place::default() }), [1, 6]);
//!
//! // The same layout, said in the words of the programmer.
//! let blocked = LinearLayout::blocked(&[4, 8], &[1, 4], &[4, 2], &[1, 1], &[1, 0])?;
//! assert_eq!(blocked, layout);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The map goes from the hardware to the tile because that direction is always a function. Several registers may hold
//! one element (a *replicated* element: the map is not injective); one register never holds two.
//!
//! # What follows from it
//!
//! Questions that each kind of layout used to answer with code of its own become linear algebra on small bit matrices:
//!
//! | question | answer |
//! |---|---|
//! | build a large layout out of a small one | the product, [`LinearLayout::product`] or `*` |
//! | can an instruction that moves a small tile be used? | [`LinearLayout::divide_left`], [`LinearLayout::divide_right`] |
//! | where is an element? | [`LinearLayout::inverse`] and its one-sided forms |
//! | how does data move from layout `a` to `b`? | `b⁻¹ ∘ a`: [`LinearLayout::invert_and_compose`] |
//! | does it stay in the lane, or in the warp? | [`Conversion::reach`] |
//! | which instructions bring it there? | [`LinearLayout::plan_conversion`] |
//! | how does a tile go from or to shared memory? | [`LinearLayout::access`], with bank conflicts counted |
//! | how wide may a vector load be? | [`LinearLayout::num_consecutive`] |
//! | which registers or lanes are copies? | [`LinearLayout::free_variable_masks`] |
//!
//! Every kind of layout that people have names for is a constructor of the one type [`LinearLayout`], not a type of its
//! own; what is written once for it works for all of them.
//!
//! | kind | constructor |
//! |---|---|
//! | blocked, as loads and stores want it | [`LinearLayout::blocked`] |
//! | `mma.sync` | [`LinearLayout::mma_accumulator`], [`LinearLayout::mma_operand`] |
//! | `wgmma` | [`LinearLayout::wgmma_accumulator`], [`LinearLayout::wgmma_operand`] |
//! | AMD's MFMA | [`LinearLayout::mfma_accumulator`], [`LinearLayout::mfma_operand`] |
//! | a tile that lost a dimension | [`LinearLayout::slice`] |
//! | a swizzled buffer in shared memory | [`LinearLayout::swizzled_shared`] |
//! | a buffer that TMA writes and `wgmma` reads | [`LinearLayout::nvmma_shared`] |
//!
//! # An example: the epilogue of a matmul
//!
//! ```
//! use shoal_layout::{ConversionOptions, LinearLayout, MatrixAccess, MmaShape};
//!
//! // The accumulator of four warps, and the layout in which rows can be stored 16 bytes at a time.
//! let accumulator = LinearLayout::mma_accumulator(&[64, 64], &[2, 2], MmaShape::M16N8)?;
//! let rows = LinearLayout::blocked(&[64, 64], &[1, 8], &[4, 8], &[4, 1], &[1, 0])?;
//!
//! let options =
//!     ConversionOptions { element_bits: 16, matrix: MatrixAccess::LoadAndStore, scratch_bytes: 48 << 10 };
//! let plan = accumulator.plan_conversion(&rows, options)?;
//! assert_eq!(plan.to_string(), "memory of 8192 bytes: store 4 × stmatrix.x4, load 4 × 16 bytes");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Conventions
//!
//! A tile index is also a single number, row-major: the last dimension is the fastest. Bases are stored in that form,
//! which makes [`LinearLayout::reshape_outs`] free. A hardware dimension without bases has size one.
//!
//! # Promises
//!
//! No operation here panics, except where a `# Panics` section says so, and those are errors of the compiler's
//! author. The text form reads back as the same layout.
#![forbid(unsafe_code)]

mod access;
mod analysis;
pub mod banks;
mod blocked;
mod conversion;
mod elimination;
mod error;
mod inverse;
mod layout;
mod linear_index;
mod matrix;
mod mfma;
mod mma;
mod nvmma_shared;
mod place;
mod place_bits;
mod plan;
mod plan_text;
mod product;
mod reshape;
mod scratch;
mod shuffle;
mod slice;
mod subspace;
mod swizzled;
mod text;
mod tiling;
mod wgmma;

pub use access::{AccessKind, Direction, MatrixAccess, MatrixOrder, SharedAccess};
pub use conversion::{Conversion, Reach};
pub use error::{LayoutError, ParseLayoutError};
pub use inverse::Placement;
pub use layout::LinearLayout;
pub use linear_index::LinearIndex;
pub use mfma::{MfmaProduct, MfmaShape};
pub use mma::MmaShape;
pub use nvmma_shared::{Major, TmaSwizzle};
pub use place::{InDim, Place};
pub use plan::{Barrier, ConversionOptions, ConversionPlan, MemoryPlan, PassBit};
pub use shuffle::ShufflePlan;
pub use swizzled::Swizzle;
pub use tiling::Operand;
