//! The text format round-trips, and the verifier accepts what it should.

use shoal_ir::{parse, verify};
use shoal_source::SourceMap;

const SAMPLE: &str = r#"kernel @sample(%0: ptr<f32> {divisible = [16]}, %1: i32, %2: desc<64x32xf16, nan>) {
  %3 = program_id {axis = 0} () : i32
  %4 = const {value = 1024} () : i32
  %5 = mul (%3, %4) : i32
  %6 = splat (%5) : tile<1024xi32>
  %7 = iota {start = 0} () : tile<1024xi32>
  %8 = add (%6, %7) : tile<1024xi32> {contiguous = [1024]}
  %9 = splat (%1) : tile<1024xi32>
  %10 = cmp {is = lt} (%8, %9) : tile<1024xi1>
  %11 = splat (%0) : tile<1024xptr<f32>>
  %12 = ptr_add (%11, %8) : tile<1024xptr<f32>>
  %13 = load {cache = cg, mode = volatile} (%12, %10) : tile<1024xf32>
  %14 = reduce {axis = 0} (%13) : f32 do (%15: f32, %16: f32) {
    %17 = add (%15, %16) : f32
    yield (%17)
  }
  %18 = const {value = 0} () : i32
  %19 = const {value = 1} () : i32
  %20 = for {num_stages = 2, flatten} (%18, %1, %19, %14) : f32 do (%21: i32, %22: f32) {
    %23 = const {value = 0x7f800000} () : f32
    %24 = max (%22, %23) : f32
    yield (%24)
  }
  %25 = while (%20) : f32 do (%26: f32) {
    %27 = const {value = 1.5} () : f32
    %28 = cmp {is = gt} (%26, %27) : i1
    condition (%28, %26)
  } do (%29: f32) {
    %30 = neg (%29) : f32
    yield (%30)
  }
  print {prefix = "x \"quoted\"\n", hex} (%25)
  %31 = desc_load (%2, %18, %19) : tile<64x32xf16>
  desc_store (%2, %31, %18, %19)
  %32 = desc_size {dim = 0} (%2) : i32
  %33 = desc_stride {dim = 1} (%2) : i64
  return ()
}
"#;

#[test]
fn text_reads_back_as_it_was_written() {
    let mut sources = SourceMap::default();
    let file = sources.add("sample.tile", SAMPLE);
    let module = parse::module(SAMPLE, file).expect("the sample parses");
    assert_eq!(module.to_string(), SAMPLE);
    verify(&module).expect("the sample is valid");
}

#[test]
fn broken_text_is_refused_with_its_place() {
    let mut sources = SourceMap::default();
    for cut in 0..SAMPLE.len() - 1 {
        let text = &SAMPLE[..cut];
        let file = sources.add("cut.tile", text);
        if let Ok(module) = parse::module(text, file) {
            assert!(module.funcs.is_empty(), "a cut function does not parse:\n{text}");
        }
    }
}
