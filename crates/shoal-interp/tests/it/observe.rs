use shoal_interp::{Error, Memory, Options, run_for};

use crate::support::{launch, module};

fn prints(body: &str, grid: [u32; 3]) -> Vec<String> {
    let text = format!("kernel @k() {{\n{body}\nreturn ()\n}}");
    launch(&text, grid, &[], &mut Memory::new()).unwrap().prints
}

#[test]
fn every_element_is_a_line() {
    let lines = prints("%i = iota {start = -1} () : tile<2xi32>\nprint {prefix = \"x\"} (%i)", [1, 2, 1]);
    assert_eq!(
        lines,
        [
            "pid (0, 0, 0) idx (0) x: -1",
            "pid (0, 0, 0) idx (1) x: 0",
            "pid (0, 1, 0) idx (0) x: -1",
            "pid (0, 1, 0) idx (1) x: 0"
        ]
    );
}

#[test]
fn scalars_floats_and_hexadecimals() {
    let scalar = "%c = const {value = 1.5} () : f32\nprint {prefix = \"value:\"} (%c)";
    assert_eq!(prints(scalar, [1, 1, 1]), ["pid (0, 0, 0) idx () value: 1.500000"]);
    let hex = "%c = const {value = -1} () : i16\nprint {prefix = \"\", hex} (%c)";
    assert_eq!(prints(hex, [1, 1, 1]), ["pid (0, 0, 0) idx (): 0xffff"]);
    let several = "%c = const {value = 7} () : u8\n%b = const {value = true} () : i1\nprint {prefix = \"p\"} (%c, %b)";
    assert_eq!(
        prints(several, [1, 1, 1]),
        ["pid (0, 0, 0) idx () p: (operand 0) 7", "pid (0, 0, 0) idx () p: (operand 1) 1"]
    );
    assert_eq!(prints("print {prefix = \"here\"} ()", [1, 1, 1]), ["pid (0, 0, 0) here"]);
}

#[test]
fn lines_stand_below_each_other() {
    let lines = prints("%i = iota {start = 0} () : tile<16xi32>\nprint {prefix = \"x\"} (%i)", [1, 1, 1]);
    assert_eq!(
        (lines[3].as_str(), lines[12].as_str()),
        ("pid (0, 0, 0) idx ( 3) x: 3", "pid (0, 0, 0) idx (12) x: 12")
    );
}

#[test]
fn assertions_fail_with_their_message() {
    let body = "kernel @k() {
        %i = iota {start = 0} () : tile<8xi32>
        %five = const {value = 5} () : tile<8xi32>
        %ok = cmp {is = ne} (%i, %five) : tile<8xi1>
        %t = reshape (%ok) : tile<2x4xi1>
        assert {message = \"no fives\"} (%t)
        return ()
    }";
    let error = launch(body, [1, 1, 1], &[], &mut Memory::new()).unwrap_err();
    let Error::AssertFailed { message, element, at } = &error else { panic!("{error}") };
    assert_eq!((message.as_str(), element.as_slice()), ("no fives", [1u32, 1].as_slice()));
    assert!(at.span.start < at.span.end);
    assert_eq!(error.to_string(), "assertion failed in program (0, 0, 0), element [1, 1]: no fives");
    let masked = body.replace("(%t)\n", "(%t, %t)\n");
    launch(&masked, [1, 1, 1], &[], &mut Memory::new()).unwrap();
}

#[test]
fn lines_before_a_failure_are_seen() {
    let text = "kernel @k() {
        %no = const {value = false} () : i1
        print {prefix = \"before\"} (%no)
        assert {message = \"stop\"} (%no)
        print {prefix = \"after\"} (%no)
        return ()
    }";
    let mut lines = Vec::new();
    let options = Options::default();
    let result =
        run_for(&module(text), "k", [1, 1, 1], &[], &mut Memory::new(), &options, &mut |line: String| lines.push(line));
    assert!(matches!(result, Err(Error::AssertFailed { .. })));
    assert_eq!(lines, ["pid (0, 0, 0) idx () before: 0"]);
}
