//! `tests/filetests/parse/*.tile`: texts that do not parse. A file holds cases with the line `; ---- case` between
//! them; a case is a text and, after the line `; ---- expected`, the rendered error, each line behind `; `. Line
//! numbers count from the start of the case. `SHOAL_BLESS=1` writes the expectations.

use std::fmt::Write;
use std::path::Path;

use shoal_ir::parse;
use shoal_source::{SourceMap, Style, render};

use crate::filetests;

const CASE: &str = "; ---- case\n";
const EXPECTED: &str = "; ---- expected\n";

fn rendered(text: &str, file: &Path) -> String {
    let mut sources = SourceMap::default();
    let id = sources.add(filetests::name(file), text);
    let Err(error) = parse::module(text, id) else {
        panic!("{}: this text has no mistake:\n{text}", file.display());
    };
    let mut lines = String::new();
    for line in render(&sources, &error, Style::Plain).lines() {
        let _ = writeln!(lines, "{}", format!("; {line}").trim_end());
    }
    lines
}

/// The file as it should be.
fn checked(whole: &str, file: &Path) -> String {
    let cases = whole.split(CASE).map(|case| {
        let text = case.split_once(EXPECTED).map_or(case, |(text, _)| text).trim_end();
        format!("{text}\n{EXPECTED}{}", rendered(&format!("{text}\n"), file))
    });
    cases.collect::<Vec<_>>().join(CASE)
}

#[test]
fn every_mistake_is_told_as_expected() {
    let mut wrong = Vec::new();
    for file in filetests::tile_files("parse") {
        let whole = filetests::read(&file);
        let checked = checked(&whole, &file);
        if checked == whole {
            continue;
        }
        if filetests::bless() {
            std::fs::write(&file, checked).expect("a writable test");
        } else {
            wrong.push(format!("{} should read:\n{checked}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}\n\nSHOAL_BLESS=1 accepts this.", wrong.join("\n\n"));
}
