//! Keeps the library from taking this program's private memory for symmetric variables.
//!
//! OpenSHMEM has symmetric variables: the static data of the main program. Open MPI looks for them in the list of this
//! process's mappings, up to the symbol `_end`, which a program that was linked with the library exports. Where the
//! library is loaded at run time it finds its own `_end` instead, takes every mapping below for static data, and exchanges
//! them with the other ranks, which have others: it crashes, or refuses to start. So a shared object is loaded before
//! it that says where the program's symmetric variables end: before everything.
//!
//! Programs that do export `_end`, such as Python, are found first; that is as good.

use std::os::fd::{AsRawFd, OwnedFd};

use libloading::os::unix::{Library as Handle, RTLD_GLOBAL, RTLD_NOW};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::error::WorldError;

/// Where the parts of the object are.
mod at {
    pub(super) const PROGRAM_HEADERS: u64 = 0x40;
    pub(super) const SYMBOLS: u64 = 0xb0;
    pub(super) const NAMES: u64 = 0xe0;
    pub(super) const HASH: u64 = 0xe8;
    pub(super) const DYNAMIC: u64 = 0x100;
    pub(super) const END: u64 = 0x160;
}

/// Loads the object for the rest of the process.
pub(super) fn hide() -> Result<(), WorldError> {
    let doing = "make the object that hides this program's static data";
    let file: OwnedFd = memfd_create("shoal-static-data", MemfdFlags::CLOEXEC).map_err(WorldError::system(doing))?;
    rustix::io::write(&file, &object()).map_err(WorldError::system(doing))?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the object has no code.
    match unsafe { Handle::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) } {
        Ok(handle) => {
            std::mem::forget(handle);
            Ok(())
        }
        Err(error) => Err(WorldError::Setup(format!("cannot {doing}: {error}"))),
    }
}

/// A shared object with one symbol: `_end`, at address 1.
fn object() -> Vec<u8> {
    let mut object = Object(Vec::new());
    object.header();
    object.program_header(1, 0, at::END, 0x1000);
    object.program_header(2, at::DYNAMIC, at::END - at::DYNAMIC, 8);
    object.pad_to(at::SYMBOLS + 24);
    // A global symbol without a type, which is absolute: it stays where it says when the object is loaded.
    object.half(1, 4).half(0x10, 1).half(0, 1).half(0xfff1, 2).word(1).word(0);
    object.pad_to(at::NAMES);
    object.0.extend_from_slice(b"\0_end\0");
    object.pad_to(at::HASH);
    // One bucket and two symbols; the bucket begins with symbol 1, which has no next.
    object.half(1, 4).half(2, 4).half(1, 4).half(0, 4).half(0, 4);
    object.pad_to(at::DYNAMIC);
    for (tag, value) in [(4, at::HASH), (6, at::SYMBOLS), (5, at::NAMES), (10, 6), (11, 24), (0, 0)] {
        object.word(tag).word(value);
    }
    object.0
}

struct Object(Vec<u8>);

impl Object {
    fn word(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A number of fewer bytes.
    fn half(&mut self, value: u32, bytes: usize) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes()[..bytes]);
        self
    }

    fn pad_to(&mut self, offset: u64) {
        self.0.resize(offset as usize, 0);
    }

    /// The header of an ELF file: 64 bits, little endian, a shared object for this machine, without sections.
    fn header(&mut self) {
        let machine = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
        self.0.extend_from_slice(b"\x7fELF\x02\x01\x01");
        self.pad_to(16);
        self.half(3, 2).half(machine, 2).half(1, 4).word(0).word(at::PROGRAM_HEADERS).word(0);
        self.half(0, 4).half(64, 2).half(56, 2).half(2, 2).half(64, 2).half(0, 2).half(0, 2);
    }

    /// A part of the file as it is mapped, readable and writable: the loader writes to its tables.
    fn program_header(&mut self, kind: u32, offset: u64, bytes: u64, alignment: u64) {
        self.half(kind, 4).half(6, 4).word(offset).word(offset).word(offset);
        self.word(bytes).word(bytes).word(alignment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_is_loaded_and_says_where_data_ends() {
        let object = object();
        assert_eq!((object.len() as u64, &object[..4]), (at::END, &b"\x7fELF"[..]));
        hide().unwrap();
        // SAFETY: the symbol's address is looked at, and nothing is read there.
        let end = unsafe { Handle::this().get::<*const u8>(b"_end") }.unwrap().as_raw_ptr().addr();
        // A test program that exports its own is found first.
        assert!(end == 1 || end > 1 << 16, "{end:#x}");
    }
}
