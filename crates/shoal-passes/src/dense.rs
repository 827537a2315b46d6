//! Sets of values or operations, as bits indexed by their ids.

use std::marker::PhantomData;

use cranelift_entity::EntityRef;

/// A set of ids.
#[derive(Clone, Debug)]
pub(crate) struct DenseSet<K> {
    words: Vec<u64>,
    key: PhantomData<K>,
}

impl<K: EntityRef> DenseSet<K> {
    /// An empty set with room for ids below `len`; it grows when it must.
    pub(crate) fn with_capacity(len: usize) -> Self {
        DenseSet { words: vec![0; len.div_ceil(64)], key: PhantomData }
    }

    /// Adds an id; whether it is new.
    pub(crate) fn insert(&mut self, key: K) -> bool {
        let (word, bit) = (key.index() / 64, 1 << (key.index() % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Whether the id is in the set.
    pub(crate) fn contains(&self, key: K) -> bool {
        self.words.get(key.index() / 64).is_some_and(|word| word & (1 << (key.index() % 64)) != 0)
    }
}
