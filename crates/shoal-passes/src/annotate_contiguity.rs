//! **What.** Writes what [`contiguity`](crate::contiguity) finds into the values' facts, where it says something.
//!
//! ```text
//! %3 = iota {start = 0} () : tile<128xi32>
//!   ==>
//! %3 = iota {start = 0} () : tile<128xi32> {divisible = [16777216], contiguous = [128]}
//! ```
//!
//! **Why here.** Last before code generation: backends read facts only, and any rewrite after this would lose some.

use shoal_ir::{Facts, Func, Module, OpKind, Type, Value};
use smallvec::SmallVec;

use crate::contiguity::{AxisInfo, analyze};

/// Annotates every function.
pub fn annotate_contiguity(module: &mut Module) {
    for func in &mut module.funcs {
        annotate(func);
    }
}

fn annotate(func: &mut Func) {
    let infos = analyze(func);
    let mut values: Vec<Value> = func.params().to_vec();
    for op in func.walk() {
        let data = func.op(op);
        // A constant says it all itself.
        if !matches!(data.kind, OpKind::Const(_)) {
            values.extend_from_slice(data.results());
        }
        for &region in data.regions() {
            values.extend_from_slice(func.region(region).params());
        }
    }
    for value in values {
        if let Some(info) = infos.find(value)
            && !is_float(func.ty(value))
        {
            let facts = facts_of(info);
            func.value_mut(value).facts.merge(&facts);
        }
    }
}

fn is_float(ty: &Type) -> bool {
    ty.number().is_some_and(shoal_ir::Scalar::is_float)
}

fn facts_of(info: &AxisInfo) -> Facts {
    let worth = |list: &SmallVec<[u64; 2]>| if list.iter().any(|&n| n > 1) { list.clone() } else { SmallVec::new() };
    Facts {
        divisible: worth(&info.divisibility),
        contiguous: worth(&info.contiguity),
        constant: worth(&info.constancy),
    }
}
