//! The names of the function being lowered.

use std::collections::{BTreeMap, BTreeSet};

use shoal_source::Span;

use crate::host_cache::Place;
use crate::module::{Function, ModuleId};
use crate::syntax::ast::Name;
use crate::syntax::scan::local_names;
use crate::value::Value;

/// Names and their values; ordered, so that the IR does not depend on chance.
pub(super) type Scope = BTreeMap<Name, Binding>;

/// What a name stands for, and where it got that value.
#[derive(Debug, Clone)]
pub(super) struct Binding {
    pub(super) value: Value,
    pub(super) span: Span,
}

/// Why a name that was assigned has no value here.
#[derive(Debug, Clone)]
pub(super) struct Lost {
    pub(super) span: Span,
    pub(super) why: String,
    pub(super) help: &'static str,
}

/// How the statements of a function run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// On the device.
    Kernel,
    /// At compile time, by Python's rules.
    CompileTime,
}

/// The names of the function being lowered.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) scope: Scope,
    /// Names that had a value in only some paths to here.
    pub(super) lost: BTreeMap<Name, Lost>,
    /// Names declared by a bare `x: constexpr`.
    pub(super) declared_constexpr: BTreeSet<Name>,
    /// Names that the function assigns before it reads them: they never stand for globals.
    pub(super) locals: BTreeSet<Name>,
    pub(super) module: ModuleId,
    pub(super) mode: Mode,
    /// How many device loops are around the current statement.
    pub(super) loops: u32,
    /// Whether globals that are not `constexpr` may be used, as in default values.
    pub(super) plain_globals: bool,
    /// Where names stand for the host.
    pub(super) place: Place,
}

impl Frame {
    pub(super) fn kernel(module: ModuleId) -> Frame {
        Frame {
            scope: Scope::new(),
            lost: BTreeMap::new(),
            declared_constexpr: BTreeSet::new(),
            locals: BTreeSet::new(),
            module,
            mode: Mode::Kernel,
            loops: 0,
            plain_globals: false,
            place: Place::Body,
        }
    }

    pub(super) fn compile_time(module: ModuleId) -> Frame {
        Frame { mode: Mode::CompileTime, plain_globals: true, ..Frame::kernel(module) }
    }

    /// The frame of annotations and defaults.
    pub(super) fn signature(module: ModuleId) -> Frame {
        Frame { place: Place::Signature, ..Frame::compile_time(module) }
    }

    /// The frame of a function in one of the two modes.
    pub(super) fn of(self, f: &Function) -> Frame {
        Frame { locals: local_names(&f.def.body), ..self }
    }

    pub(super) fn bind(&mut self, name: Name, value: Value, span: Span) {
        self.lost.remove(&name);
        self.scope.insert(name, Binding { value, span });
    }

    /// Takes a name away, keeping the reason for the error at its next use.
    pub(super) fn lose(&mut self, name: &Name, span: Span, why: impl Into<String>, help: &'static str) {
        self.scope.remove(name);
        self.lost.insert(name.clone(), Lost { span, why: why.into(), help });
    }
}
