//! Verified IR never makes a pass or a backend panic, and no small kernel takes them long: held by mutated file tests.
//!
//! A mutant that parses and verifies is compiled, or refused by a diagnostic: for a CPU as it is, for NVIDIA GPUs after
//! their passes. `SHOAL_MUTANTS=20000` runs more of them than a test should; `SHOAL_SEED` draws others.

use std::path::{Path, PathBuf};
use std::time::Duration;

use shoal_abi::{CpuTarget, NvptxArch, Target};
use shoal_codegen::{Emit, Options};
use shoal_passes::pipeline;
use shoal_source::{Cancellation, SourceMap};

use crate::thread_time::thread_time;

/// More than any mutant of these small kernels takes, by far.
const LONG: Duration = Duration::from_secs(10);

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

fn tile_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder of file tests") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            tile_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "tile") {
            found.push(path);
        }
    }
}

/// The modules of all file tests, without comments and expectations.
fn corpus() -> Vec<String> {
    let mut files = Vec::new();
    tile_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests"), &mut files);
    files.sort();
    let text = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).expect("a readable test");
        text.lines().filter(|line| !line.starts_with(';')).map(|line| format!("{line}\n")).collect()
    };
    let mut texts: Vec<String> = files.iter().map(text).filter(|text: &String| text.len() < 8000).collect();
    texts.push(crate::every_operation::OPERATIONS.to_owned());
    texts
}

/// Words, numbers, names and single signs.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || "_%@.".contains(c) {
            word.push(c);
            continue;
        }
        tokens.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        tokens.push(c.to_string());
    }
    tokens.extend((!word.is_empty()).then_some(word));
    tokens
}

/// Whether one token may stand where another did, with some hope that the text still parses.
fn is_like(a: &str, b: &str) -> bool {
    let class = |t: &str| match t.chars().next() {
        Some('%') => 0,
        Some(c) if c.is_ascii_digit() => 1,
        Some(c) if c.is_alphabetic() => 2,
        _ => 3,
    };
    class(a) == class(b) && class(a) != 3
}

fn mutant(random: &mut Random, text: &str, words: &[String]) -> String {
    let mut tokens = tokens(text);
    for _ in 0..=random.below(3) {
        let at = random.below(tokens.len());
        let token = tokens[at].clone();
        let candidates = if random.below(2) == 0 { words } else { &tokens.clone()[..] };
        let start = random.below(candidates.len());
        let other = candidates.iter().cycle().skip(start).take(200).find(|t| is_like(t, &token) && **t != token);
        if let Some(other) = other {
            tokens[at] = other.clone();
        }
    }
    if random.below(6) == 0 {
        // A line less, or twice.
        let text = tokens.concat();
        let mut lines: Vec<&str> = text.lines().collect();
        let at = random.below(lines.len());
        if random.below(2) == 0 {
            lines.remove(at);
        } else {
            lines.insert(at, lines[at]);
        }
        return lines.join("\n");
    }
    tokens.concat()
}

/// Whether the target's passes run before code is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passes {
    Run,
    Skipped,
}

/// Compiles all kernels of a module that parses and verifies; how many came so far.
fn compile(text: &str, target: &Target, passes: Passes) -> usize {
    let mut sources = SourceMap::default();
    let file = sources.add("k.tile", text);
    let Ok(mut module) = shoal_ir::parse::module(text, file) else { return 0 };
    if shoal_ir::verify(&module).is_err() {
        return 0;
    }
    if passes == Passes::Run {
        pipeline::optimize(&mut module, target, &Cancellation::default()).expect("nobody cancels");
    }
    for func in &module.funcs {
        let _ = shoal_codegen::emit(&module, &func.name, target, &sources, &Options::default(), Emit::Object);
    }
    1
}

#[test]
fn on_a_cpu_without_passes() {
    compile_mutants(&Target::Cpu(CpuTarget::new("x86-64-v4", "")), Passes::Skipped, 300);
}

#[test]
fn on_a_cpu() {
    compile_mutants(&Target::Cpu(CpuTarget::new("x86-64-v3", "")), Passes::Run, 200);
}

#[test]
fn on_nvidia_gpus() {
    compile_mutants(&Target::Nvptx(NvptxArch::Sm90a), Passes::Run, 150);
    compile_mutants(&Target::Nvptx(NvptxArch::Sm80), Passes::Run, 150);
}

/// Without passes most tiles have no layout, or one of another machine.
#[test]
fn on_nvidia_gpus_without_passes() {
    compile_mutants(&Target::Nvptx(NvptxArch::Sm90a), Passes::Skipped, 200);
}

/// Compiles so many mutants that verify.
fn compile_mutants(target: &Target, passes: Passes, usual: u64) {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
    };
    let mut random = Random(number("SHOAL_SEED", 7));
    let corpus = corpus();
    let words: Vec<String> = corpus.iter().flat_map(|text| tokens(text)).collect();
    let (mut compiled, wanted) = (0, number("SHOAL_MUTANTS", usual) as usize);
    while compiled < wanted {
        let text = {
            let at = random.below(corpus.len());
            mutant(&mut random, &corpus[at], &words)
        };
        let (outcome, took) = thread_time(|| std::panic::catch_unwind(|| compile(&text, target, passes)));
        compiled += outcome.unwrap_or_else(|_| panic!("the compiler panics on {target} for\n{text}"));
        assert!(took < LONG, "compiling for {target} takes {took:?} for\n{text}");
    }
}
