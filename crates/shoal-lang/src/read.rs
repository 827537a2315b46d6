//! Reading kernel files and those they import.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use shoal_source::{Diagnostic, Diagnostics, FileId, SourceMap, read_source};

use crate::module::{Import, ModuleId, Resolve, UserModule, collect};
use crate::syntax::parse_file;

/// The library functions that are written in the kernel language.
const STANDARD: &str = include_str!("library/standard.py");
const STANDARD_NAME: &str = "<shoal.language>";

/// The standard library is always the first module.
pub(crate) const STANDARD_ID: ModuleId = ModuleId(0);

/// The modules of a kernel file: the standard library, the file, and what it imports. Imports are looked for among the
/// given files, then on disk.
///
/// # Errors
/// All syntax errors.
pub(crate) fn read_file(
    sources: &mut SourceMap,
    name: &str,
    text: &str,
    given: &[(&str, &str)],
) -> Result<(Vec<Arc<UserModule>>, ModuleId), Diagnostics> {
    let mut reader = Reader::new(sources, given);
    let main = reader.read(name, text);
    Ok((reader.finish()?, main))
}

/// The standard library alone.
pub(crate) fn read_standard(sources: &mut SourceMap) -> Vec<Arc<UserModule>> {
    Reader::new(sources, &[]).modules.into_iter().flatten().collect()
}

/// Reads files and those they import.
struct Reader<'a> {
    sources: &'a mut SourceMap,
    /// Names and texts of files that are not looked for on disk.
    given: &'a [(&'a str, &'a str)],
    /// `None` while a file is being read.
    modules: Vec<Option<Arc<UserModule>>>,
    paths: Vec<(PathBuf, ModuleId)>,
    errors: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    fn new(sources: &'a mut SourceMap, given: &'a [(&'a str, &'a str)]) -> Reader<'a> {
        let mut reader = Reader { sources, given, modules: Vec::new(), paths: Vec::new(), errors: Vec::new() };
        reader.read_standard();
        reader
    }

    fn finish(self) -> Result<Vec<Arc<UserModule>>, Diagnostics> {
        Diagnostics::from(self.errors).into_result(self.modules.into_iter().flatten().collect())
    }

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
    fn read_standard(&mut self) {
        static KEPT: Mutex<Option<Arc<UserModule>>> = Mutex::new(None);
        let file = FileId::from_index(u32::try_from(self.sources.files().len()).unwrap_or(u32::MAX));
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(module) = kept
            && module.file == file
        {
            self.sources.add(STANDARD_NAME, STANDARD);
            self.modules.push(Some(module));
            self.paths.push((PathBuf::from(STANDARD_NAME), STANDARD_ID));
            return;
        }
        let id = self.read(STANDARD_NAME, STANDARD);
        let module = self.modules[id.0 as usize].clone();
        *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = module;
    }
}

fn empty_module(file: FileId) -> UserModule {
    UserModule { file, globals: Default::default(), star_imports: Vec::new(), live: None }
}

/// Finds the files that one file imports.
struct Imports<'r, 'a, 'n> {
    reader: &'r mut Reader<'a>,
    name: &'n str,
}

impl Resolve for Imports<'_, '_, '_> {
    fn resolve(&mut self, import: &Import) -> Option<ModuleId> {
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
            if let Some((name, text)) = self.reader.given.iter().find(|(name, _)| Path::new(name) == path) {
                return Some(self.reader.read(name, text));
            }
            if !path.is_file() {
                continue;
            }
            match File::open(&path).and_then(read_source) {
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
