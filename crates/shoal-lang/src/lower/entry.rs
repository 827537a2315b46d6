//! The kernel itself: from a specialisation to the parameters of an IR function.

use std::sync::Arc;

use shoal_ir::types::{Elem, Type};
use shoal_ir::{Facts, Func, FuncKind, MAX_WARPS, Module, OpKind};
use shoal_source::{Cancellation, Diagnostic, Diagnostics, similar};

use super::Lower;
use crate::lower_error::LowerResult;
use crate::module::{Function, Global, ModuleId};
use crate::options::Options;
use crate::program::{Lowered, Program};
use crate::spec::{ArgSpec, ArgType, ConstValue, Specialization};
use crate::syntax::ast::{Expr, Name, Param};
use crate::value::{Access, Descriptor, Tensor, Tuple, Value};

/// Lowers one specialisation of a kernel.
pub(crate) fn lower_kernel(program: &Program, f: &Function, spec: &Specialization) -> Result<Lowered, Diagnostics> {
    let mut options = spec.options.clone();
    options.debug = f.options.debug.unwrap_or(options.debug);
    if !options.num_warps.is_power_of_two() || options.num_warps > MAX_WARPS {
        let message = format!("`num_warps` must be a power of two up to {MAX_WARPS}, not {}", options.num_warps);
        return Err(Diagnostics::from(Diagnostic::error(f.def.name.span, message)));
    }
    let mut lower = Lower::new(program, &options, &spec.cancellation, f.module);
    let name = lower.fresh_name(f.name());
    lower.emit.func = Func::new(name.clone(), FuncKind::Kernel, f.def.name.span);
    lower.emit.func.gpu.num_warps = options.num_warps;
    lower.emit.region = lower.emit.func.body();
    match lower.kernel(f, spec) {
        Ok(()) if lower.errors.is_empty() => {}
        Ok(()) => return Err(lower.into_diagnostics()),
        Err(error) => {
            lower.report(error);
            return Err(lower.into_diagnostics());
        }
    }
    let mut funcs = vec![lower.emit.func];
    funcs.append(&mut lower.module.funcs);
    super::nesting::check(&funcs).map_err(Diagnostics::from)?;
    let mut module = Module { funcs };
    crate::lanes::unmark(&mut module);
    Ok(Lowered { module, kernel: name, notes: lower.emit.notes.into_iter().collect() })
}

impl Lower<'_> {
    fn kernel(&mut self, f: &Function, spec: &Specialization) -> LowerResult<()> {
        self.check_names(f, spec)?;
        let mut values = Vec::new();
        let mut missing = Vec::new();
        for param in &f.def.params {
            self.emit.span = param.name.span;
            let given = spec.args.iter().find(|(name, _)| **name == *param.name.name).map(|(_, arg)| arg);
            values.push(match (given, &param.default) {
                (Some(arg), _) => {
                    self.check_constexpr(f, param, arg)?;
                    self.parameter(f, &param.name.name, arg)?
                }
                (None, Some(default)) => self.in_module(f.module, |l| l.expr(default))?,
                (None, None) => {
                    missing.push(format!("`{}`", param.name.name));
                    Value::Invalid
                }
            });
        }
        if !missing.is_empty() {
            let what = if missing.len() == 1 { "a type or a value" } else { "types or values" };
            return Err(Diagnostic::error(
                f.def.name.span,
                format!("`{}` needs {what} for {}", f.name(), missing.join(", ")),
            )
            .label("these parameters have no default")
            .into());
        }
        let returned = self.function_body(f, values)?;
        if returned.is_dynamic() {
            return Err(Diagnostic::error(f.def.name.span, format!("the kernel `{}` returns a value", f.name()))
                .label("kernels return nothing")
                .help("write results to memory with `tl.store`")
                .into());
        }
        self.emit.span = f.def.name.span;
        self.emit.b().op(OpKind::Return, [], [], []);
        Ok(())
    }

    fn check_names(&self, f: &Function, spec: &Specialization) -> LowerResult<()> {
        for (name, _) in &spec.args {
            if !f.def.params.iter().any(|p| *p.name.name == **name) {
                let names = f.def.params.iter().map(|p| &*p.name.name);
                let diagnostic =
                    Diagnostic::error(f.def.name.span, format!("`{}` has no parameter `{name}`", f.name()));
                return Err(match similar(name, names) {
                    Some(close) => diagnostic.help(format!("did you mean `{close}`?")),
                    None => diagnostic,
                }
                .into());
            }
        }
        Ok(())
    }

    fn check_constexpr(&self, f: &Function, param: &Param, arg: &ArgSpec) -> LowerResult<()> {
        let annotation = param.annotation.as_ref().and_then(|a| self.program.language_name(f.module, a));
        let constexpr = annotation.as_deref() == Some("constexpr");
        if constexpr && has_value(arg) {
            return Err(Diagnostic::error(param.name.span, format!("`{}` is a `constexpr`", param.name.name))
                .label(format!("needs a value, got the type `{arg}`"))
                .help(format!("give it a value, such as `{}=128`", param.name.name))
                .into());
        }
        Ok(())
    }

    /// The value of a parameter inside the kernel.
    fn parameter(&mut self, f: &Function, name: &Name, arg: &ArgSpec) -> LowerResult<Value> {
        match arg {
            ArgSpec::Constant(c) => self.constant(f, name, c),
            ArgSpec::Tuple(parts) => Ok(Value::tuple(self.parts(f, name, parts)?)),
            ArgSpec::NamedTuple(class, parts) => {
                let items = self.parts(f, name, parts)?;
                let class = self.live_named_tuple(class)?;
                Ok(Value::Tuple(Tuple { items: items.into(), class: Some(class) }))
            }
            ArgSpec::Value { ty: ArgType::Scalar(s), divisible } => {
                let ty = Type::scalar(*s);
                let value = self.add_param(ty.clone(), *divisible);
                Ok(Value::Tensor(Tensor { value, ty, access: Access::ReadWrite }))
            }
            ArgSpec::Value { ty: ArgType::Pointer(p, access), divisible } => {
                let ty = Type::Elem(Elem::Ptr(*p));
                let value = self.add_param(ty.clone(), *divisible);
                Ok(Value::Tensor(Tensor { value, ty, access: *access }))
            }
            ArgSpec::Value { ty: ArgType::Descriptor(desc, _), .. } if desc.block.is_empty() => {
                Err(self.emit.lower_error(format!("the descriptor given for `{name}` has no dimensions")))
            }
            ArgSpec::Value { ty: ArgType::Descriptor(desc, access), .. } => {
                let ty = Type::Desc(desc.clone());
                let value = self.add_param(ty.clone(), 1);
                Ok(Value::Descriptor(Arc::new(Descriptor { value, ty, access: *access })))
            }
        }
    }

    fn add_param(&mut self, ty: Type, divisible: u64) -> shoal_ir::Value {
        let value = self.emit.func.add_param(self.emit.func.body(), ty);
        if divisible > 1 {
            self.emit.func.value_mut(value).facts = Facts::divisible(divisible);
        }
        value
    }

    fn parts(&mut self, f: &Function, name: &Name, parts: &[ArgSpec]) -> LowerResult<Vec<Value>> {
        parts.iter().map(|part| self.parameter(f, name, part)).collect()
    }

    fn constant(&mut self, f: &Function, name: &Name, value: &ConstValue) -> LowerResult<Value> {
        Ok(match value {
            ConstValue::Const(c) => Value::Const(c.clone()),
            ConstValue::Dtype(d) => Value::Dtype(d.clone()),
            ConstValue::Tuple(items) => {
                Value::tuple(items.iter().map(|v| self.constant(f, name, v)).collect::<LowerResult<Vec<_>>>()?)
            }
            ConstValue::Host(value) => self.host_value(value)?,
            ConstValue::Function(function) => {
                let function = Name::from(function.as_str());
                match self.program.module(f.module).globals.get(&function) {
                    Some(Global::Function(_) | Global::Import(_)) => self.global_value(f.module, &function)?.value,
                    _ => {
                        return Err(Diagnostic::error(
                            self.emit.span,
                            format!("`{function}`, given for `{name}`, is not a function of this file"),
                        )
                        .into());
                    }
                }
            }
        })
    }
}

fn has_value(arg: &ArgSpec) -> bool {
    match arg {
        ArgSpec::Value { .. } => true,
        ArgSpec::Constant(_) => false,
        ArgSpec::Tuple(parts) | ArgSpec::NamedTuple(_, parts) => parts.iter().any(has_value),
    }
}

/// The value of an expression of a file, if it is a constant.
pub(crate) fn constant_of(program: &Program, module: ModuleId, e: &Expr) -> Option<ConstValue> {
    let options = Options::default();
    let mut lower = Lower::new(program, &options, &Cancellation::default(), module);
    let value = lower.in_module(module, |l| l.expr(e)).ok()?;
    lower.as_constant(&value)
}

impl Lower<'_> {
    fn as_constant(&self, value: &Value) -> Option<ConstValue> {
        match value {
            Value::Const(c) => Some(ConstValue::Const(c.clone())),
            Value::Dtype(d) => Some(ConstValue::Dtype(d.clone())),
            _ if self.program.live.is_some() => self.to_host(value).map(ConstValue::Host),
            Value::Tuple(t) => {
                t.items.iter().map(|v| self.as_constant(v)).collect::<Option<_>>().map(ConstValue::Tuple)
            }
            Value::Function(f) => Some(ConstValue::Function(f.name().to_owned())),
            _ => value.as_const().cloned().map(ConstValue::Const),
        }
    }
}
