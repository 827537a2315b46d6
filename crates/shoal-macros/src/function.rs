//! The launch function of one kernel.
//!
//! A parameter's type is what the signature says, or else its annotation; parameters of which neither says anything
//! take whatever a launch takes. What the signature compiles in is no parameter, and one with a default keeps it unless
//! the signature names it.

use shoal_lang::{Access, Annotation, ArgSpec, ArgType, Const, ConstValue, KernelDecl, KernelParam};

/// The type that takes any argument.
const ANY: &str = "impl ::core::convert::Into<::shoal::Arg<'a>>";

/// The function's text.
///
/// # Errors
/// When a launch could not pass what the signature says.
pub(crate) fn write(kernel: &KernelDecl, given: &[(String, ArgSpec)]) -> Result<String, String> {
    let (mut parameters, mut pushes) = (String::new(), String::new());
    for param in &kernel.params {
        let name = &param.name;
        let spec = given.iter().find(|(known, _)| known == name).map(|(_, spec)| spec);
        if let Some(ArgSpec::Constant(value)) = spec {
            pushes += &format!("args.set({name:?}, {});\n", constant(name, value)?);
            continue;
        }
        if spec.is_none() && (param.default.is_some() || param.variadic) {
            continue;
        }
        let ty = match (spec, &param.annotation) {
            (Some(ArgSpec::Value { ty, .. }), annotation) => typed(param, ty, annotation)?,
            (None, Annotation::Type(ty)) => typed(param, ty, &param.annotation)?,
            _ => ANY.to_owned(),
        };
        let variable = identifier(name);
        parameters += &format!(", {variable}: {ty}");
        pushes += &format!("args.set({name:?}, {variable});\n");
    }
    let function = identifier(&kernel.name);
    let text = kernel.doc.as_deref().unwrap_or("A kernel.");
    let (name, doc) = (&kernel.name, format!("{}\n\nLaunches the kernel; see `shoal::Kernel::launch`.", text.trim()));
    Ok(format!(
        "#[doc = {doc:?}]
#[allow(clippy::too_many_arguments)]
pub fn {function}<'a>(grid: impl ::shoal::IntoGrid{parameters}) -> ::core::result::Result<(), ::shoal::Error> {{
static KERNEL: ::shoal::embedded::EmbeddedKernel = ::shoal::embedded::EmbeddedKernel::new(&FILE, {name:?});
let mut args: ::shoal::Args<'a> = ::shoal::Args::new();
{pushes}KERNEL.get()?.launch(grid, args)
}}
"
    ))
}

/// A name that may be a keyword of Rust; the grid has one of its own.
fn identifier(name: &str) -> String {
    match name {
        "self" | "Self" | "super" | "crate" | "_" | "grid" | "args" => format!("{name}_"),
        _ => format!("r#{name}"),
    }
}

/// The Rust type of a parameter of this type.
fn typed(param: &KernelParam, ty: &ArgType, annotation: &Annotation) -> Result<String, String> {
    Ok(match ty {
        ArgType::Scalar(scalar) => {
            let name = scalar.name();
            // Launches pass floats as `fp32` unless the kernel says otherwise.
            let annotated = matches!(annotation, Annotation::Type(ArgType::Scalar(_)));
            if scalar.is_float() && name != "f32" && !annotated {
                return Err(format!(
                    "the signature says that `{}` is a float other than fp32; say so in the kernel, too: launches pass \
                     floats as fp32 unless the parameter is annotated, as in `{}: tl.float64`",
                    param.name, param.name
                ));
            }
            match number(name) {
                Some("::shoal::half::f16" | "::shoal::half::bf16") => "f32".to_owned(),
                Some(number) => number.to_owned(),
                None => ANY.to_owned(),
            }
        }
        ArgType::Pointer(ptr, access) => match number(ptr.pointee.name()) {
            Some(element) if ptr.depth == 1 && element != "bool" => {
                let mutable = if *access == Access::ReadOnly { "" } else { "mut " };
                format!("&'a {mutable}[{element}]")
            }
            _ => ANY.to_owned(),
        },
        ArgType::Descriptor(..) => "&'a ::shoal::TensorDescriptor<'a>".to_owned(),
    })
}

/// The Rust type of an element; `None` for those that slices do not have.
fn number(name: &str) -> Option<&'static str> {
    Some(match name {
        "i8" => "i8",
        "i16" => "i16",
        "i32" => "i32",
        "i64" => "i64",
        "u8" => "u8",
        "u16" => "u16",
        "u32" => "u32",
        "u64" => "u64",
        "i1" => "bool",
        "f16" => "::shoal::half::f16",
        "bf16" => "::shoal::half::bf16",
        "f32" => "f32",
        "f64" => "f64",
        _ => return None,
    })
}

/// A constant as an argument that a launch passes.
fn constant(name: &str, value: &ConstValue) -> Result<String, String> {
    Ok(match value {
        ConstValue::Const(Const::None) => "()".to_owned(),
        ConstValue::Const(Const::Bool(value)) => value.to_string(),
        ConstValue::Const(Const::Int(value)) => format!("{value}i128"),
        ConstValue::Const(Const::Float(value)) if value.is_finite() => format!("{value:?}f64"),
        ConstValue::Const(Const::Str(text)) => format!("{:?}", &**text),
        other => {
            // Types, functions and tuples are read by the facade, as the kernel language writes them.
            format!(
                "::shoal::Arg::parse_constant({:?}).ok_or_else(|| ::shoal::Error::Text({:?}.to_owned()))?",
                other.to_string(),
                format!("`{other}` cannot be passed for `{name}`")
            )
        }
    })
}
