//! Nothing a user writes makes the compiler panic: damaged kernels go all the way to machine code.
//!
//! The number of damaged kernels is small enough for every run. The long run is asked for by name, with other kernels
//! for each `SHOAL_FUZZ_SEED`:
//!
//! ```text
//! cargo nextest run -p shoal --run-ignored only twenty_thousand
//! ```
//!
//! It keeps the kernel at work in the temporary directory, for the case that the process ends.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use shoal_abi::{NvptxArch, Target};
use shoal_lang::{Options, Program, Specialization};
use shoal_source::{Cancellation, SourceMap, Style};

use crate::random_kernels::choices::Choices;
use crate::thread_time::thread_time;

/// Damaged kernels of one run.
const KERNELS: usize = 1500;

/// One of so many goes through code generation too, for the CPU and for an NVIDIA GPU in turns.
const CODEGEN: usize = 5;

/// Damaged kernels of the long run.
const MANY_KERNELS: usize = 20_000;

/// No kernel of the size that we damage may take longer.
pub(super) const LONGEST: Duration = Duration::from_secs(10);

pub(super) const GPU: Target = Target::Nvptx(NvptxArch::Sm90a);

/// Pieces that fit in many places and mean something else there.
const PIECES: &[&str] = &[
    "0",
    "1",
    "-1",
    "3",
    "64",
    "1 << 20",
    "1 << 70",
    "2147483648",
    "1.5",
    "1e400",
    "None",
    "True",
    "'a'",
    "\"",
    "'''",
    "tl.float16",
    "tl.int8",
    "tl.uint64",
    "tl.float8e5",
    "tl.float64",
    "x",
    "n",
    "out",
    "BLOCK",
    "(1, 2)",
    "()",
    "[]",
    "{}",
    "tl.arange(0, 16)",
    "tl.arange(0, 1)[:, None]",
    "tl.program_id(0)",
    "tl.zeros((16, 16), tl.float32)",
    "tl.full([8], 2, tl.int64)",
    ".to(tl.float64)",
    ".to(tl.int1)",
    ".T",
    ".shape",
    ".dtype",
    "[:, None]",
    "[None, :]",
    "[0]",
    "[::-1]",
    "+",
    "-",
    "*",
    "**",
    "//",
    "%",
    "/",
    "<<",
    ">>",
    "<",
    "==",
    "is",
    "in",
    "and",
    "not ",
    "if True else",
    ":=",
    "range(4)",
    "tl.static_range(3)",
    "tl.sum",
    "tl.sort",
    "tl.load(",
    "tl.store(",
    "tl.where(",
    "tl.dot(",
    "tl.reshape(",
    "tl.cumsum(",
    "tl.atomic_add(",
    "tl.make_block_ptr(",
    "tl.device_print('x', ",
    "return ",
    "\n",
    "    ",
    "\t",
    "pass",
    "while ",
    "for i in ",
    "if ",
    "else:",
    "lambda: ",
    "yield ",
    "@",
    "tl.constexpr",
    "int(",
    "float('nan')",
    "f'{x}'",
    "é",
    "\u{0}",
    "\\",
    ";",
    "# ",
    "axis=",
    "mask=",
    "5j",
    "0x",
    "1_000",
    "...",
];

/// A kernel and how it may be specialised.
pub(super) struct Seed {
    pub(super) text: String,
    pub(super) kernel: String,
    pub(super) signature: Option<String>,
}

fn texts(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "py"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for folder in ["tests/filetests/lang", "crates/shoal/tests/it/language"] {
        // A text has no neighbours to import.
        for (_, text) in texts(folder).into_iter().filter(|(_, text)| !text.contains("from . import")) {
            let text = text.split("\n# ---\n").next().unwrap_or("").to_owned();
            for line in text.lines().filter_map(|line| line.strip_prefix("# lower: ")) {
                let Some((kernel, signature)) = line.strip_suffix(')').and_then(|line| line.split_once('(')) else {
                    continue;
                };
                seeds.push(Seed { text: text.clone(), kernel: kernel.into(), signature: Some(signature.into()) });
            }
        }
    }
    for folder in ["crates/shoal-kernels/kernels", "crates/shoal-lang/src/library"] {
        for (_, text) in texts(folder) {
            for kernel in kernels_of(&text) {
                seeds.push(Seed { text: text.clone(), kernel, signature: None });
            }
        }
    }
    seeds
}

/// The functions with the decorator `jit`.
fn kernels_of(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let decorated = lines.windows(2).filter(|pair| pair[0].starts_with("@shoal.jit"));
    let name = |line: &str| Some(line.strip_prefix("def ")?.split_once('(')?.0.to_owned());
    decorated.filter_map(|pair| name(pair[1])).collect()
}

/// Words and the signs between them.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut inside = false;
    for c in text.chars() {
        let word = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some(last) if word && inside => last.push(c),
            _ => words.push(c.into()),
        }
        inside = word;
    }
    words
}

fn damaged(text: &str, choices: &mut Choices) -> String {
    let mut words = words(text);
    let times = choices.of(&[1, 1, 1, 2, 3, 5]);
    for _ in 0..times {
        if words.is_empty() {
            break;
        }
        let (at, other) = (choices.below(words.len()), choices.below(words.len()));
        match choices.below(14) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, choices.of(PIECES).to_owned()),
            2 | 3 => words[at] = choices.of(PIECES).to_owned(),
            4 => words.swap(at, other),
            5 => words[at] = words[other].clone(),
            6 => words.insert(at, words[other].clone()),
            7 => swap_lines(&mut words, choices),
            8..=11 => words[at] = alike(&words, at, choices),
            _ => number_changed(&mut words, at, choices),
        }
    }
    let mut text = words.concat();
    if choices.percent(3) {
        nested(&mut text, choices);
    }
    if choices.percent(3) {
        let at = text.char_indices().nth(choices.below(text.chars().count().max(1))).map_or(0, |(at, _)| at);
        text.insert(at, char::from_u32(choices.below(0x3000) as u32).unwrap_or('\u{fffd}'));
    }
    text
}

/// Damage in the kernel itself, so that the rest of the file does not hide it.
fn damaged_kernel(seed: &Seed, choices: &mut Choices) -> String {
    let start = seed.text.find(&format!("def {}(", seed.kernel)).unwrap_or(0);
    let length = seed.text[start..].find("\n@").unwrap_or(seed.text.len() - start);
    let (before, rest) = seed.text.split_at(start);
    let (kernel, after) = rest.split_at(length);
    format!("{before}{}{after}", damaged(kernel, choices))
}

fn swap_lines(words: &mut Vec<String>, choices: &mut Choices) {
    let text = words.concat();
    let mut lines: Vec<&str> = text.split('\n').collect();
    let (a, b) = (choices.below(lines.len()), choices.below(lines.len()));
    if choices.percent(50) {
        lines.swap(a, b);
    } else {
        lines.insert(a, lines[b]);
    }
    *words = self::words(&lines.join("\n"));
}

/// Another word of the same kind: a name for a name, a sign for a sign.
fn alike(words: &[String], at: usize, choices: &mut Choices) -> String {
    let kind = |word: &str| match word.chars().next() {
        Some(c) if c.is_ascii_digit() => 0,
        Some(c) if c.is_alphanumeric() || c == '_' => 1,
        Some('+' | '-' | '*' | '/' | '%' | '<' | '>' | '&' | '|' | '^') => 2,
        Some('(' | ')' | '[' | ']' | ',' | ':' | '.') => 3,
        _ => 4,
    };
    let wanted = kind(&words[at]);
    let others: Vec<&String> = words.iter().filter(|word| kind(word) == wanted).collect();
    choices.of(&others).clone()
}

/// The next number after a place becomes another one.
fn number_changed(words: &mut [String], at: usize, choices: &mut Choices) {
    let number = words[at..].iter_mut().find(|word| word.bytes().all(|c| c.is_ascii_digit()));
    if let Some(number) = number {
        *number = choices
            .of(&["0", "1", "2", "3", "4", "7", "8", "16", "1024", "65536", "4294967295", "99999999999999999999"])
            .to_owned();
    }
}

/// One line becomes very deep.
fn nested(text: &mut String, choices: &mut Choices) {
    let depth = choices.of(&[3, 30, 300, 5000]);
    let (open, close) = choices.of(&[
        ("(", ")"),
        ("-", ""),
        ("[", "]"),
        ("tl.exp(", ")"),
        ("not ", ""),
        ("1.0 + ", ""),
        ("1 if x else ", ""),
    ]);
    let line = format!("    deep = {}1.0{}\n", open.repeat(depth), close.repeat(depth));
    let at = text.rfind("):\n").map_or(0, |at| at + 3);
    text.insert_str(at, &line);
}

/// Whether a kernel seems to use a parameter as an address.
fn used_as_pointer(text: &str, name: &str) -> bool {
    ["load(", "store(", "descriptor(", "block_ptr(", "atomic_add(", "atomic_cas(", "atomic_xchg("]
        .iter()
        .any(|call| text.contains(&format!("{call}{name} +")) || text.contains(&format!("{call}{name},")))
}

/// A specialisation for parameters of which only the names are known.
fn guessed(program: &Program, text: &str, kernel: &str, choices: &mut Choices) -> Option<String> {
    let function = program.kernel(kernel)?;
    let mut signature = String::new();
    for param in &function.params {
        let name = &param.name;
        let spec = if param.is_constexpr() {
            choices.of(&["16", "32", "8", "1", "True", "False", "None", "64", "3", "'tanh'"])
        } else if used_as_pointer(text, name) != choices.percent(5) {
            choices.of(&["*fp32:16", "*fp32", "*fp16:16", "*bf16", "*i32:16", "*i8", "*fp64", "*u1", "*fp8e5"])
        } else {
            choices.of(&["i32", "i32:16", "i64", "fp32", "1", "u1", "None", "u64", "(i32, fp32)", "2.5"])
        };
        let _ = write!(signature, "{}{name}={spec}", if signature.is_empty() { "" } else { ", " });
    }
    Some(signature)
}

/// How far a kernel came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    Refused,
    Lowered,
    Compiled,
}

pub(super) fn compile(seed: &Seed, text: &str, choices: &mut Choices, target: &Target, codegen: bool) -> Reached {
    let mut sources = SourceMap::default();
    let program = match Program::parse(&mut sources, "kernel.py", text) {
        Ok(program) => program,
        Err(errors) => {
            assert!(!errors.render(&sources, Style::Plain).is_empty());
            return Reached::Refused;
        }
    };
    let signature =
        seed.signature.clone().or_else(|| guessed(&program, text, &seed.kernel, choices)).unwrap_or_default();
    let options = Options { target: target.clone(), ..Options::default() };
    let lowered = program
        .signature(&seed.kernel, &signature)
        .and_then(|args| program.lower(&seed.kernel, &Specialization { args, options, ..Default::default() }));
    let mut lowered = match lowered {
        Ok(lowered) => lowered,
        Err(errors) => {
            assert!(!errors.render(&program.sources(), Style::Plain).is_empty());
            return Reached::Refused;
        }
    };
    let checked = shoal_ir::verify(&lowered.module);
    assert!(checked.is_ok(), "the front end made invalid IR: {checked:?}\n{}", lowered.module);
    shoal_passes::pipeline::optimize(&mut lowered.module, target, &Cancellation::default()).unwrap();
    let checked = shoal_ir::verify(&lowered.module);
    assert!(checked.is_ok(), "the passes made invalid IR: {checked:?}\n{}", lowered.module);
    if !codegen {
        return Reached::Lowered;
    }
    let options = shoal_codegen::Options::default();
    match shoal_codegen::compile(&lowered.module, &lowered.kernel, target, &program.sources(), &options) {
        Ok(_) => Reached::Compiled,
        Err(errors) => {
            assert!(!errors.render(&program.sources(), Style::Plain).is_empty());
            Reached::Refused
        }
    }
}

/// Damage is only worth its time where the whole would compile.
#[test]
fn seeds_compile_as_they_are() {
    let target = shoal::host_target();
    for seed in seeds().iter().filter(|seed| seed.signature.is_some()) {
        let reached = compile(seed, &seed.text, &mut Choices::new(0), target, true);
        assert_eq!(reached, Reached::Compiled, "`{}` of\n{}", seed.kernel, seed.text);
    }
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn damaged_kernels_are_compiled_or_refused() {
    damage_many(KERNELS, 1, None);
}

#[test]
#[ignore = "takes minutes"]
fn twenty_thousand_damaged_kernels_are_compiled_or_refused() {
    let seed = number_from("SHOAL_FUZZ_SEED").unwrap_or(2);
    damage_many(MANY_KERNELS, seed, Some(&std::env::temp_dir().join("shoal-fuzz.py")));
}

/// Damages as many kernels and compiles them; `keep` holds the one at work.
fn damage_many(count: usize, first: u64, keep: Option<&Path>) {
    let (exact, open): (Vec<Seed>, Vec<Seed>) = seeds().into_iter().partition(|seed| seed.signature.is_some());
    let targets = [shoal::host_target(), &GPU];
    let mut reached = [0; 3];
    for number in 0..count {
        let mut choices = Choices::new(first.wrapping_mul(0x1_0000_0000).wrapping_add(number as u64));
        // Most damage goes to kernels of which we know how they are specialised.
        let from = if choices.percent(85) { &exact } else { &open };
        let seed = &from[choices.below(from.len())];
        let text = match choices.below(25) {
            0 => seed.text.clone(),
            1..=4 => damaged(&seed.text, &mut choices),
            _ => damaged_kernel(seed, &mut choices),
        };
        if let Some(path) = keep {
            std::fs::write(path, &text).unwrap();
        }
        let target = targets[number % 2];
        let (outcome, took) = thread_time(|| {
            catch_unwind(AssertUnwindSafe(|| {
                compile(seed, &text, &mut choices, target, number.is_multiple_of(CODEGEN))
            }))
        });
        let case = || format!("kernel {number} of seed {first} for {target}, `{}`:\n{text}", seed.kernel);
        assert!(took < LONGEST, "{took:?} for {}", case());
        match outcome {
            Ok(how_far) => reached[how_far as usize] += 1,
            Err(_) => panic!("the compiler panicked on {}", case()),
        }
    }
    // The damage must leave enough kernels alive to reach the later stages.
    let [refused, lowered, compiled] = reached;
    println!("{refused} refused, {lowered} lowered, {compiled} compiled");
    assert!(lowered * 8 > count && compiled * 40 > count, "only {lowered} lowered and {compiled} compiled of {count}");
}
