//! The anonymous file of a rank's segment.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{self, MemfdFlags, Mode, SealFlags};

use crate::engine::shared::Layout;
use crate::error::WorldError;

/// What nobody may do to a segment: change its size, which would turn accesses into SIGBUS, or take that back.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// A zeroed segment, which takes memory as it is touched.
pub(super) fn create(rank: usize, layout: Layout) -> Result<OwnedFd, WorldError> {
    let doing = || format!("make the heap of rank {rank} ({} bytes)", layout.symmetric);
    let make = || -> rustix::io::Result<OwnedFd> {
        let file = fs::memfd_create(format!("shoal-heap-{rank}"), MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        // Others could otherwise open it through /proc, where that is visible to them.
        fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
        fs::ftruncate(&file, layout.segment() as u64)?;
        fs::fcntl_add_seals(&file, SEALS)?;
        Ok(file)
    };
    make().map_err(WorldError::system(doing()))
}

/// Refuses a file that is not a segment of this world.
pub(super) fn check(rank: usize, layout: Layout, file: BorrowedFd<'_>) -> Result<(), WorldError> {
    let doing = format!("look at the heap of rank {rank}");
    // Only anonymous files have seals, so this refuses others too.
    let seals = fs::fcntl_get_seals(file).map_err(WorldError::system(doing.clone()))?;
    let size = fs::fstat(file).map_err(WorldError::system(doing))?.st_size;
    if seals.contains(SEALS) && u64::try_from(size).ok() == Some(layout.segment() as u64) {
        return Ok(());
    }
    Err(WorldError::Setup(format!(
        "rank {rank} offers a heap of another kind; do all ranks run the same version of shoal?"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::shared::Mapping;
    use crate::options::WorldOptions;
    use std::os::fd::AsFd;

    fn layout() -> Layout {
        Layout::new(&WorldOptions { heap_bytes: 1 << 16, ..WorldOptions::default() }).unwrap()
    }

    #[test]
    fn a_segment_keeps_its_size() {
        let file = create(0, layout()).unwrap();
        check(0, layout(), file.as_fd()).unwrap();
        assert_eq!(fs::ftruncate(&file, 0), Err(rustix::io::Errno::PERM));
        assert_eq!(fs::ftruncate(&file, 1 << 30), Err(rustix::io::Errno::PERM));
    }

    #[test]
    fn other_files_are_refused() {
        let other = fs::memfd_create("other", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        check(1, layout(), other.as_fd()).unwrap_err();
        fs::ftruncate(&other, layout().segment() as u64).unwrap();
        check(1, layout(), other.as_fd()).unwrap_err();
        let null = std::fs::File::open("/dev/null").unwrap();
        check(1, layout(), null.as_fd()).unwrap_err();
    }

    #[test]
    fn files_are_mapped_where_they_belong() {
        let files = [create(0, layout()).unwrap(), create(1, layout()).unwrap()];
        let borrowed = [files[0].as_fd(), files[1].as_fd()];
        let [one, two] = [0, 1].map(|_| Mapping::files(layout(), &borrowed).unwrap());
        // SAFETY: the segments are mapped, and this test's own.
        unsafe {
            one.symmetric(1).write(7);
            assert_eq!((two.symmetric(0).read(), two.symmetric(1).read()), (0, 7));
        }
    }
}
