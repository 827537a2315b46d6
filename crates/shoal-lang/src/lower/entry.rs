//! The kernel itself: from a specialisation to the parameters of an IR function.

use std::sync::Arc;

use shoal_ir::types::{DescType, Elem, Ptr, Scalar, Type};
use shoal_ir::{Facts, Func, FuncKind, Module, OpKind};
use shoal_source::{Cancellation, Diagnostic, Diagnostics, similar};

use super::Lower;
use crate::lower_error::LowerResult;
use crate::module::{Function, Global, ModuleId};
use crate::options::Options;
use crate::program::{ArgRole, Lowered, LoweredArg, Program};
use crate::spec::{ArgSpec, ArgType, ConstValue, Specialization};
use crate::syntax::ast::{Expr, Name, Param};
use crate::value::{Access, Descriptor, Tensor, Tuple, Value};

/// Lowers one specialisation of a kernel.
pub(crate) fn lower_kernel(program: &Program, f: &Function, spec: &Specialization) -> Result<Lowered, Diagnostics> {
    let mut options = spec.options.clone();
    options.debug = f.options.debug.unwrap_or(options.debug);
    let mut lower = Lower::new(program, &options, &spec.cancellation, f.module);
    let name = lower.fresh_name(f.name());
    lower.emit.func = Func::new(name.clone(), FuncKind::Kernel, f.def.name.span);
    lower.emit.region = lower.emit.func.body();
    let mut args = Vec::new();
    match lower.kernel(f, spec, &mut args) {
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
    Ok(Lowered { module: Module { funcs }, kernel: name, args, notes: lower.emit.notes.into_iter().collect() })
}

impl Lower<'_> {
    fn kernel(&mut self, f: &Function, spec: &Specialization, args: &mut Vec<LoweredArg>) -> LowerResult<()> {
        self.check_names(f, spec)?;
        let mut values = Vec::new();
        let mut missing = Vec::new();
        for param in &f.def.params {
            self.emit.span = param.name.span;
            let given = spec.args.iter().find(|(name, _)| **name == *param.name.name).map(|(_, arg)| arg);
            values.push(match (given, &param.default) {
                (Some(arg), _) => {
                    self.check_constexpr(f, param, arg)?;
                    self.parameter(f, &param.name.name, arg, &mut Vec::new(), args)?
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
    fn parameter(
        &mut self,
        f: &Function,
        name: &Name,
        arg: &ArgSpec,
        path: &mut Vec<u32>,
        args: &mut Vec<LoweredArg>,
    ) -> LowerResult<Value> {
        match arg {
            ArgSpec::Constant(c) => self.constant(f, name, c),
            ArgSpec::Tuple(parts) => Ok(Value::tuple(self.parts(f, name, parts, path, args)?)),
            ArgSpec::NamedTuple(class, parts) => {
                let items = self.parts(f, name, parts, path, args)?;
                let class = self.live_named_tuple(class)?;
                Ok(Value::Tuple(Tuple { items: items.into(), class: Some(class) }))
            }
            ArgSpec::Value { ty, divisible } => {
                let mut add = |l: &mut Self, ty: Type, role: ArgRole, divisible: u64| {
                    let value = l.emit.func.add_param(l.emit.func.body(), ty.clone());
                    if divisible > 1 {
                        l.emit.func.value_mut(value).facts = Facts::divisible(divisible);
                    }
                    args.push(LoweredArg { param: name.to_string(), path: path.clone(), role, ty: ty.clone() });
                    value
                };
                match ty {
                    ArgType::Scalar(s) => {
                        let ty = Type::scalar(*s);
                        let value = add(self, ty.clone(), ArgRole::Value, *divisible);
                        Ok(Value::Tensor(Tensor { value, ty, access: Access::ReadWrite }))
                    }
                    ArgType::Pointer(p, access) => {
                        let ty = Type::Elem(Elem::Ptr(*p));
                        let value = add(self, ty.clone(), ArgRole::Value, *divisible);
                        Ok(Value::Tensor(Tensor { value, ty, access: *access }))
                    }
                    ArgType::Descriptor(desc) if desc.block.is_empty() => {
                        Err(self.emit.lower_error(format!("the descriptor given for `{name}` has no dimensions")))
                    }
                    ArgType::Descriptor(desc) => Ok(self.descriptor_parameter(desc, &mut add)),
                }
            }
        }
    }

    fn parts(
        &mut self,
        f: &Function,
        name: &Name,
        parts: &[ArgSpec],
        path: &mut Vec<u32>,
        args: &mut Vec<LoweredArg>,
    ) -> LowerResult<Vec<Value>> {
        let mut items = Vec::with_capacity(parts.len());
        for (i, part) in parts.iter().enumerate() {
            path.push(u32::try_from(i).unwrap_or(u32::MAX));
            items.push(self.parameter(f, name, part, path, args)?);
            path.pop();
        }
        Ok(items)
    }

    /// A descriptor arrives as pointer, sizes and strides, and is made at the kernel's beginning.
    fn descriptor_parameter(
        &mut self,
        desc: &DescType,
        add: &mut dyn FnMut(&mut Self, Type, ArgRole, u64) -> shoal_ir::Value,
    ) -> Value {
        let rank = desc.block.len();
        let base = add(self, Type::Elem(Elem::Ptr(Ptr::global(desc.elem))), ArgRole::DescriptorBase, 16);
        let sizes: Vec<_> =
            (0..rank).map(|i| add(self, Type::scalar(Scalar::I32), ArgRole::DescriptorSize(i as u32), 1)).collect();
        let mut strides: Vec<_> = (0..rank - 1)
            .map(|i| add(self, Type::scalar(Scalar::I64), ArgRole::DescriptorStride(i as u32), 1))
            .collect();
        strides.push(self.emit.b().int(1, Scalar::I64));
        let ty = Type::Desc(desc.clone());
        let operands: Vec<_> =
            std::iter::once(base).chain(sizes.iter().copied()).chain(strides.iter().copied()).collect();
        let value = self.emit.b().value_as(OpKind::MakeDesc, &operands, ty.clone());
        let tensors = |l: &Self, values: &[shoal_ir::Value]| -> Vec<Value> {
            values.iter().map(|&v| Value::Tensor(l.emit.tensor(v))).collect()
        };
        let (shape, strides) = (tensors(self, &sizes), tensors(self, &strides));
        Value::Descriptor(Arc::new(Descriptor { value, ty, shape, strides, access: Access::ReadWrite }))
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
