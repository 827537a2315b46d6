//! Kernel files inside of a program: what the macro [`kernel!`](crate::kernel) puts into its modules.

use std::sync::OnceLock;

use shoal_driver::fork::Section;

use crate::{Error, Module};

/// A kernel file and those it imports, as texts.
#[derive(Debug)]
pub struct File {
    main: (&'static str, &'static str),
    others: &'static [(&'static str, &'static str)],
    module: OnceLock<Module>,
}

impl File {
    /// A file, and those it imports; each is a name and a text.
    #[must_use]
    pub const fn new(main: (&'static str, &'static str), others: &'static [(&'static str, &'static str)]) -> File {
        File { main, others, module: OnceLock::new() }
    }

    /// The file as a module, read at the first call.
    ///
    /// # Errors
    /// As [`Module::from_source`].
    pub fn module(&self) -> Result<&Module, Error> {
        kept(&self.module, || Module::from_sources(self.main.0, self.main.1, self.others))
    }
}

/// A kernel of such a file.
#[derive(Debug)]
pub struct EmbeddedKernel {
    file: &'static File,
    name: &'static str,
    kernel: OnceLock<crate::Kernel>,
}

impl EmbeddedKernel {
    /// The kernel of this name.
    #[must_use]
    pub const fn new(file: &'static File, name: &'static str) -> EmbeddedKernel {
        EmbeddedKernel { file, name, kernel: OnceLock::new() }
    }

    /// The kernel, found at the first call.
    ///
    /// # Errors
    /// As [`Module::kernel`].
    pub fn get(&self) -> Result<&crate::Kernel, Error> {
        kept(&self.kernel, || self.file.module()?.kernel(self.name))
    }
}

/// What the cell holds, made now if it is empty. What fails is tried again the next time.
fn kept<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let _section = Section::enter();
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}
