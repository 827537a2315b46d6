//! Spans, the source map, and diagnostics shown on the user's own lines.
//!
//! Everything Shoal says about a kernel points at the text its author wrote. This crate holds the three pieces that
//! make it so, and promises to every other crate:
//!
//! - A [`Span`] is three integers: it is copied onto every op and every value without a thought.
//! - A [`SourceMap`] turns spans back into names, lines and text. No span makes it panic: spans that run past the
//!   end of a file, or that cut a character in two, are moved to the nearest place that exists.
//! - A [`Diagnostic`] is plain data, built where the problem is seen and [rendered](render) where it is shown. A
//!   stage reports all its problems at once, as [`Diagnostics`].
//!
//! It also holds [`Cancellation`], by which every stage asks the host whether to go on, and [`read_source`].
//!
//! ```
//! use shoal_source::{Diagnostic, SourceMap, Span, Style, render};
//!
//! let mut sources = SourceMap::default();
//! let file = sources.add("add.py", "x = tl.arange(0, 100)\n");
//! let problem = Diagnostic::error(Span::new(file, 17, 20), "the length of a tile must be a power of two")
//!     .label("this is 100")
//!     .help("use 128 and mask the elements past the end");
//! let text = render(&sources, &problem, Style::Plain);
//! assert!(text.contains("--> add.py:1:18"));
//! ```
#![forbid(unsafe_code)]

mod cancellation;
mod diagnostic;
mod diagnostics;
mod read;
mod render;
mod similar;
mod source_map;
mod span;

pub use cancellation::{Cancellation, Watch};
pub use diagnostic::{CallFrame, Diagnostic, Kind, Label, Severity};
pub use diagnostics::Diagnostics;
pub use read::read_source;
pub use render::{Style, render};
pub use similar::similar;
pub use source_map::SourceMap;
pub use span::{FileId, Span};
