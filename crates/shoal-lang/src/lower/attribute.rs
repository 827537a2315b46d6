//! `value.attr`.

use std::sync::Arc;

use shoal_ir::{Elem, Type};
use shoal_source::{Diagnostic, Span, similar};

use super::Lower;
use super::type_of::type_of;
use crate::builtin::{self, describe};
use crate::enums;
use crate::lower_error::{LowerError, LowerResult};
use crate::module::{Function, ModuleRef};
use crate::semantic::descriptor;
use crate::syntax::ast::{Ident, Name};
use crate::value::{Access, Class, Descriptor, Dtype, KnownClass, Method, MethodTarget, Tensor, Tuple, Value};

/// Methods of descriptors and the functions they stand for.
const DESCRIPTOR_METHODS: [(&str, &str); 10] = [
    ("load", "load_tensor_descriptor"),
    ("store", "store_tensor_descriptor"),
    ("gather", "descriptor.gather"),
    ("scatter", "descriptor.scatter"),
    ("atomic_add", "descriptor.atomic_add"),
    ("atomic_min", "descriptor.atomic_min"),
    ("atomic_max", "descriptor.atomic_max"),
    ("atomic_and", "descriptor.atomic_and"),
    ("atomic_or", "descriptor.atomic_or"),
    ("atomic_xor", "descriptor.atomic_xor"),
];

/// Methods of strings.
const STRING_METHODS: [&str; 6] = ["startswith", "endswith", "lower", "upper", "replace", "strip"];

impl Lower<'_> {
    /// `object.attr`.
    pub(super) fn attribute(&mut self, object: &Value, attr: &Ident, span: Span) -> LowerResult<Value> {
        let found = self.find_attribute(object, attr, span)?;
        found.ok_or_else(|| self.missing_attribute(object, attr))
    }

    /// `object.attr`, or `None` if there is no such thing.
    pub(super) fn find_attribute(&mut self, object: &Value, attr: &Ident, span: Span) -> LowerResult<Option<Value>> {
        let name = &*attr.name;
        match object {
            Value::Invalid => Err(LowerError::reported()),
            Value::Module(module) => self.name_of_module(module, attr, span).map(Some),
            Value::Tensor(t) => self.tensor_attribute(t, attr, span),
            Value::Dtype(d) => Ok(match d.attribute(name) {
                Some(value) => Some(value),
                // A `constexpr` is what it holds, and may be asked for it.
                None if name == "value" => Some(object.clone()),
                None if name == "with_element_ty" || d.method(name).is_some() => Some(named_method(object, attr, span)),
                None => None,
            }),
            Value::Const(c) => Ok(match name {
                "value" => Some(object.clone()),
                "type" => Some(type_of(object)),
                _ if matches!(c, crate::value::Const::Str(_)) && STRING_METHODS.contains(&name) => {
                    Some(named_method(object, attr, span))
                }
                "bit_length" | "bit_count" if c.as_int().is_some() => Some(named_method(object, attr, span)),
                _ => None,
            }),
            Value::Tuple(t) => Ok(tuple_attribute(t, object, attr, span)),
            Value::Aggregate(a) => {
                if let Some(i) = a.class.fields.iter().position(|f| *f.name == *name) {
                    return Ok(a.fields.get(i).cloned());
                }
                let named = |methods: &[(Name, Function)]| {
                    methods.iter().find(|(n, _)| *n == attr.name).map(|(_, f)| Value::Function(f.clone()))
                };
                let method = named(&a.class.methods).map(|f| bound(object, f, span));
                Ok(method.or_else(|| named(&a.class.statics)))
            }
            Value::Descriptor(d) => Ok(self.descriptor_attribute(d, object, attr, span)),
            Value::BlockPtr(b) => Ok(match name {
                "load" | "store" | "advance" => builtin::find(name).map(|b| bound(object, Value::Builtin(b), span)),
                // Kernels ask a block pointer what it points to: `x.to(p.dtype.element_ty)`.
                "dtype" | "type" => Some(Value::Dtype(Dtype { ty: b.base.ty.clone(), access: b.base.access })),
                _ => None,
            }),
            Value::Member(m) => Ok(match name {
                "name" => Some(Value::str(&m.name)),
                "value" => Some(m.value.clone()),
                _ => None,
            }),
            Value::Class(class) => Ok(class_attribute(class, name)),
            Value::Function(f) => Ok(match name {
                "__name__" => Some(Value::str(f.name())),
                "value" => Some(object.clone()),
                _ => None,
            }),
            Value::Object(o) => self.object_attribute(o, name),
            Value::Dict(_) => {
                Ok(matches!(name, "get" | "keys" | "values" | "items").then(|| named_method(object, attr, span)))
            }
            Value::Vector(v) => Ok(match name {
                "dtype" => v
                    .items()
                    .first()
                    .and_then(|t| t.ty.elem())
                    .map(|e| Value::Dtype(Dtype { ty: Type::Elem(e), access: Access::ReadWrite })),
                "vec_size" => Some(Value::int(v.items().len() as i128)),
                "recast" | "to" => {
                    builtin::find(&format!("vector.{name}")).map(|b| bound(object, Value::Builtin(b), span))
                }
                _ => None,
            }),
            Value::Host(_)
            | Value::Slice(_)
            | Value::Range(_)
            | Value::Condition(_)
            | Value::Token(_)
            | Value::Builtin(_)
            | Value::Method(_) => Ok(None),
        }
    }

    fn name_of_module(&mut self, module: &ModuleRef, attr: &Ident, span: Span) -> LowerResult<Value> {
        match self.module_attribute(module, &attr.name)? {
            Some(Value::Host(what)) => Err(self.host_only(&what, attr.span, "cannot be used in a kernel")),
            Some(value) => Ok(value),
            None => Err(self.no_such_attribute(module, &attr.name, attr.span, span)),
        }
    }

    fn tensor_attribute(&mut self, t: &Tensor, attr: &Ident, span: Span) -> LowerResult<Option<Value>> {
        let object = Value::Tensor(t.clone());
        // To its thread a value of each lane is a scalar.
        let seen =
            if crate::lanes::is_per_lane(t) { t.ty.elem().map_or(t.ty.clone(), Type::Elem) } else { t.ty.clone() };
        Ok(match &*attr.name {
            "shape" if seen != t.ty => Some(Value::tuple(Vec::new())),
            "type" if seen != t.ty => Some(Value::Dtype(Dtype { ty: seen, access: t.access })),
            "numel" if seen != t.ty => Some(Value::int(1)),
            "shape" => Some(Value::ints(t.shape())),
            "dtype" => t.ty.elem().map(|e| Value::Dtype(Dtype { ty: Type::Elem(e), access: t.access })),
            "type" => Some(Value::Dtype(Dtype { ty: t.ty.clone(), access: t.access })),
            "numel" => Some(Value::int(t.shape().iter().map(|&d| i128::from(d)).product::<i128>())),
            "T" => Some(self.call_builtin_named("permute", vec![object, Value::int(1), Value::int(0)])?),
            "to" => builtin::find("cast").map(|b| bound(&object, Value::Builtin(b), span)),
            "logical_and" | "logical_or" => Some(named_method(&object, attr, span)),
            name if builtin::METHODS.contains(&name) => match builtin::find(name) {
                Some(b) => Some(bound(&object, Value::Builtin(b), span)),
                None => {
                    let language = crate::module::ModuleRef::Known(crate::module::KnownModule::Language);
                    self.module_attribute(&language, name)?.map(|f| bound(&object, f, span))
                }
            },
            _ => None,
        })
    }

    fn descriptor_attribute(&mut self, d: &Descriptor, object: &Value, attr: &Ident, span: Span) -> Option<Value> {
        let Type::Desc(ty) = &d.ty else { return None };
        let dtype = |ty| Value::Dtype(Dtype { ty, access: Access::ReadWrite });
        match &*attr.name {
            "shape" => Some(descriptor::shape(&mut self.emit, d)),
            "strides" => Some(descriptor::strides(&mut self.emit, d)),
            "block_shape" => Some(Value::ints(&ty.block)),
            "dtype" => Some(dtype(Type::scalar(ty.elem))),
            "block_type" => Some(dtype(Type::tile(Elem::Scalar(ty.elem), &ty.block))),
            name => {
                let (_, function) = DESCRIPTOR_METHODS.iter().find(|(method, _)| *method == name)?;
                builtin::find(function).map(|b| bound(object, Value::Builtin(b), span))
            }
        }
    }

    fn missing_attribute(&self, object: &Value, attr: &Ident) -> LowerError {
        let diagnostic = Diagnostic::error(attr.span, format!("{} has no attribute `{}`", describe(object), attr.name))
            .label("unknown attribute");
        let names: Vec<&str> = match object {
            Value::Tensor(_) => {
                builtin::METHODS.iter().copied().chain(["shape", "dtype", "type", "numel", "T", "to"]).collect()
            }
            Value::Descriptor(_) => ["shape", "strides", "block_shape", "dtype", "load", "store"].to_vec(),
            Value::BlockPtr(_) => ["dtype", "type", "load", "store", "advance"].to_vec(),
            Value::Tuple(t) => t.class.iter().flat_map(|c| c.fields.iter().map(|f| &*f.name)).collect(),
            Value::Aggregate(a) => a.class.fields.iter().map(|f| &*f.name).collect(),
            Value::Class(Class::Enum(e)) => e.members.iter().map(|m| &*m.name).collect(),
            _ => Vec::new(),
        };
        let pointer = object.as_tensor().is_some_and(|t| t.ty.elem().is_some_and(|e| e.ptr().is_some()));
        if pointer && matches!(&*attr.name, "size" | "stride" | "strides" | "ndim" | "itemsize" | "nbytes" | "data_ptr")
        {
            return diagnostic
                .help("a kernel gets the address alone: pass sizes and strides as arguments of their own")
                .into();
        }
        match similar(&attr.name, names.into_iter()) {
            Some(close) => diagnostic.help(format!("did you mean `{close}`?")).into(),
            None => diagnostic.into(),
        }
    }
}

fn bound(receiver: &Value, target: Value, span: Span) -> Value {
    Value::Method(Arc::new(Method { receiver: receiver.clone(), span, target: MethodTarget::Function(target) }))
}

fn named_method(receiver: &Value, attr: &Ident, span: Span) -> Value {
    let target = MethodTarget::Named(attr.name.clone());
    Value::Method(Arc::new(Method { receiver: receiver.clone(), span, target }))
}

fn tuple_attribute(tuple: &Tuple, object: &Value, attr: &Ident, span: Span) -> Option<Value> {
    let name = &*attr.name;
    let Some(class) = &tuple.class else {
        return match name {
            "values" | "value" => Some(object.clone()),
            "type" => Some(type_of(object)),
            "index" | "count" => Some(named_method(object, attr, span)),
            _ => None,
        };
    };
    match class.fields.iter().position(|field| *field.name == *name) {
        Some(at) => tuple.items.get(at).cloned(),
        None if name == "type" => Some(type_of(object)),
        None => (name == "_replace").then(|| named_method(object, attr, span)),
    }
}

fn class_attribute(class: &Class, name: &str) -> Option<Value> {
    match class {
        Class::Enum(e) => e.members.iter().find(|m| *m.name == *name).cloned().map(Value::Member),
        Class::NamedTuple(c) => match name {
            "_fields" => Some(Value::tuple(c.fields.iter().map(|f| Value::str(&f.name)).collect())),
            "__name__" => Some(Value::str(&c.name)),
            _ => None,
        },
        Class::Aggregate(c) => match c.methods.iter().chain(&c.statics).find(|(n, _)| **n == *name) {
            Some((_, f)) => Some(Value::Function(f.clone())),
            None => (name == "__name__").then(|| Value::str(&c.name)),
        },
        Class::Known(KnownClass::Dtype) => match name {
            "KIND" => Some(enums::KIND.class()),
            "SIGNEDNESS" => Some(enums::SIGNEDNESS.class()),
            _ => dtype_list(name),
        },
        Class::Known(_) => None,
    }
}

/// `tl.dtype.SINT_TYPES` and its relatives: names of types.
fn dtype_list(name: &str) -> Option<Value> {
    use shoal_ir::Scalar;
    let keep: fn(Scalar) -> bool = match name {
        "SINT_TYPES" => Scalar::is_signed_int,
        "UINT_TYPES" => Scalar::is_unsigned_int,
        "FP_TYPES" => Scalar::is_float,
        "STANDARD_FP_TYPES" => |s| s.is_float() && !s.is_fp8(),
        _ => return None,
    };
    let names = Scalar::ALL.into_iter().filter(|s| keep(*s)).map(|s| Value::str(&Dtype::scalar(s).to_string()));
    Some(Value::tuple(names.collect()))
}

/// An attribute name that no source text holds, for `getattr`.
pub(super) fn made_ident(name: &Name, span: Span) -> Ident {
    Ident { name: name.clone(), span }
}
