//! Products as native code against the definition, on every kind of CPU that this one can stand for.

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::targets::TargetMachine;
use shoal_ir::Scalar;
use shoal_ir::numeric::{decode_float, encode_float};
use shoal_ir::op::Rounding;

use super::plan::{DotPlan, Operand, Problem, Stride};
use super::standalone::DotFunction;
use super::unit::Arithmetic;
use crate::cpu::isa::Isa;

type Function = unsafe extern "C" fn(*const u8, *const u8, *mut u8, *mut u8);

/// Every kind of register block, of packing, and of loop.
const SHAPES: [[u32; 3]; 11] = [
    [1, 1, 1],
    [1, 64, 32],
    [64, 1, 32],
    [2, 4, 8],
    [4, 2, 16],
    [32, 8, 1],
    [8, 16, 2],
    [16, 32, 4],
    [8, 256, 16],
    [64, 64, 32],
    [32, 32, 512],
];

/// Features of this CPU, and of lesser ones that it contains.
fn variants() -> Vec<String> {
    let host = TargetMachine::get_host_cpu_features().to_string();
    let no_amx = format!("{host},-amx-tile,-amx-bf16,-amx-int8,-avx512fp16");
    let no_pairs = format!("{no_amx},-avx512bf16,-avx512vnni");
    let avx2 = "+avx,+avx2,+fma,+f16c".to_owned();
    let mut variants = vec![String::new()];
    let isa = Isa::from_features(&host);
    if isa.vector_bits >= 256 && isa.fma && isa.f16c {
        variants.push(avx2);
    }
    if isa.avx512 {
        variants.extend([no_pairs, no_amx]);
    }
    if isa.amx_bf16 && amx_granted() {
        variants.push(host);
    }
    variants
}

/// Asks Linux for the use of AMX by this process.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn amx_granted() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: i64 = 0x1023;
    const XFEATURE_XTILEDATA: i64 = 18;
    let result: i64;
    // SAFETY: the system call touches no memory of ours; it clobbers what is listed.
    unsafe {
        std::arch::asm!("syscall", inlateout("rax") ARCH_PRCTL => result, in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XFEATURE_XTILEDATA, out("rcx") _, out("r11") _, options(nostack));
    }
    result == 0
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn amx_granted() -> bool {
    false
}

/// Memory in whole cache lines, aligned to them.
#[derive(Clone)]
#[repr(align(64))]
struct Line([u8; 64]);

/// What memory that must not be written holds.
const UNTOUCHED: u8 = 0xa5;

struct Memory {
    lines: Vec<Line>,
    bytes: usize,
}

impl Memory {
    fn new(bytes: u64) -> Memory {
        let bytes = bytes as usize;
        Memory { lines: vec![Line([UNTOUCHED; 64]); bytes / 64 + 2], bytes }
    }

    fn pointer(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }

    fn get(&self, at: u64, bytes: u32) -> u64 {
        (0..u64::from(bytes)).fold(0, |value, i| {
            let at = (at + i) as usize;
            value | u64::from(self.lines[at / 64].0[at % 64]) << (8 * i)
        })
    }

    fn set(&mut self, at: u64, bytes: u32, value: u64) {
        for i in 0..u64::from(bytes) {
            let at = (at + i) as usize;
            self.lines[at / 64].0[at % 64] = (value >> (8 * i)) as u8;
        }
    }

    fn end_is_untouched(&self) -> bool {
        (self.bytes..self.lines.len() * 64).all(|at| self.lines[at / 64].0[at % 64] == UNTOUCHED)
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    /// The bits of a number: any integer, or a float of either sign around 1 down to 2^-8.
    fn bits(&mut self, ty: Scalar) -> u64 {
        match ty.float_format() {
            None => self.next() ^ self.next() << 16,
            Some(format) => {
                let magnitude =
                    (1.0 + self.next() as f64 / f64::from(1u32 << 31)) * 0.5f64.powi((self.next() % 9) as i32);
                let sign = if self.next().is_multiple_of(2) { 1.0 } else { -1.0 };
                encode_float(format, sign * magnitude, Rounding::Nearest)
            }
        }
    }
}

struct Matrix {
    memory: Memory,
    operand: Operand,
    cols: u32,
    /// Row by row. Any type but 64-bit integers is contained in `f64`.
    values: Vec<f64>,
}

impl Matrix {
    fn random(random: &mut Random, rows: u32, cols: u32, operand: Operand) -> Matrix {
        let bytes = operand.elem.bytes();
        let extent =
            u64::from(rows - 1) * operand.row_stride.known() + u64::from(cols - 1) * operand.col_stride.known() + 1;
        let memory = Memory::new(extent * u64::from(bytes));
        let mut matrix = Matrix { memory, operand, cols, values: Vec::new() };
        for row in 0..rows {
            for col in 0..cols {
                matrix.memory.set(matrix.place(row, col), bytes, random.bits(operand.elem));
            }
        }
        // Only now: with a stride of zero, elements are written more than once.
        let places = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
        matrix.values = places.map(|(row, col)| decode(operand.elem, matrix.bits(row, col))).collect();
        matrix
    }

    fn place(&self, row: u32, col: u32) -> u64 {
        let Operand { elem, row_stride, col_stride } = self.operand;
        (u64::from(row) * row_stride.known() + u64::from(col) * col_stride.known()) * u64::from(elem.bytes())
    }

    fn bits(&self, row: u32, col: u32) -> u64 {
        self.memory.get(self.place(row, col), self.operand.elem.bytes())
    }

    fn value(&self, row: u32, col: u32) -> f64 {
        self.values[(row * self.cols + col) as usize]
    }
}

fn decode(elem: Scalar, bits: u64) -> f64 {
    match elem.float_format() {
        Some(format) => decode_float(format, bits),
        None if elem == Scalar::I32 => f64::from(bits as u32 as i32),
        None if elem == Scalar::I8 => f64::from(bits as u8 as i8),
        None => bits as f64,
    }
}

/// Whether a product is rounded before it is added.
#[derive(Copy, Clone, PartialEq)]
enum Product {
    Exact,
    Rounded,
}

/// The bits of one element of the result, by the definition.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other sums are of integers")]
fn expected(product: Product, k: u32, a: &Matrix, b: &Matrix, c: &Matrix, row: u32, col: u32) -> u64 {
    let (x, y) = (|i| a.value(row, i), |i| b.value(i, col));
    let start = c.value(row, col);
    let f32_step = |sum: f32, i| {
        let (x, y) = (x(i) as f32, y(i) as f32);
        if product == Product::Exact { x.mul_add(y, sum) } else { x * y + sum }
    };
    let f16 = Scalar::F16.float_format().expect("a float");
    match c.operand.elem {
        Scalar::F64 if product == Product::Exact => (0..k).fold(start, |sum, i| x(i).mul_add(y(i), sum)).to_bits(),
        Scalar::F64 => (0..k).fold(start, |sum, i| x(i) * y(i) + sum).to_bits(),
        Scalar::F32 => (0..k).fold(start as f32, f32_step).to_bits().into(),
        Scalar::F16 => encode_float(f16, (0..k).fold(start as f32, f32_step).into(), Rounding::Nearest),
        other => {
            assert!(other.is_int(), "a sum of {other}");
            let product = |i| (x(i) as i32).wrapping_mul(y(i) as i32);
            u64::from((0..k).fold(start as i32, |sum, i| sum.wrapping_add(product(i))) as u32)
        }
    }
}

/// How far an element may be from the exact sum where it need not be bit-exact; the bound of the module's
/// documentation.
fn tolerance(k: u32, a: &Matrix, b: &Matrix, c: &Matrix, row: u32, col: u32) -> f64 {
    let sum: f64 = (0..k).map(|i| (a.value(row, i) * b.value(i, col)).abs()).sum();
    2.0 * f64::from(k) * f64::from(f32::EPSILON) / 2.0 * (c.value(row, col).abs() + sum)
}

fn check(features: &str, [m, n, k]: [u32; 3], [a, b, c]: [Operand; 3]) {
    let what = format!("{m}x{n}x{k} {a:?} {b:?} {c:?} on {:?}", Isa::from_features(features));
    let mut random = Random(u64::from(m) << 40 | u64::from(n) << 20 | u64::from(k));
    let mut before =
        [(m, k, a), (k, n, b), (m, n, c)].map(|(rows, cols, o)| Matrix::random(&mut random, rows, cols, o));
    let context = Context::create();
    let function = DotFunction::new(&context, features, [m, n, k], [a, b, c]);
    function.module.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut scratch = Memory::new(function.scratch_bytes);
    let mut result = Memory { lines: before[2].memory.lines.clone(), bytes: before[2].memory.bytes };
    let engine = function.module.create_jit_execution_engine(OptimizationLevel::Default).expect("a JIT");
    // SAFETY: `dot` has this type; the matrices and the scratch have the sizes it was made for.
    unsafe {
        let dot = engine.get_function::<Function>("dot").expect("the function");
        let [a, b, _] = &mut before;
        dot.call(a.memory.pointer(), b.memory.pointer(), result.pointer(), scratch.pointer());
    }
    assert!(result.end_is_untouched() && scratch.end_is_untouched(), "{what}: writes beyond the end");

    let isa = Isa::from_features(features);
    let plan = DotPlan::new(&isa, Problem { m, n, k, a, b, c });
    let product = if isa.fma { Product::Exact } else { Product::Rounded };
    let inexact = matches!(plan.arithmetic, Arithmetic::AmxBf16 | Arithmetic::Bf16Pairs);
    let [a, b, c] = &before;
    for row in 0..m {
        for col in 0..n {
            let got = result.get(c.place(row, col), c.operand.elem.bytes());
            let want = expected(product, k, a, b, c, row, col);
            let (got_value, want_value) = (decode(c.operand.elem, got), decode(c.operand.elem, want));
            let right = if inexact {
                // Both may be off, each in its own direction.
                (got_value - want_value).abs() <= 2.0 * tolerance(k, a, b, c, row, col)
            } else {
                got == want
            };
            assert!(right, "{what}: element {row}, {col} is {got_value}, not {want_value}");
        }
    }
}

/// Every shape on every CPU, `a` and `b` as they are and transposed.
fn check_types(a: Scalar, b: Scalar, c: Scalar) {
    check_shapes(&SHAPES, a, b, c);
}

fn check_shapes(shapes: &[[u32; 3]], a: Scalar, b: Scalar, c: Scalar) {
    for features in variants() {
        for &[m, n, k] in shapes {
            let c = Operand::row_major(c, n);
            let (a_layouts, b_layouts) = (
                [Operand::row_major(a, k), Operand::column_major(a, m)],
                [Operand::row_major(b, n), Operand::column_major(b, k)],
            );
            // Both transposed adds no code that the others have not.
            check(&features, [m, n, k], [a_layouts[0], b_layouts[0], c]);
            check(&features, [m, n, k], [a_layouts[1], b_layouts[0], c]);
            check(&features, [m, n, k], [a_layouts[0], b_layouts[1], c]);
        }
    }
}

#[test]
fn f32_products() {
    check_types(Scalar::F32, Scalar::F32, Scalar::F32);
}

#[test]
fn f64_products() {
    check_types(Scalar::F64, Scalar::F64, Scalar::F64);
}

#[test]
fn bf16_products() {
    check_types(Scalar::BF16, Scalar::BF16, Scalar::F32);
}

#[test]
fn f16_products() {
    check_types(Scalar::F16, Scalar::F16, Scalar::F32);
}

#[test]
fn f16_products_summed_in_f16() {
    let shapes = [[1, 1, 64], [64, 1, 8], [8, 16, 2], [16, 32, 32], [16, 32, 2048]];
    check_shapes(&shapes, Scalar::F16, Scalar::F16, Scalar::F16);
}

#[test]
fn signed_byte_products() {
    check_types(Scalar::I8, Scalar::I8, Scalar::I32);
}

#[test]
fn unsigned_byte_products() {
    check_types(Scalar::U8, Scalar::U8, Scalar::I32);
}

#[test]
fn eight_bit_float_products() {
    let types = [
        (Scalar::F8E4M3, Scalar::F8E4M3),
        (Scalar::F8E5M2, Scalar::F8E4M3),
        (Scalar::F8E4B15, Scalar::F8E4B15),
        (Scalar::F8E4M3Fnuz, Scalar::F8E5M2Fnuz),
    ];
    for features in variants() {
        for (a, b) in types {
            let [m, n, k] = [16, 32, 16];
            let row_major = [Operand::row_major(a, k), Operand::row_major(b, n), Operand::row_major(Scalar::F32, n)];
            check(&features, [m, n, k], row_major);
            let c = Operand::row_major(Scalar::F16, n);
            check(&features, [m, n, k], [Operand::row_major(a, k), Operand::column_major(b, k), c]);
        }
    }
}

/// Each value of a narrow type, times one, is itself.
#[test]
fn narrow_floats_convert_exactly() {
    let types = [
        Scalar::F8E4M3,
        Scalar::F8E5M2,
        Scalar::F8E4B15,
        Scalar::F8E4M3Fnuz,
        Scalar::F8E5M2Fnuz,
        Scalar::F16,
        Scalar::BF16,
    ];
    for features in variants() {
        for elem in types {
            let bits = elem.bits().min(14);
            let n = 1u32 << bits;
            let operands =
                [Operand::row_major(elem, 1), Operand::row_major(elem, n), Operand::row_major(Scalar::F32, n)];
            let mut random = Random(1);
            let mut a = Matrix::random(&mut random, 1, 1, operands[0]);
            let mut b = Matrix::random(&mut random, 1, n, operands[1]);
            let one = encode_float(elem.float_format().expect("a float"), 1.0, Rounding::Nearest);
            a.memory.set(0, elem.bytes(), one);
            // Spread over all of the type, from the subnormal numbers to the last NaN.
            let value = |i: u32| u64::from(i) << (elem.bits() - bits) | u64::from(i) & 1;
            (0..n).for_each(|i| b.memory.set(b.place(0, i), elem.bytes(), value(i)));
            let context = Context::create();
            let function = DotFunction::new(&context, &features, [1, n, 1], operands);
            let engine = function.module.create_jit_execution_engine(OptimizationLevel::Default).expect("a JIT");
            let mut c = Memory::new(u64::from(n) * 4);
            (0..u64::from(n)).for_each(|i| c.set(4 * i, 4, 0));
            let mut scratch = Memory::new(function.scratch_bytes);
            // SAFETY: `dot` has this type; the matrices and the scratch have the sizes it was made for.
            unsafe {
                let dot = engine.get_function::<Function>("dot").expect("the function");
                dot.call(a.memory.pointer(), b.memory.pointer(), c.pointer(), scratch.pointer());
            }
            for i in 0..n {
                let got = f32::from_bits(c.get(4 * u64::from(i), 4) as u32);
                let want = decode(elem, value(i)) as f32;
                assert!(got == want || got.is_nan() && want.is_nan(), "{elem} {:#x}: {got}, not {want}", value(i));
            }
        }
    }
}

#[test]
fn strides_wider_than_the_matrix() {
    for features in variants() {
        for elem in [Scalar::F32, Scalar::BF16] {
            let [m, n, k] = [16, 32, 16];
            let a = Operand { elem, row_stride: Stride::Known(17), col_stride: Stride::Known(1) };
            let b = Operand { elem, row_stride: Stride::Known(40), col_stride: Stride::Known(1) };
            let c = Operand { elem: Scalar::F32, row_stride: Stride::Known(48), col_stride: Stride::Known(1) };
            check(&features, [m, n, k], [a, b, c]);
            let apart =
                |elem, cols: u64| Operand { elem, row_stride: Stride::Known(2 * cols), col_stride: Stride::Known(2) };
            check(&features, [m, n, k], [apart(elem, 16), apart(elem, 32), c]);
            check(&features, [m, n, k], [a, b, apart(Scalar::F32, 32)]);
            check(&features, [m, n, k], [a, b, Operand::column_major(Scalar::F32, m)]);
            check(
                &features,
                [m, n, k],
                [Operand { elem, row_stride: Stride::Known(0), col_stride: Stride::Known(0) }, b, c],
            );
        }
    }
}

#[test]
fn large_tiles() {
    let features = variants().pop().expect("at least one");
    for (elem, acc) in [(Scalar::F32, Scalar::F32), (Scalar::BF16, Scalar::F32), (Scalar::I8, Scalar::I32)] {
        for [m, n, k] in [[128, 128, 64], [64, 512, 32]] {
            let operands = [Operand::row_major(elem, k), Operand::row_major(elem, n), Operand::row_major(acc, n)];
            check(&features, [m, n, k], operands);
        }
    }
}
