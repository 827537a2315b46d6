//! What a CPU cannot run, said before any code is made.

use shoal_ir::class::{ElementwiseOp, OpClass};
use shoal_ir::op::OpKind;
use shoal_ir::source::{Diagnostic, Span};
use shoal_ir::{Func, Type};

/// All operations of a kernel that have no meaning on a CPU.
pub(super) fn refusals(func: &Func) -> Vec<Diagnostic> {
    let refusal = |op| Some(reason(&func.op(op).kind)?.refuse(func.op(op).span));
    let mut found: Vec<Diagnostic> = func.walk().into_iter().filter_map(refusal).collect();
    if func.params().iter().any(|&p| matches!(func.ty(p), Type::Desc(_) | Type::Token | Type::Tile(_))) {
        found.push(Diagnostic::error(
            func.span,
            "descriptor parameters reach the CPU backend as pointers: run the pass `lower_descriptors` first",
        ));
    }
    found
}

/// Why an operation is refused.
enum Reason<'k> {
    /// Its meaning is known to one kind of GPU only.
    Assembly,
    /// A pass takes it apart first.
    Descriptor,
    /// A pass inlines it first.
    Call(&'k str),
}

fn reason(kind: &OpKind) -> Option<Reason<'_>> {
    match kind.class() {
        OpClass::Elementwise(ElementwiseOp::InlineAsm(_)) => Some(Reason::Assembly),
        OpClass::Desc(_) => Some(Reason::Descriptor),
        OpClass::Call(callee) => Some(Reason::Call(callee)),
        OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Access(_)
        | OpClass::Atomic(..)
        | OpClass::Comm(_)
        | OpClass::Effect(_)
        | OpClass::Control(_)
        | OpClass::Terminator(_) => None,
    }
}

impl Reason<'_> {
    fn refuse(self, span: Span) -> Diagnostic {
        let (text, help) = match self {
            Reason::Assembly => (
                "inline assembly is written for one kind of GPU".to_owned(),
                Some("guard it with a constexpr that is false on CPUs, or write it with operations of the language"),
            ),
            Reason::Descriptor => (
                "tensor descriptors reach the CPU backend as pointers: run the pass `lower_descriptors` first"
                    .to_owned(),
                None,
            ),
            Reason::Call(callee) => {
                (format!("the call of `{callee}` reaches the CPU backend inlined: run the pass `inline` first"), None)
            }
        };
        let refused = Diagnostic::error(span, text).label("not available on a CPU");
        match help {
            Some(help) => refused.help(help),
            None => refused,
        }
    }
}
