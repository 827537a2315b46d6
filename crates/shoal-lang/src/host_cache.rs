//! What a live program's host says, asked once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::host::{HostBridge, HostObject, HostValue};
use crate::syntax::ast::{Expr, ExprKind, Name};

/// The host of a program. Names keep their first answer, so that all kernels compiled from the program agree.
pub(crate) struct HostCache {
    pub(crate) bridge: Arc<dyn HostBridge>,
    names: Mutex<BTreeMap<(HostObject, Name, Place), HostValue>>,
}

/// Where a name stands in a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// In its body.
    Body,
    /// In the annotation or the default of a parameter.
    Signature,
}

impl HostCache {
    pub(crate) fn new(bridge: Arc<dyn HostBridge>) -> HostCache {
        HostCache { bridge, names: Mutex::default() }
    }

    /// A free name of a function.
    pub(crate) fn name(&self, function: HostObject, name: &Name, place: Place) -> Option<HostValue> {
        let key = (function, name.clone(), place);
        let known = || self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = known().get(&key) {
            return Some(value.clone());
        }
        // The lock is free while the host is asked.
        let answer = match place {
            Place::Body => self.bridge.name(function, name)?,
            Place::Signature => self.bridge.signature_name(function, name)?,
        };
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

    /// A name of a signature, or an attribute of one: `tl.constexpr`, `helpers.config.WIDTH`.
    pub(crate) fn annotation(&self, function: HostObject, e: &Expr) -> Option<HostValue> {
        match &e.kind {
            ExprKind::Name(name) => self.name(function, name, Place::Signature),
            ExprKind::Attribute { value, attr } => self.attribute(&self.annotation(function, value)?, &attr.name),
            _ => None,
        }
    }
}
