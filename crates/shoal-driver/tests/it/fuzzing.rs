//! Damaged objects are refused or loaded, but never crash the loader. They are never run.

use crate::objects::compile;
use proptest::prelude::*;
use shoal_driver::cpu::Code;
use std::sync::LazyLock;

static OBJECT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let source = r#"
    double shoal_exp_f64(double);
    static const double table[4] = {1, 2, 3, 4}; static double zeroed[100]; static double variable = 5;
    ENTRY(k) {
        volatile double *out = ARG(double *, 0);
        out[0] = table[first] + shoal_exp_f64(zeroed[last]) + variable++;
        shoal_yield(ctx, 0);
    }"#;
    compile(source, &["-g", "-fno-plt"])
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn truncated_objects_do_not_crash_the_loader(length in 0usize..1 << 20) {
        let object = &OBJECT[..length % OBJECT.len()];
        let _ = Code::load(object);
    }

    #[test]
    fn damaged_objects_do_not_crash_the_loader(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let mut object = OBJECT.clone();
        for (index, byte) in damage {
            let length = object.len();
            object[index.index(length)] = byte;
        }
        let _ = Code::load(&object);
    }

    /// The tables at the ends of the file, where damage does the most harm.
    #[test]
    fn damaged_headers_do_not_crash_the_loader(
        damage in prop::collection::vec((0usize..2200, prop_oneof![any::<u8>(), Just(0), Just(0xff), Just(0x7f)]), 1..8),
        end in prop::sample::select(vec![0, 1]),
    ) {
        let mut object = OBJECT.clone();
        for (offset, byte) in damage {
            let length = object.len();
            let index = if end == 0 { offset.min(63) } else { length - 1 - offset.min(length - 1) };
            object[index] = byte;
        }
        let _ = Code::load(&object);
    }
}
