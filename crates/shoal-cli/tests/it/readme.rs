//! The commands in the README do what it says.

use crate::shoal::Workplace;

const README: &str = include_str!("../../../../README.md");
const EXAMPLE: &str = include_str!("../../../../examples/add.py");

/// The content of the first block of a language.
fn block(language: &str) -> &str {
    let (_, rest) = README.split_once(&format!("```{language}\n")).expect("a block of that language");
    rest.split_once("```").expect("the block's end").0
}

#[test]
fn the_kernel_shown_is_the_example() {
    assert_eq!(block("python"), EXAMPLE);
}

#[test]
fn the_commands_shown_work() {
    let place = Workplace::new();
    place.write("examples/add.py", EXAMPLE);
    let mut outputs = Vec::new();
    for line in block("sh").lines() {
        let words = words(line);
        assert_eq!(words[0], "shoal");
        let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        outputs.push(place.ok(&words).out);
    }
    assert!(outputs[0].contains("out      float32  [1000]"), "{}", outputs[0]);
    assert!(outputs[1].contains("kernel @add(") && outputs[1].contains("ret"), "{}", outputs[1]);
}

/// Cuts a command line as a shell does, as far as double quotes go.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().expect("never empty").push(other),
        }
    }
    words
}
