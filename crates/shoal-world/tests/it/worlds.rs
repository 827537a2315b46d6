//! Small worlds for tests.

use std::time::Duration;

use shoal_world::{World, WorldOptions};

/// Settings for tests: a small heap, and an end to waiting that a slow machine does not reach.
pub(crate) fn small() -> WorldOptions {
    WorldOptions { heap_bytes: 1 << 20, pad_slots: 256, timeout: Duration::from_secs(60) }
}

pub(crate) fn threads(n: usize) -> World {
    World::threads_with(n, &small()).expect("a world")
}

/// A world whose ranks give up soon.
pub(crate) fn impatient(n: usize) -> World {
    let options = WorldOptions { timeout: Duration::from_millis(200), ..small() };
    World::threads_with(n, &options).expect("a world")
}
