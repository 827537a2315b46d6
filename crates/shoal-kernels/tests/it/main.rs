//! The kernel library, held to its references.
mod checked;
mod distributed;
mod entry_points;
mod library_code;
mod ptx;
mod references;
