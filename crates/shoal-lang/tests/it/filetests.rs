//! File tests: kernel files whose trailing comment holds the IR or the errors they give.
//!
//! A file begins with what to do, one line per kernel:
//!
//! ```text
//! # lower: add(*fp32:16, *fp32:16, i32, BLOCK=128)
//! # options: debug
//! ```
//!
//! and ends with a line `# ---` and the expected text as comments. `SHOAL_BLESS=1` writes what came out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use shoal_lang::{Options, Program, Specialization};
use shoal_source::{SourceMap, Style};

const MARK: &str = "# ---";

#[test]
fn lang() {
    run_folder("lang");
}

#[test]
fn diagnostics() {
    run_folder("diagnostics");
}

fn run_folder(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests").join(name);
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    assert!(!files.is_empty(), "no tests in {}", root.display());
    let failures: Vec<String> = files.iter().filter_map(|file| run_file(&root, file).err()).collect();
    assert!(failures.is_empty(), "{}\n(SHOAL_BLESS=1 accepts what came out)", failures.join("\n"));
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "py") && !path.to_string_lossy().contains("imported_") {
            files.push(path);
        }
    }
}

fn run_file(root: &Path, path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).unwrap();
    let (source, expected) = match text.find(&format!("\n{MARK}\n")) {
        Some(at) => (&text[..=at], &text[at + 1..]),
        None => (text.as_str(), ""),
    };
    let name = path.strip_prefix(root).unwrap().to_string_lossy();
    let found = outcome(path, &name, source);
    let is_error = found.lines().any(|line| line.starts_with("error"));
    let errors_are_meant = root.ends_with("diagnostics");
    if is_error && !errors_are_meant {
        return Err(format!("{name} does not compile:\n{found}"));
    }
    let actual = comment(&found);
    if expected == actual {
        return Ok(());
    }
    if std::env::var_os("SHOAL_BLESS").is_some() {
        let gap = if source.ends_with("\n\n") { "" } else { "\n" };
        std::fs::write(path, format!("{source}{gap}{actual}")).unwrap();
        return Ok(());
    }
    Err(format!("{name}:\n--- expected\n{expected}\n--- found\n{actual}"))
}

fn comment(text: &str) -> String {
    let mut out = format!("{MARK}\n");
    for line in text.lines() {
        let _ = writeln!(out, "{}", format!("# {line}").trim_end());
    }
    out
}

/// What the compiler says to a file: the IR, or the errors. Names of files are given relative to the folder of tests.
fn outcome(path: &Path, name: &str, source: &str) -> String {
    let folder = format!("{}/", path.parent().unwrap().display());
    let mut sources = SourceMap::default();
    let shown = path.display().to_string();
    let program = match Program::parse(&mut sources, &shown, source) {
        Ok(program) => program,
        Err(errors) => return errors.render(&sources, Style::Plain).replace(&shown, name).replace(&folder, ""),
    };
    let mut out = String::new();
    for line in source.lines().filter_map(|l| l.strip_prefix("# lower: ")) {
        let (kernel, signature) = line.split_once('(').expect("a signature in parentheses");
        let signature = signature.strip_suffix(')').expect("a closing parenthesis");
        let result = program.signature(kernel, signature).and_then(|args| {
            program.lower(kernel, &Specialization { args, options: options(source), ..Default::default() })
        });
        match result {
            Ok(lowered) => {
                if let Err(errors) = shoal_ir::verify(&lowered.module) {
                    panic!("{name}: invalid IR: {errors:?}\n{}", lowered.module);
                }
                out.push_str(&lowered.notes.render(&program.sources(), Style::Plain));
                if !name.starts_with("warn") {
                    out.push_str(&lowered.module.to_string());
                }
            }
            Err(errors) => out.push_str(&errors.render(&program.sources(), Style::Plain)),
        }
    }
    out.replace(&shown, name).replace(&folder, "")
}

fn options(source: &str) -> Options {
    let mut options = Options::default();
    for word in source.lines().filter_map(|l| l.strip_prefix("# options: ")).flat_map(str::split_whitespace) {
        match word {
            "debug" => options.debug = true,
            "sanitize_overflow" => options.sanitize_overflow = true,
            other => panic!("unknown option {other}"),
        }
    }
    options
}
