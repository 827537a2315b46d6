//! The sources of a program: kernel files, or live functions, which are parsed when a kernel first reaches them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use shoal_source::{Diagnostic, Diagnostics, SourceMap, Span};

use crate::host::{HostObject, HostSource};
use crate::module::{Function, Global, ModuleId, UserModule};
use crate::syntax::ast::{FunctionDef, StmtKind};
use crate::syntax::parse_file;

/// The modules of a program and their texts. Modules are added, never changed. The lock is held while a text is parsed, and
/// never while the host is asked something.
pub(crate) struct Sources(RwLock<State>);

struct State {
    sources: Arc<SourceMap>,
    modules: Vec<Arc<UserModule>>,
    live: HashMap<HostObject, Result<Function, Diagnostics>>,
}

impl Sources {
    pub(crate) fn new(sources: &SourceMap, modules: Vec<Arc<UserModule>>) -> Sources {
        Sources(RwLock::new(State { sources: Arc::new(sources.clone()), modules, live: HashMap::new() }))
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The texts that are known by now.
    pub(crate) fn sources(&self) -> Arc<SourceMap> {
        self.state().sources.clone()
    }

    pub(crate) fn module(&self, id: ModuleId) -> Arc<UserModule> {
        self.state().modules[id.0 as usize].clone()
    }

    /// A live function, parsed.
    ///
    /// # Errors
    /// Its syntax errors.
    pub(crate) fn live(&self, source: &Arc<HostSource>) -> Result<Function, Diagnostics> {
        if let Some(known) = self.state().live.get(&source.object) {
            return known.clone();
        }
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        if let Some(known) = state.live.get(&source.object) {
            return known.clone();
        }
        let unit = state.parse(source);
        state.live.insert(source.object, unit.clone());
        unit
    }
}

impl State {
    fn parse(&mut self, source: &Arc<HostSource>) -> Result<Function, Diagnostics> {
        let file = Arc::make_mut(&mut self.sources).add_part(&source.file, source.first_line, &*source.text);
        let def = parse_file(file, &source.text)?.body.into_iter().find_map(|stmt| match stmt.kind {
            StmtKind::FunctionDef(def) => Some(def),
            _ => None,
        });
        let def: Arc<FunctionDef> = def.ok_or_else(|| {
            let begin = Span::new(file, 0, 0);
            Diagnostic::error(begin, format!("the source of `{}` is no function", source.name))
                .label("expected `def` here")
                .help("kernels are functions written with `def`")
        })?;
        let id = ModuleId(u32::try_from(self.modules.len()).unwrap_or(u32::MAX));
        let options = Arc::new(source.options.clone());
        let function = Function { def, module: id, kind: source.kind, options };
        let globals = BTreeMap::from([(function.def.name.name.clone(), Global::Function(function.clone()))]);
        let unit = UserModule { file, globals, star_imports: Vec::new(), live: Some(source.clone()) };
        self.modules.push(Arc::new(unit));
        Ok(function)
    }
}
