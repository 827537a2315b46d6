//! Lowered descriptors read and write what descriptors do, also where blocks hang over the edges.

use shoal_abi::{CpuTarget, Target};
use shoal_passes::lower_descriptors::lower_descriptors;

use crate::evaluate::Evaluator;
use crate::text;

const SOURCE: &str = "kernel @k(%p: ptr<f32>, %q: ptr<f32>, %h: i32, %w: i32, %pitch: i64, %i: i32, %j: i32) {
  %one = const {value = 1} () : i64
  %d = make_desc (%p, %h, %w, %pitch, %one) : desc<4x8xf32, nan>
  %e = make_desc (%q, %h, %w, %pitch, %one) : desc<4x8xf32>
  %x = desc_load (%d, %i, %j) : tile<4x8xf32>
  desc_store (%e, %x, %i, %j)
  %y = desc_load (%e, %i, %j) : tile<4x8xf32>
  %height = desc_size {dim = 0} (%d) : i32
  %stride = desc_stride {dim = 0} (%e) : i64
  %start = cast {round = rtne} (%stride) : i32
  desc_store (%d, %y, %height, %start)
  %zero = const {value = 0} () : i32
  desc_store (%d, %y, %zero, %zero)
  return ()
}";

#[test]
fn blocks_at_all_edges_are_the_same() {
    let original = text::module(SOURCE);
    let mut lowered = original.clone();
    lower_descriptors(&mut lowered, &Target::Cpu(CpuTarget::generic()));
    text::verified(&lowered);
    assert!(!lowered.to_string().contains("desc"), "{lowered}");
    for (h, w) in [(4, 8), (6, 13), (1, 1), (9, 0), (100, 100)] {
        for i in [-5i32, -4, -1, 0, 1, 3, 7, i32::MAX, i32::MIN] {
            for j in [-9i32, -3, 0, 5, 12, 13] {
                let bits = |n: i32| u64::from(n as u32);
                let arguments = [4096, 1 << 40, bits(h), bits(w), 117, bits(i), bits(j)];
                let expected = Evaluator::run(&original.funcs[0], &arguments).0.memory;
                let found = Evaluator::run(&lowered.funcs[0], &arguments).0.memory;
                assert_eq!(expected, found, "{h} x {w} at {i}, {j}");
            }
        }
    }
}
