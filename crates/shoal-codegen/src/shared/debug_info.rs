//! Line tables, so that a native debugger shows the kernel's own lines.

use std::collections::HashMap;
use std::path::Path;

use inkwell::debug_info::{
    AsDIScope, DICompileUnit, DIFlags, DIFlagsConstants, DIScope, DISubprogram, DWARFEmissionKind, DWARFSourceLanguage,
    DebugInfoBuilder,
};
use inkwell::values::FunctionValue;
use shoal_ir::Func;
use shoal_ir::source::{FileId, SourceMap, Span};

use super::llvm::Llvm;

/// Line tables of one function under construction.
pub(crate) struct DebugInfo<'ctx> {
    builder: DebugInfoBuilder<'ctx>,
    _unit: DICompileUnit<'ctx>,
    subprogram: DISubprogram<'ctx>,
    /// Code from other files than the kernel's (functions inlined into it) has a scope for each file.
    scopes: HashMap<FileId, DIScope<'ctx>>,
}

impl<'ctx> DebugInfo<'ctx> {
    /// Line tables for a function; none if nobody knows where it was written.
    pub(crate) fn new(
        llvm: &Llvm<'ctx>,
        func: &Func,
        function: FunctionValue<'ctx>,
        sources: &SourceMap,
    ) -> Option<Self> {
        let (line, _) = sources.line_col(func.span)?;
        let (name, directory) = file_parts(sources.name(func.span.file));
        let version = llvm.i32().const_int(3, false);
        llvm.module.add_basic_value_flag("Debug Info Version", inkwell::module::FlagBehavior::Warning, version);
        let (builder, unit) = llvm.module.create_debug_info_builder(
            true,
            DWARFSourceLanguage::Python,
            &name,
            &directory,
            concat!("shoal ", env!("CARGO_PKG_VERSION")),
            true,
            "",
            0,
            "",
            DWARFEmissionKind::Full,
            0,
            false,
            false,
            "",
            "",
        );
        let file = unit.get_file();
        let ty = builder.create_subroutine_type(file, None, &[], DIFlags::PUBLIC);
        let subprogram = builder.create_function(
            unit.as_debug_info_scope(),
            &func.name,
            None,
            file,
            line,
            ty,
            false,
            true,
            line,
            DIFlags::PUBLIC,
            true,
        );
        function.set_subprogram(subprogram);
        let scopes = HashMap::from([(func.span.file, subprogram.as_debug_info_scope())]);
        Some(DebugInfo { builder, _unit: unit, subprogram, scopes })
    }

    fn scope(&mut self, file: FileId, sources: &SourceMap) -> DIScope<'ctx> {
        let DebugInfo { builder, subprogram, scopes, .. } = self;
        *scopes.entry(file).or_insert_with(|| {
            let (name, directory) = file_parts(sources.name(file));
            let file = builder.create_file(&name, &directory);
            builder.create_lexical_block(subprogram.as_debug_info_scope(), file, 1, 1).as_debug_info_scope()
        })
    }

    /// Lets the code emitted from now on belong to a place in the source.
    pub(crate) fn locate(&mut self, llvm: &Llvm<'ctx>, span: Span, sources: &SourceMap) {
        let Some((line, column)) = sources.line_col(span) else { return };
        let scope = self.scope(span.file, sources);
        let location = self.builder.create_debug_location(llvm.context, line, column, scope, None);
        llvm.builder.set_current_debug_location(location);
    }

    /// Completes the tables.
    pub(crate) fn finish(&self) {
        self.builder.finalize();
    }
}

/// A file's name and folder, as debuggers want them.
fn file_parts(name: &str) -> (String, String) {
    let path = Path::new(name);
    let text = |p: Option<&std::ffi::OsStr>| p.map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    (text(path.file_name()), text(path.parent().map(Path::as_os_str)))
}
