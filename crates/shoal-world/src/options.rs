//! How large a world is, and how patient.

use std::ops::RangeInclusive;
use std::time::Duration;

use shoal_abi::team::sync_words;
use shoal_driver::cpu::CpuDevice;
use shoal_driver::{DeviceError, SECONDS, can_last, parse_seconds, wait_timeout, write_records};

use crate::environment::Variables;
use crate::error::WorldError;

/// Segments begin at pages, and are whole ones.
pub(crate) const PAGE: usize = 4096;

/// How many slots a signal pad can have: a GiB has room for the last.
const PAD_SLOTS: RangeInclusive<usize> = 1..=1 << 28;

/// Settings of a world. All its ranks must choose the same.
///
/// ```
/// use shoal_world::{World, WorldOptions};
///
/// let world = World::threads_with(2, &WorldOptions { heap_bytes: 1 << 20, ..WorldOptions::default() })?;
/// assert_eq!(world.size(), 2);
/// # Ok::<(), shoal_world::WorldError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldOptions {
    /// Bytes of each rank's symmetric heap; memory is taken when it is touched first. From the environment:
    /// `SHOAL_HEAP_BYTES`.
    pub heap_bytes: usize,
    /// Slots of each rank's signal pad, four bytes each. From the environment: `SHOAL_PAD_SLOTS`.
    pub pad_slots: usize,
    /// How long a rank waits for others before it gives up. From the environment: `SHOAL_TIMEOUT`, in seconds.
    pub timeout: Duration,
}

impl Default for WorldOptions {
    fn default() -> Self {
        WorldOptions { heap_bytes: 1 << 30, pad_slots: 1 << 14, timeout: Duration::from_secs(300) }
    }
}

impl WorldOptions {
    /// The defaults, changed by what the environment says. What it says of the devices that will run the kernels of ranks
    /// must make sense as well.
    pub fn from_env() -> Result<WorldOptions, WorldError> {
        let unusable = |error: DeviceError| WorldError::Setup(error.to_string());
        wait_timeout().map_err(unusable)?;
        CpuDevice::host_threads().map_err(unusable)?;
        WorldOptions::read(&Variables::of_process())
    }

    pub(crate) fn read(variables: &Variables<'_>) -> Result<WorldOptions, WorldError> {
        let mut options = WorldOptions::default();
        if let Some(text) = variables.text("SHOAL_HEAP_BYTES") {
            options.heap_bytes = parse_bytes(&text).filter(|&bytes| bytes > 0).ok_or_else(|| {
                let problem = "not a number of bytes from 1 on, such as 1073741824 or 1G".to_owned();
                WorldError::Environment { name: "SHOAL_HEAP_BYTES", value: Some(text), problem }
            })?;
        }
        if let Some(text) = variables.text("SHOAL_PAD_SLOTS") {
            let slots = text.trim().parse().ok().filter(|slots| PAD_SLOTS.contains(slots));
            options.pad_slots = slots.ok_or_else(|| {
                let problem = format!("not a number of slots from {} to {}", PAD_SLOTS.start(), PAD_SLOTS.end());
                WorldError::Environment { name: "SHOAL_PAD_SLOTS", value: Some(text), problem }
            })?;
        }
        if let Some(text) = variables.text("SHOAL_TIMEOUT") {
            options.timeout = parse_seconds(&text).ok_or_else(|| {
                let problem = format!("not {SECONDS}");
                WorldError::Environment { name: "SHOAL_TIMEOUT", value: Some(text), problem }
            })?;
        }
        options.check()?;
        Ok(options)
    }

    /// Refuses what no world can have.
    pub(crate) fn check(&self) -> Result<(), WorldError> {
        if !can_last(self.timeout) {
            return Err(WorldError::Setup("the timeout of a world must lie between 1 ns and 136 years".to_owned()));
        }
        if !PAD_SLOTS.contains(&self.pad_slots) {
            let (slots, least, most) = (self.pad_slots, PAD_SLOTS.start(), PAD_SLOTS.end());
            return Err(WorldError::Setup(format!("a signal pad has from {least} to {most} slots, not {slots}")));
        }
        Ok(())
    }

    /// Bytes from a segment's begin to the words in which teams meet.
    pub(crate) fn pad_bytes(&self) -> usize {
        (self.pad_slots * 4).next_multiple_of(crate::heap::GRANULE)
    }

    /// Bytes from a segment's begin to the records of who wrote last.
    pub(crate) fn write_records(&self) -> usize {
        self.pad_bytes() + sync_words::BYTES
    }

    /// Bytes from a segment's begin to its heap.
    pub(crate) fn heap_start(&self) -> usize {
        self.write_records() + write_records::BYTES
    }

    /// Bytes of a rank's segment, which are whole pages: what kernels of other ranks see.
    pub(crate) fn segment_bytes(&self) -> Result<usize, WorldError> {
        self.heap_start()
            .checked_add(self.heap_bytes)
            .and_then(|bytes| bytes.checked_next_multiple_of(PAGE))
            // Room for a control block, a guard page and pointer arithmetic.
            .filter(|&bytes| bytes < isize::MAX as usize / 2)
            .ok_or_else(|| WorldError::Setup(format!("a heap of {} bytes is too large", self.heap_bytes)))
    }
}

/// A number of bytes as people write it: `1048576`, `1024K`, `1M`; units are `K`, `M`, `G` and `T`, powers of 1024.
#[must_use]
pub fn parse_bytes(text: &str) -> Option<usize> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit.trim_start() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let read = |value| WorldOptions::read(&Variables::of(&[("SHOAL_HEAP_BYTES", value)]));
        for (text, bytes) in [("4096", 4096), (" 64K", 64 << 10), ("3M", 3 << 20), ("2 G", 2 << 30), ("1T", 1 << 40)] {
            assert_eq!(read(text).unwrap().heap_bytes, bytes);
        }
        for wrong in ["much", "-1", "0", "0M", "1.5G", "1g", "M", "99999999999T"] {
            let error = read(wrong).unwrap_err().to_string();
            let said = "not a number of bytes from 1 on, such as 1073741824 or 1G";
            assert_eq!(error, format!("SHOAL_HEAP_BYTES={wrong}: {said}"));
        }
    }

    #[test]
    fn pads_have_slots() {
        let read = |value| WorldOptions::read(&Variables::of(&[("SHOAL_PAD_SLOTS", value)]));
        assert_eq!(read("1").unwrap().pad_slots, 1);
        for wrong in ["0", "-1", "many", "268435457", "99999999999999999999"] {
            let error = read(wrong).unwrap_err().to_string();
            assert_eq!(error, format!("SHOAL_PAD_SLOTS={wrong}: not a number of slots from 1 to 268435456"));
        }
        let none = WorldOptions { pad_slots: 0, ..WorldOptions::default() };
        assert_eq!(none.check().unwrap_err().to_string(), "a signal pad has from 1 to 268435456 slots, not 0");
    }

    #[test]
    fn the_environment_is_read() {
        let read = |value| WorldOptions::read(&Variables::of(&[("SHOAL_TIMEOUT", value)]));
        assert_eq!(read("0.5").unwrap().timeout, Duration::from_millis(500));
        assert_eq!(read("").unwrap().timeout, Duration::from_secs(300));
        for wrong in ["soon", "-1", "0", "nan", "1e300"] {
            let error = read(wrong).unwrap_err().to_string();
            assert_eq!(error, format!("SHOAL_TIMEOUT={wrong}: not {SECONDS}"));
        }
    }
}
