//! Cache keys: a hash of everything that the compiled code depends on.

use std::fmt;

/// The name of one compiled kernel: equal keys, equal code.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// The hash.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Collects what a key depends on. Each part has a name and a length, so parts cannot run into each other.
#[derive(Debug, Clone)]
pub struct KeyWriter(blake3::Hasher);

impl Default for KeyWriter {
    /// Starts with Shoal's own version and build, with LLVM's, and with the kind of objects: another compiler makes other
    /// code.
    fn default() -> KeyWriter {
        let mut writer = KeyWriter(blake3::Hasher::new());
        writer.part("shoal", env!("CARGO_PKG_VERSION"));
        writer.part("build", env!("SHOAL_BUILD"));
        writer.part("llvm", shoal_codegen::llvm_version());
        writer.part("triple", shoal_codegen::triple());
        writer
    }
}

impl KeyWriter {
    /// Adds a part.
    pub fn part(&mut self, name: &str, content: impl AsRef<[u8]>) -> &mut KeyWriter {
        for bytes in [name.as_bytes(), content.as_ref()] {
            self.0.update(&(bytes.len() as u64).to_le_bytes());
            self.0.update(bytes);
        }
        self
    }

    /// The key.
    #[must_use]
    pub fn finish(&self) -> Key {
        Key(*self.0.finalize().as_bytes())
    }
}
