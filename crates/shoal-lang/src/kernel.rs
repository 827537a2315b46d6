//! What the host needs to know of a kernel before it is compiled.

use shoal_ir::types::Scalar;
use shoal_source::Span;

use crate::host::HostValue;
use crate::lower;
use crate::module::{Function, Global, JitOptions};
use crate::program::Program;
use crate::spec::{ArgType, ConstValue};
use crate::syntax::ast::{Expr, ExprKind, Name, ParamKind};
use crate::value::Access;

/// What the host needs to know of a kernel before it is compiled.
#[derive(Debug, Clone)]
pub struct KernelDecl {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<KernelParam>,
    /// Its docstring.
    pub doc: Option<String>,
    /// What its decorator says.
    pub options: JitOptions,
    /// Where its name stands.
    pub span: Span,
}

/// A parameter of a kernel.
#[derive(Debug, Clone)]
pub struct KernelParam {
    /// Its name.
    pub name: String,
    /// What its annotation says.
    pub annotation: Annotation,
    /// Its default value.
    pub default: Option<ConstValue>,
    /// Whether it collects all further positional arguments.
    pub variadic: bool,
    /// Whether its value may be compiled in (`1`, `None`).
    pub specialize: bool,
    /// Whether its alignment may be compiled in.
    pub specialize_alignment: bool,
    /// Where its name stands.
    pub span: Span,
}

/// What the annotation of a parameter says.
#[derive(Debug, Clone, PartialEq)]
pub enum Annotation {
    /// Nothing that concerns us.
    None,
    /// `tl.constexpr`: the value is compiled in.
    Constexpr,
    /// `tl.const`: a pointer that is only read.
    ConstPointer,
    /// A type, such as `tl.int64` or `"*fp32"`.
    Type(ArgType),
}

impl KernelParam {
    /// Whether the value is always compiled in.
    #[must_use]
    pub fn is_constexpr(&self) -> bool {
        self.annotation == Annotation::Constexpr
    }
}

impl KernelDecl {
    pub(crate) fn new(program: &Program, f: &Function) -> KernelDecl {
        let listed = |list: &[Name], i: usize, name: &str| {
            let index = i.to_string();
            list.iter().any(|n| **n == *name || **n == *index)
        };
        let params = f
            .def
            .params
            .iter()
            .enumerate()
            .map(|(i, p)| KernelParam {
                name: p.name.name.to_string(),
                annotation: match &p.annotation {
                    Some(written) => annotation(program, f, written),
                    None => added_annotation(program, f, &p.name.name),
                },
                default: p.default.as_ref().and_then(|d| lower::constant_of(program, f.module, d)),
                variadic: p.kind == ParamKind::VarPositional,
                specialize: !listed(&f.options.do_not_specialize, i, &p.name.name),
                specialize_alignment: !listed(&f.options.do_not_specialize, i, &p.name.name)
                    && !listed(&f.options.do_not_specialize_on_alignment, i, &p.name.name),
                span: p.name.span,
            })
            .collect();
        KernelDecl {
            name: f.name().to_owned(),
            params,
            doc: f.def.doc.as_deref().map(str::to_owned),
            options: (*f.options).clone(),
            span: f.def.name.span,
        }
    }
}

/// What an annotation that is not in the text says: a decorator of the host put it there.
fn added_annotation(program: &Program, f: &Function, parameter: &str) -> Annotation {
    let (Some(function), Some(live)) = (&program.module(f.module).live, &program.live) else { return Annotation::None };
    match live.bridge.added_annotation(function.object, parameter) {
        Some(HostValue::Language(path)) => of_language_name(path.rsplit('.').next()),
        Some(HostValue::Dtype(text) | HostValue::Str(text)) => quoted(&text),
        Some(_) | None => Annotation::None,
    }
}

/// What a text that stands for a type says: `int8`, `tl.int8`, `*fp32`, `const *fp32`.
fn quoted(text: &str) -> Annotation {
    let text = text.trim();
    if let Some(pointer) = text.strip_prefix("const ") {
        return match quoted(pointer) {
            Annotation::Type(ArgType::Pointer(to, _)) => Annotation::Type(ArgType::Pointer(to, Access::ReadOnly)),
            _ => Annotation::None,
        };
    }
    match ArgType::parse(text.strip_prefix("tl.").unwrap_or(text)) {
        Ok(ty) => Annotation::Type(ty),
        Err(_) if text == "float" => A_FLOAT,
        Err(_) if text.ends_with("constexpr") => Annotation::Constexpr,
        Err(_) => Annotation::None,
    }
}

/// Python's `float`: integers that are passed for it are floats, too. Python's `int` says nothing of how large a number is.
const A_FLOAT: Annotation = Annotation::Type(ArgType::Scalar(Scalar::F32));

fn annotation(program: &Program, f: &Function, annotation: &Expr) -> Annotation {
    let unit = program.module(f.module);
    match &annotation.kind {
        ExprKind::Str(text) => return quoted(text),
        ExprKind::Name(name) if &**name == "float" && !unit.globals.contains_key(name) => return A_FLOAT,
        _ => {}
    }
    // `x: dtype` where the module says `dtype = tl.float32`.
    let annotation = match &annotation.kind {
        ExprKind::Name(n) => match unit.globals.get(n) {
            Some(Global::Assign(a)) if a.path.is_empty() => &a.value,
            _ => annotation,
        },
        _ => annotation,
    };
    of_language_name(program.language_name(f.module, annotation).as_deref())
}

fn of_language_name(name: Option<&str>) -> Annotation {
    match name {
        Some("constexpr") => Annotation::Constexpr,
        Some("const") => Annotation::ConstPointer,
        Some(name) => match crate::dtype::from_language_name(name) {
            Some(scalar) => Annotation::Type(ArgType::Scalar(scalar)),
            None => Annotation::None,
        },
        None => Annotation::None,
    }
}

impl Annotation {
    /// The access that a pointer argument gets.
    #[must_use]
    pub fn access(&self) -> Access {
        match self {
            Annotation::ConstPointer | Annotation::Type(ArgType::Pointer(_, Access::ReadOnly)) => Access::ReadOnly,
            Annotation::None | Annotation::Constexpr | Annotation::Type(_) => Access::ReadWrite,
        }
    }
}
