//! Binding the arguments of a call to the parameters of a builtin.

use shoal_source::{Diagnostic, Span, similar};

use super::{Args, Builtin, BuiltinParam, Need, ParamShape, params};
use crate::lower_error::{LowerError, LowerResult};
use crate::syntax::ast::Ident;
use crate::value::Value;

/// One evaluated argument of a call.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    /// The keyword, unless it is passed by position.
    pub(crate) name: Option<Ident>,
    pub(crate) value: Value,
    pub(crate) span: Span,
}

impl Given {
    /// An argument passed by position.
    pub(crate) fn positional(value: Value, span: Span) -> Given {
        Given { name: None, value, span }
    }
}

/// Parameters of Triton's own machinery, which functions written against it pass on.
const INTERNAL: [&str; 3] = ["_semantic", "_generator", "_builder"];

/// Binds the arguments of a call to a builtin's parameters.
pub(crate) fn bind(builtin: &'static Builtin, given: Vec<Given>, span: Span) -> LowerResult<Args> {
    let params = params(builtin);
    let mut args = Args::new(builtin, span, params.len());
    let by_position = |p: &&BuiltinParam| !matches!(p.shape, ParamShape::KeywordOnly | ParamShape::Keywords);
    let mut positional = params.iter().filter(by_position).peekable();
    let any_keyword = params.iter().any(|p| p.shape == ParamShape::Keywords);
    for arg in given {
        match &arg.name {
            None => {
                let Some(param) = positional.peek() else {
                    return Err(too_many(builtin, params, arg.span));
                };
                check_need(builtin, param, &arg)?;
                if param.shape == ParamShape::Var {
                    args.push_rest(arg.value, arg.span);
                } else {
                    args.push(param.name, arg.value, arg.span);
                    positional.next();
                }
            }
            // What Triton hands from function to function inside itself.
            Some(name) if INTERNAL.contains(&&*name.name) => {}
            Some(name) => {
                let named = |p: &&BuiltinParam| !matches!(p.shape, ParamShape::Var | ParamShape::Keywords);
                let Some(param) = params.iter().filter(named).find(|p| p.name == &*name.name) else {
                    if any_keyword {
                        args.push_rest(Value::tuple(vec![Value::str(&name.name), arg.value]), arg.span);
                        continue;
                    }
                    return Err(unknown_keyword(builtin, params, name));
                };
                if args.has(param.name) {
                    let message = format!("`{}` gets two values for `{}`", builtin.short_name(), name.name);
                    return Err(Diagnostic::error(name.span, message).label("given twice").into());
                }
                check_need(builtin, param, &arg)?;
                args.push(param.name, arg.value, arg.span);
            }
        }
    }
    let mut missing = Vec::new();
    for param in params {
        if matches!(param.shape, ParamShape::Var | ParamShape::Keywords) || args.has(param.name) {
            continue;
        }
        match &param.default {
            Some(default) => args.push_default(param.name, default.clone()),
            None => missing.push(param.name),
        }
    }
    if missing.is_empty() { Ok(args) } else { Err(missing_arguments(builtin, &missing, span)) }
}

fn check_need(builtin: &Builtin, param: &BuiltinParam, arg: &Given) -> LowerResult<()> {
    if matches!(arg.value, Value::Invalid) {
        return Err(LowerError::reported());
    }
    if param.need == Need::Const && arg.value.is_dynamic() {
        if let Some(name) = builtin.name.strip_prefix("pymath.") {
            return Err(compile_time_math(name, arg));
        }
        let message = format!("`{}` of `{}` must be known at compile time", param.name, builtin.short_name());
        return Err(Diagnostic::error(arg.span, message)
            .label(format!("this is computed on the device: {}", arg.value.type_name()))
            .help("make it a `constexpr`: a parameter `NAME: tl.constexpr`, or a local `NAME: tl.constexpr = …`")
            .into());
    }
    Ok(())
}

/// Python's `math` on a device value: the language has most of it under the same name.
fn compile_time_math(name: &str, arg: &Given) -> LowerError {
    let help = match (super::find(name), super::find(&format!("libdevice.{name}"))) {
        (Some(_), _) => format!("use `tl.{name}`, which works on scalars and tiles"),
        (None, Some(_)) => format!("use `libdevice.{name}`, which works on scalars and tiles"),
        (None, None) => "compute it from functions of the language".to_owned(),
    };
    Diagnostic::error(arg.span, format!("`math.{name}` works at compile time only"))
        .label(format!("this is computed on the device: {}", arg.value.type_name()))
        .help(help)
        .into()
}

fn too_many(builtin: &Builtin, params: &[BuiltinParam], span: Span) -> LowerError {
    let most = params.iter().filter(|p| p.shape == ParamShape::Normal).count();
    let names: Vec<&str> = params.iter().map(|p| p.name).collect();
    let message = format!("`{}` takes at most {most} positional arguments", builtin.short_name());
    Diagnostic::error(span, message)
        .label("one too many")
        .help(format!("its parameters are: {}", names.join(", ")))
        .into()
}

fn unknown_keyword(builtin: &Builtin, params: &[BuiltinParam], keyword: &Ident) -> LowerError {
    let (name, span) = (&*keyword.name, keyword.span);
    let names = params.iter().map(|p| p.name);
    let diagnostic = Diagnostic::error(span, format!("`{}` has no parameter `{name}`", builtin.short_name()))
        .label("unknown keyword");
    match similar(name, names.clone()) {
        Some(close) => diagnostic.help(format!("did you mean `{close}`?")),
        None => diagnostic.help(format!("its parameters are: {}", names.collect::<Vec<_>>().join(", "))),
    }
    .into()
}

fn missing_arguments(builtin: &Builtin, missing: &[&str], span: Span) -> LowerError {
    let quoted: Vec<String> = missing.iter().map(|m| format!("`{m}`")).collect();
    let plural = if missing.len() == 1 { "argument" } else { "arguments" };
    let message = format!("`{}` is missing the {plural} {}", builtin.short_name(), quoted.join(", "));
    Diagnostic::error(span, message)
        .help(format!("its signature is `{}({})`", builtin.short_name(), builtin.signature.replace(": const", "")))
        .into()
}
