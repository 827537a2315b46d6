//! How deep regions nest once all calls are inlined: what comes after lowering walks them by recursion, so there is a
//! limit, and whoever reaches it is told.

use std::collections::HashMap;

use shoal_ir::{Func, OpKind};
use shoal_source::Diagnostic;

/// How deep branches and loops may nest, those of called functions included.
pub(super) const MAX_NESTING: u32 = 320;

/// Refuses functions that nest too deep; the first one is the kernel.
pub(super) fn check(funcs: &[Func]) -> Result<(), Diagnostic> {
    let mut known = HashMap::new();
    match funcs.first() {
        Some(kernel) if depth(kernel, funcs, &mut known) > MAX_NESTING => {
            let message = format!("branches and loops nest deeper than {MAX_NESTING} levels");
            Err(Diagnostic::error(kernel.span, message)
                .label("in this kernel, with the functions it calls")
                .help("a `return` in a branch puts all that follows into the other branch: return once, at the end"))
        }
        _ => Ok(()),
    }
}

/// How deep a function nests. Calls nest less deep than lowering allows, so this may follow them by recursion.
fn depth<'f>(func: &'f Func, funcs: &'f [Func], known: &mut HashMap<&'f str, u32>) -> u32 {
    if let Some(&depth) = known.get(func.name.as_str()) {
        return depth;
    }
    let mut deepest = 0;
    let mut open = vec![(func.body(), 0u32)];
    while let Some((region, level)) = open.pop() {
        deepest = deepest.max(level);
        for &op in func.region(region).ops() {
            let op = func.op(op);
            open.extend(op.regions().iter().map(|&inner| (inner, level + 1)));
            if let OpKind::Call { callee, .. } = &op.kind
                && let Some(callee) = funcs.iter().find(|f| f.name == *callee)
            {
                deepest = deepest.max(level.saturating_add(depth(callee, funcs, known)));
            }
        }
    }
    known.insert(&func.name, deepest);
    deepest
}
