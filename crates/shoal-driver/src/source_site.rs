//! Places in a kernel's source, as messages name them.

use core::{fmt, slice};
use shoal_abi::Site;

/// A place in a kernel's source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceSite {
    /// The file.
    pub file: String,
    /// Line, counted from 1; 0 when unknown.
    pub line: u32,
    /// Column, counted from 1; 0 when unknown.
    pub col: u32,
    /// What the program does there.
    pub what: String,
}

impl SourceSite {
    /// Copies a site out of loaded code.
    ///
    /// # Safety
    ///
    /// `site` is null or points at a valid [`Site`].
    pub(crate) unsafe fn read(site: *const Site) -> Option<Self> {
        // SAFETY: valid or null by contract.
        let site = unsafe { site.as_ref() }?;
        // SAFETY: a valid site has valid texts.
        let (file, what) = unsafe { (text(site.file, site.file_len), text(site.what, site.what_len)) };
        Some(Self { file, line: site.line, col: site.col, what })
    }
}

/// Copies a text that generated code passed.
///
/// # Safety
///
/// `data` is null or points at `len` readable bytes.
pub(crate) unsafe fn text(data: *const u8, len: u64) -> String {
    if data.is_null() || len == 0 {
        return String::new();
    }
    // SAFETY: by contract; the length of something in memory fits `usize`.
    let bytes = unsafe { slice::from_raw_parts(data, usize::try_from(len).unwrap_or(0)) };
    String::from_utf8_lossy(bytes).into_owned()
}

impl fmt::Display for SourceSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
            if self.col > 0 {
                write!(f, ":{}", self.col)?;
            }
        }
        if self.what.is_empty() { Ok(()) } else { write!(f, " ({})", self.what) }
    }
}
