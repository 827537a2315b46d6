//! What the crate promises to the rest of the workspace, seen from outside.

mod crate_edges;
mod rendered;
mod robust;
