//! The families of operations.
//!
//! [`OpKind`] has one variant per operation; [`OpKind::class`] sorts them into a dozen families, and is the only place
//! that does. A pass or a backend matches the family first and goes into those it knows. Both levels are closed, so a
//! new operation is an error in each place that knows its family, and a new family one arm in each place that knows
//! families: nobody lists operations that mean nothing to them.

use crate::comm::CommOp;
use crate::func::{Func, OpId};
use crate::numeric::Const;
use crate::op::{
    BinaryOp, CmpOp, DotPrecision, Evict, ExternFn, ForAttrs, InlineAsm, LoadAttrs, MathFn, OpKind, RmwOp, Rounding,
    Scope, Sem, StoreCache, UnaryOp,
};

/// The family of an operation, with what tells its members apart.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum OpClass<'k> {
    /// Takes nothing: constants, and the program's place in the grid.
    Source(SourceOp),
    /// Computes each element on its own.
    Elementwise(ElementwiseOp<'k>),
    /// Moves elements and computes nothing.
    Shape(ShapeOp<'k>),
    /// Needs whole tiles to compute any element.
    Tile(TileOp),
    /// Applies a region to single elements.
    Apply(ApplyOp),
    /// Reads or writes memory through pointers.
    Access(AccessOp),
    /// Reads or writes memory as one step that others can be ordered by.
    Atomic(AtomicOp, Sem, Scope),
    /// Makes a tensor descriptor, asks one for its tensor's extents, or accesses memory through one.
    Desc(DescOp),
    /// Reaches other ranks, or asks about them.
    Comm(CommOp),
    /// Is done for its effect on order, on the host or on the compiler; has no results.
    Effect(EffectOp<'k>),
    /// Runs regions as control flow.
    Control(ControlOp<'k>),
    /// Ends a region.
    Terminator(TerminatorOp),
    /// Runs the function of this name.
    Call(&'k str),
}

/// The family [`OpClass::Source`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum SourceOp {
    /// [`OpKind::Const`].
    Const(Const),
    /// [`OpKind::Iota`].
    Iota {
        /// The first element.
        start: i32,
    },
    /// [`OpKind::ProgramId`].
    ProgramId {
        /// The grid axis.
        axis: u8,
    },
    /// [`OpKind::NumPrograms`].
    NumPrograms {
        /// The grid axis.
        axis: u8,
    },
}

/// The family [`OpClass::Elementwise`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum ElementwiseOp<'k> {
    /// [`OpKind::Unary`].
    Unary(UnaryOp),
    /// [`OpKind::Binary`].
    Binary(BinaryOp),
    /// [`OpKind::Math`].
    Math(MathFn),
    /// [`OpKind::Cmp`].
    Cmp(CmpOp),
    /// [`OpKind::Select`].
    Select,
    /// [`OpKind::Fma`].
    Fma,
    /// [`OpKind::Cast`].
    Cast(Rounding),
    /// [`OpKind::Bitcast`].
    Bitcast,
    /// [`OpKind::PtrAdd`].
    PtrAdd,
    /// [`OpKind::Extern`].
    Extern(&'k ExternFn),
    /// [`OpKind::InlineAsm`].
    InlineAsm(&'k InlineAsm),
}

/// The family [`OpClass::Shape`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum ShapeOp<'k> {
    /// [`OpKind::Splat`].
    Splat,
    /// [`OpKind::Broadcast`].
    Broadcast,
    /// [`OpKind::Reshape`].
    Reshape,
    /// [`OpKind::Transpose`].
    Transpose {
        /// A permutation.
        perm: &'k [u8],
    },
    /// [`OpKind::Join`].
    Join,
    /// [`OpKind::Split`].
    Split,
    /// [`OpKind::ConvertLayout`].
    ConvertLayout,
    /// [`OpKind::Gather`].
    Gather {
        /// The indexed dimension.
        axis: u8,
    },
}

/// The family [`OpClass::Tile`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum TileOp {
    /// [`OpKind::Histogram`].
    Histogram,
    /// [`OpKind::Dot`].
    Dot {
        /// How `f32` inputs may be rounded.
        precision: DotPrecision,
        /// How many products 8-bit floats may be summed in reduced precision; 0: none.
        max_imprecise_acc: u32,
    },
}

/// The family [`OpClass::Apply`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum ApplyOp {
    /// [`OpKind::Reduce`].
    Reduce {
        /// The dimension combined.
        axis: u8,
        /// In the order of the elements.
        in_order: bool,
    },
    /// [`OpKind::Scan`].
    Scan {
        /// The dimension scanned.
        axis: u8,
        /// From the last element to the first.
        reverse: bool,
    },
    /// [`OpKind::MapElementwise`].
    MapElementwise {
        /// Elements per application.
        pack: u32,
    },
}

/// The family [`OpClass::Access`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum AccessOp {
    /// [`OpKind::Load`].
    Load(LoadAttrs),
    /// [`OpKind::Store`].
    Store {
        /// Which caches keep it.
        cache: StoreCache,
        /// How soon it may leave the cache.
        evict: Evict,
    },
}

/// The family [`OpClass::Atomic`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum AtomicOp {
    /// [`OpKind::AtomicRmw`].
    Rmw(RmwOp),
    /// [`OpKind::AtomicCas`].
    Cas,
    /// [`OpKind::AtomicLoad`].
    Load,
    /// [`OpKind::AtomicStore`].
    Store,
    /// [`OpKind::AtomicPoll`].
    Poll,
}

/// The family [`OpClass::Desc`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum DescOp {
    /// [`OpKind::MakeDesc`].
    Make,
    /// [`OpKind::DescBase`].
    Base,
    /// [`OpKind::DescSize`].
    Size {
        /// The dimension.
        dim: u8,
    },
    /// [`OpKind::DescStride`].
    Stride {
        /// The dimension.
        dim: u8,
    },
    /// [`OpKind::DescLoad`].
    Load,
    /// [`OpKind::DescStore`].
    Store,
}

/// The family [`OpClass::Effect`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum EffectOp<'k> {
    /// [`OpKind::Barrier`].
    Barrier,
    /// [`OpKind::Fence`].
    Fence {
        /// Memory order.
        sem: Sem,
        /// Who takes part in the ordering.
        scope: Scope,
    },
    /// [`OpKind::Clock`].
    Clock,
    /// [`OpKind::GridWords`].
    GridWords,
    /// [`OpKind::Print`].
    Print {
        /// Printed before each value.
        prefix: &'k str,
        /// In hexadecimal.
        hex: bool,
    },
    /// [`OpKind::Assert`].
    Assert {
        /// What to tell the user.
        message: &'k str,
    },
    /// [`OpKind::Assume`].
    Assume,
}

/// The family [`OpClass::Control`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum ControlOp<'k> {
    /// [`OpKind::If`].
    If,
    /// [`OpKind::For`].
    For(&'k ForAttrs),
    /// [`OpKind::While`].
    While {
        /// Keep invariant operations inside.
        disable_licm: bool,
    },
}

/// The family [`OpClass::Terminator`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum TerminatorOp {
    /// [`OpKind::Condition`].
    Condition,
    /// [`OpKind::Yield`].
    Yield,
    /// [`OpKind::Return`].
    Return,
}

impl OpKind {
    /// The family.
    pub fn class(&self) -> OpClass<'_> {
        use OpClass::{
            Access, Apply, Atomic, Call, Comm, Control, Desc, Effect, Elementwise, Shape, Source, Terminator, Tile,
        };
        match self {
            OpKind::Const(value) => Source(SourceOp::Const(*value)),
            OpKind::Iota { start } => Source(SourceOp::Iota { start: *start }),
            OpKind::ProgramId { axis } => Source(SourceOp::ProgramId { axis: *axis }),
            OpKind::NumPrograms { axis } => Source(SourceOp::NumPrograms { axis: *axis }),
            OpKind::Unary(op) => Elementwise(ElementwiseOp::Unary(*op)),
            OpKind::Binary(op) => Elementwise(ElementwiseOp::Binary(*op)),
            OpKind::Math(function) => Elementwise(ElementwiseOp::Math(*function)),
            OpKind::Cmp(op) => Elementwise(ElementwiseOp::Cmp(*op)),
            OpKind::Select => Elementwise(ElementwiseOp::Select),
            OpKind::Fma => Elementwise(ElementwiseOp::Fma),
            OpKind::Cast(rounding) => Elementwise(ElementwiseOp::Cast(*rounding)),
            OpKind::Bitcast => Elementwise(ElementwiseOp::Bitcast),
            OpKind::PtrAdd => Elementwise(ElementwiseOp::PtrAdd),
            OpKind::Extern(function) => Elementwise(ElementwiseOp::Extern(function)),
            OpKind::InlineAsm(asm) => Elementwise(ElementwiseOp::InlineAsm(asm)),
            OpKind::Splat => Shape(ShapeOp::Splat),
            OpKind::Broadcast => Shape(ShapeOp::Broadcast),
            OpKind::Reshape => Shape(ShapeOp::Reshape),
            OpKind::Transpose { perm } => Shape(ShapeOp::Transpose { perm }),
            OpKind::Join => Shape(ShapeOp::Join),
            OpKind::Split => Shape(ShapeOp::Split),
            OpKind::ConvertLayout => Shape(ShapeOp::ConvertLayout),
            OpKind::Gather { axis } => Shape(ShapeOp::Gather { axis: *axis }),
            OpKind::Histogram => Tile(TileOp::Histogram),
            OpKind::Dot { precision, max_imprecise_acc } => {
                Tile(TileOp::Dot { precision: *precision, max_imprecise_acc: *max_imprecise_acc })
            }
            OpKind::Reduce { axis, in_order } => Apply(ApplyOp::Reduce { axis: *axis, in_order: *in_order }),
            OpKind::Scan { axis, reverse } => Apply(ApplyOp::Scan { axis: *axis, reverse: *reverse }),
            OpKind::MapElementwise { pack } => Apply(ApplyOp::MapElementwise { pack: *pack }),
            OpKind::Load(attrs) => Access(AccessOp::Load(*attrs)),
            OpKind::Store { cache, evict } => Access(AccessOp::Store { cache: *cache, evict: *evict }),
            OpKind::AtomicRmw { op, sem, scope } => Atomic(AtomicOp::Rmw(*op), *sem, *scope),
            OpKind::AtomicCas { sem, scope } => Atomic(AtomicOp::Cas, *sem, *scope),
            OpKind::AtomicLoad { sem, scope } => Atomic(AtomicOp::Load, *sem, *scope),
            OpKind::AtomicStore { sem, scope } => Atomic(AtomicOp::Store, *sem, *scope),
            OpKind::AtomicPoll { sem, scope } => Atomic(AtomicOp::Poll, *sem, *scope),
            OpKind::MakeDesc => Desc(DescOp::Make),
            OpKind::DescBase => Desc(DescOp::Base),
            OpKind::DescSize { dim } => Desc(DescOp::Size { dim: *dim }),
            OpKind::DescStride { dim } => Desc(DescOp::Stride { dim: *dim }),
            OpKind::DescLoad => Desc(DescOp::Load),
            OpKind::DescStore => Desc(DescOp::Store),
            OpKind::Comm(op) => Comm(*op),
            OpKind::Barrier => Effect(EffectOp::Barrier),
            OpKind::Fence { sem, scope } => Effect(EffectOp::Fence { sem: *sem, scope: *scope }),
            OpKind::Clock => Effect(EffectOp::Clock),
            OpKind::GridWords => Effect(EffectOp::GridWords),
            OpKind::Print { prefix, hex } => Effect(EffectOp::Print { prefix, hex: *hex }),
            OpKind::Assert { message } => Effect(EffectOp::Assert { message }),
            OpKind::Assume => Effect(EffectOp::Assume),
            OpKind::If => Control(ControlOp::If),
            OpKind::For(attrs) => Control(ControlOp::For(attrs)),
            OpKind::While { disable_licm } => Control(ControlOp::While { disable_licm: *disable_licm }),
            OpKind::Condition => Terminator(TerminatorOp::Condition),
            OpKind::Yield => Terminator(TerminatorOp::Yield),
            OpKind::Return => Terminator(TerminatorOp::Return),
            OpKind::Call { callee } => Call(callee),
        }
    }

    /// Whether it ends a region.
    pub fn is_terminator(&self) -> bool {
        matches!(self.class(), OpClass::Terminator(_))
    }
}

/// How an operation runs its regions. Whoever follows values around loops and through branches looks at operations
/// through this; for all other kinds they need to know nothing but operands, results and effects.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Structure {
    /// No regions.
    Plain,
    /// One of two regions; each yields the results.
    If,
    /// One region, once per trip; see [`OpKind::For`].
    For,
    /// Two regions in turn; see [`OpKind::While`].
    While,
    /// A region that is applied to single elements.
    Elements,
}

impl Structure {
    /// The structure of a kind.
    pub fn of(kind: &OpKind) -> Structure {
        match kind.class() {
            OpClass::Control(ControlOp::If) => Structure::If,
            OpClass::Control(ControlOp::For(_)) => Structure::For,
            OpClass::Control(ControlOp::While { .. }) => Structure::While,
            OpClass::Apply(_) => Structure::Elements,
            OpClass::Source(_)
            | OpClass::Elementwise(_)
            | OpClass::Shape(_)
            | OpClass::Tile(_)
            | OpClass::Access(_)
            | OpClass::Atomic(..)
            | OpClass::Desc(_)
            | OpClass::Comm(_)
            | OpClass::Effect(_)
            | OpClass::Terminator(_)
            | OpClass::Call(_) => Structure::Plain,
        }
    }

    /// The structure of an operation.
    pub fn of_op(func: &Func, op: OpId) -> Structure {
        Structure::of(&func.op(op).kind)
    }

    /// How many regions such an operation owns.
    pub fn regions(self) -> usize {
        match self {
            Structure::Plain => 0,
            Structure::For | Structure::Elements => 1,
            Structure::If | Structure::While => 2,
        }
    }
}
