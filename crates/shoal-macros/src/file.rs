//! The kernel file, read and checked when the program is built, and the module that stands for it.

use std::fmt::Write;
use std::fs::File;
use std::path::Path;

use shoal_lang::{KernelDecl, Program, Specialization};
use shoal_source::{Diagnostics, SourceMap, Style, read_source};

use crate::function;
use crate::request::Request;

/// The module's text.
///
/// # Errors
/// What is wrong, in words for people.
pub(crate) fn expand(request: &Request, package: &Path) -> Result<String, String> {
    let path = package.join(&request.path);
    let text = File::open(&path)
        .and_then(read_source)
        .map_err(|why| format!("cannot read {}: {why}; paths start at the package's folder", path.display()))?;
    let mut sources = SourceMap::default();
    let parsed = Program::parse(&mut sources, &path.display().to_string(), &text);
    let program = parsed.map_err(|errors| shown(&errors, &sources))?;
    let mut functions = String::new();
    for kernel in program.kernels() {
        let signature = request.signatures.iter().find(|(name, _)| *name == kernel.name);
        let given = match signature {
            Some((_, text)) => checked(&program, &kernel, text)?,
            None => Vec::new(),
        };
        functions.push_str(&function::write(&kernel, &given)?);
    }
    for (name, _) in &request.signatures {
        if program.kernel(name).is_none() {
            let names: Vec<String> = program.kernels().into_iter().map(|kernel| format!("`{}`", kernel.name)).collect();
            return Err(format!("{} has no kernel `{name}`; it has {}", path.display(), names.join(", ")));
        }
    }
    module(request, package, &program.sources(), &functions)
}

/// Reads a signature. One that says all there is to say about a kernel is tried: what does not compile is told now.
fn checked(program: &Program, kernel: &KernelDecl, text: &str) -> Result<Vec<(String, shoal_lang::ArgSpec)>, String> {
    let told = |errors: Diagnostics| shown(&errors, &program.sources());
    let args = program.signature(&kernel.name, text).map_err(told)?;
    for (name, _) in &args {
        if !kernel.params.iter().any(|param| param.name == *name) {
            return Err(format!("the kernel `{}` has no parameter `{name}`", kernel.name));
        }
    }
    let given = |name: &str| args.iter().any(|(known, _)| known == name);
    if kernel.params.iter().all(|param| param.default.is_some() || given(&param.name)) {
        let spec = Specialization { args: args.clone(), ..Specialization::default() };
        program.lower(&kernel.name, &spec).map_err(told)?;
    }
    Ok(args)
}

fn shown(errors: &Diagnostics, sources: &SourceMap) -> String {
    errors.render(sources, Style::Plain).trim_end().to_owned()
}

/// The module around its functions. It holds the texts of all files, and is built again when one changes.
fn module(request: &Request, package: &Path, sources: &SourceMap, functions: &str) -> Result<String, String> {
    let stem = Path::new(&request.path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let name = request.name.as_deref().unwrap_or(stem);
    if !is_identifier(name) {
        return Err(format!("`{name}` is no name for a module; say `mod NAME = {:?}`", request.path));
    }
    let mut files = Vec::new();
    for file in sources.files().map(|file| sources.name(file)).filter(|name| !name.starts_with('<')) {
        let path = std::path::absolute(file).map_err(|why| format!("cannot find {file}: {why}"))?;
        let short = Path::new(file).strip_prefix(package).unwrap_or(Path::new(file));
        let (short, path) = (short.display().to_string(), path.display().to_string());
        files.push(format!("({short:?}, ::core::include_str!({path:?}))"));
    }
    let Some((main, others)) = files.split_first() else { return Err("the file has no text".into()) };
    let mut out = String::new();
    let doc = format!("The kernels of `{}`.", request.path);
    let write = (|| {
        writeln!(out, "#[doc = {doc:?}]\n#[allow(dead_code, non_snake_case)]\n{}mod {name} {{", request.visibility)?;
        writeln!(out, "static FILE: ::shoal::embedded::File = ::shoal::embedded::File::new({main}, &[")?;
        for other in others {
            writeln!(out, "{other},")?;
        }
        writeln!(out, "]);\n{functions}}}")
    })();
    write.map_err(|why| why.to_string())?;
    Ok(out)
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of kernels in a folder of its own, and what the macro makes of it.
    fn expanded(test: &str, text: &str, signatures: &[(&str, &str)]) -> Result<String, String> {
        let folder = std::env::temp_dir().join(format!("shoal-macros-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("scale.py"), text).unwrap();
        let signatures = signatures.iter().map(|(kernel, text)| ((*kernel).to_owned(), (*text).to_owned())).collect();
        let request = Request { path: "scale.py".into(), signatures, ..Request::default() };
        let result = expand(&request, &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        let place = format!("{}/", folder.display());
        result.map(|text| text.replace(&place, "")).map_err(|text| text.replace(&place, ""))
    }

    const SCALE: &str = "import triton
import triton.language as tl

@triton.jit
def scale(x, out, n: tl.int32, factor, BLOCK: tl.constexpr, KIND: tl.constexpr = 'plain'):
    \"\"\"Multiplies.\"\"\"
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)
";

    #[test]
    fn without_a_signature_annotations_decide() {
        insta::assert_snapshot!(expanded("open", SCALE, &[]).unwrap());
    }

    #[test]
    fn a_signature_gives_all_types() {
        let signature = "*kfp16, *fp16:16, i32, fp32, BLOCK=128, KIND='odd'";
        insta::assert_snapshot!(expanded("typed", SCALE, &[("scale", signature)]).unwrap());
    }

    #[test]
    fn mistakes_are_told_with_their_lines() {
        let wrong = |test: &str, text: &str, signature: &str| {
            let signatures = [("scale", signature)];
            expanded(test, text, if signature.is_empty() { &[] } else { &signatures }).unwrap_err()
        };
        let said = [
            wrong("syntax", "def f(:\n    pass\n", ""),
            wrong("name", &SCALE.replace("tl.load", "tl.lod"), "*fp32, *fp32, i32, fp32, 128"),
            wrong("type", SCALE, "*fp32, *fp32, i33, fp32, 128"),
            wrong("double", SCALE, "*fp32, *fp32, i32, fp64, 128"),
            wrong("parameter", SCALE, "*fp32, *fp32, i32, fp32, SIZE=128"),
            expanded("kernel", SCALE, &[("add", "i32")]).unwrap_err(),
        ];
        insta::assert_snapshot!(said.join("\n----\n"));
    }

    #[test]
    fn a_missing_file_is_told() {
        let request = Request { path: "none.py".into(), ..Request::default() };
        let said = expand(&request, Path::new("/nowhere")).unwrap_err();
        assert!(said.starts_with("cannot read /nowhere/none.py: "), "{said}");
    }
}
