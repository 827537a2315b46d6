//! Where the lines of `device_print` go.

use crate::fork::Section;
use core::fmt;
use std::{io, sync::Arc};

/// Where the lines of `device_print` go. One call of the sink gets the whole text of one `device_print` operand, so
/// lines of different programs never mix inside it.
#[derive(Clone, Default)]
pub enum PrintSink {
    /// The process's standard output.
    #[default]
    Stdout,
    /// A function; it is called from worker threads, from several at the same time.
    Call(Arc<dyn Fn(&str) + Send + Sync>),
}

impl PrintSink {
    /// A sink that calls `f`.
    pub fn new(f: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Call(Arc::new(f))
    }

    pub(crate) fn write(&self, text: &str) {
        match self {
            Self::Stdout => {
                use io::Write;
                let _section = Section::enter();
                let mut out = io::stdout().lock();
                // A closed standard output is no reason to fail a kernel.
                let _ = out.write_all(text.as_bytes());
                let _ = out.flush();
            }
            Self::Call(f) => f(text),
        }
    }
}

impl fmt::Debug for PrintSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdout => "Stdout",
            Self::Call(_) => "Call(..)",
        })
    }
}
