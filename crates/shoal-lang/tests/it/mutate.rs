//! Nothing a user writes makes the compiler panic: kernels are damaged at random and compiled.

use std::path::Path;

use shoal_lang::{Program, Specialization};
use shoal_source::{SourceMap, Style};

/// A small generator of numbers, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % below.max(1)
    }
}

/// Pieces that fit in many places and mean something else there.
const PIECES: [&str; 36] = [
    "0",
    "1",
    "-1",
    "3",
    "1.5",
    "None",
    "True",
    "'a'",
    "tl.float16",
    "tl.int8",
    "x",
    "BLOCK",
    "n",
    "(1, 2)",
    "()",
    "[]",
    "tl.arange(0, 16)",
    "tl.program_id(0)",
    "tl.zeros((16, 16), tl.float32)",
    ".to(tl.float64)",
    "[:, None]",
    "[None, :]",
    "[0]",
    "*",
    "**",
    "//",
    "%",
    "<",
    "is",
    "and",
    "not",
    "if True else",
    "range(4)",
    "return",
    "\n",
    "tl.constexpr",
];

fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut previous: Option<char> = None;
    for (i, c) in text.char_indices() {
        if let Some(p) = previous
            && !(is_word(p) && is_word(c))
        {
            words.push(&text[start..i]);
            start = i;
        }
        previous = Some(c);
    }
    words.push(&text[start..]);
    words
}

fn damage(text: &str, random: &mut Random) -> String {
    let mut parts: Vec<String> = words(text).into_iter().map(str::to_owned).collect();
    for _ in 0..=random.next(3) {
        let at = random.next(parts.len());
        let other = random.next(parts.len());
        match random.next(5) {
            0 => {
                parts.remove(at);
            }
            1 => parts.insert(at, PIECES[random.next(PIECES.len())].to_owned()),
            2 => parts[at] = PIECES[random.next(PIECES.len())].to_owned(),
            3 => parts.swap(at, other),
            _ => {
                let copy = parts[other].clone();
                parts[at] = copy;
            }
        }
    }
    parts.concat()
}

fn kernels() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests");
    let mut texts = Vec::new();
    for folder in ["lang", "diagnostics"] {
        let mut paths: Vec<_> = std::fs::read_dir(root.join(folder)).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        for path in paths.into_iter().filter(|p| p.extension().is_some_and(|e| e == "py")) {
            let text = std::fs::read_to_string(&path).unwrap();
            let source = text.split("\n# ---\n").next().unwrap_or("").to_owned();
            for line in source.lines().filter_map(|l| l.strip_prefix("# lower: ")) {
                texts.push((source.clone(), line.to_owned()));
            }
        }
    }
    texts
}

fn compile(source: &str, line: &str) -> bool {
    let Some((kernel, signature)) = line.trim_end_matches(')').split_once('(') else { return false };
    let mut sources = SourceMap::default();
    let program = match Program::parse(&mut sources, "k.py", source) {
        Ok(program) => program,
        Err(errors) => {
            errors.render(&sources, Style::Plain);
            return false;
        }
    };
    let lowered = program
        .signature(kernel, signature)
        .and_then(|args| program.lower(kernel, &Specialization { args, ..Default::default() }));
    match lowered {
        Ok(lowered) => {
            let checked = shoal_ir::verify(&lowered.module);
            assert!(checked.is_ok(), "invalid IR: {checked:?}\n{source}\n{}", lowered.module);
            true
        }
        Err(errors) => {
            errors.render(&program.sources(), Style::Plain);
            false
        }
    }
}

#[test]
fn damaged_kernels_never_panic() {
    let rounds = std::env::var("SHOAL_FUZZ_ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(40);
    let mut random = Random(7);
    let mut compiled = 0;
    let kernels = kernels();
    for (source, line) in &kernels {
        for _ in 0..rounds {
            let damaged = damage(source, &mut random);
            let outcome = std::panic::catch_unwind(|| compile(&damaged, line));
            match outcome {
                Ok(ok) => compiled += usize::from(ok),
                Err(_) => panic!("the compiler panicked on:\n# lower: {line}\n{damaged}"),
            }
        }
    }
    // The damage must leave enough kernels alive to reach the later stages.
    assert!(compiled > kernels.len(), "only {compiled} damaged kernels compiled");
}
