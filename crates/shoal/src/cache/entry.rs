//! The format of a cache entry: a compiled kernel with what the driver must know about it.
//!
//! ```text
//! magic "SHOALKRN" · format u32 · length of facts u32 · length of object u64 · key 32 bytes · checksum 32 bytes
//! facts (JSON) · object (relocatable ELF)
//! ```
//!
//! Numbers are little-endian. The checksum covers everything but itself. It is no signature: what keeps foreign code
//! out is who may write to the directory. It is there for crashed writers and failing disks.

use serde::{Deserialize, Serialize};

use super::Key;

const MAGIC: &[u8; 8] = b"SHOALKRN";
const FORMAT: u32 = 1;
const HEADER: usize = 8 + 4 + 4 + 8 + 32 + 32;

/// What is stated about a compiled kernel, next to its code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The kernel's name in the source.
    pub kernel: String,
    /// The file it came from; for people, not part of the key.
    pub source: String,
    /// What it was compiled for.
    pub target: String,
    /// The entry point's symbol.
    pub entry: String,
    /// Working memory of a program, in bytes.
    pub scratch_bytes: u64,
    /// Whether programs may wait for each other.
    pub may_wait: bool,
    /// Whether a program may fail.
    pub can_fail: bool,
    /// Whether the code uses AMX tiles.
    pub uses_amx: bool,
    /// Size and alignment of each run-time parameter.
    pub params: Vec<(u32, u32)>,
}

/// A compiled kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What is stated about it.
    pub facts: Facts,
    /// Its relocatable object.
    pub object: Vec<u8>,
}

/// The header and the facts; the object follows them.
pub(super) fn head(key: &Key, entry: &Entry) -> Vec<u8> {
    let facts = serde_json::to_vec(&entry.facts).unwrap_or_default();
    let mut head = Vec::with_capacity(HEADER + facts.len());
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&FORMAT.to_le_bytes());
    head.extend_from_slice(&u32::try_from(facts.len()).unwrap_or(u32::MAX).to_le_bytes());
    head.extend_from_slice(&(entry.object.len() as u64).to_le_bytes());
    head.extend_from_slice(key.bytes());
    let sum = checksum(&head, &facts, &entry.object);
    head.extend_from_slice(&sum);
    head.extend_from_slice(&facts);
    head
}

/// Reads an entry. `None` when it is not a whole, undamaged entry for this key.
pub(super) fn read(key: &Key, content: &[u8]) -> Option<Entry> {
    let entry = read_any(content)?;
    (content.get(24..56)? == key.bytes()).then_some(entry)
}

/// Reads an entry, whatever its key.
pub(super) fn read_any(content: &[u8]) -> Option<Entry> {
    let (header, rest) = content.split_at_checked(HEADER)?;
    let number = |at: usize| Some(u32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?));
    if &header[..8] != MAGIC || number(8)? != FORMAT {
        return None;
    }
    let facts_len = usize::try_from(number(12)?).ok()?;
    let object_len = usize::try_from(u64::from_le_bytes(header[16..24].try_into().ok()?)).ok()?;
    let (facts, object) = rest.split_at_checked(facts_len)?;
    if object.len() != object_len || checksum(&header[..56], facts, object) != header[56..] {
        return None;
    }
    Some(Entry { facts: serde_json::from_slice(facts).ok()?, object: object.to_vec() })
}

fn checksum(header: &[u8], facts: &[u8], object: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new().update(header).update(facts).update(object).finalize().as_bytes()
}
