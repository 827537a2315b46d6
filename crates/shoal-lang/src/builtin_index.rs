//! The functions of the language, for those who write their names down elsewhere.

use shoal_source::SourceMap;

use crate::builtin;
use crate::dtype;
use crate::module::Global;
use crate::read;

/// A function of the language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageFunction {
    /// Its dotted path: `shoal.language.load`.
    pub path: String,
    /// The names of its parameters, in order.
    pub params: Vec<String>,
}

/// Every function that kernels can call, by path. Python's own and those for the library alone are not listed.
#[must_use]
pub fn language_functions() -> Vec<LanguageFunction> {
    let builtins = builtin::names().filter_map(builtin::find).map(|builtin| LanguageFunction {
        path: builtin.path(),
        params: builtin::params(builtin).iter().map(|p| p.name.to_owned()).collect(),
    });
    let modules = read::read_standard(&mut SourceMap::default());
    let library = modules.iter().flat_map(|module| &module.globals).filter_map(|(name, global)| match global {
        Global::Function(f) => Some(LanguageFunction {
            path: format!("shoal.language.{name}"),
            params: f.def.params.iter().map(|p| p.name.name.to_string()).collect(),
        }),
        _ => None,
    });
    let public = |f: &LanguageFunction| {
        f.path.strip_prefix("shoal.language.").is_some_and(|rest| !rest.starts_with(['_']) && !is_method(rest))
    };
    let mut functions: Vec<_> = builtins.chain(library).filter(public).collect();
    functions.sort_by(|a, b| a.path.cmp(&b.path));
    functions
}

/// The functions that are also methods of tensors, and the names of the dtypes.
#[must_use]
pub fn language_names() -> (Vec<&'static str>, Vec<&'static str>) {
    (builtin::METHODS.to_vec(), dtype::language_names().collect())
}

/// Methods of descriptors and vectors are called on one.
fn is_method(name: &str) -> bool {
    name.starts_with("descriptor.") || name.starts_with("vector.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_paths_and_parameters() {
        let functions = language_functions();
        let params = |path: &str| functions.iter().find(|f| f.path == path).map(|f| f.params.join(", "));
        assert_eq!(params("shoal.language.where").as_deref(), Some("condition, x, y"));
        assert_eq!(params("shoal.language.cdiv").as_deref(), Some("x, div"));
        assert_eq!(params("shoal.language.extra.libdevice.atan2").as_deref(), Some("arg0, arg1"));
        assert_eq!(params("shoal.language._axis_indices"), None);
        assert_eq!(params("builtins.len"), None);
    }
}
