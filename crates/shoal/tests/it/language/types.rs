//! Reference 1.10 and 1.11: element types, what they tell about themselves, and what mixing them gives.

use half::{bf16, f16};
use shoal::{DType, Tensor, args};

use super::harness::{BACKENDS, case, holds};

#[test]
fn what_types_tell() {
    holds(
        "",
        &[
            "tl.float16.primitive_bitwidth == 16",
            "tl.int64.primitive_bitwidth == 64",
            "tl.int1.primitive_bitwidth == 1",
            "tl.float32.itemsize == 4",
            "tl.int8.int_bitwidth == 8",
            "tl.float16.fp_mantissa_width == 10",
            "tl.bfloat16.fp_mantissa_width == 7",
            "tl.float8e5.exponent_bias == 15",
            "tl.float16.is_floating()",
            "tl.float16.is_fp16()",
            "tl.bfloat16.is_bf16()",
            "tl.float32.is_fp32()",
            "tl.float64.is_fp64()",
            "tl.float8e5.is_fp8()",
            "tl.float8e4nv.is_fp8()",
            "not tl.int32.is_floating()",
            "tl.int32.is_int()",
            "tl.int32.is_int_signed()",
            "tl.uint32.is_int_unsigned()",
            "tl.int1.is_int_unsigned()",
            "tl.int1.is_bool()",
            "tl.int8.is_int8()",
            "tl.uint16.is_uint16()",
            "not tl.int32.is_ptr()",
            "not tl.int32.is_block()",
            "tl.int32.get_int_max_value() == 2147483647",
            "tl.int32.get_int_min_value() == -2147483648",
            "tl.uint8.get_int_max_value() == 255",
            "tl.int32.name == 'int32'",
            "tl.float32.scalar == tl.float32",
            "tl.int32 == tl.int32",
            "tl.int32 != tl.uint32",
            "str(tl.float32) == 'fp32'",
            "tl.pointer_type(tl.float16).element_ty == tl.float16",
            "tl.pointer_type(tl.float16).is_ptr()",
            "tl.zeros([4], tl.int8).type.scalar == tl.int8",
            "tl.zeros([4], tl.int8).type.is_block()",
            "tl.zeros([4], tl.int8).dtype.is_int8()",
            "tl.zeros([4, 2], tl.int8).type.get_block_shapes()[1] == 2",
            "tl.int1.kind() == tl.dtype.KIND.BOOLEAN",
            "tl.uint8.kind() == tl.dtype.KIND.INTEGRAL",
            "tl.float8e5.kind() == tl.dtype.KIND.FLOATING",
            "tl.int32.kind().value < tl.float32.kind().value",
            "tl.int8.int_signedness == tl.dtype.SIGNEDNESS.SIGNED",
            "tl.uint64.int_signedness == tl.dtype.SIGNEDNESS.UNSIGNED",
            "tl.pointer_type(tl.float16, const=True).const",
            "not tl.pointer_type(tl.float16).const",
        ],
    );
    let body = "
    tl.static_assert(x.dtype.is_ptr())
    tl.static_assert(x.dtype.element_ty == tl.float16)
    tl.static_assert(x.type.element_ty.primitive_bitwidth == 16)
    T: tl.constexpr = x.dtype.element_ty
    tl.store(out, tl.load(x).to(T) + tl.zeros((), T))
";
    let x = [f16::from_f32(2.5)];
    case("x, out", body).gives(args!(&x[..]), &[2.5f32]);
}

#[test]
fn types_are_arguments() {
    let body = "    i = tl.arange(0, 4)\n    tl.store(out + i, (tl.load(x + i).to(T) * 3).to(tl.float32))";
    let x = [0.1f32, 1.7, -2.9, 100.25];
    case("x, out, T: tl.constexpr", body).gives(args!(&x[..], T = DType::I32), &[0.0f32, 3.0, -6.0, 300.0]);
    let half = x.map(|v| f16::from_f32(f16::from_f32(v).to_f32() * 3.0).to_f32());
    case("x, out, T: tl.constexpr", body).gives(args!(&x[..], T = DType::F16), &half);
    let brain = x.map(|v| bf16::from_f32(bf16::from_f32(v).to_f32() * 3.0).to_f32());
    case("x, out, T: tl.constexpr", body).gives(args!(&x[..], T = DType::BF16), &brain);
}

#[test]
fn annotated_parameters() {
    let body = "
    tl.static_assert(a.dtype == tl.int64)
    tl.static_assert(b.dtype == tl.float64)
    tl.static_assert(c.dtype == tl.uint8)
    tl.store(out, a + b + c)
";
    case("a: tl.int64, b: tl.float64, c: 'u8', out", body).gives(args!(1, 0.5, 255), &[256.5f64]);
    let specialised = "
    tl.static_assert(one == 1)
    tl.static_assert(nothing is None)
    tl.static_assert(big.dtype == tl.int64)
    tl.static_assert(flag.dtype == tl.int1)
    tl.store(out, one + big.to(tl.float32) + flag)
";
    case("one, nothing, big, flag, out", specialised).gives(args!(1, (), 1i64 << 33, true), &[(1u64 << 33) as f32]);
}

/// Numbers that a format has or has not, and what they become.
fn through(dtype: DType, name: &str, cases: &[(f32, f32)]) {
    let (x, expected): (Vec<f32>, Vec<f32>) = cases.iter().copied().unzip();
    let body = format!(
        "
    i = tl.arange(0, 8)
    v = tl.load(x + i)
    narrow = v.to(tl.{name})
    tl.static_assert(narrow.dtype == tl.{name})
    tl.store(out + i, narrow.to(tl.float32))
    tl.store(out + 8 + i, tl.load(memory + i).to(tl.float32))
    tl.store(out + 16 + i, tl.load(memory + i).to(tl.float16))
"
    );
    let wide: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
    let memory = Tensor::from_f64(dtype, &[8], &wide).unwrap();
    case("x, memory, out", &body).gives(args!(&x, &memory), &expected.repeat(3));
    // Stores into such memory convert by themselves.
    for backend in BACKENDS {
        let target = Tensor::poisoned(dtype, &[8]).unwrap();
        let body = "    i = tl.arange(0, 8)\n    tl.store(target + i, tl.load(x + i))\n    tl.store(out, 1)";
        case("x, target, out", body).run::<i8>(backend, &args!(&x, &target), &[], 1).unwrap();
        assert_eq!(target.bytes(), memory.bytes(), "{backend:?} {name}");
    }
}

#[test]
fn eight_bit_floats() {
    let common = [(0.0, 0.0), (1.0, 1.0), (-1.5, -1.5), (0.25, 0.25), (2.0, 2.0), (-0.75, -0.75)];
    let with = |more: [(f32, f32); 2]| common.iter().copied().chain(more).collect::<Vec<_>>();
    through(DType::F8E4M3, "float8e4nv", &with([(17.0, 16.0), (1.2, 1.25)]));
    through(DType::F8E5M2, "float8e5", &with([(17.0, 16.0), (1.2, 1.25)]));
    through(DType::F8E4M3Fnuz, "float8e4b8", &with([(17.0, 16.0), (240.0, 240.0)]));
    through(DType::F8E5M2Fnuz, "float8e5b16", &with([(17.0, 16.0), (3.4, 3.5)]));
    // Its numbers end below two.
    let small =
        [(0.0, 0.0), (1.0, 1.0), (-1.5, -1.5), (0.25, 0.25), (1.75, 1.75), (-0.75, -0.75), (1.2, 1.25), (0.125, 0.125)];
    through(DType::F8E4B15, "float8e4b15", &small);
}

#[test]
fn arithmetic_of_eight_bit_floats() {
    let body = "
    i = tl.arange(0, 4)
    a = tl.load(x + i).to(tl.float8e5)
    b = (a.to(tl.float32) * 2).to(tl.float8e5)
    tl.store(out + i, b.to(tl.float32))
    tl.store(out + 4 + i, tl.where(i < 2, a, b).to(tl.float32))
    tl.store(out + 8 + i, a.to(tl.uint8, bitcast=True).to(tl.float32))
    tl.store(out + 12 + i, a.to(tl.float8e4nv).to(tl.float32))
";
    let expected = [2.0f32, 3.0, -4.0, 0.5, 1.0, 1.5, -4.0, 0.5, 60.0, 62.0, 192.0, 52.0, 1.0, 1.5, -2.0, 0.25];
    case("x, out", body).gives(args!(&[1.0f32, 1.5, -2.0, 0.25][..]), &expected);
}
