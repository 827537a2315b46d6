//! Making a failing kernel small enough to read.

use shoal_ir::effects;
use shoal_ir::op::OpKind;
use shoal_ir::{Builder, Const, Func, Module, OpId};

/// The module with as many operations taken out as possible such that `fails` still holds.
pub(crate) fn shrink(module: &Module, fails: &dyn Fn(&Module) -> bool) -> Module {
    let mut best = in_groups(module.clone(), fails);
    loop {
        let before = size(&best);
        for op in best.funcs[0].walk().into_iter().rev() {
            for change in [without, with_constants, with_operand] {
                if best.funcs[0].op(op).parent().is_some()
                    && let Some(smaller) = changed(&best, |func| change(func, op))
                    && fails(&smaller)
                {
                    best = smaller;
                    break;
                }
            }
        }
        if size(&best) == before {
            return best;
        }
    }
}

/// Takes out many operations that give nothing at once: halves, quarters, and so on.
fn in_groups(mut best: Module, fails: &dyn Fn(&Module) -> bool) -> Module {
    let mut length = size(&best);
    while length > 1 {
        length /= 2;
        let ops = best.funcs[0].walk();
        for group in ops.chunks(length) {
            let smaller = changed(&best, |func| {
                let taken: Vec<bool> = group.iter().map(|&op| without(func, op)).collect();
                taken.contains(&true)
            });
            if let Some(smaller) = smaller
                && fails(&smaller)
            {
                best = smaller;
            }
        }
    }
    best
}

/// The module after a change, if that made it smaller and left it whole.
fn changed(module: &Module, change: impl FnOnce(&mut Func) -> bool) -> Option<Module> {
    let mut candidate = module.clone();
    if !change(&mut candidate.funcs[0]) {
        return None;
    }
    (shoal_passes::pipeline::by_name("dce").expect("a pass").run)(&mut candidate, shoal::host_target());
    (size(&candidate) < size(module) && shoal_ir::verify(&candidate).is_ok()).then_some(candidate)
}

fn size(module: &Module) -> usize {
    module.funcs[0].walk().len()
}

/// Takes out an operation that gives nothing.
fn without(func: &mut Func, op: OpId) -> bool {
    let data = func.op(op);
    let removable = data.results().is_empty() && !effects::of_kind(&data.kind).terminator && data.parent().is_some();
    if removable {
        func.erase(op);
    }
    removable
}

/// Puts constants in the place of an operation's results.
fn with_constants(func: &mut Func, op: OpId) -> bool {
    let data = func.op(op);
    let results = data.results().to_vec();
    let constant = matches!(data.kind, OpKind::Const(_));
    if constant || results.is_empty() || results.iter().any(|&r| func.ty(r).number().is_none()) {
        return false;
    }
    for result in results {
        let ty = func.ty(result).clone();
        let number = ty.number().expect("a number");
        let one = Builder::before(func, op).constant(Const::from_i64(number, 1), ty);
        func.replace_all_uses(result, one);
    }
    func.erase(op);
    true
}

/// Puts an operand in the place of the result it has the type of.
fn with_operand(func: &mut Func, op: OpId) -> bool {
    let data = func.op(op);
    let &[result] = data.results() else { return false };
    let Some(&operand) = data.operands().iter().find(|&&v| func.ty(v) == func.ty(result)) else { return false };
    func.replace_all_uses(result, operand);
    func.erase(op);
    true
}
