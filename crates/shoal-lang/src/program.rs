//! A program: a kernel file with everything it imports. The public face of the front end.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use shoal_ir::Type;
use shoal_source::{Diagnostic, Diagnostics, FileId, SourceMap, Span};

use crate::host::{HostBridge, NoHost};
use crate::kernel::Kernel;
use crate::lower;
use crate::module::{Function, FunctionKind, Global, Import, ModuleId, Resolve, UserModule, collect};
use crate::names::nearest;
use crate::spec::{ArgSpec, ConstValue, Specialization, split_top_level};
use crate::syntax::parse_file;

/// The library functions that are written in the kernel language.
const STANDARD: &str = include_str!("library/standard.py");
const STANDARD_NAME: &str = "<shoal.language>";

/// A kernel file with everything it imports.
pub struct Program {
    sources: SourceMap,
    modules: Vec<Arc<UserModule>>,
    main: ModuleId,
    standard: ModuleId,
    pub(crate) host: Arc<dyn HostBridge>,
}

/// A lowered kernel.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// The kernel and the functions it calls; the kernel comes first.
    pub module: shoal_ir::Module,
    /// The kernel's name in the module.
    pub kernel: String,
    /// Where each parameter of the IR function comes from, in order.
    pub args: Vec<LoweredArg>,
    /// Warnings, and what `static_print` said.
    pub notes: Diagnostics,
}

/// Where a parameter of the IR function comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct LoweredArg {
    /// The kernel's parameter.
    pub param: String,
    /// For tuples: the way to the element.
    pub path: Vec<u32>,
    /// Which part of the argument it is.
    pub role: ArgRole,
    /// Its type.
    pub ty: Type,
}

/// Which part of an argument a parameter of the IR function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgRole {
    /// The value itself.
    Value,
    /// The pointer of a tensor descriptor.
    DescriptorBase,
    /// The size of a dimension of a tensor descriptor.
    DescriptorSize(u32),
    /// The stride of a dimension of a tensor descriptor, in elements; the last dimension's is always 1 and not passed.
    DescriptorStride(u32),
}

impl Program {
    /// Reads a kernel file. `name` is its path as the user gave it; files it imports are looked for in the same folder.
    ///
    /// # Errors
    /// All syntax errors of the file and of the kernel files it imports.
    pub fn parse(sources: &mut SourceMap, name: &str, text: &str) -> Result<Program, Diagnostics> {
        Program::parse_with(sources, name, text, Arc::new(NoHost))
    }

    /// Reads a kernel file whose other names a host program knows.
    ///
    /// # Errors
    /// All syntax errors of the file and of the kernel files it imports.
    pub fn parse_with(
        sources: &mut SourceMap,
        name: &str,
        text: &str,
        host: Arc<dyn HostBridge>,
    ) -> Result<Program, Diagnostics> {
        let mut reader = Reader { sources, host: &*host, modules: Vec::new(), paths: Vec::new(), errors: Vec::new() };
        let standard = reader.read_standard();
        let main = reader.read(name, text);
        let Reader { modules, errors, .. } = reader;
        Diagnostics::from(errors).into_result(())?;
        let modules = modules.into_iter().flatten().collect();
        Ok(Program { sources: sources.clone(), modules, main, standard, host })
    }

    /// The files of the program.
    #[must_use]
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// The kernels of the file, in its order: every function that is `@jit`.
    #[must_use]
    pub fn kernels(&self) -> Vec<Kernel> {
        let mut functions: Vec<&Function> = self.jit_functions().collect();
        functions.sort_by_key(|f| f.def.span.start);
        functions.into_iter().map(|f| Kernel::new(self, f)).collect()
    }

    /// The kernel with this name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        self.jit_functions().find(|f| f.name() == name).map(|f| Kernel::new(self, f))
    }

    /// Lowers one specialisation of a kernel to tile IR.
    ///
    /// # Errors
    /// All errors of the kernel and of the functions it calls.
    pub fn lower(&self, kernel: &str, spec: &Specialization) -> Result<Lowered, Diagnostics> {
        let function = self.function(kernel)?;
        lower::lower_kernel(self, function, spec)
    }

    /// Reads a signature: the arguments in order, or as `name=…`; see [`spec`](crate::spec).
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn signature(&self, kernel: &str, text: &str) -> Result<Vec<(String, ArgSpec)>, Diagnostics> {
        let function = self.function(kernel)?;
        let info = Kernel::new(self, function);
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

    /// Everything the compiled code of a kernel depends on in the source: its text, the functions it calls and the
    /// globals it uses, transitively. Equal bytes mean equal code for equal specialisations.
    #[must_use]
    pub fn source_key(&self, kernel: &str) -> Option<Vec<u8>> {
        let function = self.jit_functions().find(|f| f.name() == kernel)?;
        Some(crate::key::source_key(self, function))
    }

    fn jit_functions(&self) -> impl Iterator<Item = &Function> {
        self.module(self.main).globals.values().filter_map(|g| match g {
            Global::Function(f) if f.kind == FunctionKind::Jit => Some(f),
            _ => None,
        })
    }

    fn function(&self, kernel: &str) -> Result<&Function, Diagnostics> {
        if let Some(f) = self.jit_functions().find(|f| f.name() == kernel) {
            return Ok(f);
        }
        let file = self.file_name(self.main);
        let diagnostic = match self.module(self.main).globals.get(kernel) {
            Some(Global::Function(f)) => Diagnostic::error(f.def.name.span, format!("`{kernel}` is not a kernel"))
                .label("this function has no `@triton.jit` decorator")
                .help("decorate it with `@triton.jit`"),
            _ => {
                let diagnostic = Diagnostic::error(Span::NONE, format!("`{file}` has no kernel `{kernel}`"));
                let names: Vec<&str> = self.jit_functions().map(Function::name).collect();
                match nearest(kernel, names.iter().copied()) {
                    Some(close) => diagnostic.help(format!("did you mean `{close}`?")),
                    None if names.is_empty() => diagnostic.help("kernels are functions decorated with `@triton.jit`"),
                    None => diagnostic.help(format!("its kernels are: {}", names.join(", "))),
                }
            }
        };
        Err(diagnostic.into())
    }

    pub(crate) fn module(&self, id: ModuleId) -> &UserModule {
        &self.modules[id.0 as usize]
    }

    pub(crate) fn standard(&self) -> ModuleId {
        self.standard
    }

    pub(crate) fn file_name(&self, module: ModuleId) -> &str {
        self.sources.name(self.module(module).file)
    }
}

/// Reads files and those they import.
struct Reader<'a> {
    sources: &'a mut SourceMap,
    host: &'a dyn HostBridge,
    /// `None` while a file is being read.
    modules: Vec<Option<Arc<UserModule>>>,
    paths: Vec<(PathBuf, ModuleId)>,
    errors: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn read(&mut self, name: &str, text: &str) -> ModuleId {
        let id = ModuleId(u32::try_from(self.modules.len()).unwrap_or(u32::MAX));
        self.modules.push(None);
        self.paths.push((PathBuf::from(name), id));
        let file = self.sources.add(name, text);
        let module = match parse_file(file, text) {
            Ok(ast) => {
                let mut imports = Imports { reader: self, name };
                collect(&ast, id, file, &mut imports)
            }
            Err(errors) => {
                self.errors.extend(errors);
                empty_module(file)
            }
        };
        self.modules[id.0 as usize] = Some(Arc::new(module));
        id
    }

    /// Reads the standard library, always as the first module. It never changes, so it is kept for the next program
    /// whose source map gives it the same number.
    fn read_standard(&mut self) -> ModuleId {
        static KEPT: Mutex<Option<Arc<UserModule>>> = Mutex::new(None);
        let file = FileId::from_index(u32::try_from(self.sources.files().len()).unwrap_or(u32::MAX));
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(module) = kept
            && module.file == file
        {
            self.sources.add(STANDARD_NAME, STANDARD);
            self.modules.push(Some(module));
            self.paths.push((PathBuf::from(STANDARD_NAME), ModuleId(0)));
            return ModuleId(0);
        }
        let id = self.read(STANDARD_NAME, STANDARD);
        let module = self.modules[id.0 as usize].clone();
        *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = module;
        id
    }
}

fn empty_module(file: FileId) -> UserModule {
    UserModule { file, globals: Default::default(), star_imports: Vec::new() }
}

/// Finds the files that one file imports.
struct Imports<'r, 'a, 'n> {
    reader: &'r mut Reader<'a>,
    name: &'n str,
}

impl Resolve for Imports<'_, '_, '_> {
    fn resolve(&mut self, import: &Import) -> Option<ModuleId> {
        if let Some((name, text)) = self.reader.host.module_source(self.name, &import.path, import.level) {
            return Some(self.known(Path::new(&name)).unwrap_or_else(|| self.reader.read(&name, &text)));
        }
        let mut folder = Path::new(self.name).parent()?.to_path_buf();
        for _ in 1..import.level {
            folder = folder.parent()?.to_path_buf();
        }
        let relative: PathBuf = import.path.split('.').collect();
        for candidate in [relative.with_extension("py"), relative.join("__init__.py")] {
            let path = folder.join(candidate);
            if let Some(id) = self.known(&path) {
                return Some(id);
            }
            if !path.is_file() {
                continue;
            }
            match std::fs::read_to_string(&path) {
                Ok(text) => return Some(self.reader.read(&path.to_string_lossy(), &text)),
                Err(error) => {
                    let message = format!("cannot read `{}`: {error}", path.display());
                    self.reader.errors.push(Diagnostic::error(import.span, message).label("imported here"));
                    return None;
                }
            }
        }
        None
    }
}

impl Imports<'_, '_, '_> {
    fn known(&self, path: &Path) -> Option<ModuleId> {
        self.reader.paths.iter().find(|(p, _)| p == path).map(|(_, id)| *id)
    }
}
