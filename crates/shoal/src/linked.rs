//! Files of bitcode that became part of compiled code: when one changes, the code is out of date.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// A file as it was when it was linked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedFile {
    path: PathBuf,
    hash: String,
}

impl LinkedFile {
    /// A file with this content.
    #[must_use]
    pub fn new(path: PathBuf, content: &[u8]) -> LinkedFile {
        LinkedFile { path, hash: blake3::hash(content).to_hex().to_string() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it still has the content that was linked.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        std::fs::read(&self.path).is_ok_and(|content| blake3::hash(&content).to_hex().as_str() == self.hash)
    }
}

/// A linked file that every launch asks about: its content is only read again when the system says that the file was
/// touched.
#[derive(Debug)]
pub(crate) struct WatchedFile {
    file: LinkedFile,
    seen: Mutex<Option<Stamp>>,
}

/// What changes with a file's content: its place on disk, size, and times of the last changes.
type Stamp = (u64, u64, u64, (i64, i64), (i64, i64));

impl WatchedFile {
    pub(crate) fn new(file: LinkedFile) -> WatchedFile {
        // Nothing is seen yet: the file may have changed since it was linked.
        WatchedFile { file, seen: Mutex::default() }
    }

    pub(crate) fn is_unchanged(&self) -> bool {
        // Looked at before the content is: a change in between is seen the next time.
        let now = stamp(&self.file.path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if now.is_some() && *seen == now {
            return true;
        }
        let unchanged = self.file.is_unchanged();
        if unchanged {
            *seen = now;
        }
        unchanged
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let data = std::fs::metadata(path).ok()?;
    Some((data.dev(), data.ino(), data.size(), (data.mtime(), data.mtime_nsec()), (data.ctime(), data.ctime_nsec())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn a_change_of_content_is_noticed_and_a_touch_is_none() {
        let dir = TempDir::new();
        let path = dir.path().join("user.bc");
        std::fs::write(&path, "one").unwrap();
        let watched = WatchedFile::new(LinkedFile::new(path.clone(), b"one"));
        assert!(watched.is_unchanged() && watched.is_unchanged());
        std::fs::write(&path, "one").unwrap();
        assert!(watched.is_unchanged());
        std::fs::write(&path, "two").unwrap();
        assert!(!watched.is_unchanged());
        std::fs::write(&path, "one").unwrap();
        assert!(watched.is_unchanged());
        std::fs::remove_file(&path).unwrap();
        assert!(!watched.is_unchanged());
    }
}
