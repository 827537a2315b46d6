//! The kernel library, held to its references.
mod checked;
mod distributed;
mod entry_points;
mod ptx;
mod references;
