//! What a kernel on a GPU knows of the other ranks: a table in the GPU's memory, whose address is the kernel's last
//! parameter if its description says so ([`NvptxNeeds::rank_table`](crate::NvptxNeeds::rank_table)).
//!
//! ```text
//!  byte  0   u32   this rank's number
//!        4   u32   the number of ranks
//!        8   u64   where this rank's heap begins
//!       16   u64   the bytes of a heap
//!       24   u64   nanoseconds that a wait may take
//!       32   u64   the address of the report, in memory that the host sees too
//!       40   u64   where each rank's heap begins, as this GPU sees it, one after the other
//! ```
//!
//! A program that cannot go on writes a report and ends its kernel by a trap: the launch fails, and the host reads why.
//!
//! ```text
//!  byte  0   u32   what happened, a [`DeviceFailure`]; zero: nothing
//!        4   u32   the line of the kernel, zero if nobody knows
//!        8   u64   the address that it is about
//!       16   u64   what was waited for, or the rank that was asked for
//!       24   u64   what was there instead
//! ```

/// The offset of this rank's number.
pub const RANK_AT: u64 = 0;
/// The offset of the number of ranks.
pub const SIZE_AT: u64 = 4;
/// The offset of where this rank's heap begins.
pub const OWN_HEAP_AT: u64 = 8;
/// The offset of the bytes of a heap.
pub const HEAP_BYTES_AT: u64 = 16;
/// The offset of the nanoseconds that a wait may take.
pub const WAIT_LIMIT_AT: u64 = 24;
/// The offset of the report's address.
pub const REPORT_AT: u64 = 32;
/// The offset of the list of heaps.
pub const HEAPS_AT: u64 = 40;
/// The bytes of a report.
pub const REPORT_BYTES: usize = 32;

/// Why a program on a GPU could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceFailure {
    /// It waited too long for a word.
    WaitedTooLong,
    /// A pointer was to be taken to another rank that is not into the heap.
    OutsideHeap,
    /// There is no such rank.
    NoSuchRank,
}

impl DeviceFailure {
    /// All of them.
    pub const ALL: [DeviceFailure; 3] =
        [DeviceFailure::WaitedTooLong, DeviceFailure::OutsideHeap, DeviceFailure::NoSuchRank];

    /// Its number in a report.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            DeviceFailure::WaitedTooLong => 1,
            DeviceFailure::OutsideHeap => 2,
            DeviceFailure::NoSuchRank => 3,
        }
    }

    /// The failure of this number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<DeviceFailure> {
        DeviceFailure::ALL.into_iter().find(|failure| failure.number() == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_a_number_of_its_own_and_none_is_zero() {
        for failure in DeviceFailure::ALL {
            assert_eq!(DeviceFailure::from_number(failure.number()), Some(failure));
        }
        assert_eq!(DeviceFailure::from_number(0), None);
    }

    #[test]
    fn the_table_has_no_gaps() {
        assert_eq!([RANK_AT, SIZE_AT, OWN_HEAP_AT, HEAP_BYTES_AT], [0, 4, 8, 16]);
        assert_eq!([WAIT_LIMIT_AT, REPORT_AT, HEAPS_AT], [24, 32, 40]);
    }
}
