//! Operations between ranks.
//!
//! A *rank* is one member of a world: its own device, its own symmetric heap. What all ranks allocate together lies at
//! the same offset of each heap, so a pointer into one's own heap names a place in everybody's. Flags in those heaps
//! are how programs of different ranks wait for each other.

use crate::op::{Scope, Sem, spelled};
use crate::shmem::ShmemOp;

/// What an operation between ranks does. Operands and results are given as in [`crate::OpKind`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommOp {
    /// `() -> i32`: this rank's number in the world, or its position along an axis of the world's mesh.
    Rank {
        /// The mesh axis; `None`: the whole world.
        axis: Option<u8>,
    },
    /// `() -> i32`: the number of ranks of the world, or along an axis of its mesh.
    NumRanks {
        /// The mesh axis; `None`: the whole world.
        axis: Option<u8>,
    },
    /// `(ptr…, rank: i32…, mask?) -> ptr…`: the same place in that rank's symmetric heap. The program fails if the pointer
    /// is not into its own heap, or there is no such rank. Where the mask (`i1…`) is false nobody looks, and the result
    /// is the null pointer.
    SymmAt,
    /// `(ptr, n: i32, value) -> token`: blocks the program until each of the `n` words from the pointer on equals
    /// `value`. Words are integers of 32 or 64 bits.
    Wait {
        /// Memory order of the successful reads.
        sem: Sem,
        /// Who takes part in the ordering.
        scope: Scope,
    },
    /// `(T, token) -> T`: the first operand. Whatever uses the result comes after the wait that gave the token.
    ConsumeToken,
    /// `(ptr, rank: i32, signal)`: all earlier accesses of the program happen before the 64-bit word at this place of
    /// that rank's heap changes.
    Notify {
        /// How the word changes.
        op: SignalOp,
        /// How far away the word may be.
        scope: CommScope,
    },
    /// An operation of SHMEM; see [`ShmemOp`].
    Shmem(ShmemOp),
}

spelled! {
    /// How a signal changes a word.
    SignalOp {
        /// The word becomes the signal.
        Set = "set",
        /// The signal is added to the word.
        Add = "add",
    }
}

spelled! {
    /// How far away the word of a signal may be.
    CommScope {
        /// In this rank's own memory, in its heap or not: the rank must be this one.
        Gpu = "gpu",
        /// At a rank of the same host.
        IntraNode = "intra_node",
        /// At any rank.
        InterNode = "inter_node",
    }
}

impl CommScope {
    /// Who takes part in the ordering of a signal.
    pub fn memory_scope(self) -> Scope {
        match self {
            CommScope::Gpu => Scope::Gpu,
            CommScope::IntraNode | CommScope::InterNode => Scope::Sys,
        }
    }
}
