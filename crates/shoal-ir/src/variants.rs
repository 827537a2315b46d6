//! The kinds of operations by name, so that a test that must meet every one of them can say which it has missed.

use crate::comm::CommOp;
use crate::op::OpKind;
use crate::shmem::ShmemOp;

/// Names all variants of an enum. A variant that is not listed is a compile error here.
macro_rules! variants {
    ($name:ident { $($variant:ident,)* }) => {
        impl $name {
            /// The names of all variants.
            pub const VARIANTS: &'static [&'static str] = &[$(stringify!($variant),)*];

            /// The name of the variant.
            pub fn variant(&self) -> &'static str {
                match self { $($name::$variant { .. } => stringify!($variant),)* }
            }
        }
    };
}

variants! {
    OpKind {
        Const, Iota, ProgramId, NumPrograms,
        Unary, Binary, Math, Cmp, Select, Fma, Cast, Bitcast, PtrAdd, Extern, InlineAsm, MapElementwise,
        Splat, Broadcast, Reshape, Transpose, Join, Split, Gather, ConvertLayout,
        Histogram, Dot, Reduce, Scan,
        Load, Store, AtomicRmw, AtomicCas, AtomicLoad, AtomicStore, AtomicPoll,
        MakeDesc, DescBase, DescSize, DescStride, DescLoad, DescStore,
        Comm, Barrier, Fence, Clock, GridWords, Print, Assert, Assume,
        If, For, While, Condition, Yield, Return, Call,
    }
}

variants! {
    CommOp { Rank, NumRanks, SymmAt, Wait, ConsumeToken, Notify, Shmem, }
}

variants! {
    ShmemOp {
        TeamRank, TeamSize, TeamTranslate, Copy, PutSignal, PutValue, Signal, SignalWait, Fence, Quiet, Meet, Collect,
    }
}
