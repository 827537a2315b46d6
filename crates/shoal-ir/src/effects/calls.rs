//! What calls do: the effects of the functions of a module.

use std::collections::{HashMap, HashSet};

use cranelift_entity::SecondaryMap;

use super::{Effects, of_access, waits};
use crate::class::{OpClass, Structure};
use crate::func::{Func, Module, OpId, Region};

/// The effects of the functions of a module, for those who look at calls. Without a module (its default), a call has
/// every effect.
#[derive(Clone, Debug, Default)]
pub struct CallEffects {
    by_name: HashMap<String, Effects>,
}

/// The effects of every operation of a function, those of its regions included.
pub type EffectTable = SecondaryMap<OpId, Effects>;

impl CallEffects {
    /// Looks through all functions, callees before callers. Functions that end up calling themselves have every effect.
    pub fn of_module(module: &Module) -> CallEffects {
        let by_name: HashMap<&str, &Func> = module.funcs.iter().map(|f| (f.name.as_str(), f)).collect();
        let mut known = CallEffects::default();
        let mut open = HashSet::new();
        for func in &module.funcs {
            known.add(&by_name, func, &mut open);
        }
        known
    }

    fn add<'m>(&mut self, by_name: &HashMap<&'m str, &'m Func>, func: &'m Func, open: &mut HashSet<&'m str>) {
        if self.by_name.contains_key(&func.name) || !open.insert(&func.name) {
            return;
        }
        for op in func.walk() {
            if let OpClass::Call(callee) = func.op(op).kind.class()
                && let Some(callee) = by_name.get(callee)
            {
                self.add(by_name, callee, open);
            }
        }
        let effects = self.of_region(func, func.body());
        self.by_name.insert(func.name.clone(), effects);
    }

    /// The effects of a call of this function.
    pub fn of_func(&self, name: &str) -> Effects {
        self.by_name.get(name).copied().unwrap_or(Effects::UNKNOWN)
    }

    /// The effects of an operation by itself, without its regions.
    pub fn of_op_alone(&self, func: &Func, op: OpId) -> Effects {
        match func.op(op).kind.class() {
            OpClass::Call(callee) => self.of_func(callee),
            OpClass::Source(_)
            | OpClass::Elementwise(_)
            | OpClass::Shape(_)
            | OpClass::Tile(_)
            | OpClass::Apply(_)
            | OpClass::Access(_)
            | OpClass::Atomic(..)
            | OpClass::Desc(_)
            | OpClass::Comm(_)
            | OpClass::Effect(_)
            | OpClass::Control(_)
            | OpClass::Terminator(_) => of_access(func, op),
        }
    }

    /// The effects of an operation, those of its regions included.
    pub fn of_op(&self, func: &Func, op: OpId) -> Effects {
        self.with_regions(func, op, &mut |region| self.of_region(func, region))
    }

    /// The effects of a region's operations, its terminator apart.
    pub fn of_region(&self, func: &Func, region: Region) -> Effects {
        let all = func.region(region).ops().iter().fold(Effects::PURE, |all, &op| all.union(self.of_op(func, op)));
        Effects { terminator: false, ..all }
    }

    /// The effects of all operations, each looked at once.
    pub fn table(&self, func: &Func) -> EffectTable {
        let mut table = EffectTable::with_capacity(func.num_ops());
        self.fill(func, func.body(), &mut table);
        table
    }

    fn fill(&self, func: &Func, region: Region, table: &mut EffectTable) -> Effects {
        let mut all = Effects::PURE;
        for &op in func.region(region).ops() {
            table[op] = self.with_regions(func, op, &mut |region| self.fill(func, region, table));
            all = all.union(table[op]);
        }
        Effects { terminator: false, ..all }
    }

    fn with_regions(&self, func: &Func, op: OpId, of_region: &mut dyn FnMut(Region) -> Effects) -> Effects {
        let data = func.op(op);
        let alone = self.of_op_alone(func, op);
        match (Structure::of(&data.kind), data.regions()) {
            (Structure::While, &[before, body]) => {
                let inside = (of_region(before), of_region(body));
                let watches = waits::watches(func, op, inside);
                let all = alone.union(inside.0).union(inside.1);
                Effects { waits: all.waits || watches, ..all }
            }
            (_, regions) => regions.iter().fold(alone, |all, &region| all.union(of_region(region))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn module(text: &str) -> Module {
        parse::module(text, shoal_source::Span::NONE.file).expect("the text parses")
    }

    const CALLS: &str = r#"
func @square(%0: f32) -> (f32) noinline {
  %1 = mul (%0, %0) : f32
  return (%1)
}
func @flag(%0: ptr<i32>, %1: i32) noinline {
  atomic_store {sem = release, scope = sys} (%0, %1)
  return ()
}
func @wait(%0: ptr<i32>, %1: i32) noinline {
  %2 = atomic_poll {sem = acquire, scope = gpu} (%0, %1) : i1
  return ()
}
func @both(%0: ptr<i32>, %1: i32) noinline {
  call {callee = "flag"} (%0, %1)
  call {callee = "wait"} (%0, %1)
  return ()
}
func @endless() noinline {
  call {callee = "endless"} ()
  return ()
}
"#;

    #[test]
    fn a_call_does_what_its_function_does() {
        use crate::op::{Scope, Sem};
        let calls = CallEffects::of_module(&module(CALLS));
        assert!(calls.of_func("square").is_pure());
        let flag = calls.of_func("flag");
        assert_eq!((flag.order, flag.waits, flag.reads.any()), (Some((Sem::Release, Scope::Sys)), false, false));
        let both = calls.of_func("both");
        assert_eq!((both.order, both.waits), (Some((Sem::AcqRel, Scope::Sys)), true));
        assert_eq!(calls.of_func("endless"), Effects::UNKNOWN);
        assert_eq!(calls.of_func("elsewhere"), Effects::UNKNOWN);
    }

    #[test]
    fn a_table_says_what_each_operation_says() {
        let module = module(CALLS);
        let calls = CallEffects::of_module(&module);
        for func in &module.funcs {
            let table = calls.table(func);
            for op in func.walk() {
                assert_eq!(table[op], calls.of_op(func, op));
            }
        }
    }
}
