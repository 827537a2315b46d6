//! What operations between ranks do besides computing their results.

use super::Effects;
use crate::comm::CommOp;
use crate::op::{Scope, Sem};
use crate::shmem::{Completion, Meeting, ShmemOp};
use crate::types::Space;

pub(super) fn effects(op: CommOp) -> Effects {
    match op {
        // A token is an operand like others: nobody who uses the result can come before the wait that made it.
        CommOp::Rank { .. } | CommOp::NumRanks { .. } | CommOp::ConsumeToken => Effects::PURE,
        // It fails where there is no such place, so it is done only where it is written.
        CommOp::SymmAt => Effects::OBSERVABLE,
        CommOp::Wait { sem, scope } => {
            Effects { order: Some((sem, scope)), waits: true, pinned: true, ..Effects::READ.in_space(Space::Global) }
        }
        CommOp::Notify { scope, .. } => Effects {
            order: Some((Sem::Release, scope.memory_scope())),
            observable: true,
            pinned: true,
            ..Effects::WRITE.in_space(Space::Global)
        },
        CommOp::Shmem(op) => shmem(op),
    }
}

/// Copies read one rank's memory and write another's; both may be this one's.
fn copy() -> Effects {
    let (reads, writes) = (Effects::READ.in_space(Space::Global), Effects::WRITE.in_space(Space::Global));
    Effects { observable: true, pinned: true, ..reads.union(writes) }
}

fn shmem(op: ShmemOp) -> Effects {
    let sys = |sem| Some((sem, Scope::Sys));
    match op {
        // They fail where there is no such team, so they are done only where they are written.
        ShmemOp::TeamRank | ShmemOp::TeamSize | ShmemOp::TeamTranslate => Effects::OBSERVABLE,
        ShmemOp::Copy { completion, .. } => Effects { pending: completion == Completion::Issued, ..copy() },
        ShmemOp::PutSignal { completion, .. } => {
            Effects { order: sys(Sem::Release), pending: completion == Completion::Issued, ..copy() }
        }
        ShmemOp::PutValue | ShmemOp::Collect { .. } => copy(),
        ShmemOp::Signal { .. } => Effects { order: sys(Sem::Relaxed), ..copy() },
        ShmemOp::SignalWait { .. } => {
            Effects { order: sys(Sem::Acquire), waits: true, pinned: true, ..Effects::READ.in_space(Space::Global) }
        }
        ShmemOp::Fence => Effects { order: sys(Sem::Release), pinned: true, ..Effects::PURE },
        ShmemOp::Quiet => Effects { order: sys(Sem::AcqRel), pinned: true, ..Effects::PURE },
        ShmemOp::Meet { meeting: Meeting::Barrier | Meeting::Sync, .. } => {
            Effects { order: sys(Sem::AcqRel), waits: true, observable: true, pinned: true, ..Effects::PURE }
        }
    }
}
