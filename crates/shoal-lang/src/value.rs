//! What an expression is while a kernel is lowered.
//!
//! Kernel code is partially evaluated Python: some values live on the device ([`Value::Tensor`]), the others exist only
//! at compile time. A value that lives on the device is a *leaf* IR value, or is made of leaves: [`Value::leaves`]
//! lists them and [`Value::with_leaves`] puts others in their place, which is how values cross the borders of regions
//! and functions.

use std::fmt;
use std::sync::Arc;

use shoal_ir::Type;
use shoal_source::Span;

use crate::builtin::Builtin;
use crate::host::{HostEnum, HostNamedTuple, HostObject};
use crate::module::{Function, ModuleRef};
use crate::semantic::vector::Vector;
use crate::syntax::ast::Name;

/// What an expression is while a kernel is lowered.
#[derive(Debug, Clone)]
pub enum Value {
    /// A number, a pointer or a tile of them on the device.
    Tensor(Tensor),
    /// A Python constant.
    Const(Const),
    /// A type of device values, such as `tl.float32`.
    Dtype(Dtype),
    /// A tuple, a list or a named tuple.
    Tuple(Tuple),
    /// `a:b:c` in a subscript.
    Slice(Arc<Slice>),
    /// Python's `range(...)`, or `tl.range`/`tl.static_range` with options.
    Range(Arc<Range>),
    /// The condition of a `while` with options.
    Condition(Arc<Condition>),
    /// A tensor descriptor.
    Descriptor(Arc<Descriptor>),
    /// A block pointer: a front-end aggregate that becomes pointers and a mask at each use.
    BlockPtr(Arc<BlockPtr>),
    /// A few numbers that each thread holds.
    Vector(Vector),
    /// What a wait leaves: an IR value of type `token`.
    Token(shoal_ir::Value),
    /// An instance of an aggregate class.
    Aggregate(Aggregate),
    /// A member of an enumeration.
    Member(Arc<Member>),
    /// A function of a kernel file.
    Function(Function),
    /// A function of the language.
    Builtin(&'static Builtin),
    /// A function bound to its first argument: `x.sum`.
    Method(Arc<Method>),
    /// A class.
    Class(Class),
    /// A module.
    Module(ModuleRef),
    /// A dictionary, in its order. Its values are known at compile time or not; its keys are.
    Dict(Arc<[(Value, Value)]>),
    /// A live object of the host program, which answers for it.
    Object(Object),
    /// Something of the host program that kernels cannot use, by name.
    Host(Name),
    /// The poisoned value of an expression whose error was reported.
    Invalid,
}

/// A number, a pointer or a tile of them on the device.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// The IR value.
    pub value: shoal_ir::Value,
    /// Its type: always [`Type::Elem`] or [`Type::Tile`].
    pub ty: Type,
    /// Whether stores through it are allowed; only matters for pointers.
    pub access: Access,
}

/// Whether memory behind a pointer may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// It may be read and written.
    ReadWrite,
    /// It may only be read: `tl.const`, `*k…` in signatures. A kernel that stores through it does not compile.
    ReadOnly,
}

/// A type of device values.
#[derive(Debug, Clone, PartialEq)]
pub struct Dtype {
    /// The IR type: [`Type::Elem`] or [`Type::Tile`].
    pub ty: Type,
    /// For pointers: whether stores are allowed.
    pub access: Access,
}

/// A Python constant.
#[derive(Debug, Clone)]
pub enum Const {
    /// `None`
    None,
    /// `True` or `False`
    Bool(bool),
    /// An integer. Python's are unbounded; beyond this range we report an error.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// A string.
    Str(Name),
    /// `...`
    Ellipsis,
}

/// A tuple, a list or a named tuple.
#[derive(Debug, Clone)]
pub struct Tuple {
    /// The elements.
    pub items: Arc<[Value]>,
    /// The class, for named tuples.
    pub class: Option<Arc<NamedTupleClass>>,
}

/// `a:b:c` in a subscript; missing parts are `None` constants.
#[derive(Debug, Clone)]
pub struct Slice {
    /// The first index.
    pub lower: Value,
    /// The end.
    pub upper: Value,
    /// The step.
    pub step: Value,
}

/// What a `for` loop runs over.
#[derive(Debug, Clone)]
pub struct Range {
    /// The first index.
    pub start: Value,
    /// The end.
    pub end: Value,
    /// The step.
    pub step: Value,
    /// How the loop is to be compiled.
    pub kind: RangeKind,
}

/// Which of the range functions made a [`Range`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RangeKind {
    /// A loop on the device.
    Dynamic(shoal_ir::op::ForAttrs),
    /// `tl.static_range`: unrolled by the front end.
    Static,
}

/// `tl.condition(test, disable_licm=…)`.
#[derive(Debug, Clone)]
pub struct Condition {
    /// The condition.
    pub test: Value,
    /// Whether invariant operations must stay inside.
    pub disable_licm: bool,
}

/// A tensor descriptor.
#[derive(Debug, Clone)]
pub struct Descriptor {
    /// The IR value.
    pub value: shoal_ir::Value,
    /// Its type: always [`Type::Desc`].
    pub ty: Type,
    /// Whether stores through it are allowed.
    pub access: Access,
}

/// A block pointer.
#[derive(Debug, Clone)]
pub struct BlockPtr {
    /// The pointer to the tensor.
    pub base: Tensor,
    /// The sizes of the tensor: scalars of type `i64`.
    pub shape: Vec<Tensor>,
    /// Its strides: scalars of type `i64`.
    pub strides: Vec<Tensor>,
    /// Where the block begins: scalars of type `i64`.
    pub offsets: Vec<Tensor>,
    /// The shape of a block.
    pub block_shape: Vec<u32>,
    /// The order of the dimensions in memory; a hint.
    pub order: Vec<u32>,
}

/// An instance of an aggregate class.
#[derive(Debug, Clone)]
pub struct Aggregate {
    /// The class.
    pub class: Arc<AggregateClass>,
    /// The fields' values, in the class's order.
    pub fields: Arc<[Value]>,
}

/// A live object of the host program.
#[derive(Debug, Clone)]
pub struct Object {
    /// The object.
    pub object: HostObject,
    /// What messages call it.
    pub shown: Name,
}

/// A member of an enumeration.
#[derive(Debug, Clone)]
pub struct Member {
    /// The name of the enumeration.
    pub class: Name,
    /// The member's name.
    pub name: Name,
    /// The member's value.
    pub value: Value,
    /// The enumeration in the host program, if it is from there.
    pub live: Option<Arc<HostEnum>>,
}

/// A function bound to its first argument.
#[derive(Debug, Clone)]
pub struct Method {
    /// The first argument.
    pub receiver: Value,
    /// Where it was written.
    pub span: Span,
    /// What is called.
    pub target: MethodTarget,
}

/// What a [`Method`] calls.
#[derive(Debug, Clone)]
pub enum MethodTarget {
    /// A function value with the receiver as first argument.
    Function(Value),
    /// A method of a compile-time value that the evaluator implements, by name.
    Named(Name),
}

/// A class usable in kernels.
#[derive(Debug, Clone)]
pub enum Class {
    /// A class of Python or of the language, by name: `int`, `tl.tensor`, `tl.constexpr`.
    Known(KnownClass),
    /// A `NamedTuple`.
    NamedTuple(Arc<NamedTupleClass>),
    /// An enumeration.
    Enum(Arc<EnumClass>),
    /// An aggregate.
    Aggregate(Arc<AggregateClass>),
}

/// Classes of Python and of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KnownClass {
    /// `int`
    Int,
    /// `float`
    Float,
    /// `bool`
    Bool,
    /// `str`
    Str,
    /// `tuple`, `list` and `tl.tuple`
    Tuple,
    /// `tl.constexpr`
    Constexpr,
    /// `tl.tensor`
    Tensor,
    /// `tl.dtype`
    Dtype,
    /// `tl.pointer_type`
    PointerType,
    /// `tl.block_type`
    BlockType,
    /// `tl.const`
    ConstPtr,
    /// `tl.tensor_descriptor`
    TensorDescriptor,
    /// `NamedTuple`
    NamedTuple,
    /// `enum.Enum`
    Enum,
    /// `enum.IntEnum`
    IntEnum,
}

/// The fields of a class: names and default values.
#[derive(Debug, Clone)]
pub struct Field {
    /// The field's name.
    pub name: Name,
    /// Its default.
    pub default: Option<Value>,
    /// When its value is known.
    pub phase: FieldPhase,
}

/// When the value of a field is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldPhase {
    /// When the kernel runs.
    Device,
    /// When it is compiled: declared `tl.constexpr`.
    Constexpr,
}

/// A `NamedTuple` class.
#[derive(Debug)]
pub struct NamedTupleClass {
    /// Its name.
    pub name: Name,
    /// Its fields.
    pub fields: Vec<Field>,
    /// The class in the host program, if it is from there.
    pub live: Option<Arc<HostNamedTuple>>,
}

/// An aggregate class: fields and methods written as `@jit` functions.
#[derive(Debug)]
pub struct AggregateClass {
    /// Its name.
    pub name: Name,
    /// Its fields.
    pub fields: Vec<Field>,
    /// Its methods, inherited ones included.
    pub methods: Vec<(Name, Function)>,
    /// Its static methods.
    pub statics: Vec<(Name, Function)>,
}

/// An enumeration.
#[derive(Debug)]
pub struct EnumClass {
    /// Its name.
    pub name: Name,
    /// Its members.
    pub members: Vec<Arc<Member>>,
    /// The enumeration in the host program, if it is from there.
    pub live: Option<Arc<HostEnum>>,
}

impl Tensor {
    /// The shape; empty for scalars.
    #[must_use]
    pub fn shape(&self) -> &[u32] {
        self.ty.shape()
    }

    /// Whether it is a single number or pointer rather than a tile.
    #[must_use]
    pub fn is_scalar(&self) -> bool {
        !self.ty.is_tile()
    }

    /// Its dtype in the user's words: `fp32`, `<[128, 64], fp16>`, `pointer<fp32>`.
    #[must_use]
    pub fn type_name(&self) -> String {
        crate::dtype::display(&self.ty, self.access)
    }
}

impl Value {
    /// The constant `None`.
    pub const NONE: Value = Value::Const(Const::None);

    /// An integer constant.
    #[must_use]
    pub fn int(i: impl Into<i128>) -> Value {
        Value::Const(Const::Int(i.into()))
    }

    /// A boolean constant.
    #[must_use]
    pub fn bool(b: bool) -> Value {
        Value::Const(Const::Bool(b))
    }

    /// A string constant.
    #[must_use]
    pub fn str(s: &str) -> Value {
        Value::Const(Const::Str(Name::from(s)))
    }

    /// A plain tuple.
    #[must_use]
    pub fn tuple(items: Vec<Value>) -> Value {
        Value::Tuple(Tuple { items: items.into(), class: None })
    }

    /// A tuple of integer constants, such as a shape.
    #[must_use]
    pub fn ints(items: &[u32]) -> Value {
        Value::tuple(items.iter().map(|&i| Value::int(i)).collect())
    }

    /// The tensor, if it is one.
    #[must_use]
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            Value::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// The constant, if it is one; members of enumerations over numbers count as their number.
    #[must_use]
    pub fn as_const(&self) -> Option<&Const> {
        match self {
            Value::Const(c) => Some(c),
            Value::Member(m) => m.value.as_const(),
            _ => None,
        }
    }

    /// Whether it is the constant `None`.
    #[must_use]
    pub fn is_none(&self) -> bool {
        matches!(self, Value::Const(Const::None))
    }

    /// Whether any part of it lives on the device.
    #[must_use]
    pub fn is_dynamic(&self) -> bool {
        let mut leaves = Vec::new();
        self.leaves(&mut leaves);
        !leaves.is_empty()
    }

    /// Appends the IR values it is made of, always in the same order.
    pub fn leaves(&self, out: &mut Vec<shoal_ir::Value>) {
        match self {
            Value::Tensor(t) => out.push(t.value),
            Value::Token(token) => out.push(*token),
            Value::Vector(v) => out.extend(v.items().iter().map(|t| t.value)),
            Value::Tuple(t) => t.items.iter().for_each(|v| v.leaves(out)),
            Value::Aggregate(a) => a.fields.iter().for_each(|v| v.leaves(out)),
            Value::Dict(pairs) => pairs.iter().for_each(|(_, v)| v.leaves(out)),
            Value::Descriptor(d) => out.push(d.value),
            Value::BlockPtr(b) => {
                out.push(b.base.value);
                out.extend(b.shape.iter().chain(&b.strides).chain(&b.offsets).map(|t| t.value));
            }
            Value::Const(_)
            | Value::Dtype(_)
            | Value::Slice(_)
            | Value::Range(_)
            | Value::Condition(_)
            | Value::Member(_)
            | Value::Function(_)
            | Value::Builtin(_)
            | Value::Method(_)
            | Value::Class(_)
            | Value::Module(_)
            | Value::Object(_)
            | Value::Host(_)
            | Value::Invalid => {}
        }
    }

    /// The same value with other IR values in place of its leaves. `next` gives them in the order of [`Value::leaves`].
    #[must_use]
    pub fn with_leaves(&self, next: &mut dyn FnMut() -> shoal_ir::Value) -> Value {
        match self {
            Value::Tensor(t) => Value::Tensor(tensor_with(t, next)),
            Value::Token(_) => Value::Token(next()),
            Value::Vector(v) => Value::Vector(v.map(|t| tensor_with(t, next))),
            Value::Tuple(t) => Value::Tuple(Tuple {
                items: t.items.iter().map(|v| v.with_leaves(next)).collect(),
                class: t.class.clone(),
            }),
            Value::Aggregate(a) => Value::Aggregate(Aggregate {
                class: a.class.clone(),
                fields: a.fields.iter().map(|v| v.with_leaves(next)).collect(),
            }),
            Value::Dict(pairs) => Value::Dict(pairs.iter().map(|(k, v)| (k.clone(), v.with_leaves(next))).collect()),
            Value::Descriptor(d) => {
                Value::Descriptor(Arc::new(Descriptor { value: next(), ty: d.ty.clone(), access: d.access }))
            }
            Value::BlockPtr(b) => Value::BlockPtr(Arc::new(BlockPtr {
                base: tensor_with(&b.base, next),
                shape: b.shape.iter().map(|t| tensor_with(t, next)).collect(),
                strides: b.strides.iter().map(|t| tensor_with(t, next)).collect(),
                offsets: b.offsets.iter().map(|t| tensor_with(t, next)).collect(),
                block_shape: b.block_shape.clone(),
                order: b.order.clone(),
            })),
            Value::Const(_)
            | Value::Dtype(_)
            | Value::Slice(_)
            | Value::Range(_)
            | Value::Condition(_)
            | Value::Member(_)
            | Value::Function(_)
            | Value::Builtin(_)
            | Value::Method(_)
            | Value::Class(_)
            | Value::Module(_)
            | Value::Object(_)
            | Value::Host(_)
            | Value::Invalid => self.clone(),
        }
    }

    /// Its type in the user's words, exact enough that two values are interchangeable when these are equal: what
    /// control flow and specialisation compare.
    #[must_use]
    pub fn type_name(&self) -> String {
        TypeName(self).to_string()
    }
}

fn tensor_with(t: &Tensor, next: &mut dyn FnMut() -> shoal_ir::Value) -> Tensor {
    Tensor { value: next(), ty: t.ty.clone(), access: t.access }
}

struct TypeName<'a>(&'a Value);

impl fmt::Display for TypeName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Tensor(t) => f.write_str(&t.type_name()),
            Value::Const(c) => write!(f, "constexpr[{c}]"),
            Value::Dtype(d) => write!(f, "constexpr[{d}]"),
            Value::Tuple(t) => {
                f.write_str(t.class.as_ref().map_or("", |c| &c.name))?;
                write_list(f, "(", &t.items, ")")
            }
            Value::Aggregate(a) => {
                f.write_str(&a.class.name)?;
                write_list(f, "(", &a.fields, ")")
            }
            Value::Descriptor(d) => {
                f.write_str(if d.access == Access::ReadOnly { "const " } else { "" })?;
                f.write_str(&crate::dtype::display(&d.ty, Access::ReadWrite))
            }
            Value::BlockPtr(b) => {
                write!(f, "block_ptr<{:?}, {}, order {:?}>", b.block_shape, b.base.type_name(), b.order)
            }
            Value::Token(_) => f.write_str("token"),
            Value::Vector(v) => {
                f.write_str("vector")?;
                v.items().iter().try_for_each(|t| write!(f, "|{}", t.type_name()))
            }
            Value::Slice(_) => f.write_str("slice"),
            Value::Range(_) => f.write_str("range"),
            Value::Condition(_) => f.write_str("condition"),
            Value::Member(m) => write!(f, "{}.{}", m.class, m.name),
            Value::Function(x) => write!(f, "function `{}`", x.key()),
            Value::Builtin(b) => write!(f, "function `{}`", b.name),
            Value::Method(m) => {
                let name: &str = match &m.target {
                    MethodTarget::Function(v) => &v.type_name(),
                    MethodTarget::Named(n) => n,
                };
                write!(f, "method {name} of {}", TypeName(&m.receiver))
            }
            Value::Class(c) => write!(f, "class `{}`", c.name()),
            Value::Module(m) => write!(f, "module `{m}`"),
            Value::Dict(pairs) => {
                f.write_str("dict")?;
                for (key, value) in &**pairs {
                    write!(f, "|{}: {}", TypeName(key), TypeName(value))?;
                }
                Ok(())
            }
            Value::Object(o) => write!(f, "host object `{}` #{}", o.shown, o.object.0),
            Value::Host(n) => write!(f, "host object `{n}`"),
            Value::Invalid => f.write_str("<error>"),
        }
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, open: &str, items: &[Value], close: &str) -> fmt::Result {
    f.write_str(open)?;
    for (i, item) in items.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(f, "{comma}{}", TypeName(item))?;
    }
    f.write_str(close)
}

impl Class {
    /// The class's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Class::Known(k) => k.name(),
            Class::NamedTuple(c) => &c.name,
            Class::Enum(c) => &c.name,
            Class::Aggregate(c) => &c.name,
        }
    }
}

impl KnownClass {
    /// The class's name as the user writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            KnownClass::Int => "int",
            KnownClass::Float => "float",
            KnownClass::Bool => "bool",
            KnownClass::Str => "str",
            KnownClass::Tuple => "tuple",
            KnownClass::Constexpr => "constexpr",
            KnownClass::Tensor => "tensor",
            KnownClass::Dtype => "dtype",
            KnownClass::PointerType => "pointer_type",
            KnownClass::BlockType => "block_type",
            KnownClass::ConstPtr => "const",
            KnownClass::TensorDescriptor => "tensor_descriptor",
            KnownClass::NamedTuple => "NamedTuple",
            KnownClass::Enum => "Enum",
            KnownClass::IntEnum => "IntEnum",
        }
    }
}
