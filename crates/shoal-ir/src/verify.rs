//! What must hold of a function.
