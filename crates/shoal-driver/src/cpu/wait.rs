//! Where a suspended program waits, and for what.

use crate::bounds::Bounds;
use crate::{
    last_writer::last_writer,
    rank_view::RankView,
    source_site::SourceSite,
    waiting::{AwaitedValue, Waiting},
};
use core::{
    ptr,
    sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering},
};
use shoal_abi::{Site, WaitCondition, print::PrintKind};

/// A program's last wait, as its hook was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    site: *const Site,
    value: Option<Awaited>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Awaited {
    address: *const u8,
    expected: u64,
    kind: PrintKind,
    condition: WaitCondition,
    /// The program gives up by itself if it is not met in time.
    or_in_time: bool,
}

impl Wait {
    /// None yet.
    pub(crate) const NONE: Self = Self { site: ptr::null(), value: None };

    /// A wait in a loop that only looks at memory.
    pub(crate) fn at(site: *const Site) -> Self {
        Self { site, value: None }
    }

    /// A wait for a number in memory; `kind` and `condition` by their numbers.
    pub(crate) fn for_value(site: *const Site, address: *const u8, expected: u64, kind: u32, condition: u32) -> Self {
        let or_in_time = condition & WaitCondition::OR_IN_TIME != 0;
        let condition = WaitCondition::from_number(condition & !WaitCondition::OR_IN_TIME);
        let value = PrintKind::from_number(kind).zip(condition);
        let value = value.map(|(kind, condition)| Awaited { address, expected, kind, condition, or_in_time });
        Self { site, value }
    }

    /// Whether it is in a loop that may end by itself after some looks.
    pub(crate) fn counts_looks(&self) -> bool {
        self.value.is_some_and(|value| value.or_in_time && value.address.is_null())
    }

    /// Whether the program may go on although nothing changes.
    pub(crate) fn may_end_by_itself(&self) -> bool {
        self.value.is_some_and(|value| value.or_in_time)
    }

    /// Whether the program can do nothing but look at memory again, in vain. Of other waits nobody but the program knows.
    ///
    /// # Safety
    ///
    /// The memory can still be read.
    pub(crate) unsafe fn is_in_vain(&self) -> Option<bool> {
        let value = self.value.filter(|value| !value.or_in_time)?;
        // SAFETY: readable by contract.
        let held = unsafe { value.held() }?;
        match value.condition {
            WaitCondition::Equal | WaitCondition::NotEqual => {}
            // Others are of unsigned words.
            _ if value.kind == PrintKind::U64 => {}
            _ => return None,
        }
        Some(!value.condition.holds(held, value.expected))
    }

    /// What a report says of it, and of the memory as it is now.
    ///
    /// # Safety
    ///
    /// The site is null or valid, and the memory can still be read.
    pub(crate) unsafe fn describe(
        &self,
        program: [u32; 3],
        bounds: Option<&Bounds>,
        ranks: Option<&RankView>,
    ) -> Waiting {
        let value = self.value.and_then(|value| {
            // SAFETY: readable by contract.
            let held = unsafe { value.held() }?;
            let Awaited { address, expected, kind, condition, .. } = value;
            let argument = bounds.and_then(|bounds| bounds.place(address.addr() as u64));
            let place = argument.or_else(|| ranks.and_then(|ranks| ranks.place(address.addr())));
            // SAFETY: heaps are mapped as long as the launch.
            let last_writer = ranks.and_then(|ranks| unsafe { last_writer(ranks, address.addr()) });
            Some(AwaitedValue { address: address.addr(), place, kind, condition, expected, held, last_writer })
        });
        // SAFETY: null or valid by contract.
        Waiting { program, site: unsafe { SourceSite::read(self.site) }, value }
    }
}

impl Awaited {
    /// The number in memory now; `None` where no number of this kind can be.
    ///
    /// # Safety
    ///
    /// The memory can be read.
    unsafe fn held(&self) -> Option<u64> {
        let (address, size) = (self.address.cast_mut(), self.kind.size());
        if address.is_null() || !address.addr().is_multiple_of(size) {
            return None;
        }
        // SAFETY: readable by contract, aligned as was just seen; atomic, because others may write it now.
        let held = unsafe {
            match size {
                1 => AtomicU8::from_ptr(address).load(Ordering::Relaxed).into(),
                2 => AtomicU16::from_ptr(address.cast()).load(Ordering::Relaxed).into(),
                4 => AtomicU32::from_ptr(address.cast()).load(Ordering::Relaxed).into(),
                _ => AtomicU64::from_ptr(address.cast()).load(Ordering::Relaxed),
            }
        };
        Some(held)
    }
}
