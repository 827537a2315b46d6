//! Words that order: what a read of a word may acquire, and what it might have acquired if it, or the write, had been
//! stronger.

use std::collections::BTreeMap;
use std::rc::Rc;

use shoal_ir::op::{Scope, Sem};
use smallvec::SmallVec;

use super::Effect;
use super::access::{Identity, contains};
use super::clock::Clock;
use super::fence::Fenced;

/// A write of a word, or one of the read-modify-writes behind it.
#[derive(Clone, Debug)]
pub(crate) struct SyncWrite {
    pub(crate) who: Identity,
    pub(crate) actor: u32,
    pub(crate) sem: Sem,
    pub(crate) scope: Scope,
    /// What had happened for the writer.
    pub(crate) clock: Rc<Clock>,
    /// When it was made.
    pub(crate) time: u32,
    /// What had happened at the fences before it.
    pub(crate) fenced: SmallVec<[Fenced; 1]>,
    /// Its number in the table of accesses.
    pub(crate) info: u32,
    /// What it did.
    pub(crate) effect: Effect,
}

/// Why a read of a word did not bring the writer's past along.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// The write releases nothing.
    WriteOrder,
    /// The read acquires nothing.
    ReadOrder,
    /// The write's scope does not reach the reader.
    WriteScope,
    /// The read's scope does not reach the writer.
    ReadScope,
    /// The scope of the fence before the write does not reach the reader.
    WriteFence,
    /// The scope of the fence after the read does not reach the writer.
    ReadFence,
}

/// A write that a read sees the outcome of.
pub(crate) struct Sight<'w> {
    pub(crate) write: &'w SyncWrite,
    /// What it gives to who acquires it; of one that releases nothing, what it would give.
    pub(crate) clock: &'w Rc<Clock>,
    pub(crate) outcome: Result<(), Miss>,
}

impl SyncWrite {
    /// What the write offers to a reader.
    fn offers(&self, reader: Identity) -> Result<&Rc<Clock>, Miss> {
        if releases(self.sem) {
            return Ok(&self.clock);
        }
        // The last fence knows most.
        match self.fenced.iter().rev().find(|fenced| contains(fenced.scope, self.who, reader)) {
            Some(fenced) => Ok(&fenced.clock),
            None if self.fenced.is_empty() => Err(Miss::WriteOrder),
            None => Err(Miss::WriteFence),
        }
    }
}

#[derive(Clone, Debug)]
struct Word {
    bytes: u32,
    /// The last write and the read-modify-writes since; in their order.
    chain: Vec<SyncWrite>,
}

/// All words that were accessed atomically.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    words: BTreeMap<u64, Word>,
}

pub(crate) fn releases(sem: Sem) -> bool {
    matches!(sem, Sem::Release | Sem::AcqRel)
}

pub(crate) fn acquires(sem: Sem) -> bool {
    matches!(sem, Sem::Acquire | Sem::AcqRel)
}

impl Words {
    /// Plain writes end every chain of the bytes they change.
    pub(crate) fn overwritten(&mut self, start: u64, end: u64) {
        // A word is at most 16 bytes.
        let from = start.saturating_sub(15);
        let hit = |(&at, word): (&u64, &Word)| (at + u64::from(word.bytes) > start).then_some(at);
        let hit: Vec<u64> = self.words.range(from..end).filter_map(hit).collect();
        for at in hit {
            self.words.remove(&at);
        }
    }

    /// An atomic write; one that also reads goes on with the chain, any other begins a new one.
    pub(crate) fn written(&mut self, address: u64, bytes: u32, mut write: SyncWrite) {
        if self.words.get(&address).is_none_or(|word| word.bytes != bytes) {
            self.overwritten(address, address + u64::from(bytes));
        }
        let word = self.words.entry(address).or_insert(Word { bytes, chain: Vec::new() });
        if !write.effect.reads() {
            word.chain.clear();
        }
        // Of links of the same strength of one actor, the later knows more.
        let strength = (write.actor, write.sem, write.scope);
        let like = |w: &SyncWrite| (w.actor, w.sem, w.scope) == strength;
        if word.chain.iter().any(|w| like(w) && w.effect.changes()) {
            write.effect = Effect::Both;
        }
        word.chain.retain(|w| !like(w));
        word.chain.push(write);
    }

    /// What the writes that a read sees the outcome of give it: acquired, or missed.
    pub(crate) fn seen(
        &self,
        address: u64,
        bytes: u32,
        (actor, who): (u32, Identity),
        (sem, scope): (Sem, Scope),
    ) -> impl Iterator<Item = Sight<'_>> {
        let chain = self.words.get(&address).filter(|word| word.bytes == bytes).map_or(&[][..], |word| &word.chain);
        chain.iter().filter(move |w| w.actor != actor).map(move |write| {
            let (clock, outcome) = match write.offers(who) {
                Err(miss) => (&write.clock, Err(miss)),
                Ok(clock) if !contains(write.scope, write.who, who) => (clock, Err(Miss::WriteScope)),
                Ok(clock) if !contains(scope, who, write.who) => (clock, Err(Miss::ReadScope)),
                Ok(clock) if !acquires(sem) => (clock, Err(Miss::ReadOrder)),
                Ok(clock) => (clock, Ok(())),
            };
            Sight { write, clock, outcome }
        })
    }
}
