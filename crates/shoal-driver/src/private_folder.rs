//! A folder for files that other users must neither read nor replace: sources and what assemblers and compilers make of them.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::rand::{GetRandomFlags, getrandom};

/// A folder among the temporary files that was not there before, that this user alone can look into, and whose name nobody
/// can guess. It goes when it is dropped.
#[derive(Debug)]
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Makes one; `purpose` is part of its name, for people.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(purpose: &str) -> io::Result<PrivateFolder> {
        let mut random = [0; 16];
        let mut filled = 0;
        while filled < random.len() {
            filled += getrandom(&mut random[filled..], GetRandomFlags::empty())?;
        }
        let path = env::temp_dir().join(format!("shoal-{purpose}-{:032x}", u128::from_ne_bytes(random)));
        let unmade = |why: io::Error| io::Error::new(why.kind(), format!("cannot make {}: {why}", path.display()));
        // One that is there is an error: it may be somebody else's.
        DirBuilder::new().mode(0o700).create(&path).map_err(unmade)?;
        Ok(PrivateFolder(path))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What is left of it is of no use to anybody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn folders_are_private_and_differ_and_go() {
        let [a, b] = [PrivateFolder::new("test").unwrap(), PrivateFolder::new("test").unwrap()];
        assert_ne!(a.path(), b.path());
        assert_eq!(fs::metadata(a.path()).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(a.path().join("file"), "text").unwrap();
        let path = a.path().to_owned();
        drop(a);
        assert!(!path.exists());
    }
}
