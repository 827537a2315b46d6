//! The kernel library, held to its references.
mod entry_points;
mod references;
