//! Diagnostics as the user sees them.

use insta::assert_snapshot;
use shoal_source::{Diagnostic, Diagnostics, FileId, SourceMap, Span, Style, render};

const KERNEL: &str = "\
@triton.jit
def scale(x, factor):
    return x * factor

@triton.jit
def kernel(ptr, n: tl.constexpr):
    offs = tl.arange(0, n)
    x = tl.load(ptr + offs)
    tl.store(ptr + offs, scale(x, \"two\"))
";

fn kernel() -> (SourceMap, FileId) {
    let mut sources = SourceMap::default();
    let file = sources.add("kernels/scale.py", KERNEL);
    (sources, file)
}

/// The span of the `nth` place where `needle` stands.
fn find(sources: &SourceMap, file: FileId, needle: &str, nth: usize) -> Span {
    let (start, _) = sources.text(file).match_indices(needle).nth(nth).expect("the needle is in the text");
    Span::new(file, start as u32, (start + needle.len()) as u32)
}

fn plain(sources: &SourceMap, diagnostic: &Diagnostic) -> String {
    render(sources, diagnostic, Style::Plain)
}

#[test]
fn all_parts_together() {
    let (sources, file) = kernel();
    let problem = Diagnostic::error(find(&sources, file, "x * factor", 0), "cannot multiply a tile by a string")
        .label("`tile<128xf32>` times `str`")
        .with_label(find(&sources, file, "factor", 0), "this is the string \"two\"")
        .note("arithmetic needs numbers on both sides")
        .help("pass a number for `factor`")
        .in_call(find(&sources, file, "scale(x, \"two\")", 0), "scale");
    assert_snapshot!(plain(&sources, &problem), @r#"
    error: cannot multiply a tile by a string
     --> kernels/scale.py:3:12
      |
    2 | def scale(x, factor):
      |              ------ this is the string "two"
    3 |     return x * factor
      |            ^^^^^^^^^^ `tile<128xf32>` times `str`
      |
      = note: arithmetic needs numbers on both sides
      = help: pass a number for `factor`
    note: in this call to `scale`
     --> kernels/scale.py:9:26
      |
    9 |     tl.store(ptr + offs, scale(x, "two"))
      |                          ^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn a_warning_without_label() {
    let (sources, file) = kernel();
    let problem = Diagnostic::warning(find(&sources, file, "offs", 0), "`offs` is never masked");
    assert_snapshot!(plain(&sources, &problem), @r"
    warning: `offs` is never masked
     --> kernels/scale.py:7:5
      |
    7 |     offs = tl.arange(0, n)
      |     ^^^^
    ");
}

#[test]
fn without_a_place() {
    let (sources, _) = kernel();
    let problem = Diagnostic::error(Span::NONE, "LLVM 22 was not found")
        .label("looked in /usr/lib/llvm-22")
        .help("run `make test`, which installs it");
    assert_snapshot!(plain(&sources, &problem), @r"
    error: LLVM 22 was not found
     |
     = note: looked in /usr/lib/llvm-22
     = help: run `make test`, which installs it
    ");
}

#[test]
fn labels_in_two_files() {
    let (mut sources, file) = kernel();
    let other = sources.add("main.py", "import kernels\nkernels.kernel[grid](x, n=100)\n");
    let problem = Diagnostic::error(find(&sources, file, "tl.arange(0, n)", 0), "100 is not a power of two")
        .label("the length of this tile")
        .with_label(find(&sources, other, "n=100", 0), "launched with this value");
    assert_snapshot!(plain(&sources, &problem), @r"
    error: 100 is not a power of two
     --> kernels/scale.py:7:12
      |
    7 |     offs = tl.arange(0, n)
      |            ^^^^^^^^^^^^^^^ the length of this tile
      |
     ::: main.py:2:25
      |
    2 | kernels.kernel[grid](x, n=100)
      |                         ----- launched with this value
    ");
}

#[test]
fn several_lines_tabs_and_crlf() {
    let mut sources = SourceMap::default();
    let file = sources.add("t.py", "def f(x):\r\n\tfor i in (\r\n\t\tx,\r\n\t):\r\n\t\tpass\r\n");
    let problem = Diagnostic::error(find(&sources, file, "(\r\n\t\tx,\r\n\t)", 0), "a loop runs over `range(…)` only")
        .label("this is a tuple");
    assert_snapshot!(plain(&sources, &problem), @r"
    error: a loop runs over `range(…)` only
     --> t.py:2:11
      |
    2 |       for i in (
      |  ______________^
    3 | |         x,
    4 | |     ):
      | |_____^ this is a tuple
    ");
}

#[test]
fn wide_characters() {
    let mut sources = SourceMap::default();
    let file = sources.add("名.py", "α = '名前' + β\n");
    let problem = Diagnostic::error(find(&sources, file, "β", 0), "the name `β` is not defined").label("not defined");
    assert_snapshot!(plain(&sources, &problem), @r"
    error: the name `β` is not defined
     --> 名.py:1:12
      |
    1 | α = '名前' + β
      |              ^ not defined
    ");
}

#[test]
fn the_end_of_the_file() {
    let mut sources = SourceMap::default();
    let file = sources.add("t.py", "def f(");
    let problem = Diagnostic::error(Span::new(file, 6, 6), "the file ends in the middle of a parameter list");
    assert_snapshot!(plain(&sources, &problem), @r"
    error: the file ends in the middle of a parameter list
     --> t.py:1:7
      |
    1 | def f(
      |       ^
    ");
}

#[test]
fn long_call_chains_are_cut() {
    let (sources, file) = kernel();
    let call = find(&sources, file, "scale(x, \"two\")", 0);
    let mut problem = Diagnostic::error(find(&sources, file, "x * factor", 0), "recursion is too deep");
    for depth in 0..40 {
        problem = problem.in_call(call, format!("f{depth}"));
    }
    let text = plain(&sources, &problem);
    assert!(text.contains("34 more calls are not shown"), "{text}");
    assert!(text.contains("`f0`") && text.contains("`f39`") && !text.contains("`f20`"), "{text}");
}

#[test]
fn colour_changes_only_the_escapes() {
    let (sources, file) = kernel();
    let problem = Diagnostic::error(find(&sources, file, "offs", 0), "wrong").label("here");
    let coloured = render(&sources, &problem, Style::Colour);
    assert!(coloured.contains("\x1b["));
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some(at) = rest.find("\x1b[") {
        stripped.push_str(&rest[..at]);
        rest = rest[at..].split_once('m').expect("an escape code ends in m").1;
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain(&sources, &problem));
}

#[test]
fn many_at_once() {
    let (sources, file) = kernel();
    let problems: Diagnostics =
        [Diagnostic::error(find(&sources, file, "scale", 0), "first"), Diagnostic::error(Span::NONE, "second")]
            .into_iter()
            .collect();
    assert_snapshot!(problems.render(&sources, Style::Plain), @r"
    error: first
     --> kernels/scale.py:2:5
      |
    2 | def scale(x, factor):
      |     ^^^^^

    error: second
    ");
}

#[test]
fn a_part_of_a_file_shows_the_lines_of_the_file() {
    let mut sources = SourceMap::default();
    let file = sources.add_part("notebook.py", 41, "def f(x):\n    return y\n");
    let problem = Diagnostic::error(find(&sources, file, "y", 0), "`y` is not defined").label("unknown name");
    assert_snapshot!(plain(&sources, &problem), @"
    error: `y` is not defined
      --> notebook.py:42:12
       |
    42 |     return y
       |            ^ unknown name
    ");
}
