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
struct Seen {
    writer: Identity,
    /// The accesses, by their numbers.
    write: u32,
    read: u32,
    clock: Rc<Clock>,
}

/// What the fences of an actor have to do with its other accesses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fences {
    /// The last fence of each scope that releases.
    pub(crate) released: SmallVec<[Fenced; 1]>,
    seen: Vec<Seen>,
}

/// Writes remembered of an actor that never fences.
const MAX_SEEN: usize = 64;

impl Fences {
    /// A read saw a write that releases, and did not acquire.
    pub(crate) fn saw(&mut self, writer: Identity, (write, read): (u32, u32), clock: &Rc<Clock>) {
        if self.seen.iter().any(|seen| Rc::ptr_eq(&seen.clock, clock)) {
            return;
        }
        // Of one place of the writer the later write knows more.
        self.seen.retain(|seen| (seen.write, seen.read) != (write, read));
        if self.seen.len() == MAX_SEEN {
            self.seen.remove(0);
        }
        self.seen.push(Seen { writer, write, read, clock: Rc::clone(clock) });
    }

    /// What another has seen, this one has seen too.
    pub(crate) fn share(&mut self, other: &Fences) {
        for seen in &other.seen {
            self.saw(seen.writer, (seen.write, seen.read), &seen.clock);
        }
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
