//! The kernel library, held to its references.
mod collectives;
mod entry_points;
mod references;
