//! **What.** Inlines every call, those of `noinline` functions too.
//!
//! ```text
//! func @twice(%0: f32) -> (f32) noinline {   kernel @k(%0: f32) {
//!   %1 = add (%0, %0) : f32                    %1 = add (%0, %0) : f32
//!   return (%1)                         ==>    …
//! }                                          }
//! kernel @k(%0: f32) {
//!   %1 = call {callee = "twice"} (%0) : f32
//!   …
//! }
//! ```
//!
//! **Why here.** `noinline` keeps a GPU's code small and its registers few. A CPU's backend fuses loops across the
//! whole of a kernel and has no calls, so it starts with this.

use shoal_ir::Module;

use crate::inline::inline;

/// See the module's documentation.
pub fn inline_all(module: &mut Module) {
    for func in &mut module.funcs {
        func.noinline = false;
    }
    inline(module);
}
