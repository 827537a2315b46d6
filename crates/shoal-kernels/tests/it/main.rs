//! The kernel library, held to its references.
mod distributed;
mod entry_points;
mod ptx;
mod references;
