//! Fences: what a relaxed access behind one, or before one, orders.
//!
//! A fence that releases stands for a release by every later write of its actor; one that acquires, for an acquire by
//! every earlier read. The scopes of the fence and of the access must both reach the other side. What a fence publishes
//! is all that has happened for its actor by then, whoever did it.

use std::rc::Rc;

use shoal_ir::op::{Scope, Sem};
use smallvec::SmallVec;

use super::Checker;
use super::access::{Identity, contains};
use super::clock::Clock;
use super::sync::{Miss, acquires, releases};

/// What had happened for an actor at a fence that releases.
#[derive(Clone, Debug)]
pub(crate) struct Fenced {
    pub(crate) scope: Scope,
    pub(crate) clock: Rc<Clock>,
}

/// A write that was read without order: a fence may still bring its past along.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) writer: Identity,
    /// The accesses, by their numbers.
    pub(crate) write: u32,
    pub(crate) read: u32,
    /// What it gives.
    pub(crate) clock: Rc<Clock>,
    pub(crate) flag: Flag,
}

/// The write of a flag behind a fence, and when it was made. It belongs to what the fence publishes for those who read
/// it, though it comes after the fence.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flag {
    pub(crate) address: u64,
    pub(crate) actor: u32,
    pub(crate) time: u32,
}

/// What the fences of an actor have to do with its other accesses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fences {
    /// The last fence of each scope that releases.
    pub(crate) released: SmallVec<[Fenced; 1]>,
    seen: Vec<Seen>,
    /// Writes of flags that come before all that the actor does from now on.
    known: Vec<Flag>,
}

/// Writes remembered of an actor: more than the flags of any world that can be explored.
const MAX_SEEN: usize = 4096;

impl Fences {
    /// A read saw a write that releases, and did not acquire.
    pub(crate) fn saw(&mut self, new: Seen) {
        if self.seen.iter().any(|seen| Rc::ptr_eq(&seen.clock, &new.clock) && seen.flag == new.flag) {
            return;
        }
        // Of one flag of a writer the later write knows more. Of several it need not: they are read in any order.
        let place = |seen: &Seen| (seen.flag.address, seen.write, seen.read);
        self.seen.retain(|seen| place(seen) != place(&new));
        if self.seen.len() == MAX_SEEN {
            self.seen.remove(0);
        }
        self.seen.push(new);
    }

    /// What another has seen, this one has seen too.
    pub(crate) fn share(&mut self, other: &Fences) {
        other.seen.iter().for_each(|seen| self.saw(seen.clone()));
    }

    /// The write of a flag comes before all that the actor does from now on.
    pub(crate) fn know(&mut self, flag: Flag) {
        self.known.retain(|known| (known.address, known.actor) != (flag.address, flag.actor));
        if self.known.len() == MAX_SEEN {
            self.known.remove(0);
        }
        self.known.push(flag);
    }

    /// Whether an atomic access is the write of a flag that comes before.
    pub(crate) fn knows(&self, address: u64, actor: u32, time: u32) -> bool {
        self.known.iter().any(|flag| (flag.address, flag.actor) == (address, actor) && flag.time >= time)
    }

    /// A fence that releases: what has happened by now is behind later writes.
    pub(crate) fn release(&mut self, scope: Scope, clock: Rc<Clock>) {
        self.released.retain(|fenced| fenced.scope != scope);
        self.released.push(Fenced { scope, clock });
    }
}

impl Checker {
    /// An actor's fence.
    pub(crate) fn memory_fence(&mut self, actor: u32, sem: Sem, scope: Scope) {
        let me = self.actors[actor as usize].identity;
        if acquires(sem) {
            let seen = std::mem::take(&mut self.actors[actor as usize].fences.seen);
            let (reached, missed): (Vec<Seen>, Vec<Seen>) =
                seen.into_iter().partition(|seen| contains(scope, me, seen.writer));
            let time = self.actors[actor as usize].clock.get(actor);
            for seen in &missed {
                let clock = Rc::clone(&seen.clock);
                self.missed(actor, time, (seen.write, seen.read), Miss::ReadFence, clock);
            }
            let Parts { clock, fences } = self.parts(actor);
            fences.seen = missed;
            for seen in reached {
                clock.join(&seen.clock);
                fences.know(seen.flag);
            }
        }
        if releases(sem) {
            let Parts { clock, fences } = self.parts(actor);
            fences.release(scope, Rc::new(clock.clone()));
            clock.advance(actor);
        }
    }

    fn parts(&mut self, actor: u32) -> Parts<'_> {
        let actor = &mut self.actors[actor as usize];
        Parts { clock: &mut actor.clock, fences: &mut actor.fences }
    }
}

/// An actor's clock and its fences.
struct Parts<'a> {
    clock: &'a mut Clock,
    fences: &'a mut Fences,
}
