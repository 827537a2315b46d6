//! Signals of the pad's protocol, from the host: who signals writes 1 where 0 is, who waits writes 0 where 1 is.
//!
//! Kernels that synchronise their programs through pads do the same (see [`SignalPad`](crate::SignalPad)); a slot is at
//! rest when it is zero, so nothing has to be reset between two uses.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::engine::Awaited;
use crate::error::WorldError;
use crate::rank::Rank;
use crate::stream::Place;

/// Looks before a waiting rank goes to sleep.
const SPINS_BEFORE_SLEEP: u32 = 500;
const FIRST_SLEEP: Duration = Duration::from_micros(10);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

impl Rank {
    /// Sends the signal of a slot, once the one before it has been taken: a release. A slot is one aligned word of 32
    /// bits. Waits `patience`, or the world's timeout.
    pub fn put_signal(&self, slot: &Place, patience: Option<Duration>) -> Result<(), WorldError> {
        self.exchange_signal(slot, 0, 1, patience, "to be taken")
    }

    /// Takes the signal of a slot, once it is there: an acquire. A slot is one aligned word of 32 bits. Waits
    /// `patience`, or the world's timeout.
    pub fn wait_signal(&self, slot: &Place, patience: Option<Duration>) -> Result<(), WorldError> {
        self.exchange_signal(slot, 1, 0, patience, "to come")
    }

    fn exchange_signal(
        &self,
        slot: &Place,
        from: u32,
        to: u32,
        patience: Option<Duration>,
        what: &str,
    ) -> Result<(), WorldError> {
        if slot.bytes() != 4 || !slot.is_aligned_to(4) {
            let bytes = slot.bytes();
            return Err(WorldError::Argument(format!("{bytes} bytes at {} are no slot for signals", slot.name)));
        }
        if slot.is_on_gpu() {
            let text = format!("the signal at {} is in a GPU's memory: send and take it in kernels", slot.name);
            return Err(WorldError::Argument(text));
        }
        let Some(pointer) = slot.pointer() else {
            return Err(WorldError::Argument(format!(
                "the slot at {} cannot be reached by load and store; signal it by a stream's write value",
                slot.name
            )));
        };
        // SAFETY: aligned, kept alive by the place, and accessed atomically by all of Rust.
        let word = unsafe { &*pointer.cast::<AtomicU32>() };
        let swap = || word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        for _ in 0..SPINS_BEFORE_SLEEP {
            if swap() {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let mut pause = FIRST_SLEEP;
        let rest = || {
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_SLEEP);
        };
        let awaited = || Awaited::Word { condition: format!("the signal at {} {what}", slot.name) };
        self.wait_until(patience.unwrap_or(self.options().timeout), awaited, || swap().then_some(()), rest)
    }
}
