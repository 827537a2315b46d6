//! The way to the memory of ranks that loads and stores do not reach.

use core::fmt;
use shoal_abi::SignalChange;

/// Carries bytes and signals to the heaps of other ranks. Places are offsets in a heap, which the caller has checked to
/// lie inside; ranks exist. A transport that loses its world ends the process or returns: it never waits for ever.
///
/// What it does may need a large stack: it is called on the stack of a thread, never on that of a fiber.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Copies to a rank's heap. The source may be reused on return; the data is there after [`Transport::quiet`].
    ///
    /// # Safety
    ///
    /// So many bytes can be read at `source`.
    unsafe fn put(&self, rank: u32, offset: usize, source: *const u8, bytes: usize);

    /// Copies from a rank's heap; complete on return.
    ///
    /// # Safety
    ///
    /// So many bytes can be written at `target`.
    unsafe fn get(&self, rank: u32, offset: usize, target: *mut u8, bytes: usize);

    /// Changes an aligned 64-bit word of a rank's heap, after all that was put there before.
    fn signal(&self, rank: u32, offset: usize, signal: u64, change: SignalChange);

    /// What was put before arrives at each rank before what is put there later.
    fn fence(&self);

    /// All that was put is there.
    fn quiet(&self);

    /// Lets arrive what others have sent. Whoever waits for a word of its own heap calls it between two looks.
    fn progress(&self);
}
