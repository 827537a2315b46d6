//! What a CPU cannot run, said before any code is made.

use shoal_ir::op::OpKind;
use shoal_ir::source::Diagnostic;
use shoal_ir::{Func, Type};

/// All operations of a kernel that have no meaning on a CPU.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other operations have code")]
pub(super) fn refusals(func: &Func) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for op in func.walk() {
        let data = func.op(op);
        let refuse = |what: &str| Diagnostic::error(data.span, what.to_string()).label("not available on a CPU");
        match &data.kind {
            OpKind::InlineAsm(_) => {
                found.push(refuse("inline assembly is written for one kind of GPU").help(
                    "guard it with a constexpr that is false on CPUs, or write it with operations of the language",
                ))
            }
            OpKind::MakeDesc | OpKind::DescLoad | OpKind::DescStore => {
                found.push(refuse(
                    "tensor descriptors reach the CPU backend as pointers: run the pass `lower_descriptors` first",
                ));
            }
            OpKind::ConvertLayout => found.push(refuse("a CPU has no lanes or warps to lay tiles out over")),
            OpKind::Call { callee } => {
                found.push(refuse(&format!(
                    "the call of `{callee}` reaches the CPU backend inlined: run the pass `inline` first"
                )));
            }
            _ => {}
        }
    }
    if func.params().iter().any(|&p| matches!(func.ty(p), Type::Desc(_) | Type::Token | Type::Tile(_))) {
        found.push(Diagnostic::error(
            func.span,
            "descriptor parameters reach the CPU backend as pointers: run the pass `lower_descriptors` first",
        ));
    }
    found
}
