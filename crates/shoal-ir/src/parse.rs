//! The text format, read.
