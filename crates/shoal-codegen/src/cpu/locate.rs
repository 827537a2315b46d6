//! To which operation, and so to which line of the kernel, emitted code belongs.

use shoal_ir::{OpId, Value};

use super::emitter::Emitter;

impl Emitter<'_, '_> {
    /// Lets the code that `body` emits belong to the operation that defines a value, and what follows to where it
    /// belonged before: a fused tile is computed in the middle of another operation.
    pub(super) fn located<T>(&mut self, value: Value, body: impl FnOnce(&mut Self, OpId) -> T) -> T {
        let op = self.func.def_op(value).expect("region parameters are bound or materialised");
        let outside = self.debug.as_ref().and_then(|_| self.llvm.builder.get_current_debug_location());
        self.locate(op);
        let result = body(self, op);
        if let Some(outside) = outside {
            self.llvm.builder.set_current_debug_location(outside);
        }
        result
    }

    /// Lets the code emitted from now on belong to an operation.
    pub(super) fn locate(&mut self, op: OpId) {
        let span = self.func.op(op).span;
        if let Some(debug) = &mut self.debug {
            debug.locate(self.llvm, span, self.sources);
        }
    }
}
