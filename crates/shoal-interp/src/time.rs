//! The time that programs see: the number of operations that all have executed. When nothing is left but loops that look at
//! it, it jumps ahead, so that those end which only time ends.

/// The first jump after something has changed, and the longest, as powers of two; each is twice as far as the one before.
/// In nanoseconds, these are a microsecond and about a minute.
const FIRST_JUMP: u32 = 10;
const LONGEST_JUMP: u32 = 36;
/// Jumps without any change. Loops that are not over after so many wait for something else.
const JUMPS: u32 = 256;
/// Time never comes that far.
const END: u64 = 1 << 62;

#[derive(Debug, Default)]
pub(crate) struct Time {
    /// How far it is ahead of the operations.
    ahead: u64,
    /// All jumps so far.
    pub(crate) jumps: u64,
    /// The jumps since something has changed, and what that was.
    in_vain: (u32, Marks),
}

/// What changes when programs get anywhere: the state of memory, and the number of programs that live.
pub(crate) type Marks = (u64, usize);

impl Time {
    /// The time after so many operations.
    pub(crate) fn after(&self, steps: u64) -> u64 {
        steps.saturating_add(self.ahead)
    }

    /// It becomes this late, unless it is later.
    pub(crate) fn reaches(&mut self, time: u64, steps: u64) {
        self.ahead = self.ahead.max(time.min(END).saturating_sub(steps));
    }

    /// Jumps ahead, unless that has been tried in vain; whether it did.
    pub(crate) fn jump(&mut self, marks: Marks) -> bool {
        if self.in_vain.1 != marks {
            self.in_vain = (0, marks);
        }
        let before = self.in_vain.0;
        let distance = 1 << (FIRST_JUMP + before).min(LONGEST_JUMP);
        if before == JUMPS || self.ahead > END - distance {
            return false;
        }
        self.ahead += distance;
        self.jumps += 1;
        self.in_vain.0 += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_go_ever_farther_and_end() {
        let mut time = Time::default();
        assert!(time.jump((0, 1)));
        assert_eq!(time.after(5), 5 + (1 << 10));
        assert!(time.jump((0, 1)));
        assert_eq!(time.after(5), 5 + (3 << 10));
        assert_eq!((2..).take_while(|_| time.jump((0, 1))).count(), 254);
        assert!(time.after(0) > 3600 * 1_000_000_000);
        assert!(time.jump((1, 1)), "memory has changed");
    }
}
