//! Fuel: how running programs come to know that their launch is to end.
//!
//! Generated code counts the rounds of its loops down in [`Context::fuel`](shoal_abi::Context::fuel) and calls
//! [`CheckStop`](shoal_abi::Hook::CheckStop) when none is left. So a thread that runs programs looks up now and then
//! without a clock in its loops, without a signal and without another thread that would have to wake; on the launching
//! thread that is also when the host is asked.

use core::time::Duration;
use std::time::Instant;

/// Fuel of a thread's first turn: few rounds, because nothing is known about how long they take.
const FIRST_FUEL: u32 = 16;
/// Most fuel at once: fast rounds must not pay for the clock, and slow ones that follow must not take too long.
const MOST_FUEL: u32 = 4096;
/// Between these, the fuel is right.
const SOON: Duration = Duration::from_millis(1);
const LATE: Duration = Duration::from_millis(10);

/// How much fuel a thread gets at a time, such that it lasts for some milliseconds at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fuel {
    given: u32,
    at: Option<Instant>,
}

impl Fuel {
    pub(crate) const FIRST: Self = Self { given: FIRST_FUEL, at: None };

    /// The amount given last.
    pub(crate) fn amount(self) -> i64 {
        self.given.into()
    }

    /// What to give next, now that the last is used up.
    pub(crate) fn next(self, now: Instant) -> Self {
        let lasted = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        let given = match lasted {
            lasted if lasted < SOON => (self.given * 4).min(MOST_FUEL),
            lasted if lasted > LATE => (self.given / 8).max(1),
            _ => self.given,
        };
        Self { given, at: Some(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fuel amounts when each round takes `round`.
    fn settled(mut fuel: Fuel, mut now: Instant, round: Duration) -> (Fuel, Instant) {
        for _ in 0..20 {
            now += round * fuel.given;
            fuel = fuel.next(now);
        }
        (fuel, now)
    }

    #[test]
    fn fuel_lasts_neither_long_nor_for_nothing() {
        let (fast, now) = settled(Fuel::FIRST, Instant::now(), Duration::from_nanos(2));
        assert_eq!(fast.given, MOST_FUEL);
        let (slow, now) = settled(fast, now, Duration::from_millis(3));
        assert!(slow.given <= 3, "{slow:?}");
        let (fast, _) = settled(slow, now, Duration::from_nanos(2));
        assert_eq!(fast.given, MOST_FUEL);
    }
}
