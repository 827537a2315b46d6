//! Builtins ask for their arguments by name, and every name they ask for is in their signature.
//!
//! The functions are read as text: what one asks for, it may ask for on a path that no call takes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{find, names, params};

/// A function that takes bound arguments: the names it asks for, and the functions it hands them on to.
#[derive(Debug, Default)]
struct Reader {
    asks: BTreeSet<String>,
    hands_to: BTreeSet<String>,
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// A file's folder, and its module's name as its neighbours write it: `block_ptr` for `semantic/block_ptr.rs`.
fn place_of(path: &Path) -> (String, String) {
    let name = |path: Option<&Path>| path.and_then(Path::file_stem).unwrap().to_str().unwrap().to_owned();
    match name(Some(path)).as_str() {
        "mod" => (name(path.parent().and_then(Path::parent)), name(path.parent())),
        stem => (name(path.parent()), stem.to_owned()),
    }
}

fn word_before(text: &str) -> &str {
    let start = text.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).map_or(0, |at| at + 1);
    &text[start..]
}

fn literal(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next())
}

/// What a function's text does with its arguments, which it calls `name`.
fn read(folder: &str, module: &str, text: &str, name: &str) -> Reader {
    let mut reader = Reader::default();
    for (at, _) in text.match_indices(name) {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.')
            || after.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        {
            continue;
        }
        match after.chars().next() {
            // `a.int("axis")`
            Some('.') => {
                let method = after[1..].split_once('(');
                let method = method.filter(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
                reader.asks.extend(method.and_then(|(_, rest)| literal(rest)).map(str::to_owned));
            }
            // `operand(l, a, "x")`, `checked_dims(e, a, p)`
            Some(',' | ')') => {
                if let Some(rest) = after.strip_prefix(',') {
                    reader.asks.extend(literal(rest).map(str::to_owned));
                }
                let Some(open) = before.rfind('(') else { continue };
                let function = word_before(&before[..open]);
                let function = function.strip_prefix("super::").unwrap_or(function);
                let path: Vec<&str> = function.rsplit("::").take(2).collect();
                reader.hands_to.insert(match path.as_slice() {
                    [function, module] => format!("{folder}/{module}::{function}"),
                    _ => format!("{folder}/{module}::{function}"),
                });
            }
            _ => {}
        }
    }
    reader
}

/// Where the parentheses close that were open at the beginning, strings aside.
fn closing(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(at, c)| {
        quoted ^= c == '"';
        (c == ')' && !quoted).then_some(at)
    })
}

/// All functions that take bound arguments, and which of them runs each builtin.
fn sources() -> (BTreeMap<String, Reader>, BTreeMap<String, String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&root.join("semantic"), &mut paths);
    files(&root.join("builtin"), &mut paths);
    let (mut readers, mut runs) = (BTreeMap::new(), BTreeMap::new());
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let (folder, module) = place_of(&path);
        for part in text.split("\n}\n") {
            let Some(at) = part.find("fn ").filter(|_| part.contains("&Args")) else { continue };
            let Some((name, rest)) = part[at + 3..].split_once(['(', '<']) else { continue };
            let Some((head, body)) = rest.split_once("&Args") else { continue };
            let args = word_before(head.trim_end().trim_end_matches(':'));
            readers.insert(format!("{folder}/{module}::{name}"), read(&folder, &module, body, args));
        }
        for entry in text.split("Builtin::").skip(1) {
            let Some(rest) = entry.strip_prefix("kernel(").or_else(|| entry.strip_prefix("anywhere(")) else {
                continue;
            };
            let (Some(name), Some(end)) = (literal(rest), closing(rest)) else { continue };
            let run = rest[..end].trim_end().trim_end_matches(',').rsplit([',', ' ', '\n']).next().unwrap();
            runs.insert(name.to_owned(), format!("{folder}/{module}::{run}"));
        }
    }
    (readers, runs)
}

#[test]
fn builtins_ask_for_arguments_that_they_declare() {
    let (readers, runs) = sources();
    let mut checked = 0;
    for name in names() {
        let builtin = find(name).unwrap();
        // The table of libdevice is made by a macro; its one function asks by position.
        let Some(run) = runs.get(name) else {
            assert!(name.starts_with("libdevice."), "where is `{name}` defined?");
            continue;
        };
        let declared: BTreeSet<&str> = params(builtin).iter().map(|param| param.name).collect();
        let (mut open, mut seen) = (vec![run.clone()], BTreeSet::new());
        while let Some(function) = open.pop() {
            let Some(reader) = readers.get(&function).filter(|_| seen.insert(function.clone())) else { continue };
            for asked in &reader.asks {
                assert!(
                    declared.contains(asked.as_str()),
                    "`{name}` has no parameter `{asked}`, for which `{function}` asks"
                );
                checked += 1;
            }
            open.extend(reader.hands_to.iter().cloned());
        }
    }
    assert!(checked > 200, "only {checked} names were found: is this test still reading the code right?");
}
