//! `value.type` of what exists at compile time: `tl.constexpr_type` and `tl.tuple_type`.
//!
//! Both are named tuples to kernels, so they compare, print and match as such.

use std::sync::{Arc, LazyLock};

use crate::syntax::ast::Name;
use crate::value::{Dtype, Field, FieldPhase, NamedTupleClass, Tuple, Value};

static CONSTEXPR_TYPE: LazyLock<Arc<NamedTupleClass>> = LazyLock::new(|| class("constexpr_type", &[("value", None)]));
static TUPLE_TYPE: LazyLock<Arc<NamedTupleClass>> =
    LazyLock::new(|| class("tuple_type", &[("types", None), ("fields", Some(Value::NONE))]));

fn class(name: &str, fields: &[(&str, Option<Value>)]) -> Arc<NamedTupleClass> {
    let field = |(name, default): &(&str, Option<Value>)| Field {
        name: Name::from(*name),
        default: default.clone(),
        phase: FieldPhase::Device,
    };
    Arc::new(NamedTupleClass { name: Name::from(name), fields: fields.iter().map(field).collect(), live: None })
}

/// The class of such types with this name.
pub(super) fn class_named(name: &str) -> Option<Arc<NamedTupleClass>> {
    [&CONSTEXPR_TYPE, &TUPLE_TYPE].into_iter().find(|class| &*class.name == name).map(|class| (**class).clone())
}

/// The type of a value.
pub(super) fn type_of(value: &Value) -> Value {
    let (items, class) = match value {
        Value::Tensor(t) => return Value::Dtype(Dtype { ty: t.ty.clone(), access: t.access }),
        Value::Tuple(t) => {
            let names = t.class.as_ref().map(|c| c.fields.iter().map(|f| Value::str(&f.name)).collect());
            let types = t.items.iter().map(type_of).collect();
            (vec![Value::tuple(types), names.map_or(Value::NONE, Value::tuple)], &TUPLE_TYPE)
        }
        constant => (vec![constant.clone()], &CONSTEXPR_TYPE),
    };
    Value::Tuple(Tuple { items: items.into(), class: Some((**class).clone()) })
}
