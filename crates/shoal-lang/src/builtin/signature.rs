//! Reading the signatures of builtins: `pointer, mask=None, *shape, axis: const=0, *, volatile: const=False`.

use crate::syntax::ast::Name;
use crate::value::{Const, Value};

/// One parameter of a builtin.
#[derive(Debug, Clone)]
pub(crate) struct BuiltinParam {
    pub(crate) name: &'static str,
    pub(crate) shape: ParamShape,
    pub(crate) need: Need,
    pub(crate) default: Option<Value>,
}

/// How arguments reach a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParamShape {
    Normal,
    /// All further positional arguments.
    Var,
    KeywordOnly,
    /// All further keyword arguments, as pairs of name and value.
    Keywords,
}

/// What is needed of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    Anything,
    Const,
}

/// Reads a signature. The texts are our own, so a mistake in one is met by the test over the whole table.
pub(crate) fn read(text: &'static str) -> Vec<BuiltinParam> {
    let mut params = Vec::new();
    let mut shape = ParamShape::Normal;
    for part in split(text) {
        if part == "*" {
            shape = ParamShape::KeywordOnly;
            continue;
        }
        let (head, default) = match part.split_once('=') {
            Some((head, default)) => (head.trim(), Some(literal(default.trim()))),
            None => (part, None),
        };
        let (name, need) = match head.split_once(':') {
            Some((name, _)) => (name.trim(), Need::Const),
            None => (head, Need::Anything),
        };
        if let Some(name) = name.strip_prefix("**") {
            params.push(BuiltinParam { name, shape: ParamShape::Keywords, need, default });
            continue;
        }
        match name.strip_prefix('*') {
            Some(name) => {
                params.push(BuiltinParam { name, shape: ParamShape::Var, need, default });
                shape = ParamShape::KeywordOnly;
            }
            None => params.push(BuiltinParam { name, shape, need, default }),
        }
    }
    params
}

fn split(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut depth = 0i32;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
}

fn literal(text: &str) -> Value {
    match text {
        "None" => Value::NONE,
        "True" => Value::bool(true),
        "False" => Value::bool(false),
        "()" => Value::tuple(Vec::new()),
        _ => {
            if let Some(inner) = text.strip_prefix(['\'', '"']) {
                return Value::Const(Const::Str(Name::from(inner.trim_end_matches(['\'', '"']))));
            }
            match text.parse::<i128>() {
                Ok(i) => Value::int(i),
                Err(_) => Value::Const(Const::Float(text.parse().unwrap_or(f64::NAN))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_reads_like_python() {
        let params = read("x, *shape, axis: const=-1, name='a', *, flag: const=False, eps=1e-6");
        let names: Vec<_> = params.iter().map(|p| (p.name, p.shape, p.need)).collect();
        assert_eq!(
            names,
            [
                ("x", ParamShape::Normal, Need::Anything),
                ("shape", ParamShape::Var, Need::Anything),
                ("axis", ParamShape::KeywordOnly, Need::Const),
                ("name", ParamShape::KeywordOnly, Need::Anything),
                ("flag", ParamShape::KeywordOnly, Need::Const),
                ("eps", ParamShape::KeywordOnly, Need::Anything),
            ]
        );
        assert!(matches!(params[2].default, Some(Value::Const(Const::Int(-1)))));
        assert!(matches!(&params[3].default, Some(Value::Const(Const::Str(s))) if &**s == "a"));
        assert!(params[0].default.is_none());
    }
}
