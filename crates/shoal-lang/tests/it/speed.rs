//! The front end is a small part of compiling: a guard against accidents, not a benchmark.

use std::time::{Duration, Instant};

use shoal_lang::{Program, Specialization};
use shoal_source::SourceMap;

#[test]
fn a_matmul_is_lowered_in_milliseconds() {
    let text = include_str!("../../../../tests/filetests/lang/matmul.py");
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        let mut sources = SourceMap::default();
        let program = Program::parse(&mut sources, "matmul.py", text).unwrap();
        let signature = "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32, i32, 1, i32, 1, i32, 1, 128, 128, 64";
        let args = program.signature("matmul", signature).unwrap();
        program.lower("matmul", &Specialization { args, ..Default::default() }).unwrap();
        best = best.min(start.elapsed());
    }
    println!("best of 20: {best:?}");
    assert!(best < Duration::from_millis(50), "lowering took {best:?}");
}
