//! Enumerations of the language itself, which no source text defines.

use std::sync::Arc;

use crate::syntax::ast::Name;
use crate::value::{Class, EnumClass, Member, Value};

/// `tl.PropagateNan`: what `minimum` and `maximum` do with a NaN.
pub(crate) const PROPAGATE_NAN: Known = Known { name: "PropagateNan", members: &[("NONE", 0), ("ALL", 0xFFFF)] };

/// `tl.dtype.KIND`: a higher kind wins when types meet.
pub(crate) const KIND: Known = Known { name: "KIND", members: &[("BOOLEAN", 0), ("INTEGRAL", 1), ("FLOATING", 2)] };

/// `tl.dtype.SIGNEDNESS`: whether an integer type has a sign.
pub(crate) const SIGNEDNESS: Known = Known { name: "SIGNEDNESS", members: &[("SIGNED", 0), ("UNSIGNED", 1)] };

/// An enumeration: its name, and its members with their values.
pub(crate) struct Known {
    name: &'static str,
    members: &'static [(&'static str, u32)],
}

impl Known {
    /// The enumeration as a class.
    pub(crate) fn class(&self) -> Value {
        let members = self.members.iter().map(|&(name, value)| self.made(name, value)).collect();
        Value::Class(Class::Enum(Arc::new(EnumClass { name: Name::from(self.name), members, live: None })))
    }

    /// The member with this value, if there is one.
    pub(crate) fn member(&self, value: u32) -> Option<Value> {
        let &(name, value) = self.members.iter().find(|(_, v)| *v == value)?;
        Some(Value::Member(self.made(name, value)))
    }

    fn made(&self, name: &str, value: u32) -> Arc<Member> {
        Arc::new(Member { class: Name::from(self.name), name: Name::from(name), value: Value::int(value), live: None })
    }
}
