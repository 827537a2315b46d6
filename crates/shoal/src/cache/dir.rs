//! The cache's directory: private to the user, and checked to be so each time it is opened.
//!
//! Whoever can write to it can run code as the user. So the directory is opened once, checked through the open handle
//! and from then on only used through that handle: nobody can swap it for another one in between.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, fstat, open, openat, renameat, unlinkat,
    utimensat,
};

/// Why a directory is not used as a cache.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no place for it.
    #[error("neither SHOAL_CACHE_DIR, XDG_CACHE_HOME nor HOME is set")]
    NoPlace,
    /// It cannot be created or opened.
    #[error("cannot open {}: {reason}", .path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// Somebody else owns it.
    #[error("{} belongs to another user (uid {owner}), who could put code into it: {}", .path.display(), own_folder(.path))]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Others may write to it.
    #[error("{} can be written by others (mode {mode:03o}): {}", .path.display(), way_out(.path, *.mode))]
    Writable {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// `SHOAL_CACHE` cannot be read.
    #[error("SHOAL_CACHE={value} cannot be used: it must be on or off")]
    Switch {
        /// What it says.
        value: String,
    },
    /// `SHOAL_CACHE_LIMIT` cannot be read.
    #[error("SHOAL_CACHE_LIMIT={value} cannot be used: it must be a size in bytes, such as 512M or 2G")]
    Limit {
        /// What it says.
        value: String,
    },
}

/// What to do about a directory that others can write to. One that is there for all users must stay as it is.
fn way_out(path: &Path, mode: u32) -> String {
    if mode & STICKY == 0 { "`chmod 700` it".to_owned() } else { own_folder(path) }
}

fn own_folder(path: &Path) -> String {
    format!("name a folder of your own, such as SHOAL_CACHE_DIR={}", path.join("shoal").display())
}

/// The permission bit of directories in which everybody has files, such as `/tmp`.
const STICKY: u32 = 0o1000;

/// A directory that only this user can write to.
#[derive(Debug)]
pub(super) struct PrivateDir {
    path: PathBuf,
    handle: OwnedFd,
}

/// One file of the directory.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// When it was written or last marked as used.
    pub(super) used: SystemTime,
}

impl PrivateDir {
    /// Opens the directory, with mode 0700 if it has to be created, and checks who can write to it.
    pub(super) fn open(path: &Path) -> Result<PrivateDir, Refusal> {
        let unusable = |reason: io::Error| Refusal::Unusable { path: path.to_owned(), reason };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = open(path, flags, Mode::empty()).map_err(|e| unusable(e.into()))?;
        let stat = fstat(&handle).map_err(|e| unusable(e.into()))?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(Refusal::NotOurs { path: path.to_owned(), owner: stat.st_uid });
        }
        let mode = stat.st_mode & 0o1777;
        if mode & 0o022 != 0 {
            return Err(Refusal::Writable { path: path.to_owned(), mode });
        }
        Ok(PrivateDir { path: path.to_owned(), handle })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The content of a regular file that this user owns, and that is no larger than an entry can be; `None` if there is no
    /// such file.
    pub(super) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let handle = match openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let stat = fstat(&handle)?;
        let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
        if !regular || !is_ours || stat.st_size.cast_unsigned() > LARGEST {
            return Ok(None);
        }
        let mut content = Vec::new();
        File::from(handle).read_to_end(&mut content)?;
        Ok(Some(content))
    }

    /// Writes a file so that readers see all of it or nothing: under another name first, then renamed.
    pub(super) fn write(&self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let unique = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let temporary = format!("{TEMPORARY}{}-{}", unique.0, unique.1);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A crashed process with the same id may have left one.
        let _ = unlinkat(&self.handle, &temporary, AtFlags::empty());
        let handle = openat(&self.handle, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(handle);
        let written = parts.iter().try_for_each(|part| file.write_all(part));
        let renamed = written.and_then(|()| Ok(renameat(&self.handle, &temporary, &self.handle, name)?));
        if renamed.is_err() {
            let _ = unlinkat(&self.handle, &temporary, AtFlags::empty());
        }
        renamed
    }

    /// Notes that a file is in use. That it cannot be noted, on a disk that is read only, does no harm.
    pub(super) fn mark_used(&self, name: &str) {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        let _ = utimensat(&self.handle, name, &times, AtFlags::SYMLINK_NOFOLLOW);
    }

    /// Removes a file; that it is gone already is no error.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The regular files, in no order.
    pub(super) fn list(&self) -> io::Result<Vec<Listed>> {
        let mut found = Vec::new();
        for item in Dir::read_from(&self.handle)? {
            let item = item?;
            let Ok(name) = item.file_name().to_str() else { continue };
            let stat = match rustix::fs::statat(&self.handle, OsStr::new(name), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(_) => continue,
            };
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                let since = Duration::new(
                    u64::try_from(stat.st_mtime).unwrap_or(0),
                    u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
                );
                let used = SystemTime::UNIX_EPOCH + since;
                found.push(Listed { name: name.to_owned(), bytes: stat.st_size.cast_unsigned(), used });
            }
        }
        Ok(found)
    }
}

/// More bytes than any compiled kernel has. A file that is larger was put there by somebody else, and may be larger than
/// memory.
const LARGEST: u64 = 1 << 28;

/// How the names of unfinished files start.
pub(super) const TEMPORARY: &str = ".writing-";
