//! Tells native debuggers about loaded code, through the interface that GDB and LLDB define for it: a linked list of
//! object files in memory and a function on which the debugger keeps a breakpoint.
//!
//! What is registered is a copy of the object whose section headers say where each section was loaded; from it the
//! debugger reads symbols, lines and unwind information.

use crate::{fork::Section, lock::lock};
use core::{ffi::c_void, ptr};
use std::sync::Mutex;

/// Offsets in an ELF64 header and in its section headers.
const E_SHOFF: usize = 40;
const E_SHENTSIZE: usize = 58;
const SH_ADDR: usize = 16;

const NO_ACTION: u32 = 0;
const REGISTER: u32 = 1;
const UNREGISTER: u32 = 2;

/// One object in the list.
#[repr(C)]
struct CodeEntry {
    next: *mut CodeEntry,
    prev: *mut CodeEntry,
    file: *const u8,
    file_size: u64,
}

/// The list, at a symbol debuggers look for.
#[repr(C)]
struct Descriptor {
    version: u32,
    action: u32,
    relevant: *mut CodeEntry,
    first: *mut CodeEntry,
}

// Weak, because another JIT in the process (LLVM's) may define the same pair; then both share it, as intended.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
core::arch::global_asm!(
    ".pushsection .text.__jit_debug_register_code,\"ax\",@progbits",
    ".weak __jit_debug_register_code",
    ".type __jit_debug_register_code,@function",
    "__jit_debug_register_code:",
    "ret",
    ".size __jit_debug_register_code, . - __jit_debug_register_code",
    ".popsection",
    ".pushsection .data.__jit_debug_descriptor,\"aw\",@progbits",
    ".weak __jit_debug_descriptor",
    ".type __jit_debug_descriptor,@object",
    ".balign 8",
    "__jit_debug_descriptor:",
    ".long 1",
    ".long 0",
    ".quad 0",
    ".quad 0",
    ".size __jit_debug_descriptor, . - __jit_debug_descriptor",
    ".popsection",
);

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
unsafe extern "C" {
    fn __jit_debug_register_code();
    static mut __jit_debug_descriptor: Descriptor;
}

/// Code is loaded on x86-64 Linux only; elsewhere nothing is ever registered.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod absent {
    #[allow(non_upper_case_globals, reason = "the debugger's name")]
    pub(super) static mut __jit_debug_descriptor: super::Descriptor =
        super::Descriptor { version: 1, action: 0, relevant: core::ptr::null_mut(), first: core::ptr::null_mut() };
    pub(super) unsafe extern "C" fn __jit_debug_register_code() {}
}
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
use absent::{__jit_debug_descriptor, __jit_debug_register_code};

/// Guards the list.
static LIST: Mutex<()> = Mutex::new(());

/// An object known to debuggers; dropping it makes them forget it.
pub(crate) struct Registration {
    entry: *mut CodeEntry,
    /// What the entry points at.
    file: Box<[u8]>,
}

// SAFETY: the entry is only touched under the list's lock.
unsafe impl Send for Registration {}
// SAFETY: as above; `&Registration` gives access to nothing.
unsafe impl Sync for Registration {}

impl Registration {
    /// Registers `object`, whose sections were loaded at the given addresses.
    pub(crate) fn new(object: &[u8], sections: &[(usize, u64)]) -> Self {
        let file = relocated_copy(object, sections);
        let entry = CodeEntry {
            next: ptr::null_mut(),
            prev: ptr::null_mut(),
            file: file.as_ptr(),
            file_size: file.len() as u64,
        };
        let entry = Box::into_raw(Box::new(entry));
        let _section = Section::enter();
        let _guard = lock(&LIST);
        // SAFETY: under the lock we alone change the list; `entry` is fresh, and the first one is alive because
        // entries leave the list before they are freed.
        unsafe {
            let list = &raw mut __jit_debug_descriptor;
            (*entry).next = (*list).first;
            if let Some(first) = (*list).first.as_mut() {
                first.prev = entry;
            }
            (*list).first = entry;
            announce(REGISTER, entry);
        }
        Self { entry, file }
    }

    /// The address of the registered copy.
    pub(crate) fn file(&self) -> *const c_void {
        self.file.as_ptr().cast()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let _section = Section::enter();
        let _guard = lock(&LIST);
        // SAFETY: the entry is ours and in the list; its neighbours are alive because they are in it, too.
        unsafe {
            let list = &raw mut __jit_debug_descriptor;
            let CodeEntry { next, prev, .. } = *self.entry;
            match prev.as_mut() {
                Some(prev) => prev.next = next,
                None => (*list).first = next,
            }
            if let Some(next) = next.as_mut() {
                next.prev = prev;
            }
            announce(UNREGISTER, self.entry);
            drop(Box::from_raw(self.entry));
        }
    }
}

/// Runs into the debugger's breakpoint, if there is one.
///
/// # Safety
///
/// The list's lock is held, and `entry` is alive.
unsafe fn announce(action: u32, entry: *mut CodeEntry) {
    // SAFETY: by contract.
    unsafe {
        let list = &raw mut __jit_debug_descriptor;
        (*list).action = action;
        (*list).relevant = entry;
        __jit_debug_register_code();
        (*list).action = NO_ACTION;
        (*list).relevant = ptr::null_mut();
    }
}

/// A copy of the object whose section headers hold the addresses. The headers were read by the loader before; a
/// header that is not where it should be is left alone.
fn relocated_copy(object: &[u8], sections: &[(usize, u64)]) -> Box<[u8]> {
    let mut copy: Box<[u8]> = object.into();
    let field = |range: core::ops::Range<usize>| object.get(range);
    let table = field(E_SHOFF..E_SHOFF + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    let size = field(E_SHENTSIZE..E_SHENTSIZE + 2).and_then(|b| b.try_into().ok()).map(u16::from_le_bytes);
    let (Some(table), Some(size)) = (table, size) else { return copy };
    for &(index, address) in sections {
        let offset = usize::try_from(table)
            .ok()
            .and_then(|table| table.checked_add(index.checked_mul(usize::from(size))?)?.checked_add(SH_ADDR));
        let header = offset.and_then(|offset| copy.get_mut(offset..offset.checked_add(8)?));
        if let Some(header) = header {
            header.copy_from_slice(&address.to_le_bytes());
        }
    }
    copy
}

/// Addresses of the objects debuggers are told about now; for tests and diagnostics.
#[must_use]
pub fn registered_objects() -> Vec<*const c_void> {
    let _section = Section::enter();
    let _guard = lock(&LIST);
    let mut files = Vec::new();
    // SAFETY: under the lock the list is consistent and its entries are alive.
    unsafe {
        let list = &raw const __jit_debug_descriptor;
        let mut entry = (*list).first;
        while let Some(current) = entry.as_ref() {
            files.push(current.file.cast());
            entry = current.next;
        }
    }
    files
}
