//! Compiled kernels on disk.
//!
//! The cache holds native code, so it promises three things: only this user can write to it, or it is not used; a
//! reader sees a whole entry or none; an entry that is damaged, or that was made for another key, is as good as absent.
//! A cache that cannot be used never fails a launch: the kernel is compiled again.
//!
//! It lies in `$SHOAL_CACHE_DIR`, else `$XDG_CACHE_HOME/shoal`, else `~/.cache/shoal`. `SHOAL_CACHE=off` turns it off.
//! It holds at most 1 GiB, or what `SHOAL_CACHE_LIMIT` says; beyond that, entries go that were not used for longest.

mod dir;
mod entry;
mod key;
mod limit;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use crate::linked::LinkedFile;
use dir::PrivateDir;
pub use dir::Refusal;
pub use entry::{Entry, Label};
pub use key::{Key, KeyWriter};
use limit::Limit;

/// A directory of compiled kernels.
#[derive(Debug)]
pub struct Cache {
    dir: PrivateDir,
    limit: Limit,
}

/// An entry as a list shows it.
#[derive(Debug, Clone)]
pub struct ListedEntry {
    /// The file's name.
    pub file: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// What it is; `None` if it is damaged.
    pub label: Option<Label>,
}

const SUFFIX: &str = ".kernel";

impl Cache {
    /// Opens a directory, which is created if it is not there.
    ///
    /// # Errors
    /// When it cannot be opened, others could write to it, or `SHOAL_CACHE_LIMIT` is no size.
    pub fn open(path: &Path) -> Result<Cache, Refusal> {
        Ok(Cache { dir: PrivateDir::open(path)?, limit: Limit::from_env()? })
    }

    /// The same directory with another limit, in bytes.
    #[must_use]
    pub fn with_limit(self, bytes: u64) -> Cache {
        Cache { limit: Limit::new(bytes), ..self }
    }

    /// How many bytes of entries it holds at most.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit.bytes()
    }

    /// Where the user's cache lies.
    ///
    /// # Errors
    /// When no variable says where.
    pub fn default_path() -> Result<PathBuf, Refusal> {
        let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        set("SHOAL_CACHE_DIR")
            .or_else(|| set("XDG_CACHE_HOME").filter(|p| p.is_absolute()).map(|p| p.join("shoal")))
            .or_else(|| set("HOME").map(|home| home.join(".cache/shoal")))
            .ok_or(Refusal::NoPlace)
    }

    /// The user's cache, opened on the first call. `Ok(None)` when `SHOAL_CACHE=off`; a refusal is logged once.
    ///
    /// # Errors
    /// As for [`Cache::open`].
    pub fn user() -> Result<Option<&'static Cache>, &'static Refusal> {
        static USER: OnceLock<Result<Option<Cache>, Refusal>> = OnceLock::new();
        let opened = USER.get_or_init(|| {
            let opened = match is_turned_off() {
                Ok(true) => return Ok(None),
                Ok(false) => Cache::default_path().and_then(|path| Cache::open(&path)).map(Some),
                Err(refusal) => Err(refusal),
            };
            if let Err(refusal) = &opened {
                tracing::warn!("the kernel cache is not used: {refusal}");
            }
            opened
        });
        opened.as_ref().map(Option::as_ref)
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The entry for a key, if there is a whole and undamaged one and what was linked into it is still the same.
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<Entry> {
        let content = self.dir.read(&file_name(key)).ok()??;
        let Some(entry) = entry::read(key, &content) else {
            tracing::info!("cache entry {} is damaged or foreign: compiling again", file_name(key));
            return None;
        };
        if let Some(file) = entry.linked.iter().find(|file| !file.is_unchanged()) {
            tracing::info!("{}, linked into {}, has changed: compiling again", file.path().display(), file_name(key));
            return None;
        }
        self.dir.mark_used(&file_name(key));
        Some(entry)
    }

    /// Keeps an entry, in place of one with the same key. Others may go to make room for it.
    ///
    /// # Errors
    /// When it cannot be written; nothing is left behind then.
    pub fn keep(&self, key: &Key, entry: &Entry) -> std::io::Result<()> {
        let (name, head) = (file_name(key), entry::head(key, entry));
        self.dir.write(&name, &[&head, &entry.object])?;
        self.limit.hold(&self.dir, &name, (head.len() + entry.object.len()) as u64)
    }

    /// All entries, by name of the kernel.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn list(&self) -> std::io::Result<Vec<ListedEntry>> {
        let mut entries = Vec::new();
        for file in self.dir.list()? {
            if file.name.ends_with(SUFFIX) {
                // A file that cannot be read is as good as damaged.
                let content = self.dir.read(&file.name).ok().flatten();
                let label = content.and_then(|content| entry::read_any(&content)).map(|entry| entry.label);
                entries.push(ListedEntry { file: file.name, bytes: file.bytes, label });
            }
        }
        entries.sort_by_cached_key(|e| (e.label.as_ref().map(|l| l.kernel.clone()), e.file.clone()));
        Ok(entries)
    }

    /// Removes all entries, and what crashed writers left. Other files stay. Returns how many entries went.
    ///
    /// # Errors
    /// When the directory cannot be read or a file cannot be removed.
    pub fn clear(&self) -> std::io::Result<usize> {
        let mut removed = 0;
        for file in self.dir.list()? {
            let entry = file.name.ends_with(SUFFIX);
            if entry || file.name.starts_with(dir::TEMPORARY) {
                self.dir.remove(&file.name)?;
                removed += usize::from(entry);
            }
        }
        Ok(removed)
    }
}

/// Whether `SHOAL_CACHE` says that nothing is kept.
fn is_turned_off() -> Result<bool, Refusal> {
    let Some(value) = std::env::var_os("SHOAL_CACHE") else { return Ok(false) };
    match value.to_string_lossy().to_lowercase().as_str() {
        "off" | "0" | "false" | "no" => Ok(true),
        "" | "on" | "1" | "true" | "yes" => Ok(false),
        other => Err(Refusal::Switch { value: other.to_owned() }),
    }
}

fn file_name(key: &Key) -> String {
    format!("{key}{SUFFIX}")
}

#[cfg(test)]
mod tests;
