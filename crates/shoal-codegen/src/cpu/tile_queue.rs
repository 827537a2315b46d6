//! Tiles in the order of the program, some of which have left.

use std::collections::{BTreeMap, HashMap};

use shoal_ir::Value;

/// An ordered set with removal in logarithmic time: kernels may have tens of thousands of tiles waiting.
#[derive(Debug, Default)]
pub(super) struct TileQueue {
    by_order: BTreeMap<u32, Value>,
    order: HashMap<Value, u32>,
    next: u32,
}

impl TileQueue {
    /// Adds a tile behind all others.
    pub(super) fn push(&mut self, value: Value) {
        self.remove(value);
        self.by_order.insert(self.next, value);
        self.order.insert(value, self.next);
        self.next += 1;
    }

    /// Takes a tile out; whether it was in.
    pub(super) fn remove(&mut self, value: Value) -> bool {
        self.order.remove(&value).is_some_and(|order| self.by_order.remove(&order).is_some())
    }

    pub(super) fn contains(&self, value: Value) -> bool {
        self.order.contains_key(&value)
    }

    pub(super) fn first(&self) -> Option<Value> {
        self.by_order.values().next().copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Value> {
        self.by_order.values().copied()
    }

    pub(super) fn clear(&mut self) {
        self.by_order.clear();
        self.order.clear();
    }
}
