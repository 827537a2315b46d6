//! `tests/filetests/passes/<pass>/*.tile`: a header `; test: pass <name>[,<name>…] [for <target>]`, a module, and after
//! the line `; ---- expected` what the passes make of it, each line behind `; `. `SHOAL_BLESS=1` writes the expectations.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use shoal_abi::{CpuTarget, Target};
use shoal_passes::pipeline::{self, Pass};
use shoal_source::Cancellation;

use crate::text;

const HEADER: &str = "; test: pass ";
const MARK: &str = "; ---- expected\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/passes")
}

fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for pass in std::fs::read_dir(folder()).expect("the folder of file tests") {
        let pass = pass.expect("an entry").path();
        for file in std::fs::read_dir(&pass).expect("a folder for each pass") {
            files.push(file.expect("an entry").path());
        }
    }
    files.sort();
    files
}

/// The passes a file asks for, and the target they are done for: any CPU if it names none.
fn passes(source: &str, file: &Path) -> (Vec<&'static Pass>, Target) {
    let names = source.lines().next().and_then(|line| line.strip_prefix(HEADER));
    let names = names.unwrap_or_else(|| panic!("{} opens with `{HEADER}…`", file.display()));
    let (names, target) = match names.split_once(" for ") {
        Some((names, target)) => (names, target.trim().parse().unwrap_or_else(|e| panic!("{e}"))),
        None => (names, Target::Cpu(CpuTarget::generic())),
    };
    let pass = |name: &str| pipeline::by_name(name.trim()).unwrap_or_else(|| panic!("there is no pass `{name}`"));
    (names.split(',').map(pass).collect(), target)
}

fn run(source: &str, file: &Path) -> String {
    let mut module = text::module(source);
    let (passes, target) = passes(source, file);
    pipeline::run(&mut module, &target, &passes, &Cancellation::default(), &mut |_, _, _| {}).expect("nobody cancels");
    text::verified(&module);
    let mut expected = String::new();
    for line in module.to_string().lines() {
        let _ = writeln!(expected, "{}", format!("; {line}").trim_end());
    }
    expected
}

#[test]
fn every_file_gives_what_it_expects() {
    let bless = std::env::var_os("SHOAL_BLESS").is_some();
    let mut wrong = Vec::new();
    let files = files();
    assert!(files.len() > 20, "the file tests are found");
    for file in files {
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

#[test]
fn every_pass_has_file_tests() {
    for pass in pipeline::PASSES {
        assert!(folder().join(pass.name).is_dir(), "tests/filetests/passes/{} is missing", pass.name);
    }
}
