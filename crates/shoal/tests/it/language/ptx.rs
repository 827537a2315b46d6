//! Inline PTX, given its meaning on every backend.

use half::{bf16, f16};
use shoal::{Args, LaunchOptions, args};
use shoal_driver::cuda::LaunchShape;

use super::harness::{BACKENDS, case, floats, integers, with};

/// One snippet on tiles of 64 integers.
fn on_ints(asm: &str, inputs: usize, expected: impl Fn(&[i32]) -> i32) {
    let data: Vec<Vec<i32>> = (0..3).map(|seed| integers(64, seed + 11)).collect();
    let names = ["a", "b", "c"];
    let loads: String = names.iter().map(|n| format!("    {n} = tl.load({n}_ptr + i)\n")).collect();
    let constraints = format!("=r{}", ",r".repeat(inputs));
    let body = format!(
        "    i = tl.arange(0, 64)\n{loads}    r = tl.inline_asm_elementwise('''{asm}''', '{constraints}', [{}], \
         dtype=tl.int32, is_pure=True, pack=1)\n    tl.store(out + i, r)\n",
        names[..inputs].join(", ")
    );
    let wanted: Vec<i32> = (0..64).map(|i| expected(&[data[0][i], data[1][i], data[2][i]])).collect();
    case("a_ptr, b_ptr, c_ptr, out", &body).gives(args!(&data[0][..], &data[1][..], &data[2][..]), &wanted);
}

#[test]
fn arithmetic_on_integers() {
    on_ints("add.s32 $0, $1, $2;", 2, |v| v[0].wrapping_add(v[1]));
    on_ints("sub.u32 $0, $1, 17;", 1, |v| v[0].wrapping_sub(17));
    on_ints("mad.lo.s32 $0, $1, $2, $3;", 3, |v| v[0].wrapping_mul(v[1]).wrapping_add(v[2]));
    on_ints("mul.hi.u32 $0, $1, $2;", 2, |v| ((u64::from(v[0] as u32) * u64::from(v[1] as u32)) >> 32) as i32);
    on_ints("mul.hi.s32 $0, $1, $2;", 2, |v| ((i64::from(v[0]) * i64::from(v[1])) >> 32) as i32);
    on_ints("{ .reg .b64 w; mul.wide.s32 w, $1, $2; shr.s64 w, w, 8; cvt.u32.u64 $0, w; }", 2, |v| {
        ((i64::from(v[0]) * i64::from(v[1])) >> 8) as i32
    });
    on_ints("min.s32 $0, $1, $2;", 2, |v| v[0].min(v[1]));
    on_ints("max.u32 $0, $1, $2;", 2, |v| (v[0] as u32).max(v[1] as u32) as i32);
    on_ints("div.s32 $0, $1, 1000;", 1, |v| v[0] / 1000);
    on_ints("rem.u32 $0, $1, $2;", 2, |v| ((v[0] as u32) % (v[1] as u32)) as i32);
    on_ints("abs.s32 $0, $1;", 1, |v| v[0].wrapping_abs());
    on_ints("neg.s32 $0, $1;", 1, |v| v[0].wrapping_neg());
}

#[test]
fn logic_shifts_and_fields() {
    on_ints("lop3.b32 $0, $1, $2, $3, 0xE8;", 3, |v| (v[0] & v[1]) | (v[1] & v[2]) | (v[0] & v[2]));
    on_ints("lop3.b32 $0, $1, $2, $3, 0x96;", 3, |v| v[0] ^ v[1] ^ v[2]);
    on_ints("lop3.b32 $0, $1, $2, $1, 0x5A;", 2, |_| 0);
    on_ints("not.b32 $0, $1;", 1, |v| !v[0]);
    on_ints("shl.b32 $0, $1, 40;", 1, |_| 0);
    on_ints("shr.s32 $0, $1, 40;", 1, |v| v[0] >> 31);
    on_ints("{ .reg .u32 s; and.b32 s, $2, 31; shr.u32 $0, $1, s; }", 2, |v| ((v[0] as u32) >> (v[1] & 31)) as i32);
    on_ints("shf.l.wrap.b32 $0, $1, $2, 5;", 2, |v| (v[1] << 5) | ((v[0] as u32) >> 27) as i32);
    on_ints("shf.r.clamp.b32 $0, $1, $2, 5;", 2, |v| (((v[0] as u32) >> 5) | ((v[1] as u32) << 27)) as i32);
    on_ints("bfe.u32 $0, $1, 5, 7;", 1, |v| ((v[0] as u32) >> 5 & 127) as i32);
    on_ints("bfe.s32 $0, $1, 5, 7;", 1, |v| (v[0] << 20) >> 25);
    on_ints("bfi.b32 $0, $1, $2, 4, 8;", 2, |v| (v[1] & !0xff0) | ((v[0] & 255) << 4));
    on_ints("prmt.b32 $0, $1, $2, 0x5410;", 2, |v| (v[0] & 0xffff) | (v[1] << 16));
    on_ints("prmt.b32 $0, $1, $2, 0x0123;", 2, |v| v[0].swap_bytes());
    on_ints("brev.b32 $0, $1;", 1, |v| v[0].reverse_bits());
    on_ints("clz.b32 $0, $1;", 1, |v| v[0].leading_zeros() as i32);
    on_ints("popc.b32 $0, $1;", 1, |v| v[0].count_ones() as i32);
}

#[test]
fn predicates_choose_and_branch() {
    on_ints("{ .reg .pred p; setp.lt.s32 p, $1, $2; selp.b32 $0, $1, $2, p; }", 2, |v| v[0].min(v[1]));
    on_ints("{ .reg .pred p; setp.gt.u32 p, $1, $2; mov.u32 $0, 1; @!p mov.u32 $0, 2; }", 2, |v| {
        if v[0] as u32 > v[1] as u32 { 1 } else { 2 }
    });
    on_ints("{ .reg .pred p, q; setp.lt.s32 p, $1, 0; setp.ne.and.s32 q, $2, 0, p; selp.s32 $0, 3, 4, q; }", 2, |v| {
        if v[0] < 0 && v[1] != 0 { 3 } else { 4 }
    });
    // A branch over an instruction, and a loop that ends after a different number of trips on each element.
    on_ints(
        "{ .reg .pred p; mov.u32 $0, $1; setp.lt.s32 p, $1, 0; @p bra done; add.s32 $0, $0, 100; done: }",
        1,
        |v| {
            if v[0] < 0 { v[0] } else { v[0].wrapping_add(100) }
        },
    );
    let log = "{ .reg .u32 x; .reg .pred p; mov.u32 x, $1; mov.u32 $0, 0;
        again: setp.eq.u32 p, x, 0; @p bra out; shr.u32 x, x, 1; add.u32 $0, $0, 1; bra again; out: }";
    on_ints(log, 1, |v| 32 - v[0].leading_zeros() as i32);
    on_ints(
        "{ .reg .u32 x; .reg .pred p; mov.u32 x, $1; mov.u32 $0, 0;
        again: shr.u32 x, x, 3; add.u32 $0, $0, x; setp.ne.u32 p, x, 0; @p bra again; }",
        1,
        |v| {
            let (mut x, mut sum) = (v[0] as u32, 0u32);
            while x != 0 {
                x >>= 3;
                sum = sum.wrapping_add(x);
            }
            sum as i32
        },
    );
}

#[test]
fn floats_and_conversions() {
    let data = floats(64, 21);
    let run = |asm: &str, constraints: &str, dtype: &str| {
        format!(
            "    i = tl.arange(0, 64)\n    x = tl.load(x_ptr + i)\n    tl.store(out + i, tl.inline_asm_elementwise('{asm}', \
             '{constraints}', [x], dtype={dtype}, is_pure=True, pack=1))\n"
        )
    };
    let wanted: Vec<f32> = data.iter().map(|x| x.mul_add(2.0, 0.5)).collect();
    let fma = "fma.rn.f32 $0, $1, 0f40000000, 0f3F000000;";
    case("x_ptr, out", &run(fma, "=f,f", "tl.float32")).gives(args!(&data[..]), &wanted);
    let wanted: Vec<i32> = data.iter().map(|x| (x * 1.0).round_ties_even() as i32).collect();
    case("x_ptr, out", &run("cvt.rni.s32.f32 $0, $1;", "=r,f", "tl.int32")).gives(args!(&data[..]), &wanted);
    let wanted: Vec<u32> = data.iter().map(|x| *x as u32).collect();
    case("x_ptr, out", &run("cvt.rzi.u32.f32 $0, $1;", "=r,f", "tl.uint32")).gives(args!(&data[..]), &wanted);
    let wanted: Vec<f64> = data.iter().map(|x| f64::from(x.exp2())).collect();
    case("x_ptr, out", &run("ex2.approx.f32 $0, $1;", "=f,f", "tl.float32")).near::<f32>(
        args!(&data[..]),
        1e-5,
        &wanted,
    );
    let wanted: Vec<u32> = data
        .iter()
        .map(|x| u32::from(f16::from_f32(*x).to_bits()) << 16 | u32::from(f16::from_f32(1.0).to_bits()))
        .collect();
    let pair = "cvt.rn.f16x2.f32 $0, $1, 0f3F800000;";
    case("x_ptr, out", &run(pair, "=r,f", "tl.uint32")).gives(args!(&data[..]), &wanted);
    let wanted: Vec<u16> = data.iter().map(|x| bf16::from_f32(*x).to_bits()).collect();
    case("x_ptr, out", &run("cvt.rn.bf16.f32 $0, $1;", "=h,f", "tl.uint16")).gives(args!(&data[..]), &wanted);
}

/// The nearest of the numbers of four bits, the even one of two; 6 for what is not a number.
fn nearest_of_four_bits(x: f32) -> u8 {
    const VALUES: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    if x.is_nan() {
        return 7;
    }
    let apart = |code: u8| (VALUES[usize::from(code)] - x.abs().min(6.0)).abs();
    let code = (0..8).min_by(|&a, &b| apart(a).total_cmp(&apart(b)).then((a % 2).cmp(&(b % 2)))).unwrap();
    code | u8::from(x.is_sign_negative()) << 3
}

#[test]
fn pairs_of_four_bits_and_of_powers_of_two() {
    let mut data = floats(64, 5);
    let ties = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0, 1e9, f32::INFINITY, f32::NAN, 0.0, 1e-45, 6e-39, 1e-38];
    for (i, tie) in ties.into_iter().enumerate() {
        data[2 * i..2 * i + 2].copy_from_slice(&[tie, -tie]);
    }
    let run = |asm: &str, constraints: &str, dtype: &str| {
        format!(
            "    i = tl.arange(0, 64)\n    x = tl.load(x_ptr + i)\n    y = tl.load(x_ptr + 63 - i)\n    tl.store(out + i, \
             tl.inline_asm_elementwise('{asm}', '{constraints}', [x, y], dtype={dtype}, is_pure=True, pack=1))\n"
        )
    };
    let swapped = || data.iter().zip(data.iter().rev());
    let wanted: Vec<u32> =
        swapped().map(|(x, y)| u32::from(nearest_of_four_bits(*x) << 4 | nearest_of_four_bits(*y))).collect();
    let narrow = "{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, $1, $2; cvt.u32.u8 $0, t; }";
    case("x_ptr, out", &run(narrow, "=r,f,f", "tl.uint32")).only_on_hosts().gives(args!(&data[..]), &wanted);

    // From the definition: the least power of two that is no less, and the greatest that is no greater.
    let power = |e: u32| 2f64.powi(e as i32 - 127);
    let exponent = |x: f32, up: bool| match f64::from(x.abs()) {
        x if x.is_nan() => 255,
        x if up => (0..254).find(|&e| power(e) >= x).unwrap_or(254),
        x => (0..=254).rev().find(|&e| power(e) <= x).unwrap_or(0),
    };
    for (rounding, up) in [("rp", true), ("rz", false)] {
        let wanted: Vec<u16> = swapped().map(|(x, y)| (exponent(*x, up) << 8 | exponent(*y, up)) as u16).collect();
        let asm = format!("cvt.{rounding}.satfinite.ue8m0x2.f32 $0, $1, $2;");
        case("x_ptr, out", &run(&asm, "=h,f,f", "tl.uint16")).only_on_hosts().gives(args!(&data[..]), &wanted);
    }

    let bytes: Vec<u32> = (0..64).map(|i| i * 37 % 256).collect();
    let half = |code: u32| {
        let magnitude = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][(code & 7) as usize];
        u32::from(f16::from_f32(if code & 8 == 0 { magnitude } else { -magnitude }).to_bits())
    };
    let wanted: Vec<u32> = bytes.iter().map(|b| half(b >> 4) << 16 | half(b & 15)).collect();
    let wide = "{ .reg .b8 t; cvt.u8.u32 t, $1; cvt.rn.f16x2.e2m1x2 $0, t; }";
    case("x_ptr, out", &run(wide, "=r,r,r", "tl.uint32")).only_on_hosts().gives(args!(&bytes[..]), &wanted);
}

#[test]
fn elements_share_registers() {
    // The example of Triton's documentation: four bytes at a time.
    let bytes: Vec<u8> = integers(64, 2).iter().map(|v| *v as u8).collect();
    let body = "
    i = tl.arange(0, 64)
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise('''
    {
        // Shift each byte by three and keep it inside.
        .reg .b32 t;
        shl.b32 t, $1, 3;
        and.b32 $0, t, 0xF8F8F8F8;
    }''', '=r,r', [x], dtype=tl.uint8, is_pure=True, pack=4)
    tl.store(out + i, y)
";
    let wanted: Vec<u8> = bytes.iter().map(|b| b << 3).collect();
    case("x_ptr, out", body).gives(args!(&bytes[..]), &wanted);
    // Bytes to floats and their doubles: several outputs of different widths.
    let body = "
    i = tl.arange(0, 64)
    a = tl.load(x_ptr + i)
    b, c = tl.inline_asm_elementwise('''
    {
        .reg .b8 t<4>;
        mov.b32 {t0, t1, t2, t3}, $8;
        cvt.rn.f32.s8 $0, t0; cvt.rn.f32.s8 $1, t1; cvt.rn.f32.s8 $2, t2; cvt.rn.f32.s8 $3, t3;
        add.f32 $4, $0, $0; add.f32 $5, $1, $1; add.f32 $6, $2, $2; add.f32 $7, $3, $3;
    }''', '=r,=r,=r,=r,=r,=r,=r,=r,r', [a], dtype=(tl.float32, tl.float32), is_pure=True, pack=4)
    tl.store(out + i, b)
    tl.store(out + 64 + i, c)
";
    let signed: Vec<i8> = bytes.iter().map(|b| *b as i8).collect();
    let wanted: Vec<f32> =
        signed.iter().map(|b| f32::from(*b)).chain(signed.iter().map(|b| f32::from(*b) * 2.0)).collect();
    case("x_ptr, out", body).gives(args!(&signed[..]), &wanted);
}

#[test]
fn registers_form_vectors() {
    let asm = "{ .reg .v4 .b32 %v, %w; .reg .v2 .b16 h<2>; mov.v4.b32 %v, {0, 0, 3, 0}; mov.b32 %v.y, $1; \
               mov.v4.b32 %w, %v; mov.b32 h1, $2; mov.b32 %w.x, {h1.y, h1.x}; add.s32 %w.z, %w.y, %w.z; xor.b32 $0, %w.x, %w.z; }";
    on_ints(asm, 2, |v| v[1].rotate_left(16) ^ v[0].wrapping_add(3));
}

#[test]
fn special_registers_are_those_of_the_program() {
    let body = "
    x, y, z = tl.inline_asm_elementwise('mov.u32 $0, %tid.x; mov.u32 $1, %tid.y; mov.u32 $2, %ctaid.x;',
        '=r,=r,=r', [], dtype=(tl.uint32, tl.uint32, tl.uint32), is_pure=True, pack=1)
    n = tl.inline_asm_elementwise('mov.u32 $0, %ntid.x;', '=r', [], dtype=tl.int32, is_pure=True, pack=1)
    b = tl.inline_asm_elementwise('mov.u32 $0, %nctaid.x;', '=r', [], dtype=tl.int32, is_pure=True, pack=1)
    before = tl.inline_asm_elementwise('mov.u64 $0, %globaltimer;', '=l', [], dtype=tl.int64, is_pure=False, pack=1)
    after = tl.inline_asm_elementwise('mov.u64 $0, %globaltimer;', '=l', [], dtype=tl.int64, is_pure=False, pack=1)
    tl.store(out + z * n + x, y + z * 1000 + x + n + b + (after < before))
";
    let wanted: Vec<i32> = (0..3).flat_map(|p| (0..128).map(move |t| p * 1000 + t + 128 + 3)).collect();
    case("out", body).grid(3, 1, 1).gives(Args::new(), &wanted);
}

#[test]
fn accesses_have_scope_and_order_in_any_order() {
    let body = "
    i = tl.arange(0, 4)
    v = tl.inline_asm_elementwise('ld.acquire.gpu.global.b32 $0, [$1];', '=r,l', [out + i], dtype=tl.int32,
        is_pure=False, pack=1)
    w = tl.inline_asm_elementwise('ld.global.sys.relaxed.u32 $0, [$1+16];', '=r,l', [out + i], dtype=tl.int32,
        is_pure=False, pack=1)
    tl.inline_asm_elementwise('st.release.sys.global.u32 [$1], $2; mov.u32 $0, 0;', '=r,l,r', [out + 8 + i, v + w],
        dtype=tl.int32, is_pure=False, pack=1)
    a, b, c, d = tl.inline_asm_elementwise('ld.volatile.global.v4.u32 {$0, $1, $2, $3}, [$4];', '=r,=r,=r,=r,l', [out],
        dtype=(tl.int32, tl.int32, tl.int32, tl.int32), is_pure=False, pack=1)
    tl.store(out + 12, a * 1000 + b * 100 + c * 10 + d)
    tl.inline_asm_elementwise('{ fence.acq_rel.gpu; membar.sys; bar.sync 0; red.global.add.gpu.release.u32 [$1], 1; '
        'prefetch.global.L2 [$1]; nanosleep.u32 20; mov.u32 $0, 0; }', '=r,l', [out + 13], dtype=tl.int32,
        is_pure=False, pack=1)
    o = tl.inline_asm_elementwise('atom.global.exch.relaxed.sys.b32 $0, [$1], $2;', '=r,l,r', [out + i, i + 50],
        dtype=tl.int32, is_pure=False, pack=1)
    tl.store(out + 14 + i, o)
";
    let initial: Vec<i32> = vec![1, 2, 3, 4, 10, 20, 30, 40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let wanted = [50, 51, 52, 53, 10, 20, 30, 40, 11, 22, 33, 44, 1234, 128, 1, 2, 3, 4];
    case("out", body).updates(Args::new(), &initial, &wanted);
}

#[test]
fn atomics_change_pairs_and_vectors_by_element() {
    let body = "
    i = tl.arange(0, 2)
    tl.inline_asm_elementwise('red.relaxed.gpu.global.add.v4.f32 [$1], {$2, $2, $3, $2}; mov.u32 $0, 0;', '=r,l,f,f',
        [out + i * 4, (i + 1).to(tl.float32), (i + 5).to(tl.float32)], dtype=tl.int32, is_pure=False, pack=1)
    old = tl.inline_asm_elementwise('atom.global.add.noftz.f16x2 $0, [$1], $2;', '=r,l,r', [out + 8 + i, 0x3C004000],
        dtype=tl.int32, is_pure=False, pack=1)
    tl.store(out + 10 + i, old)
";
    let pair = |low: f32, high: f32| {
        let [low, high] = [low, high].map(|half| u32::from(f16::from_f32(half).to_bits()));
        (low | high << 16) as i32
    };
    let float = |number: f32| number.to_bits() as i32;
    let mut initial = vec![0; 12];
    (initial[8], initial[9]) = (pair(1.0, 2.0), pair(-3.0, 0.5));
    let mut wanted: Vec<i32> = [1.0, 1.0, 5.0, 1.0, 2.0, 2.0, 6.0, 2.0].map(float).to_vec();
    wanted.extend([pair(3.0, 3.0), pair(-1.0, 1.5), pair(1.0, 2.0), pair(-3.0, 0.5)]);
    case("out", body).updates(Args::new(), &initial, &wanted);
}

#[test]
fn spins_on_flags_wait_for_others() {
    // As Kraken spells them: the text comes from a format string with the order inside.
    let definitions = "
@shoal.jit
def send(addrs, sem: tl.constexpr):
    tl.inline_asm_elementwise(
        f'''
        {{
            .reg .u32   %tmp32_<1>;
            .reg .pred  %p<1>;

            send_signal:
                atom.global.{sem}.sys.cas.b32 %tmp32_0, [$1], 0, 1;
                setp.eq.u32 %p0, %tmp32_0, 0;
                @!%p0 bra send_signal;
        }}
        ''', '=r, l', [addrs], dtype=addrs.dtype, is_pure=False, pack=1)

@shoal.jit
def wait(addrs, sem: tl.constexpr):
    tl.inline_asm_elementwise(
        f'''
        {{
            .reg .u32   %tmp32_<1>;
            .reg .pred  %p<1>;

            wait_signal:
                atom.global.sys.{sem}.cas.b32 %tmp32_0, [$1], 1, 0;
                setp.eq.u32 %p0, %tmp32_0, 1;
                @!%p0 bra wait_signal;
        }}
        ''', '=r, l', [addrs], dtype=tl.int32, is_pure=False, pack=1)
";
    let body = "
    p = tl.program_id(0)
    i = tl.arange(0, 4)
    if p < 4:
        wait(out + p * 4 + i, 'acquire')
        tl.store(out + 16 + p, p + 1)
    else:
        send(out + i * 4 + (p - 4), 'release')
";
    let initial = [0i32; 20];
    let mut wanted = [0i32; 20];
    wanted[16..].copy_from_slice(&[1, 2, 3, 4]);
    super::harness::with(definitions, "out", body).grid(8, 1, 1).updates(Args::new(), &initial, &wanted);
}

#[test]
fn what_cannot_be_read_is_told() {
    let refused = |asm: &str, words: &[&str]| {
        let body = format!(
            "    tl.store(out, tl.inline_asm_elementwise('{asm}', '=r,r', [1], dtype=tl.int32, is_pure=True, pack=1))\n"
        );
        // GPUs leave it to their assembler.
        for backend in BACKENDS {
            case("out", &body).refused_on(backend, &Args::new(), words);
        }
    };
    refused("wgmma.fence.sync.aligned;", &["wgmma.fence", "no meaning outside of NVIDIA"]);
    refused("mov.u32 $0, %r7;", &["%r7", "not declared"]);
    refused("mov.u32 $0, x;", &["`x` is not declared"]);
    refused("{ mov.u32 $0, 1;", &["`{` has no `}`"]);
    refused("mov.u32 $0, 1; }", &["`}` has no `{`"]);
    refused("mov.u32 $0 $1;", &["expected `;`"]);
    refused("mov.u32 $9, 1;", &["no operand `$9`"]);
    refused("{ .reg .v4 .b32 v; mov.v4.b32 v, 3; mov.b32 $0, v.x; }", &["`mov.v4` copy vectors", "write `{a, b}`"]);
    refused("again: bra.uni again;", &["never ends"]);
    refused("bra.uni nowhere;", &["no label `nowhere`"]);
    refused("add.s32 $0, $1;", &["add.s32"]);
    refused("add.q32 $0, $1, $1;", &["type cannot be read"]);
    refused("ld.shared.u32 $0, [$1];", &["shared"]);
    refused("mov.u32 $0, [[[$1]]];", &["made of registers"]);
    refused("mov.u32 $0, 0xzz;", &["not a number"]);
    refused("mov.u32 $0, %tid.w;", &["%tid.w"]);
    refused(&format!("mov.u32 $0, {};", "-".repeat(5000)), &["before a number"]);
    refused(&format!("{}mov.u32 $0, 1;", "{ ".repeat(5000)), &["too deep"]);
}

/// The programs of a grid meet in the words that a cooperative launch has for them.
#[test]
fn programs_of_a_cooperative_launch_share_words() {
    let definitions = r"
@shoal.jit
def half(number: tl.constexpr):
    return tl.inline_asm_elementwise(f'mov.u32 $0, %envreg{number};', '=r', [], dtype=tl.uint32, is_pure=True, pack=1)


@shoal.jit
def meet():
    upper = tl.cast(half(tl.constexpr(1)), tl.uint64) << 32
    words = tl.cast(upper | tl.cast(half(tl.constexpr(2)), tl.uint64), tl.pointer_type(tl.uint32), bitcast=True)
    arrived = words + 1
    first = tl.program_id(0) == 0
    others = tl.num_programs(0) - 1
    mine = tl.where(first, tl.cast(0x80000000, tl.uint32) - others.to(tl.uint32), 1)
    before = tl.atomic_add(arrived, mine, sem='release', scope='gpu')
    while ((before ^ tl.atomic_add(arrived, 0, sem='acquire', scope='gpu')) & 0x80000000) == 0:
        pass
";
    let body = r"
    me = tl.program_id(0)
    for turn in range(3):
        tl.store(shared + me, me * 10 + turn)
        meet()
        total = 0
        for other in range(tl.num_programs(0)):
            total += tl.load(shared + other)
        meet()
        tl.store(out + turn * tl.num_programs(0) + me, total)
";
    let expected: Vec<i32> = (0..3).flat_map(|turn| vec![150 + 6 * turn; 6]).collect();
    for _ in 0..2 {
        let mut shared = [0i32; 6];
        // Twice: the words are zero again in each launch.
        let gpu = LaunchShape { cooperative: true, ..LaunchShape::default() };
        let launching = LaunchOptions { gpu, ..LaunchOptions::default() };
        let case = with(definitions, "shared, out", body).grid(6, 1, 1).launching(launching);
        case.gives(args!(&mut shared[..]), &expected);
    }
}
