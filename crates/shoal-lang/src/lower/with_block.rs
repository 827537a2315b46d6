//! `with` statements: regions of code for single threads.

use shoal_ir::OpKind;
use shoal_source::{Diagnostic, Kind};

use super::Lower;
use crate::lower_error::LowerResult;
use crate::syntax::ast::{Expr, ExprKind, Stmt};
use crate::value::Value;

impl Lower<'_> {
    /// `with simt_exec_region() as (thread, threads): body`. All lanes meet before and after it.
    pub(super) fn with_block(&mut self, context: &Expr, target: Option<&Expr>, body: &[Stmt]) -> LowerResult<()> {
        let entered = match &context.kind {
            ExprKind::Call { func, .. } => match self.expr(func)? {
                Value::Builtin(b) if b.name == "simt_exec_region" => Some(self.expr(context)?),
                _ => None,
            },
            _ => None,
        };
        let Some(value) = entered else {
            return Err(Diagnostic::error(context.span, "kernels have no `with` statements but `simt_exec_region()`")
                .kind(Kind::Unsupported)
                .label("not supported")
                .help("call the functions directly")
                .into());
        };
        if let Some(target) = target {
            self.bind_target(target, &value)?;
        }
        self.plain_block(body);
        self.emit.span = context.span;
        self.emit.b().inferred(OpKind::Barrier, &[], &[]);
        Ok(())
    }
}
