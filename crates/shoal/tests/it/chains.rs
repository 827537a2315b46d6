//! Long chains of operations: computed once, right, and with code that is linear in their length.

use std::time::Duration;

use shoal::{ArgSpec, Backend, Kernel, Stage, args, host_target, target_named};

use crate::launches::kernel;
use crate::thread_time::thread_time;

/// The greatest of several numbers and where it came from: two chains of selections, both stored.
const GREATEST: &str = "\
@shoal.jit
def greatest(x, best_out, at_out, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    best = tl.load(x + i, mask=i < n, other=0.0)
    at = tl.zeros([BLOCK], dtype=tl.int32)
    for step in tl.static_range(1, STEPS):
        v = best * 0.75 + (step % 7) - 3
        at = tl.where(v > best, step, at)
        best = tl.where(v > best, v, best)
    tl.store(best_out + i, best, mask=i < n)
    tl.store(at_out + i, at, mask=i < n)
";

/// A Walsh-Hadamard transform of each row: each step reads the one before at two places.
const HADAMARD: &str = "\
@shoal.jit
def hadamard(x, out, N: tl.constexpr, LOG: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + at)
    for step in tl.static_range(LOG):
        v = tl.permute(tl.reshape(v, [N >> (step + 1), 2, 1 << step]), [0, 2, 1])
        a, b = tl.split(v)
        v = tl.reshape(tl.permute(tl.join(a + b, a - b), [0, 2, 1]), [N])
    tl.store(out + at, v)
";

/// Functions of mathematics, one after another.
const EXPONENTIALS: &str = "\
@shoal.jit
def exponentials(x, out, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for step in tl.static_range(STEPS):
        v = tl.exp(-v * v) + 0.25 * step / STEPS
    tl.store(out + i, v)
";

/// Integers that are computed from each other, all of them stored.
const INTEGERS: &str = "\
@shoal.jit
def integers(x, n, STEPS: tl.constexpr):
    i = tl.arange(0, 128)
    v = tl.load(x + i)
    sum = v
    for step in tl.static_range(STEPS):
        v = v * n + i
        sum = sum + v
    tl.store(x + i, sum)
";

const BACKENDS: [Backend; 2] = [Backend::Cpu, Backend::Interpreter];

fn numbers(count: usize) -> Vec<f32> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}

#[test]
fn selections_that_are_both_stored() {
    let x = numbers(100);
    let expected: Vec<(f32, i32)> = (x.iter())
        .map(|&start| {
            (1..150).fold((start, 0), |(best, at), step| {
                let v = best * 0.75 + (step % 7) as f32 - 3.0;
                if v > best { (v, step) } else { (best, at) }
            })
        })
        .collect();
    for backend in BACKENDS {
        let (mut best, mut at) = (vec![f32::NAN; 100], vec![-1; 100]);
        let greatest = kernel(GREATEST, backend);
        greatest.launch(2, args!(&x, &mut best, &mut at, 100, STEPS = 150, BLOCK = 64)).unwrap();
        for (i, &(value, place)) in expected.iter().enumerate() {
            assert!((best[i] - value).abs() < 1e-5 && at[i] == place, "{backend:?} {i}: {} {}", best[i], at[i]);
        }
    }
}

#[test]
fn transforms_by_reshape_permute_split_and_join() {
    for log in [1, 2, 5, 7, 12] {
        let n = 1usize << log;
        let x = numbers(2 * n);
        let sign = |i: usize, j: usize| if (i & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        let mut out = vec![f32::NAN; 2 * n];
        kernel(HADAMARD, Backend::Cpu).launch(2, args!(&x, &mut out, N = n, LOG = log)).unwrap();
        for (row, found) in x.chunks(n).zip(out.chunks(n)) {
            for (i, &found) in found.iter().enumerate().step_by(1 + n / 64) {
                let expected: f64 = row.iter().enumerate().map(|(j, &v)| sign(i, j) * f64::from(v)).sum();
                assert!((f64::from(found) - expected).abs() < 1e-5 * n as f64, "{n}: {i}: {found} {expected}");
            }
        }
    }
}

#[test]
fn functions_of_mathematics_in_long_chains() {
    let x = numbers(64);
    let [native, interpreted] = BACKENDS.map(|backend| {
        let mut out = vec![f32::NAN; 64];
        kernel(EXPONENTIALS, backend).launch(1, args!(&x, &mut out, STEPS = 60, BLOCK = 64)).unwrap();
        out
    });
    for (a, b) in native.iter().zip(&interpreted) {
        assert!((a - b).abs() <= 1e-5, "{a} {b}");
    }
}

/// How many lines of LLVM IR the backend writes for a signature.
fn code_lines(kernel: &Kernel, signature: &str) -> usize {
    let specs: Vec<ArgSpec> = kernel.read_signature(signature).unwrap();
    let code = kernel.emit(&specs, Stage::LlvmRaw, host_target()).unwrap();
    code.iter().filter(|&&byte| byte == b'\n').count()
}

#[test]
fn code_is_linear_in_the_program() {
    let signature = |steps| format!("*fp32:16, *fp32:16, *i32:16, i32, STEPS={steps}, BLOCK=1024");
    let greatest = kernel(GREATEST, Backend::Cpu);
    let lines = [100, 200, 400].map(|steps| code_lines(&greatest, &signature(steps)));
    assert!(lines[2] - lines[1] < 3 * (lines[1] - lines[0]), "{lines:?}");

    let hadamard = kernel(HADAMARD, Backend::Cpu);
    let signature = |log: u32| format!("*fp32:16, *fp32:16, N={}, LOG={log}", 1u32 << log);
    let lines = [6, 8, 10, 12].map(|log| code_lines(&hadamard, &signature(log)));
    assert!(lines[3] < 2 * lines[1], "{lines:?}");
}

/// LLVM's straight-line strength reduction took 10 s for these.
#[test]
fn integers_in_long_chains_for_a_gpu() {
    let integers = kernel(INTEGERS, Backend::Cpu);
    let specs = integers.read_signature("*i32:16, i32, STEPS=400").unwrap();
    let target = target_named("sm_90a").unwrap();
    let (code, took) = thread_time(|| integers.emit(&specs, Stage::Asm, &target).unwrap());
    assert!(String::from_utf8(code).unwrap().contains("mad.lo.s32"));
    assert!(took < Duration::from_secs(3), "{took:?}");
}
