//! Passes over tile IR as text: what `shoal opt` does.

use std::sync::Arc;
use std::time::Duration;

use shoal_passes::pipeline;
use shoal_source::{Cancellation, SourceMap};

use crate::Error;
use crate::error::Report;
use crate::targets::host_target;

/// A pass.
#[derive(Debug, Clone, Copy)]
pub struct PassInfo {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// The module after a pass.
#[derive(Debug, Clone)]
pub struct AfterPass {
    /// The pass.
    pub pass: &'static str,
    /// The module's text.
    pub text: String,
    /// How long the pass took.
    pub took: Duration,
}

/// All passes.
#[must_use]
pub fn passes() -> Vec<PassInfo> {
    pipeline::PASSES.iter().map(|pass| PassInfo { name: pass.name, doc: pass.doc }).collect()
}

/// The passes that code for this machine goes through, in order.
#[must_use]
pub fn cpu_pipeline() -> Vec<&'static str> {
    pipeline::passes_for(host_target()).iter().map(|pass| pass.name).collect()
}

/// Runs passes by name over a module's text. `cpu` stands for the whole pipeline. The last entry has the result; there
/// is one for each pass.
///
/// # Errors
/// When the text is not valid tile IR, or there is no such pass.
pub fn run_passes(file: &str, text: &str, names: &[&str]) -> Result<Vec<AfterPass>, Error> {
    let mut sources = SourceMap::default();
    let id = sources.add(file, text);
    let sources = Arc::new(sources);
    let wrong = |errors: shoal_source::Diagnostics| Error::Compile(Report::new(errors, sources.clone()));
    let mut module = shoal_ir::parse::module(text, id).map_err(|error| wrong(error.into()))?;
    shoal_ir::verify(&module).map_err(|errors| wrong(errors.into()))?;
    let mut passes = Vec::new();
    for &name in names {
        match (name, pipeline::by_name(name)) {
            ("cpu", _) => passes.extend(pipeline::passes_for(host_target())),
            (_, Some(pass)) => passes.push(pass),
            (_, None) => {
                let known: Vec<&str> = pipeline::PASSES.iter().map(|pass| pass.name).collect();
                let known = known.join(", ");
                return Err(Error::Text(format!(
                    "there is no pass `{name}`; there are {known}, and cpu for all of them"
                )));
            }
        }
    }
    let mut after = Vec::new();
    let observe = &mut |pass: &'static pipeline::Pass, module: &shoal_ir::Module, took| {
        after.push(AfterPass { pass: pass.name, text: module.to_string(), took });
    };
    // Nobody cancels.
    let (Ok(()) | Err(pipeline::Cancelled)) =
        pipeline::run(&mut module, host_target(), &passes, &Cancellation::default(), observe);
    if after.is_empty() {
        after.push(AfterPass { pass: "", text: module.to_string(), took: Duration::ZERO });
    }
    Ok(after)
}
