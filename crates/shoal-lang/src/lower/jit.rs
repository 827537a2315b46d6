//! Calls of `@jit` functions: one IR function for each combination of argument types and compile-time values.

use std::fmt::Write as _;

use shoal_ir::{Func, FuncKind, OpKind};
use shoal_source::{Diagnostic, Span};

use super::Lower;
use super::frame::Frame;
use crate::builtin::Given;
use crate::emit::Emit;
use crate::lower_error::{LowerError, LowerResult};
use crate::module::Function;
use crate::value::Value;

/// A specialisation of a `@jit` function.
#[derive(Debug, Clone)]
pub(super) enum Callee {
    /// Its body is being lowered.
    Running,
    /// It is in the module, under this name, with this weight; the value stands for what it returns.
    Done { name: String, weight: u64, returns: Box<Value> },
    /// It has errors, which were reported.
    Failed,
}

impl Lower<'_> {
    /// Calls the specialisation of `f` for these arguments, lowering it first if it is new.
    pub(super) fn call_jit(&mut self, f: &Function, args: Vec<Value>, span: Span) -> LowerResult<Value> {
        // Code that only some lanes run stands where they run it.
        if self.emit.active.is_some() {
            let (outer_span, copies) = (self.emit.span, self.copies);
            let value = self.in_call(span, f.name(), |l| l.function_body(f, args));
            self.emit.span = outer_span;
            self.copies = copies;
            return value;
        }
        let mut key = f.key();
        for arg in &args {
            let _ = write!(key, "|{}", arg.type_name());
        }
        self.text_visited(key.len())?;
        match self.callees.get(&key) {
            Some(Callee::Done { .. }) => {}
            Some(Callee::Failed) => return Err(LowerError::reported()),
            Some(Callee::Running) => return Err(endless_recursion(f, span)),
            None => {
                self.callees.insert(key.clone(), Callee::Running);
                let lowered = self.in_call(span, f.name(), |l| l.lower_callee(f, &args));
                let callee = match lowered {
                    Ok((name, weight, returns)) => Callee::Done { name, weight, returns: Box::new(returns) },
                    Err(error) => {
                        self.callees.insert(key, Callee::Failed);
                        return Err(error);
                    }
                };
                self.callees.insert(key.clone(), callee);
            }
        }
        let Some(Callee::Done { name, weight, returns }) = self.callees.get(&key).cloned() else {
            return Err(LowerError::reported());
        };
        if f.options.noinline && args.iter().any(has_tile) {
            return Err(Diagnostic::error(span, format!("`{}` is `noinline` and gets a tile", f.name()))
                .help("functions that stay calls take scalars only: remove `noinline=True`")
                .into());
        }
        let mut operands = Vec::new();
        args.iter().for_each(|a| a.leaves(&mut operands));
        let types = self.module.func(&name).map(|func| func.results.clone()).unwrap_or_default();
        self.emit.span = span;
        let op = self.emit.b().op(OpKind::Call { callee: name }, operands, types, []);
        let results = self.emit.func.op(op).results().to_vec();
        self.weigh_call(weight, span)?;
        Ok(refill(&returns, &results))
    }

    /// Lowers one specialisation into a function of its own; its name, its weight and what it returns.
    fn lower_callee(&mut self, f: &Function, args: &[Value]) -> LowerResult<(String, u64, Value)> {
        let name = self.fresh_name(f.name());
        let mut func = Func::new(name.clone(), FuncKind::Device, f.def.name.span);
        func.noinline = f.options.noinline;
        let region = func.body();
        // Parameters take the types of the caller's values, so they are made before the caller's function is put aside.
        let params: Vec<Value> = args
            .iter()
            .map(|arg| {
                let mut leaves = Vec::new();
                arg.leaves(&mut leaves);
                let mut new = leaves.into_iter().map(|leaf| func.add_param(region, self.emit.func.ty(leaf).clone()));
                let mut next = || new.next().unwrap_or_else(|| shoal_ir::Value::from_u32(0));
                arg.with_leaves(&mut next)
            })
            .collect();
        let outer_func = std::mem::replace(&mut self.emit.func, func);
        let outer_region = std::mem::replace(&mut self.emit.region, region);
        let (outer_span, copies) = (self.emit.span, self.copies);
        let outer_size = self.budget.enter_function();
        let mut result = self.function_body(f, params);
        if let Ok(value) = &result {
            self.emit.span = f.def.name.span;
            self.return_value(value);
            if let Err(error) = self.weigh_call(0, f.def.name.span) {
                result = Err(error);
            }
        }
        let weight = self.budget.leave_function(outer_size);
        self.emit.span = outer_span;
        self.copies = copies;
        self.emit.region = outer_region;
        let func = std::mem::replace(&mut self.emit.func, outer_func);
        let value = result?;
        self.module.funcs.push(func);
        Ok((name, weight, value))
    }

    /// Ends the function under construction.
    pub(super) fn return_value(&mut self, value: &Value) {
        let mut leaves = Vec::new();
        value.leaves(&mut leaves);
        self.emit.func.results = leaves.iter().map(|&v| self.emit.func.ty(v).clone()).collect();
        self.emit.b().op(OpKind::Return, leaves, [], []);
    }

    /// Lowers the body of `f` at the current place with these values as arguments; gives what it returns.
    pub(super) fn function_body(&mut self, f: &Function, args: Vec<Value>) -> LowerResult<Value> {
        let mut frame = Frame::kernel(f.module).of(f);
        for (param, value) in f.def.params.iter().zip(args) {
            name_leaves(&mut self.emit, &param.name.name, &value);
            frame.bind(param.name.name.clone(), value, param.name.span);
        }
        let outer = std::mem::replace(&mut self.frame, frame);
        let errors = self.errors.len();
        let ended = std::mem::replace(&mut self.ended, false);
        let value = self.body(&f.def.body);
        self.ended = ended;
        self.frame = outer;
        if self.errors.len() > errors { Err(LowerError::reported()) } else { value }
    }

    /// Lowers a `@jit` function into the region under construction instead of calling it: for the combine functions of
    /// `reduce`, `associative_scan` and `map_elementwise`.
    pub(super) fn lower_inline(&mut self, f: &Function, args: Vec<Value>, span: Span) -> LowerResult<Value> {
        let given = args.into_iter().map(|value| Given::positional(value, span)).collect();
        let args = self.bind_function(f, given, span)?;
        let (outer_span, copies) = (self.emit.span, self.copies);
        let value = self.in_call(span, f.name(), |l| l.function_body(f, args));
        self.emit.span = outer_span;
        self.copies = copies;
        value
    }

    /// A name that no other function of the IR module has: specialisations are numbered.
    pub(super) fn fresh_name(&mut self, name: &str) -> String {
        let count = self.func_names.entry(name.to_owned()).or_insert(0);
        *count += 1;
        if *count == 1 { name.to_owned() } else { format!("{name}.{}", *count - 1) }
    }
}

fn has_tile(value: &Value) -> bool {
    match value {
        Value::Tensor(t) => !t.is_scalar(),
        Value::Tuple(t) => t.items.iter().any(has_tile),
        Value::Aggregate(a) => a.fields.iter().any(has_tile),
        _ => false,
    }
}

/// A value with new leaves in order.
pub(super) fn refill(value: &Value, leaves: &[shoal_ir::Value]) -> Value {
    let mut rest = leaves.iter().copied();
    value.with_leaves(&mut || rest.next().unwrap_or_else(|| shoal_ir::Value::from_u32(0)))
}

/// Gives the user's name to IR values that have none.
pub(super) fn name_leaves(emit: &mut Emit<'_>, name: &str, value: &Value) {
    let mut leaves = Vec::new();
    value.leaves(&mut leaves);
    for leaf in leaves {
        let slot = &mut emit.func.value_mut(leaf).name;
        if slot.is_none() {
            *slot = Some(name.into());
        }
    }
}

fn endless_recursion(f: &Function, span: Span) -> LowerError {
    Diagnostic::error(span, format!("`{}` calls itself with the same types", f.name()))
        .label("this recursion would never end")
        .with_label(f.def.name.span, "defined here")
        .help("recursion must change a `constexpr` argument at each level and stop at an `if` on it")
        .into()
}
