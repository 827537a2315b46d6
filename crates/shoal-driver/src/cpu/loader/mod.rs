//! Loads relocatable ELF objects for x86-64 from bytes into memory.
//!
//! The bytes may come from a disk cache, so nothing in them is trusted for the loading itself: a malformed object
//! gives an error, never a panic and never an access outside of the bytes or the mapping. (What the code does when it
//! runs is another matter; that needs a trusted cache.)
//!
//! All sections that are loaded lie in one mapping, in the order code, constants, data, so that everything in an
//! object is within reach of 32-bit relative addresses. Functions of this process are farther away; they are reached
//! through stubs and a table of addresses in the same mapping.
//!
//! Loaded objects are made known to native debuggers, with their debug information.

mod image;
mod layout;
mod relocate;

use super::{gdb::Registration, symbols};
use crate::fork::Section;
use image::Image;
use layout::Layout;
use object::{LittleEndian, Object, ObjectKind, ObjectSymbol, SymbolIndex, SymbolKind, read::elf::ElfFile64};
use shoal_abi::Entry;
use std::collections::HashMap;

type Elf<'data> = ElfFile64<'data, LittleEndian>;

/// Code in memory, ready to run. Dropping it removes it.
pub struct Code {
    /// Dropped before the image, to which it refers.
    registration: Registration,
    image: Image,
    functions: HashMap<String, usize>,
}

/// An object could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// This host cannot run such code.
    #[error("compiled kernels can be loaded on x86-64 Linux only")]
    UnsupportedHost,
    /// The bytes are not a well-formed relocatable object for this machine.
    #[error("damaged or foreign object: {0}")]
    Malformed(String),
    /// The object uses something the loader does not do.
    #[error("the object cannot be loaded: {0}")]
    Unsupported(String),
    /// The object calls functions that nobody provides.
    #[error("unknown symbols: {}", .0.join(", "))]
    UnknownSymbols(Vec<String>),
    /// The system refused memory for the code.
    #[error("cannot map {bytes} bytes for code: {reason}")]
    Memory {
        /// The size of the mapping.
        bytes: usize,
        /// What the system said.
        reason: String,
    },
}

impl LoadError {
    fn malformed(error: object::Error) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl Code {
    /// Loads an object that calls nothing but the functions in [`symbols`] and itself.
    ///
    /// # Errors
    ///
    /// When the object is malformed, of another machine, or refers to unknown symbols.
    pub fn load(object: &[u8]) -> Result<Self, LoadError> {
        Self::load_with(object, &|_| None)
    }

    /// Loads an object that may also call what `extra` resolves. `extra` is asked first.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_with(object: &[u8], extra: &dyn Fn(&str) -> Option<*const ()>) -> Result<Self, LoadError> {
        if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            return Err(LoadError::UnsupportedHost);
        }
        let _section = Section::enter();
        let elf = Elf::parse(object).map_err(LoadError::malformed)?;
        if elf.architecture() != object::Architecture::X86_64 || elf.kind() != ObjectKind::Relocatable {
            return Err(LoadError::Malformed("not a relocatable object for x86-64".into()));
        }
        let resolve = |name: &str| extra(name).map(|p| p.expose_provenance()).or_else(|| symbols::address(name));
        let layout = Layout::new(&elf)?;
        let mut image = Image::map(&elf, &layout)?;
        let symbols = Symbols::resolve(&elf, &layout, &image, &resolve)?;
        relocate::apply(&elf, &layout, &mut image, &symbols)?;
        image.protect(&layout)?;
        let registration = Registration::new(object, &section_addresses(&layout, &image));
        Ok(Self { registration, functions: symbols.functions, image })
    }

    /// The kernel of this name.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<Entry> {
        let &address = self.functions.get(name)?;
        // SAFETY: it is the address of a function in our mapping, which stays as long as `self`. That the function is
        // of this type is part of the contract of whoever launches it.
        Some(unsafe { core::mem::transmute::<*const (), Entry>(self.image.pointer_to(address).cast()) })
    }

    /// The address of the object that debuggers are told about; see
    /// [`registered_objects`](super::registered_objects).
    #[must_use]
    pub fn debug_object(&self) -> *const core::ffi::c_void {
        self.registration.file()
    }

    /// Bytes of memory the code takes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.image.size()
    }
}

impl core::fmt::Debug for Code {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Code").field("functions", &self.functions).finish_non_exhaustive()
    }
}

/// Where each loaded section lies, for the debugger.
fn section_addresses(layout: &Layout, image: &Image) -> Vec<(usize, u64)> {
    layout.sections.iter().map(|(index, placed)| (index.0, image.address(placed.offset) as u64)).collect()
}

/// The address of every symbol that relocations may name.
struct Symbols {
    addresses: HashMap<SymbolIndex, usize>,
    functions: HashMap<String, usize>,
}

impl Symbols {
    fn resolve(
        elf: &Elf<'_>,
        layout: &Layout,
        image: &Image,
        resolve: &dyn Fn(&str) -> Option<usize>,
    ) -> Result<Self, LoadError> {
        let (mut addresses, mut functions, mut unknown) = (HashMap::new(), HashMap::new(), Vec::new());
        for symbol in elf.symbols() {
            let name = || symbol.name().map_err(LoadError::malformed);
            let address = match symbol.section() {
                object::SymbolSection::Section(section) => {
                    // Symbols of sections that are not loaded (debug information) are the debugger's business.
                    let Some(placed) = layout.sections.get(&section) else { continue };
                    let inside = usize::try_from(symbol.address()).ok().filter(|&value| value <= placed.size);
                    let Some(value) = inside else {
                        return Err(LoadError::Malformed(format!("symbol `{}` lies outside its section", name()?)));
                    };
                    let address = image.address(placed.offset + value);
                    if symbol.kind() == SymbolKind::Text && symbol.is_global() && placed.runs(value) {
                        functions.insert(name()?.to_owned(), address);
                    }
                    address
                }
                object::SymbolSection::Absolute => symbol.address() as usize,
                object::SymbolSection::Undefined => match resolve(name()?) {
                    Some(address) => address,
                    None if symbol.is_weak() => 0,
                    // Assemblers leave names behind that nothing refers to.
                    None if !layout.names(symbol.index()) => continue,
                    None => {
                        unknown.push(name()?.to_owned());
                        continue;
                    }
                },
                object::SymbolSection::Common => {
                    return Err(LoadError::Unsupported(format!("common symbol `{}`", name()?)));
                }
                object::SymbolSection::None => continue,
                _ => return Err(LoadError::Malformed(format!("symbol `{}` lies nowhere", name()?))),
            };
            addresses.insert(symbol.index(), address);
        }
        if !unknown.is_empty() {
            unknown.sort_unstable();
            unknown.dedup();
            return Err(LoadError::UnknownSymbols(unknown));
        }
        Ok(Self { addresses, functions })
    }

    fn address(&self, index: SymbolIndex) -> Option<usize> {
        self.addresses.get(&index).copied()
    }
}
