//! A program: a kernel file with everything it imports, or a live function. The public face of the front end.

use std::sync::Arc;

use shoal_source::{Diagnostic, Diagnostics, SourceMap, Span, similar};

use crate::dtype;
use crate::host::{HostBridge, HostSource, HostValue};
use crate::host_cache::HostCache;
use crate::kernel::KernelDecl;
use crate::key;
use crate::lower;
use crate::module::{self, Function, FunctionKind, Global, ModuleId, UserModule};
use crate::read::{self, STANDARD_ID};
use crate::sources::Sources;
use crate::spec::{ArgSpec, ConstValue, Specialization, split_top_level};
use crate::syntax::ast::{Expr, FunctionDef, Name, Stmt, StmtKind};
use crate::syntax::scan::stmt_parts;

/// A kernel file with everything it imports, or a live function with everything it reaches.
pub struct Program {
    pub(crate) files: Sources,
    main: ModuleId,
    pub(crate) live: Option<HostCache>,
}

/// A lowered kernel.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// The kernel and the functions it calls; the kernel comes first.
    pub module: shoal_ir::Module,
    /// The kernel's name in the module.
    pub kernel: String,
    /// Warnings, and what `static_print` said.
    pub notes: Diagnostics,
}

impl Program {
    /// Reads a kernel file. `name` is its path as the user gave it; files it imports are looked for in the same folder.
    ///
    /// # Errors
    /// All syntax errors of the file and of the kernel files it imports.
    pub fn parse(sources: &mut SourceMap, name: &str, text: &str) -> Result<Program, Diagnostics> {
        Program::parse_files(sources, name, text, &[])
    }

    /// The same for a file that travels with those it imports: names and texts, which are not looked for on disk.
    ///
    /// # Errors
    /// As [`Program::parse`].
    pub fn parse_files(
        sources: &mut SourceMap,
        name: &str,
        text: &str,
        others: &[(&str, &str)],
    ) -> Result<Program, Diagnostics> {
        let (modules, main) = read::read_file(sources, name, text, others)?;
        Ok(Program { files: Sources::new(sources, modules), main, live: None })
    }

    /// A program around one live function, a kernel. What it reaches is asked of the host when it is needed.
    ///
    /// # Errors
    /// Its syntax errors.
    pub fn from_host(
        sources: &mut SourceMap,
        source: HostSource,
        bridge: Arc<dyn HostBridge>,
    ) -> Result<Program, Diagnostics> {
        let modules = read::read_standard(sources);
        let files = Sources::new(sources, modules);
        let kernel = files.live(&Arc::new(source));
        *sources = (*files.sources()).clone();
        Ok(Program { main: kernel?.module, files, live: Some(HostCache::new(bridge)) })
    }

    /// The texts of the program. Those of live functions are added as kernels are compiled.
    #[must_use]
    pub fn sources(&self) -> Arc<SourceMap> {
        self.files.sources()
    }

    /// The kernels of the file, in its order: every function that is `@jit`.
    #[must_use]
    pub fn kernels(&self) -> Vec<KernelDecl> {
        let mut functions = self.jit_functions();
        functions.sort_by_key(|f| f.def.span.start);
        functions.iter().map(|f| KernelDecl::new(self, f)).collect()
    }

    /// The kernel with this name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<KernelDecl> {
        self.jit_function(name).map(|f| KernelDecl::new(self, &f))
    }

    /// Lowers one specialisation of a kernel to tile IR.
    ///
    /// # Errors
    /// All errors of the kernel and of the functions it calls.
    pub fn lower(&self, kernel: &str, spec: &Specialization) -> Result<Lowered, Diagnostics> {
        let function = self.function(kernel)?;
        lower::lower_kernel(self, &function, spec)
    }

    /// Reads a signature: the arguments in order, or as `name=…`; see [`spec`](crate::spec).
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn signature(&self, kernel: &str, text: &str) -> Result<Vec<(String, ArgSpec)>, Diagnostics> {
        let function = self.function(kernel)?;
        let info = KernelDecl::new(self, &function);
        let wrong = |message: String| {
            Diagnostics::from(
                Diagnostic::error(function.def.name.span, format!("wrong signature for `{kernel}`"))
                    .label("this kernel")
                    .note(message),
            )
        };
        let mut args = Vec::new();
        for (i, part) in split_top_level(text).into_iter().enumerate() {
            let named = part.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
            let (name, text) = match named {
                Some((name, text)) => (name.to_owned(), text),
                None => match info.params.get(i) {
                    Some(param) => (param.name.clone(), part),
                    None => return Err(wrong(format!("it has {} parameters", info.params.len()))),
                },
            };
            let constexpr = info.params.iter().any(|p| p.name == name && p.is_constexpr());
            let constant = if constexpr { ConstValue::parse(text).map(ArgSpec::Constant) } else { None };
            let arg = match constant {
                Some(arg) => arg,
                None => ArgSpec::parse(text).map_err(|message| wrong(format!("for `{name}`: {message}")))?,
            };
            args.push((name, arg));
        }
        Ok(args)
    }

    /// Everything the compiled code of a kernel depends on in the source: its text, the functions it calls, the globals
    /// it uses and the host values it is specialised for, transitively. Equal bytes mean equal code for equal
    /// specialisations. `None` when there is no such kernel, or when it depends on a host object that cannot be written
    /// down.
    #[must_use]
    pub fn source_key(&self, kernel: &str, spec: &Specialization) -> Option<Vec<u8>> {
        let function = self.jit_function(kernel)?;
        key::source_key(self, &function, spec)
    }

    fn jit_functions(&self) -> Vec<Function> {
        let unit = self.module(self.main);
        let functions = unit.globals.values().filter_map(|g| match g {
            Global::Function(f) if f.kind == FunctionKind::Jit => Some(f.clone()),
            _ => None,
        });
        functions.collect()
    }

    fn jit_function(&self, name: &str) -> Option<Function> {
        match self.module(self.main).globals.get(name) {
            Some(Global::Function(f)) if f.kind == FunctionKind::Jit => Some(f.clone()),
            _ => None,
        }
    }

    fn function(&self, kernel: &str) -> Result<Function, Diagnostics> {
        if let Some(f) = self.jit_function(kernel) {
            return Ok(f);
        }
        let (file, package) = (self.file_name(self.main), self.package(self.main));
        let diagnostic = match self.module(self.main).globals.get(kernel) {
            Some(Global::Function(f)) => Diagnostic::error(f.def.name.span, format!("`{kernel}` is not a kernel"))
                .label(format!("this function has no `@{package}.jit` decorator"))
                .help(format!("decorate it with `@{package}.jit`")),
            _ => {
                if let Some(nested) = self.nested_kernel(kernel) {
                    return Err(nested.into());
                }
                let diagnostic = Diagnostic::error(Span::NONE, format!("`{file}` has no kernel `{kernel}`"));
                let functions = self.jit_functions();
                let names: Vec<&str> = functions.iter().map(Function::name).collect();
                match similar(kernel, names.iter().copied()) {
                    Some(close) => diagnostic.help(format!("did you mean `{close}`?")),
                    None if names.is_empty() => {
                        diagnostic.help(format!("kernels are functions decorated with `@{package}.jit`"))
                    }
                    None => diagnostic.help(format!("its kernels are: {}", names.join(", "))),
                }
            }
        };
        Err(diagnostic.into())
    }

    /// What to say of a kernel that is defined inside a host function, asked for as `inner` or `outer.inner`.
    #[must_use]
    pub fn nested_kernel(&self, name: &str) -> Option<Diagnostic> {
        let unit = self.module(self.main);
        let (outer, inner) = name.rsplit_once('.').map_or((None, name), |(outer, inner)| (Some(outer), inner));
        let functions = unit.globals.values().filter_map(|global| match global {
            Global::Function(f) if outer.is_none_or(|outer| outer == f.name()) => Some(f),
            _ => None,
        });
        for f in functions {
            let nested = nested_functions(&f.def.body);
            let is_kernel = |def: &&Arc<FunctionDef>| {
                *def.name.name == *inner
                    && module::read_decorators(&def.decorators, &unit.globals).0 == FunctionKind::Jit
            };
            if let Some(def) = nested.into_iter().find(is_kernel) {
                let text = format!("the kernel `{inner}` is defined inside `{}`", f.name());
                return Some(
                    Diagnostic::error(def.name.span, text)
                        .label(format!("it only exists while `{}` runs", f.name()))
                        .help("move it to the file's top level, or launch it from Python"),
                );
            }
        }
        None
    }

    pub(crate) fn module(&self, id: ModuleId) -> Arc<UserModule> {
        self.files.module(id)
    }

    /// The file that was asked for.
    pub(crate) fn main(&self) -> ModuleId {
        self.main
    }

    pub(crate) fn standard(&self) -> ModuleId {
        STANDARD_ID
    }

    /// What a file calls the package. The text of a live function does not say it, the file that it stands in does.
    pub(crate) fn package(&self, module: ModuleId) -> &'static str {
        let unit = self.module(module);
        match (&unit.live, &self.live) {
            (Some(function), Some(live)) => package_in(&live.bridge.file_text(function.object).unwrap_or_default()),
            _ => package_in(self.sources().text(unit.file)),
        }
    }

    pub(crate) fn file_name(&self, module: ModuleId) -> String {
        self.sources().name(self.module(module).file).to_owned()
    }

    /// The name in the language that an expression such as `tl.constexpr` stands for.
    pub(crate) fn language_name(&self, module: ModuleId, e: &Expr) -> Option<Name> {
        let unit = self.module(module);
        let (Some(function), Some(live)) = (&unit.live, &self.live) else {
            return module::language_name(e, &unit.globals);
        };
        match live.annotation(function.object, e)? {
            HostValue::Language(path) => path.rsplit('.').next().map(Name::from),
            HostValue::Dtype(name) => dtype::from_signature_name(&name).map(|s| Name::from(dtype::language_name(s))),
            _ => None,
        }
    }
}

/// The package as the decorators of a text call it, else as its imports do: `triton` or `shoal`.
fn package_in(text: &str) -> &'static str {
    let says = |prefixes: &[&str], package: &str| {
        text.lines().any(|line| {
            let rest = prefixes.iter().find_map(|prefix| line.trim_start().strip_prefix(prefix));
            rest.is_some_and(|rest| rest.trim_start().starts_with(package))
        })
    };
    let imports = ["import ", "from "];
    if says(&["@"], "triton") || !says(&["@"], "shoal") && says(&imports, "triton") { "triton" } else { "shoal" }
}

/// The functions defined among statements, at any depth.
fn nested_functions(body: &[Stmt]) -> Vec<&Arc<FunctionDef>> {
    let mut found = Vec::new();
    let mut todo: Vec<&Stmt> = body.iter().collect();
    while let Some(stmt) = todo.pop() {
        if let StmtKind::FunctionDef(def) = &stmt.kind {
            found.push(def);
        }
        todo.extend(stmt_parts(stmt).1);
    }
    found
}
