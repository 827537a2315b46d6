//! The format of a cache entry: a compiled kernel with what the driver must know about it.
//!
//! ```text
//! magic "SHOALKRN" · format u32 · length of metadata u32 · length of object u64 · key 32 bytes · checksum 32 bytes
//! metadata (JSON) · object (relocatable ELF)
//! ```
//!
//! Numbers are little-endian. The checksum covers everything but itself. It is no signature: what keeps foreign code
//! out is who may write to the directory. It is there for crashed writers and failing disks.

use serde::{Deserialize, Serialize};
use shoal_abi::KernelDescription;

use super::Key;
use crate::linked::LinkedFile;

const MAGIC: &[u8; 8] = b"SHOALKRN";
const FORMAT: u32 = 2;
const HEADER: usize = 8 + 4 + 4 + 8 + 32 + 32;

/// What people look at in a list of entries; not part of the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The kernel's name in the source.
    pub kernel: String,
    /// The file it came from.
    pub source: String,
    /// What it was compiled for.
    pub target: String,
}

/// A compiled kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What people look at.
    pub label: Label,
    /// The files that became part of it: with another content, the entry is out of date.
    pub linked: Vec<LinkedFile>,
    /// What the device must know.
    pub description: KernelDescription,
    /// Its relocatable object.
    pub object: Vec<u8>,
}

/// All but the object, as it is written.
#[derive(Serialize, Deserialize)]
struct Metadata {
    label: Label,
    linked: Vec<LinkedFile>,
    description: String,
}

/// The header and the metadata; the object follows them.
pub(super) fn head(key: &Key, entry: &Entry) -> Vec<u8> {
    let (label, linked) = (entry.label.clone(), entry.linked.clone());
    let metadata = Metadata { label, linked, description: entry.description.to_string() };
    let metadata = serde_json::to_vec(&metadata).unwrap_or_default();
    let mut head = Vec::with_capacity(HEADER + metadata.len());
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&FORMAT.to_le_bytes());
    head.extend_from_slice(&u32::try_from(metadata.len()).unwrap_or(u32::MAX).to_le_bytes());
    head.extend_from_slice(&(entry.object.len() as u64).to_le_bytes());
    head.extend_from_slice(key.bytes());
    let sum = checksum(&head, &metadata, &entry.object);
    head.extend_from_slice(&sum);
    head.extend_from_slice(&metadata);
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
    let metadata_len = usize::try_from(number(12)?).ok()?;
    let object_len = usize::try_from(u64::from_le_bytes(header[16..24].try_into().ok()?)).ok()?;
    let (metadata, object) = rest.split_at_checked(metadata_len)?;
    if object.len() != object_len || checksum(&header[..56], metadata, object) != header[56..] {
        return None;
    }
    let Metadata { label, linked, description } = serde_json::from_slice(metadata).ok()?;
    Some(Entry { label, linked, description: description.parse().ok()?, object: object.to_vec() })
}

fn checksum(header: &[u8], metadata: &[u8], object: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new().update(header).update(metadata).update(object).finalize().as_bytes()
}
