//! No text makes the parser or the verifier panic.

use proptest::prelude::*;
use shoal_ir::{parse, verify};
use shoal_source::FileId;

use crate::filetests;

/// Reads a text, as far as it goes. What is valid also reads back.
fn swallow(text: &str) {
    let Ok(module) = parse::module(text, FileId::from_index(0)) else { return };
    let valid = verify(&module).is_ok();
    let printed = module.to_string();
    let again = parse::module(&printed, FileId::from_index(0))
        .unwrap_or_else(|e| panic!("what is printed parses: {}\n{printed}", e.message));
    assert_eq!(again.to_string(), printed);
    assert_eq!(verify(&again).is_ok(), valid);
}

/// All file tests that hold tile IR.
fn corpus() -> Vec<String> {
    ["passes", "verify", "parse"]
        .iter()
        .flat_map(|folder| filetests::tile_files(folder))
        .map(|file| filetests::read(&file))
        // Comments hide mutations.
        .map(|text| text.lines().filter(|l| !l.starts_with(';')).collect::<Vec<_>>().join("\n"))
        .collect()
}

/// Pieces that mean something to the parser.
const PIECES: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "[",
    "]",
    ",",
    ":",
    "=",
    "%0",
    "%1",
    "@k",
    "->",
    "do",
    "x",
    "0",
    "1",
    "-1",
    "3",
    "65536",
    "18446744073709551616",
    "0x",
    "0xffffffffffffffff",
    "i1",
    "i8",
    "u64",
    "f32",
    "ptr<",
    "ptr<f32>",
    "ptr<f32, shared>",
    "tile<",
    "tile<4xi32>",
    "tile<1048576x1048576xf64>",
    "desc<4x4xf16>",
    "token",
    "#layout<out=[4]>",
    "#layout<",
    "\"",
    "\\u{",
    ";",
    "\n",
    "kernel",
    "func",
    "noinline",
    "yield (",
    "return ()",
    "condition (",
    "for",
    "while",
    "if",
    "reduce",
    "scan",
    "map_elementwise",
    "call",
    "cmp",
    "add",
    "dot",
    "make_desc",
    "desc_size",
    "desc_stride",
    "desc_load",
    "atomic_poll",
    "histogram",
    "gather",
    "split",
    "transpose",
    "value = ",
    "axis = ",
    "axis = 255",
    "perm = [1, 0]",
    "pack = 0",
    "start = 2147483647",
    "é",
    "\u{301}",
    "divisible = [0]",
    "contiguous = [4]",
    "e400",
    "nan",
    "inf",
    "-0.0",
];

#[derive(Clone, Debug)]
enum Edit {
    Remove(usize, usize),
    Insert(usize, usize),
    Copy(usize, usize, usize),
    Swap(usize, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<usize>;
    prop_oneof![
        (at(), 1..12usize).prop_map(|(a, n)| Edit::Remove(a, n)),
        (at(), 0..PIECES.len()).prop_map(|(a, piece)| Edit::Insert(a, piece)),
        (at(), 1..60usize, at()).prop_map(|(a, n, to)| Edit::Copy(a, n, to)),
        (at(), at()).prop_map(|(a, b)| Edit::Swap(a, b)),
    ]
}

/// A text in pieces: words, single signs and white space.
fn pieces(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for c in text.chars() {
        let word = |c: char| c.is_alphanumeric() || "_.%@-".contains(c);
        match all.last_mut() {
            Some(last) if word(c) && last.chars().all(word) => last.push(c),
            _ => all.push(c.to_string()),
        }
    }
    all
}

fn apply(pieces: &mut Vec<String>, edit: &Edit) {
    if pieces.is_empty() {
        return;
    }
    let n = pieces.len();
    match *edit {
        Edit::Remove(at, count) => {
            let at = at % n;
            pieces.drain(at..(at + count).min(n));
        }
        Edit::Insert(at, piece) => pieces.insert(at % n, PIECES[piece].to_string()),
        Edit::Copy(at, count, to) => {
            let at = at % n;
            let copy: Vec<String> = pieces[at..(at + count).min(n)].to_vec();
            let to = to % n;
            pieces.splice(to..to, copy);
        }
        Edit::Swap(a, b) => pieces.swap(a % n, b % n),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        swallow(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn heaps_of_pieces_are_refused_or_read(picks in proptest::collection::vec(0..PIECES.len(), 0..60)) {
        let text: Vec<&str> = picks.into_iter().map(|p| PIECES[p]).collect();
        swallow(&format!("kernel @k(%0: i32) {{ {}", text.join(" ")));
        swallow(&text.concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_modules_are_refused_or_read(edits in proptest::collection::vec(edit(), 1..4)) {
        for text in corpus() {
            let mut pieces = pieces(&text);
            for edit in &edits {
                apply(&mut pieces, edit);
                swallow(&pieces.concat());
            }
        }
    }
}

/// Nested as deeply as the parser allows, and one deeper.
#[test]
fn depth_has_a_limit() {
    let nested = |depth: usize| {
        let open = "reduce {axis = 0} (%0) do { ".repeat(depth);
        format!("func @f(%0: i32) {{ {open} yield () {} return () }}", "yield () } ".repeat(depth))
    };
    let pointer =
        |depth: usize| format!("func @f(%0: {}i32{}) {{ return () }}", "ptr<".repeat(depth), ">".repeat(depth));
    for text in [pointer(255), nested(255)] {
        parse::module(&text, FileId::from_index(0)).unwrap_or_else(|e| panic!("{}\n{text}", e.message));
        swallow(&text);
    }
    for text in [pointer(256), pointer(100_000), nested(256), nested(100_000)] {
        let error = parse::module(&text, FileId::from_index(0)).expect_err("too deep");
        assert!(error.message.contains("nested too deeply"), "{}", error.message);
    }
}
