//! What a live program's host says, asked once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::host::{HostBridge, HostObject, HostValue};
use crate::syntax::ast::{Expr, ExprKind, Name};

/// The host of a program. Names keep their first answer, so that all kernels compiled from the program agree.
pub(crate) struct Live {
    pub(crate) bridge: Arc<dyn HostBridge>,
    names: Mutex<BTreeMap<(HostObject, Name), HostValue>>,
}

impl Live {
    pub(crate) fn new(bridge: Arc<dyn HostBridge>) -> Live {
        Live { bridge, names: Mutex::default() }
    }

    /// A free name of a function.
    pub(crate) fn name(&self, function: HostObject, name: &Name) -> Option<HostValue> {
        let key = (function, name.clone());
        let known = || self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = known().get(&key) {
            return Some(value.clone());
        }
        // The lock is free while the host is asked.
        let answer = self.bridge.name(function, name)?;
        Some(known().entry(key).or_insert(answer).clone())
    }

    /// `value.name`, as far as the host knows it: attributes of device values are the compiler's.
    pub(crate) fn attribute(&self, value: &HostValue, name: &str) -> Option<HostValue> {
        match value {
            HostValue::Object { object, .. } => self.bridge.attribute(*object, name),
            HostValue::Language(path) => Some(HostValue::Language(format!("{path}.{name}"))),
            HostValue::Constexpr(inner) if name == "value" => Some((**inner).clone()),
            HostValue::Constexpr(inner) => self.attribute(inner, name),
            HostValue::EnumClass(class) => {
                let known = class.members.iter().any(|(member, _)| member == name);
                known.then(|| HostValue::Member(class.clone(), name.to_owned()))
            }
            HostValue::Member(class, member) => match name {
                "name" => Some(HostValue::Str(member.clone())),
                "value" => class.members.iter().find(|(m, _)| m == member).map(|(_, value)| value.clone()),
                _ => None,
            },
            HostValue::NamedTuple(class, items) => {
                let at = class.fields.iter().position(|(field, _)| field == name)?;
                items.get(at).cloned()
            }
            _ => None,
        }
    }

    /// A name, or an attribute of one: `tl.constexpr`, `helpers.config.WIDTH`.
    pub(crate) fn chain(&self, function: HostObject, e: &Expr) -> Option<HostValue> {
        match &e.kind {
            ExprKind::Name(name) => self.name(function, name),
            ExprKind::Attribute { value, attr } => self.attribute(&self.chain(function, value)?, &attr.name),
            _ => None,
        }
    }
}
