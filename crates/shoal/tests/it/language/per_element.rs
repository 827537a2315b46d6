//! Reference 1.6: functions on single elements: of the user, from bitcode, in assembly.

use std::path::PathBuf;
use std::process::Command;

use shoal::{Backend, args};

use super::harness::{case, floats, integers, with};

#[test]
fn map_elementwise_has_flow_for_each_element() {
    let functions = "
@shoal.jit
def collatz(n):
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@shoal.jit
def divmod(a, b):
    if b == 0:
        return 0, a
    else:
        return a // b, a % b


@shoal.jit
def swapped(a0, a1, b0, b1):
    return a1 + b0, a0 + b1
";
    let x: Vec<i32> = (1..33).collect();
    let body = "
    i = tl.arange(0, 32)
    v = tl.load(x + i)
    tl.store(out + i, tl.map_elementwise(collatz, v))
    q, r = tl.map_elementwise(divmod, v * 7, v % 5)
    tl.store(out + 32 + i, q)
    tl.store(out + 64 + i, r)
    (mixed,) = tl.map_elementwise(swapped, v, v * 100, pack=2)
    tl.store(out + 96 + i, mixed)
";
    let collatz = |mut n: i32| {
        let mut steps = 0;
        while n > 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        steps
    };
    let mut expected: Vec<i32> = x.iter().map(|&n| collatz(n)).collect();
    expected.extend(x.iter().map(|&v| (v * 7).checked_div(v % 5).unwrap_or(0)));
    expected.extend(x.iter().map(|&v| (v * 7).checked_rem(v % 5).unwrap_or(v * 7)));
    expected.extend(x.chunks(2).flat_map(|p| [p[1] + p[0] * 100, p[0] + p[1] * 100]));
    with(functions, "x, out", body).gives(args!(&x), &expected);
    with(functions, "x, out", "    y = tl.map_elementwise(collatz, tl.arange(0, 8), pack=3)")
        .refused(args!(&x), &["pack"]);
    with(functions, "x, out", "    y = tl.map_elementwise(divmod, tl.arange(0, 8))").refused(args!(&x), &["divmod"]);
    case("x, out", "    y = tl.map_elementwise(3, tl.arange(0, 8))").refused(args!(&x), &["scalar_fn"]);
}

const BITCODE: &str = "
define float @cubed(float %x) {
  %a = fmul float %x, %x
  %b = fmul float %a, %x
  ret float %b
}

define i32 @mixed(i32 %x, i32 %y) {
  %a = mul i32 %x, 31
  %b = xor i32 %a, %y
  ret i32 %b
}
";

/// The functions as bitcode, if this machine has an assembler that our LLVM can read.
fn bitcode() -> Option<PathBuf> {
    let folder = std::env::temp_dir().join(format!("shoal-language-{}", std::process::id()));
    std::fs::create_dir_all(&folder).ok()?;
    let (text, code) = (folder.join("user.ll"), folder.join("user.bc"));
    std::fs::write(&text, BITCODE).ok()?;
    let assembled = Command::new("llvm-as-22").arg(&text).arg("-o").arg(&code).status().ok()?;
    assembled.success().then_some(code)
}

const EXTERN: &str = "
from shoal.language import core


# As Triton's own libraries are written.
@core.extern
def cubed(x, _semantic=None):
    types = {(core.dtype('fp32'),): ('cubed', core.dtype('fp32'))}
    return core.extern_elementwise('user', PATH, [x], types, is_pure=True, _semantic=_semantic)


@shoal.jit
def mixed(x, y):
    return tl.extern_elementwise('user', PATH, [x, y], {(tl.int32, tl.int32): ('mixed', tl.int32)}, is_pure=True)
";

#[test]
fn functions_from_bitcode() {
    let path = bitcode();
    let definitions = EXTERN.replace("PATH", &format!("{:?}", path.clone().unwrap_or_default().display().to_string()));
    let body = "
    i = tl.arange(0, 16)
    tl.store(out + i, cubed(tl.load(x + i)))
    tl.store(out + 16 + i, mixed(tl.load(n + i), i))
";
    let (x, n) = (floats(16, 1), integers(16, 2));
    let mixed = n.iter().enumerate().map(|(at, &n)| (n.wrapping_mul(31) ^ at as i32) as f32);
    let expected: Vec<f32> = x.iter().map(|v| v * v * v).chain(mixed).collect();
    let kernel = with(&definitions, "x, n, out", body);
    if let Some(path) = path {
        let found = kernel.run::<f32>(Backend::Cpu, &args!(&x, &n), &[], 32).unwrap();
        assert_eq!(found, expected);
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
    // The interpreter runs no machine code, and says so.
    kernel.refused_on(Backend::Interpreter, &args!(&x, &n), &["cubed", "interpret"]);
}

#[test]
fn wrong_bitcode() {
    let definitions = EXTERN.replace("PATH", "'/does/not/exist.bc'");
    let kernel = with(&definitions, "x, out", "    tl.store(out, cubed(x))");
    kernel.refused_on(Backend::Cpu, &args!(2.0), &["/does/not/exist.bc"]);
    with(&definitions, "x, out", "    tl.store(out, cubed(x))").refused(args!(2), &["i32"]);
}

#[test]
fn assembly_is_refused_at_its_line() {
    let body = "
    i = tl.arange(0, 4)
    y = tl.inline_asm_elementwise('brev.b128 $0, $1;', '=r,r', [i], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + i, y)
";
    case("out", body).refused(args!(), &["brev.b128", "kernel.py:10"]);
    case("out", "    y = tl.inline_asm_elementwise('x', '=r', [3], dtype='int')").refused(args!(), &["dtype"]);
}
