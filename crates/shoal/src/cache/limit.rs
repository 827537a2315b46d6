//! How large the cache may grow.
//!
//! An entry that is found is marked as used now; when a write takes the directory over its limit, entries go that were
//! not used for longest. The directory is only looked through at a process's first write and then each time it has
//! written another part of the limit, so most writes cost nothing more.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::SUFFIX;
use super::dir::{Listed, PrivateDir, Refusal, TEMPORARY};

/// What the directory may hold unless `SHOAL_CACHE_LIMIT` says otherwise: 1 GiB.
const DEFAULT: u64 = 1 << 30;
/// The directory is looked through when this part of the limit was written.
const LOOK_EVERY: u64 = 16;
/// An unfinished file of this age belongs to a writer that crashed.
const ABANDONED: Duration = Duration::from_secs(3600);
/// So does one of this age whose writer does not run any more. (Younger ones may be of a writer on another machine that
/// shares the directory.)
const ORPHANED: Duration = Duration::from_secs(60);

/// The limit of a cache, and what this process has written since it last looked.
#[derive(Debug)]
pub(super) struct Limit {
    bytes: u64,
    written: AtomicU64,
}

impl Limit {
    pub(super) fn new(bytes: u64) -> Limit {
        // The first write of a process looks.
        Limit { bytes, written: AtomicU64::new(bytes) }
    }

    /// The limit that `SHOAL_CACHE_LIMIT` sets, or the default one.
    pub(super) fn from_env() -> Result<Limit, Refusal> {
        let Some(value) = std::env::var_os("SHOAL_CACHE_LIMIT") else { return Ok(Limit::new(DEFAULT)) };
        let value = value.to_string_lossy().into_owned();
        parse(&value).map(Limit::new).ok_or(Refusal::Limit { value })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// After `bytes` were written to the entry `newest`: removes entries if there are too many, but never that one.
    pub(super) fn hold(&self, dir: &PrivateDir, newest: &str, bytes: u64) -> io::Result<()> {
        let written = self.written.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if written < self.bytes / LOOK_EVERY {
            return Ok(());
        }
        self.written.store(0, Ordering::Relaxed);
        let now = SystemTime::now();
        let files = dir.list()?;
        files.iter().filter(|file| is_abandoned(file, now)).try_for_each(|file| dir.remove(&file.name))?;
        let mut entries: Vec<Listed> = files.into_iter().filter(|file| file.name.ends_with(SUFFIX)).collect();
        let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        if total <= self.bytes {
            return Ok(());
        }
        // Some room is made, so that the next write does not have to make it again.
        let aim = self.bytes - self.bytes / LOOK_EVERY;
        entries.sort_by_key(|entry| entry.used);
        for entry in entries.iter().filter(|entry| entry.name != newest) {
            if total <= aim {
                break;
            }
            dir.remove(&entry.name)?;
            total -= entry.bytes;
        }
        Ok(())
    }
}

/// Whether nobody will finish this file.
fn is_abandoned(file: &Listed, now: SystemTime) -> bool {
    let Some(writer) = file.name.strip_prefix(TEMPORARY) else { return false };
    let pid = writer.split('-').next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    // Asking about a process of another user is refused, but it is there.
    let runs = pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH));
    now.duration_since(file.used).is_ok_and(|age| age > if runs { ABANDONED } else { ORPHANED })
}

/// A number of bytes, such as `500000000`, `512M` or `2G`.
fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, shift) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        (at, 't' | 'T') => (&text[..at], 40),
        _ => (text, 0),
    };
    number.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse("0"), Some(0));
        assert_eq!(parse(" 12345 "), Some(12345));
        assert_eq!(parse("3k"), Some(3 << 10));
        assert_eq!(parse("512 M"), Some(512 << 20));
        assert_eq!(parse("2G"), Some(2 << 30));
        assert_eq!(parse("1T"), Some(1 << 40));
        for wrong in ["", "much", "-1", "1.5G", "G", "99999999999T"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
