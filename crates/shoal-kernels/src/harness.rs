//! How the kernels of the library are checked: a harness for each, with small sizes and ragged tails. They are written
//! beside the kernels, in `harnesses/*.py`, and are read as if they stood at the end of the kernels' file.

use shoal::{Error, Module};

use crate::library::Source;

/// The harnesses of a file.
fn text(source: Source) -> &'static str {
    macro_rules! file {
        ($name:literal) => {
            include_str!(concat!("../harnesses/", $name))
        };
    }
    match source {
        Source::AllGather => file!("all_gather.py"),
        Source::AllReduce => file!("all_reduce.py"),
        Source::AllReduceRmsNorm => file!("all_reduce_rms_norm.py"),
        Source::AllToAll => file!("all_to_all.py"),
        Source::Attention => file!("attention.py"),
        Source::Broadcast => file!("broadcast.py"),
        Source::Dropout => file!("dropout.py"),
        Source::GemmRanks => file!("gemm_ranks.py"),
        Source::GroupedGemm => file!("grouped_gemm.py"),
        Source::LayerNorm => file!("layer_norm.py"),
        Source::Matmul => file!("matmul.py"),
        Source::Puts => file!("puts.py"),
        Source::ReduceScatter => file!("reduce_scatter.py"),
        Source::RmsNorm => file!("rms_norm.py"),
        Source::Softmax => file!("softmax.py"),
        Source::VectorAdd => file!("vector_add.py"),
    }
}

/// A file of the library together with its harnesses.
///
/// # Errors
/// When it does not parse.
pub fn module(source: Source) -> Result<Module, Error> {
    let all = format!("{}\n\n{}", source.text(), text(source));
    Module::from_sources(source.file(), &all, &Source::SHARED)
}

/// What a harness launches to check a function of the library that has no kernel of its name.
fn checked_by(name: &str) -> &str {
    match name {
        "one_shot_all_reduce_little" => "one_shot_all_reduce_words",
        "two_shot_all_reduce_little" => "two_shot_all_reduce_words",
        "all_gather_with_progress" | "all_gather_then_matmul" => "all_gather_matmul",
        "gemm_reduce_scatter_ce_persistent" => "gemm_announced",
        _ => name,
    }
}

/// The file that has a kernel of this name, with its harnesses, and the kernel if it is one of the file's; `None` if there
/// is no such kernel. Names of files stand for all kernels in them, names of functions for what these launch.
#[must_use]
pub fn find(name: &str) -> Option<(Result<Module, Error>, Option<&str>)> {
    let kernel = checked_by(name);
    let is_file = |source: &Source| source.file().strip_suffix(".py") == Some(kernel);
    let has = |source: &Source| {
        source
            .text()
            .lines()
            .any(|line| line.strip_prefix("def ").is_some_and(|rest| rest.starts_with(&format!("{kernel}("))))
    };
    if let Some(source) = Source::ALL.into_iter().find(has) {
        return Some((module(source), Some(kernel)));
    }
    Source::ALL.into_iter().find(is_file).map(|source| (module(source), None))
}

/// The files by which kernels can be asked for.
#[must_use]
pub fn names() -> Vec<&'static str> {
    Source::ALL.iter().filter_map(|source| source.file().strip_suffix(".py")).collect()
}
