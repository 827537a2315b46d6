//! What a live kernel depends on: its text and all that its free names stand for, through the functions it reaches.
//!
//! Names and chains of attributes are followed to what they stand for, and that is written down. An object that a chain
//! ends in cannot be: what the kernel does with it (calls it, passes it on) could depend on anything in it. Then there
//! is no key, and such kernels are not kept on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use crate::host::{HostAggregate, HostObject, HostSource, HostValue};
use crate::host_cache::{HostCache, Place};
use crate::module::{Function, FunctionKind};
use crate::program::Program;
use crate::spec::{ArgSpec, ConstValue, Specialization};
use crate::syntax::ast::{Expr, ExprKind, Name, Stmt, StmtKind};
use crate::syntax::scan::{children, local_names, stmt_parts, target_names};

pub(super) fn source_key(
    program: &Program,
    live: &HostCache,
    kernel: &Function,
    spec: &Specialization,
) -> Option<Vec<u8>> {
    let mut walk = Walk::new(program, live);
    let mut objects = BTreeMap::new();
    for (name, arg) in &spec.args {
        walk.argument(name, arg, &mut objects);
    }
    walk.kernel(kernel, objects);
    walk.exact.then(|| walk.out.into_bytes())
}

/// What names stand for while the text of one function is walked.
#[derive(Clone)]
struct Scope {
    function: HostObject,
    place: Place,
    /// Names that are not free.
    bound: BTreeSet<Name>,
    /// Those of them that stand for live objects: arguments of the kernel.
    objects: BTreeMap<Name, HostValue>,
}

struct Walk<'p> {
    program: &'p Program,
    live: &'p HostCache,
    /// Functions and classes get numbers in the order of being met: numbers of objects differ from run to run.
    met: Vec<HostObject>,
    todo: Vec<Arc<HostSource>>,
    out: String,
    exact: bool,
}

impl<'p> Walk<'p> {
    fn new(program: &'p Program, live: &'p HostCache) -> Walk<'p> {
        Walk { program, live, met: Vec::new(), todo: Vec::new(), out: String::new(), exact: true }
    }

    fn argument(&mut self, name: &str, arg: &ArgSpec, objects: &mut BTreeMap<Name, HostValue>) {
        match arg {
            ArgSpec::Constant(ConstValue::Host(value @ HostValue::Object { .. })) => {
                objects.insert(Name::from(name), value.clone());
            }
            ArgSpec::Constant(ConstValue::Host(value)) => {
                let _ = write!(self.out, "{name} = ");
                self.value(value);
            }
            ArgSpec::Constant(ConstValue::Tuple(items)) => items
                .iter()
                .filter(|item| matches!(item, ConstValue::Host(_) | ConstValue::Tuple(_)))
                .for_each(|item| self.argument(name, &ArgSpec::Constant(item.clone()), &mut BTreeMap::new())),
            ArgSpec::NamedTuple(class, items) => {
                self.value(&HostValue::NamedTupleClass(class.clone()));
                items.iter().for_each(|item| self.argument(name, item, &mut BTreeMap::new()));
            }
            ArgSpec::Tuple(items) => {
                items.iter().for_each(|item| self.argument(name, item, &mut BTreeMap::new()));
            }
            ArgSpec::Constant(_) | ArgSpec::Value { .. } => {}
        }
    }

    fn kernel(&mut self, kernel: &Function, objects: BTreeMap<Name, HostValue>) {
        if let Some(source) = self.program.module(kernel.module).live.clone() {
            self.meet(source.object);
            self.function(&source, objects);
        }
        while let Some(source) = self.todo.pop() {
            self.function(&source, BTreeMap::new());
        }
    }

    /// The number of an object, and whether it is new.
    fn meet(&mut self, object: HostObject) -> (usize, bool) {
        match self.met.iter().position(|known| *known == object) {
            Some(at) => (at, false),
            None => {
                self.met.push(object);
                (self.met.len() - 1, true)
            }
        }
    }

    fn function(&mut self, source: &Arc<HostSource>, objects: BTreeMap<Name, HostValue>) {
        let HostSource { object, name, file, first_line, text, kind, options } = &**source;
        let (number, _) = self.meet(*object);
        let _ = writeln!(self.out, "function @{number} {name:?} {file:?}:{first_line} {kind:?} {options:?}");
        let _ = writeln!(self.out, "{}:{text}", text.len());
        let Ok(f) = self.program.files.live(source) else {
            self.exact = false;
            return;
        };
        let outside =
            Scope { function: *object, place: Place::Signature, bound: BTreeSet::new(), objects: BTreeMap::new() };
        for param in &f.def.params {
            param.annotation.iter().chain(&param.default).for_each(|e| self.expr(&outside, e));
            // The host computed its own defaults when it defined the function.
            self.exact &= *kind == FunctionKind::Jit || param.default.as_ref().is_none_or(is_literal);
        }
        let mut bound = local_names(&f.def.body);
        bound.extend(f.def.params.iter().map(|p| p.name.name.clone()));
        let scope = Scope { function: *object, place: Place::Body, bound, objects };
        f.def.body.iter().for_each(|s| self.stmt(&scope, s));
    }

    fn stmt(&mut self, scope: &Scope, stmt: &Stmt) {
        match &stmt.kind {
            // Parts of these are not in the tree, or bind names in ways that are not followed here.
            StmtKind::Try(_)
            | StmtKind::FunctionDef(_)
            | StmtKind::ClassDef(_)
            | StmtKind::Import(_)
            | StmtKind::ImportFrom { .. }
            | StmtKind::Unsupported(_) => self.exact = false,
            _ => {}
        }
        let (exprs, inner) = stmt_parts(stmt);
        exprs.into_iter().for_each(|e| self.expr(scope, e));
        inner.into_iter().for_each(|s| self.stmt(scope, s));
    }

    fn expr(&mut self, scope: &Scope, e: &Expr) {
        match &e.kind {
            ExprKind::Name(_) | ExprKind::Attribute { .. } => self.chain(scope, e),
            ExprKind::Comprehension { element, generators } => {
                let mut inner = scope.clone();
                for generator in generators {
                    self.expr(&inner, &generator.iter);
                    target_names(&generator.target, &mut inner.bound);
                    generator.ifs.iter().for_each(|e| self.expr(&inner, e));
                }
                self.expr(&inner, element);
            }
            ExprKind::Unsupported(_) => self.exact = false,
            _ => {
                let mut parts = Vec::new();
                children(e, &mut |child| parts.push(child));
                parts.into_iter().for_each(|child| self.expr(scope, child));
            }
        }
    }

    /// A name with the attributes taken of it.
    fn chain(&mut self, scope: &Scope, e: &Expr) {
        let mut attributes = Vec::new();
        let mut root = e;
        while let ExprKind::Attribute { value, attr } = &root.kind {
            attributes.push(&attr.name);
            root = value;
        }
        let ExprKind::Name(name) = &root.kind else {
            return self.expr(scope, root);
        };
        let mut value = match scope.objects.get(name) {
            Some(object) => object.clone(),
            None if scope.bound.contains(name) => return,
            None => match self.live.name(scope.function, name, scope.place) {
                Some(value) => value,
                None => return,
            },
        };
        for attribute in attributes.into_iter().rev() {
            let Some(next) = self.live.attribute(&value, attribute) else { break };
            value = next;
        }
        let _ = write!(self.out, "{} = ", self.program.sources().slice(e.span));
        self.value(&value);
    }

    /// Writes a value down, such that different values have different texts.
    fn value(&mut self, value: &HostValue) {
        match value {
            HostValue::None
            | HostValue::Bool(_)
            | HostValue::Int(_)
            | HostValue::Str(_)
            | HostValue::Ellipsis
            | HostValue::Dtype(_)
            | HostValue::Language(_) => {
                let _ = writeln!(self.out, "{value:?}");
            }
            HostValue::Float(x) => {
                let _ = writeln!(self.out, "float {:x}", x.to_bits());
            }
            HostValue::Constexpr(inner) => {
                self.out.push_str("constexpr ");
                self.value(inner);
            }
            HostValue::Tuple(items) => self.values("tuple", items),
            HostValue::NamedTuple(class, items) => {
                self.value(&HostValue::NamedTupleClass(class.clone()));
                self.values("of it", items);
            }
            HostValue::Dict(pairs) => {
                let _ = writeln!(self.out, "dict {}", pairs.len());
                for (key, value) in pairs {
                    self.value(key);
                    self.value(value);
                }
            }
            HostValue::Function(source) => self.reach(source),
            HostValue::AggregateClass(class) => self.aggregate(class),
            HostValue::NamedTupleClass(class) => {
                let _ = writeln!(self.out, "named tuple {:?} {}", class.name, class.fields.len());
                for (name, default) in &class.fields {
                    self.field(name, default.as_ref());
                }
            }
            HostValue::EnumClass(class) => {
                let _ = writeln!(self.out, "enum {:?} {}", class.name, class.members.len());
                for (name, value) in &class.members {
                    self.field(name, Some(value));
                }
            }
            HostValue::Member(class, name) => {
                let _ = writeln!(self.out, "member {name:?}");
                self.value(&HostValue::EnumClass(class.clone()));
            }
            HostValue::Object { .. } => self.exact = false,
        }
    }

    fn values(&mut self, what: &str, items: &[HostValue]) {
        let _ = writeln!(self.out, "{what} {}", items.len());
        items.iter().for_each(|item| self.value(item));
    }

    fn field(&mut self, name: &str, value: Option<&HostValue>) {
        let _ = writeln!(self.out, "{name:?} {}", value.is_some());
        value.into_iter().for_each(|value| self.value(value));
    }

    /// A function that the kernel may call: its text follows later.
    fn reach(&mut self, source: &Arc<HostSource>) {
        let (number, new) = self.meet(source.object);
        let _ = writeln!(self.out, "function @{number}");
        if new {
            self.todo.push(source.clone());
        }
    }

    fn aggregate(&mut self, class: &HostAggregate) {
        let (number, new) = self.meet(class.object);
        let _ = writeln!(self.out, "aggregate @{number} {:?}", class.name);
        if !new {
            return;
        }
        for field in &class.fields {
            let _ = write!(self.out, "{} ", field.constexpr);
            self.field(&field.name, field.default.as_ref());
        }
        for (name, method) in class.methods.iter().chain(&class.statics) {
            let _ = write!(self.out, "{name:?} ");
            self.reach(method);
        }
    }
}

fn is_literal(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::None | ExprKind::Bool(_) | ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Str(_) => true,
        ExprKind::Unary { operand, .. } => is_literal(operand),
        ExprKind::Tuple(items) => items.iter().all(is_literal),
        _ => false,
    }
}
