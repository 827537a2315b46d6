//! `tests/filetests/codegen/*.tile`: a header, a module with one kernel, and after the line `; ---- expected` what code
//! generation makes of it, each line behind `; `. `SHOAL_BLESS=1` writes the expectations.
//!
//! | header | expected |
//! |---|---|
//! | `; test: llvm CPU` | LLVM IR after LLVM's passes |
//! | `; test: asm CPU` | assembly, directives and comments apart |
//! | `; test: instructions CPU` | how many LLVM instructions of each kind the backend makes, before LLVM's passes |
//! | `; test: error CPU` | the diagnostics of a kernel that is refused |

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use shoal_abi::CpuTarget;
use shoal_codegen::{Emit, Options, cpu};
use shoal_source::{SourceMap, Style};

const HEADER: &str = "; test: ";
const MARK: &str = "; ---- expected\n";

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/codegen");
    let entries = std::fs::read_dir(folder).expect("the folder of file tests");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// Code for the only kernel of a module, or the rendered reasons why there is none.
fn emitted(source: &str, cpu: &str, what: Emit) -> Result<String, String> {
    let mut sources = SourceMap::default();
    let file = sources.add("k.tile", source);
    let module = shoal_ir::parse::module(source, file)
        .unwrap_or_else(|d| panic!("{}", shoal_source::render(&sources, &d, Style::Plain)));
    shoal_ir::verify(&module).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let kernel = &module.funcs[0].name;
    let code = cpu::emit(&module, kernel, &CpuTarget::new(cpu, ""), &sources, &Options::default(), what);
    code.map(|code| String::from_utf8(code).expect("text")).map_err(|refused| {
        let rendered = refused.iter().map(|d| shoal_source::render(&sources, d, Style::Plain));
        rendered.collect::<Vec<_>>().join("\n")
    })
}

/// Without what says nothing of the code: the module's head, metadata, directives, comments.
fn without_frame(code: &str) -> String {
    let frame = ["; ", "source_filename", "target ", "attributes ", "!", "declare "];
    let is_code =
        |line: &&str| !frame.iter().any(|start| line.starts_with(start)) && !line.trim_start().starts_with(['.', '#']);
    let mut text = String::new();
    for line in code.lines().filter(is_code) {
        let _ = writeln!(text, "{}", line.split("\t#").next().unwrap_or_default().trim_end());
    }
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text.trim().to_owned()
}

/// How often each kind of instruction occurs.
fn histogram(llvm: &str) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in llvm.lines().filter(|line| line.starts_with("  ")) {
        let code = line.trim_start();
        let code = code.split_once(" = ").map_or(code, |(_, code)| code);
        let mut words = code.split_whitespace();
        let first = words.next().unwrap_or_default();
        let kind = if first == "tail" { words.next().unwrap_or_default() } else { first };
        if kind.starts_with(|c: char| c.is_ascii_lowercase()) {
            *counts.entry(kind).or_default() += 1;
        }
    }
    counts.iter().map(|(kind, count)| format!("{count:6} {kind}\n")).collect()
}

fn run(source: &str, file: &Path) -> String {
    let header = source.lines().next().and_then(|line| line.strip_prefix(HEADER));
    let words: Vec<&str> = header.map(|header| header.split_whitespace().collect()).unwrap_or_default();
    let [what, cpu] = words[..] else { panic!("{} opens with `{HEADER}WHAT CPU`", file.display()) };
    let emitted = |emit| emitted(source, cpu, emit).unwrap_or_else(|d| panic!("{}: {d}", file.display()));
    let found = match what {
        "llvm" => without_frame(&emitted(Emit::Llvm)),
        "asm" => without_frame(&emitted(Emit::Asm)),
        "instructions" => histogram(&emitted(Emit::LlvmRaw)),
        "error" => match self::emitted(source, cpu, Emit::LlvmRaw) {
            Ok(_) => panic!("{} compiles", file.display()),
            Err(diagnostics) => diagnostics,
        },
        other => panic!("{}: there is no test `{other}`", file.display()),
    };
    let mut expected = String::new();
    for line in found.lines() {
        let _ = writeln!(expected, "{}", format!("; {line}").trim_end());
    }
    expected
}

#[test]
fn every_file_gives_what_it_expects() {
    let bless = std::env::var_os("SHOAL_BLESS").is_some();
    let mut wrong = Vec::new();
    for file in files() {
        let text = std::fs::read_to_string(&file).expect("a readable test");
        let (source, expected) = text.split_once(MARK).unwrap_or((&text, ""));
        let found = run(source, &file);
        if found == expected {
            continue;
        }
        if bless {
            let gap = if source.ends_with("\n\n") { "" } else { "\n" };
            std::fs::write(&file, format!("{source}{gap}{MARK}{found}")).expect("a writable test");
        } else {
            wrong.push(format!("{}\nexpected:\n{expected}\nfound:\n{found}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}\n\nSHOAL_BLESS=1 accepts this.", wrong.join("\n\n"));
}
