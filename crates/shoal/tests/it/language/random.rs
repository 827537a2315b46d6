//! Reference 1.8: Philox, with values that Triton 3.9 gives (its interpreter, seed 42 unless another is named).

use shoal::args;

use super::harness::case;

const WORDS: [u32; 16] = [
    0x9cea_f053,
    0xfcdb_2127,
    0xd36c_0225,
    0xbac7_0475,
    0x77f5_493b,
    0x53ba_6cfd,
    0xa887_5dcb,
    0xabaf_0dab,
    0x12bf_50ad,
    0x838f_5a6e,
    0x9a4d_6d99,
    0x961e_5543,
    0x5742_b3d7,
    0x744e_06fb,
    0xc609_a559,
    0x610e_67f7,
];

/// `first` to `fourth` are stored one after the other.
const FOUR: &str = "
    tl.store(out + at, a)
    tl.store(out + 4 + at, b)
    tl.store(out + 8 + at, c)
    tl.store(out + 12 + at, d)
";

#[test]
fn random_words() {
    let body = format!("    at = tl.arange(0, 4)\n    a, b, c, d = tl.randint4x(seed, at){FOUR}");
    case("seed, out", &body).gives(args!(42), &WORDS);
    let one = |value: &str, expected: [u32; 4]| {
        let body = format!("    at = tl.arange(0, 4)\n    tl.store(out + at, {value})");
        case("seed, out", &body).gives(args!(42), &expected);
    };
    one("tl.randint(seed, at)", [0x9cea_f053, 0xfcdb_2127, 0xd36c_0225, 0xbac7_0475]);
    one("tl.randint(seed, at, n_rounds=7)", [0x92cb_c19a, 0x5558_d87a, 0xb80c_5e71, 0x9e67_4c9f]);
    one("tl.randint(seed, at.to(tl.int64) + 0x123456789AB)", [0x0d83_5e15, 0x2263_8971, 0x252d_0416, 0x214e_8462]);
    one("tl.randint(0x123456789ABCDEF, at)", [0xb850_222e, 0xadca_1466, 0xf7ce_299f, 0xac30_78f0]);
}

#[test]
fn counters_of_64_bits() {
    let body = format!(
        "
    at = tl.arange(0, 4)
    zero = (at * 0).to(tl.uint64)
    a, b, c, d = tl.philox(seed, at.to(tl.uint64), zero, zero, zero){FOUR}"
    );
    let expected: [u64; 16] = [
        0xa768_7e2d_34c8_9dc6,
        0xd1f8_817d_4d62_880e,
        0x5e3d_aa89_61c3_e3d3,
        0xe075_d4e3_61a8_57a3,
        0x4c58_18ab_9649_d53f,
        0x3072_66b6_5cc8_797e,
        0x6f37_dea4_a04b_d05c,
        0xc45c_9a0e_3834_d9b8,
        0xea0a_dd42_30dd_dab5,
        0xde1f_04e7_f084_ed03,
        0x31d3_a1ae_26e1_90b9,
        0x5996_3b8b_0a68_88a7,
        0xe2a1_42ee_cee5_bb40,
        0x6503_4a8e_78cd_1e59,
        0x0fef_7fae_0ab2_a01a,
        0x0af1_3e4f_d3f6_bc82,
    ];
    case("seed, out", &body).gives(args!(42), &expected);
}

#[test]
fn uniform_floats() {
    let body = "    at = tl.arange(0, 4)\n    tl.store(out + at, tl.rand(seed, at))";
    let expected = [0x3f46_2a1e, 0x3cc9_37b5, 0x3eb2_4ff6, 0x3f0a_71f6].map(f32::from_bits);
    case("seed, out", body).gives(args!(42), &expected);
    let range = "
    at = tl.arange(0, 1024)
    u = tl.rand(seed, at)
    tl.store(out, tl.min(u))
    tl.store(out + 1, tl.max(u))
    tl.store(out + 2, tl.sum(u) / 1024)
";
    for backend in super::harness::BACKENDS {
        let found = case("seed, out", range).run::<f32>(backend, &args!(7), &[], 3).unwrap();
        assert!(0.0 <= found[0] && found[0] < 0.01 && 0.99 < found[1] && found[1] < 1.0, "{found:?}");
        assert!((found[2] - 0.5).abs() < 0.03, "{found:?}");
    }
}

#[test]
fn normal_floats() {
    let body = format!(
        "    at = tl.arange(0, 4)\n    a, b, c, d = tl.randn4x(seed, at){FOUR}    tl.store(out + 16 + at, tl.randn(seed, at))"
    );
    let expected = [
        0x3f29_1df5,
        0xbfc5_77a3,
        0xbf17_289f,
        0xbf1a_0420,
        0xbe8c_ea7f,
        0xc00f_94c2,
        0xbfa9_db21,
        0xbf6e_6e60,
        0xbf50_b898,
        0x3e4c_3966,
        0xbf26_114d,
        0x3d02_c214,
        0xbfe4_2824,
        0xbe04_1505,
        0x3e4a_d8c2,
        0xbf1d_79fb,
        0x3f29_1df5,
        0xbfc5_77a3,
        0xbf17_289f,
        0xbf1a_0420u32,
    ];
    let expected = expected.map(|bits| f64::from(f32::from_bits(bits)));
    case("seed, out", &body).near::<f32>(args!(42), 2e-6, &expected);
}

#[test]
fn wrong_seeds() {
    case("out", "    x = tl.rand(1.5, tl.arange(0, 4))").refused(args!(), &["seed", "kernel.py:9"]);
}
