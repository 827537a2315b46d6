//! A function to try operations in: parameters of any type, and the verifier at the end.

use shoal_ir::types::{Elem, Ptr, Scalar, Type};

use crate::emit::Emit;
use crate::lower_error::LowerResult;
use crate::options::Options;
use crate::value::{Tensor, Value};

/// A function under construction.
pub(crate) struct Sandbox {
    /// Where it is written.
    pub(crate) emit: Emit<'static>,
}

impl Sandbox {
    /// An empty function.
    pub(crate) fn new() -> Sandbox {
        Sandbox::with(Options::default())
    }

    /// An empty function under options.
    pub(crate) fn with(options: Options) -> Sandbox {
        // A test's options may live as long as the test program.
        Sandbox { emit: Emit::new(Box::leak(Box::new(options))) }
    }

    /// A parameter of the function: a tile, or a scalar if the shape is empty.
    pub(crate) fn param(&mut self, elem: impl Into<Elem>, shape: &[u32]) -> Tensor {
        let body = self.emit.func.body();
        let value = self.emit.func.add_param(body, Type::tile(elem, shape));
        self.emit.tensor(value)
    }

    /// A parameter that points to numbers.
    pub(crate) fn pointer(&mut self, pointee: Scalar, shape: &[u32]) -> Tensor {
        self.param(Ptr::global(pointee), shape)
    }

    /// The names of the operations written so far.
    pub(crate) fn mnemonics(&self) -> Vec<&'static str> {
        let func = &self.emit.func;
        func.walk().into_iter().map(|op| shoal_ir::print::spell(&func.op(op).kind).0).collect()
    }

    /// Ends the function and holds it to the verifier.
    pub(crate) fn verify(mut self) -> String {
        self.emit.b().inferred(shoal_ir::OpKind::Return, &[], &[]);
        let text = self.emit.func.to_string();
        let module = shoal_ir::Module { funcs: vec![self.emit.func] };
        if let Err(problem) = shoal_ir::verify::verify(&module) {
            panic!("operations of the language are valid:\n{problem:?}\n{text}");
        }
        text
    }
}

/// The tensor in a value.
pub(crate) fn tensor(value: &Value) -> &Tensor {
    value.as_tensor().expect("a tensor")
}

/// The type of a tensor as users see it.
pub(crate) fn type_of(t: &Tensor) -> String {
    t.type_name()
}

/// The message of a failure.
pub(crate) fn message<T: std::fmt::Debug>(outcome: LowerResult<T>) -> String {
    outcome.expect_err("an error").into_diagnostic().expect("a diagnostic").message
}
