//! Who wrote a word of symmetric memory last, for reports of programs that wait in vain.
//!
//! Notifications and signals are recorded always, next to the word's segment ([`write_records`]); stores and atomics only
//! by code that checks its accesses. Words that only a transport reaches are not recorded. A record is written without a
//! lock: when two write the same word at once, it may tell a mixture of both. Nothing but the report reads it.

use crate::{rank_view::RankView, write_records};
use core::{
    fmt, ptr, slice,
    sync::atomic::{AtomicU64, Ordering},
};
use shoal_abi::{SignalChange, Site};

/// Bytes of a file's name that a record holds.
const NAME: usize = 24;

/// A write to a word, as far as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWriter {
    /// The rank that wrote.
    pub rank: u32,
    /// Its program.
    pub program: [u32; 3],
    /// How, and what.
    pub change: Change,
    /// The end of the file's path, as many whole names as a record holds.
    pub file: String,
    /// The line, counted from 1; 0 when unknown.
    pub line: u32,
}

/// How a word was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It was set to this.
    Set(u64),
    /// This was added.
    Add(u64),
    /// It was stored to; what is not known.
    Stored,
    /// An atomic operation came there; what it left is not known.
    Atomic,
}

impl Change {
    pub(crate) fn of_signal(change: SignalChange, signal: u64) -> Self {
        match change {
            SignalChange::Set => Self::Set(signal),
            SignalChange::Add => Self::Add(signal),
        }
    }

    fn encode(self) -> (u32, u64) {
        match self {
            Self::Set(value) => (0, value),
            Self::Add(value) => (1, value),
            Self::Stored => (2, 0),
            Self::Atomic => (3, 0),
        }
    }

    fn decode(code: u32, value: u64) -> Self {
        match code {
            0 => Self::Set(value),
            1 => Self::Add(value),
            2 => Self::Stored,
            _ => Self::Atomic,
        }
    }
}

impl fmt::Display for LastWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([x, y, z], rank) = (self.program, self.rank);
        write!(f, "rank {rank}, program ({x}, {y}, {z}) ")?;
        match self.change {
            Change::Set(value) => write!(f, "set it to {value} last")?,
            Change::Add(value) => write!(f, "added {} to it last", value.cast_signed())?,
            Change::Stored => f.write_str("stored to it last")?,
            Change::Atomic => f.write_str("changed it atomically last")?,
        }
        match (self.file.as_str(), self.line) {
            ("", _) => Ok(()),
            (file, 0) => write!(f, ", in {file}"),
            (file, line) => write!(f, ", at {file}:{line}"),
        }
    }
}

/// Remembers a write to a word of a rank's heap.
///
/// # Safety
///
/// The view's heaps are mapped; the site is null or valid.
pub(crate) unsafe fn remember(
    view: &RankView,
    (rank, address): (usize, usize),
    program: [u32; 3],
    site: *const Site,
    change: Change,
) {
    let Some((record, key)) = view.write_record(rank, address) else { return };
    // SAFETY: by contract.
    let (record, (line, name)) = unsafe { (words(record), place(site)) };
    let (code, value) = change.encode();
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let [x, y, z] = program;
    let text = |at: usize| u64::from_le_bytes(name[at..at + 8].try_into().unwrap_or_default());
    let told = [value, pair(view.rank(), code), pair(x, y), pair(z, line), text(0), text(8), text(16)];
    record[0].store(0, Ordering::Relaxed);
    for (word, told) in record[1..].iter().zip(told) {
        word.store(told, Ordering::Relaxed);
    }
    record[0].store(key, Ordering::Release);
}

/// Who wrote a word of a heap last, if that was recorded.
///
/// # Safety
///
/// The view's heaps are mapped.
pub(crate) unsafe fn last_writer(view: &RankView, address: usize) -> Option<LastWriter> {
    let (record, key) = view.write_record(view.owner_of(address)?, address)?;
    // SAFETY: by contract.
    let record = unsafe { words(record) };
    if record[0].load(Ordering::Acquire) != key {
        return None;
    }
    let word = |at: usize| record[at].load(Ordering::Relaxed);
    let (low, high) = (|at: usize| word(at) as u32, |at: usize| (word(at) >> 32) as u32);
    let name: Vec<u8> = (5..8).flat_map(|at| word(at).to_le_bytes()).filter(|&byte| byte != 0).collect();
    Some(LastWriter {
        rank: low(2),
        program: [low(3), high(3), low(4)],
        change: Change::decode(high(2), word(1)),
        file: String::from_utf8_lossy(&name).into_owned(),
        line: high(4),
    })
}

/// # Safety
///
/// The address is that of a record in mapped memory, where records are only accessed atomically.
unsafe fn words<'a>(record: usize) -> &'a [AtomicU64; write_records::WORDS] {
    // SAFETY: by contract; records are aligned to their size.
    unsafe { &*ptr::with_exposed_provenance::<[AtomicU64; write_records::WORDS]>(record) }
}

/// The line of a site, and the last bytes of its file's name.
///
/// # Safety
///
/// The site is null or valid.
unsafe fn place(site: *const Site) -> (u32, [u8; NAME]) {
    let mut name = [0; NAME];
    // SAFETY: by contract.
    let Some(site) = (unsafe { site.as_ref() }) else { return (0, name) };
    let length = usize::try_from(site.file_len).unwrap_or(0);
    if !site.file.is_null() && length > 0 {
        // SAFETY: a valid site has a valid text.
        let file = unsafe { slice::from_raw_parts(site.file, length) };
        let tail = end_of_path(file);
        name[..tail.len()].copy_from_slice(tail);
    }
    (site.line, name)
}

/// The end of a path that a record has room for. It begins with a whole name, unless the last one alone is too long.
fn end_of_path(path: &[u8]) -> &[u8] {
    let Some(cut) = path.len().checked_sub(NAME).filter(|&cut| cut > 0) else { return path };
    let slash = path[cut - 1..].iter().position(|&byte| byte == b'/');
    slash.map_or(&path[cut..], |at| &path[cut + at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_write_is_told_and_others_are_not() {
        let heaps: Vec<Vec<u64>> = (0..2).map(|_| vec![0; (4096 + write_records::BYTES) / 8]).collect();
        let bases: Vec<usize> =
            heaps.iter().map(|heap| heap.as_ptr().expose_provenance().next_multiple_of(64)).collect();
        let bytes = 2048 + write_records::BYTES;
        let view = RankView::new(1, bases.clone(), bytes).with_write_records(1024);
        let (flag, other) = (bases[0] + 8, bases[0] + 16);
        let (file, what) = ("a/folder/with/a/long/name/kernel.py", "notify");
        let site = Site {
            file: file.as_ptr(),
            file_len: file.len() as u64,
            line: 12,
            col: 5,
            what: what.as_ptr(),
            what_len: what.len() as u64,
        };
        // SAFETY: the vectors are the heaps, and the site is valid.
        unsafe {
            assert_eq!(last_writer(&view, flag), None);
            remember(&view, (0, flag), [3, 2, 1], &raw const site, Change::Add(u64::MAX));
            let told = last_writer(&view, flag).expect("it was recorded").to_string();
            assert_eq!(told, "rank 1, program (3, 2, 1) added -1 to it last, at a/long/name/kernel.py:12");
            remember(&view, (0, flag), [0; 3], ptr::null(), Change::Set(7));
            let told = last_writer(&view, flag).expect("it was recorded").to_string();
            assert_eq!(told, "rank 1, program (0, 0, 0) set it to 7 last");
            assert_eq!(last_writer(&view, other), None);
            assert_eq!(last_writer(&view, 16), None, "in no heap");
        }
    }

    #[test]
    fn paths_begin_with_a_whole_name() {
        let end = |path: &'static str| str::from_utf8(end_of_path(path.as_bytes())).expect("cut between characters");
        assert_eq!(end("kernels/ring.py"), "kernels/ring.py");
        assert_eq!(end("/a/folder/of-22-letters/ring.py"), "of-22-letters/ring.py");
        assert_eq!(end("/x/which-fits-to-its/end.py"), "which-fits-to-its/end.py");
        assert_eq!(end("/x/whose-name-is-longer-than-that.py"), "e-is-longer-than-that.py");
    }
}
