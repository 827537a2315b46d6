//! Code for NVIDIA GPUs, looked at where there is none.

use shoal::{Module, Stage, target_named};

use crate::ptx_flow;

/// The PTX of a kernel of `x` and `out` with this body.
fn ptx(signature: &str, body: &str) -> String {
    ptx_with("", signature, body)
}

/// The same, after other functions.
fn ptx_with(functions: &str, signature: &str, body: &str) -> String {
    ptx_by(4, functions, signature, body)
}

/// The same, for programs of so many warps.
fn ptx_by(warps: u32, functions: &str, signature: &str, body: &str) -> String {
    let text = format!(
        "import shoal\nimport shoal.language as tl\nfrom shoal.language.extra import libdevice\n\n{functions}\n@shoal.jit\n\
         def kernel(x, out, n):\n    i = tl.arange(0, 1024)\n{body}\n"
    );
    let kernel = Module::from_source("kernel.py", &text).unwrap().kernel("kernel").unwrap();
    let specs = kernel.read_signature(signature).unwrap();
    let mut options = kernel.options().clone();
    options.gpu.num_warps = warps;
    let code = kernel.with(options).emit(&specs, Stage::Asm, &target_named("sm_90a").unwrap()).unwrap();
    String::from_utf8(code).unwrap()
}

#[test]
fn threads_wait_only_where_accesses_may_meet() {
    for (body, barriers) in [
        // Other memory, or the same elements by the same threads.
        ("    tl.store(out + i, tl.load(x + i))", 0),
        ("    tl.store(x + i, tl.load(x + i) + 1)\n    tl.store(x + i, tl.load(x + i) * 2)", 0),
        ("    for k in range(n):\n        tl.store(out + i, tl.load(x + k * 1024 + i))", 0),
        // Read after written, written after read, written after written.
        ("    tl.store(x + i, i)\n    tl.store(out + i, tl.load(x + 1023 - i))", 1),
        ("    tl.store(x + 1023 - i, tl.load(x + i))", 1),
        ("    tl.store(x + i, i)\n    tl.store(x + 1023 - i, i)", 1),
        ("    tl.store(x, n)\n    tl.store(out + i, tl.load(x + i))", 1),
        ("    tl.store(x, n)\n    tl.store(x + 1, n)", 0),
        // In another trip, or in a branch.
        ("    for k in range(n):\n        tl.store(out + k + i, tl.load(x + i))", 1),
        ("    if n > 3:\n        tl.store(x + i, i)\n    tl.store(out + i, tl.load(x + 1023 - i))", 1),
        ("    tl.store(x + i, i)\n    tl.debug_barrier()\n    tl.store(out + i, tl.load(x + 1023 - i))", 1),
    ] {
        let text = ptx("*i32, *i32, i32", body);
        assert_eq!(text.matches("bar.sync").count(), barriers, "{body}\n{text}");
    }
}

#[test]
fn blocks_that_may_begin_before_a_tensor_are_stored_by_threads() {
    let stored = |row: &str| {
        ptx(
            "*i32:16, *i32:16, i32",
            &format!(
                "    d = tl.make_tensor_descriptor(out, [n, 32], [32, 1], [8, 32])\n    \
             d.store([{row}, 0], tl.zeros([8, 32], tl.int32))"
            ),
        )
    };
    // The copy engine must not be asked to: threads are ready to, unless the index is not negative anyway.
    for (row, by_threads) in
        [("n - 2", true), ("tl.load(x)", true), ("tl.program_id(0) * 8", false), ("tl.maximum(n, 0)", false)]
    {
        let text = stored(row);
        assert!(text.contains("cp.async.bulk.tensor.2d.global.shared::cta"), "{row}: {text}");
        assert_eq!(text.contains("st.global.b32"), by_threads, "{row}: {text}");
    }
}

#[test]
fn numbers_of_all_sizes_are_aligned_in_shared_memory() {
    let body = "    a, b, c = tl.reduce((i.to(tl.int8), i, i.to(tl.int64)), 0, both)\n    tl.store(out, a + b + c)";
    let combine = "@shoal.jit\ndef both(a, b, c, d, e, f):\n    return a + d, b + e, c + f\n";
    let text = ptx_with(combine, "*i32, *i32, i32", body);
    let offset = |line: &str| line.split_once('+')?.1.split_once(']')?.0.parse::<u32>().ok();
    for (width, bytes) in [("shared.b16", 2), ("shared.b32", 4), ("shared.b64", 8)] {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(width)).collect();
        let odd: Vec<&&str> = lines.iter().filter(|line| offset(line).is_some_and(|at| at % bytes != 0)).collect();
        assert!(odd.is_empty(), "{odd:?}\n{text}");
        assert!(width == "shared.b16" || !lines.is_empty(), "{text}");
    }
}

#[test]
fn threads_pick_registers_of_their_own() {
    // A thread holds both columns; the lanes of a scan hold one each.
    let body = "    both = tl.join(tl.full([8], 600, tl.int32), tl.full([8], 7000, tl.int32))\n    \
                tl.store(out + tl.arange(0, 8)[:, None] * 2 + tl.arange(0, 2)[None, :], tl.cumsum(both, 0))";
    let text = ptx("*i32, *i32, i32", body);
    assert!(text.contains("600") && text.contains("7000"), "{text}");
}

/// Each thread combines its own elements, then lanes do, then warps: a long function by shuffles between lanes that hold one
/// warp's numbers each.
#[test]
fn long_functions_are_called_as_often_as_halving_needs() {
    let mean = "@shoal.jit\ndef mean(m, v, b, n, w, c):\n    r = c / (b + c)\n    d = n - m\n    \
                return m + d * r, v + w + d * d * b * r, b + c\n";
    let body =
        "    v = tl.load(x + i)\n    m, _, _ = tl.reduce((v, v * 0, v * 0 + 1), 0, mean)\n    tl.store(out + i, v - m)";
    let commutes = "@shoal.jit\ndef both(a, b, c, d):\n    return tl.sqrt(a * a + c * c), b + d\n";
    let sum = "    a, b = tl.reduce((tl.load(x + i), tl.load(out + i)), 0, both)\n    tl.store(out + i, a + b)";
    for (function, body, instruction) in [(mean, body, "div.full.f32"), (commutes, sum, "sqrt.approx.f32")] {
        for (warps, calls) in [(1, 31 + 5), (4, 7 + 5 + 3), (8, 3 + 5 + 3), (16, 1 + 5 + 4)] {
            let text = ptx_by(warps, function, "*fp32:16, *fp32:16, i32", body);
            assert_eq!(text.matches(instruction).count(), calls, "{warps} warps: {text}");
            // Where no element moves first: warps meet once, and nobody chooses whose number comes first.
            if warps >= 8 {
                assert_eq!([text.matches("bar.sync").count(), text.matches("selp").count()], [1, 0], "{text}");
            }
        }
    }
}

#[test]
fn functions_of_mathematics_are_brought_along() {
    let text = ptx(
        "*fp64, *fp64, i32",
        "    v = tl.load(x + i)\n    tl.store(out + i, tl.exp(v) + libdevice.pow(v, v % 3.0) + libdevice.jn(2, v) + tl.sin(v))",
    );
    assert!(text.contains("shoal_exp_f64") && text.contains("shoal_fmod_f64"), "{text}");
    // What is not called stays away, and everything that is called is there, under names that PTX can spell.
    assert!(!text.contains("shoal_tgamma_f64") && !text.contains("erfc") && !text.contains(".extern .func"), "{text}");
    let names = text.lines().filter(|line| line.starts_with(".func")).filter_map(|line| line.rsplit(' ').next());
    let odd: Vec<&str> = names.filter(|name| name.contains('.')).collect();
    assert!(odd.is_empty(), "{odd:?}");
    assert!(!ptx("*fp32, *fp32, i32", "    tl.store(out + i, tl.load(x + i))").contains(".func"));
}

#[test]
fn assembly_may_be_newer_than_other_code() {
    let plain = ptx("*i32, *i32, i32", "    tl.store(out + i, i)");
    assert!(plain.contains(".version 8.0"), "{plain}");
    let assembly = "    y = tl.inline_asm_elementwise('brev.b32 $0, $1;', '=r,r', [i], tl.int32, True, 1)\n    tl.store(out + i, y)";
    let text = ptx("*i32, *i32, i32", assembly);
    assert!(text.contains(".version 8.3"), "{text}");
}

#[test]
fn prefetches_are_instructions_of_those_threads_that_ask() {
    let extra = "from triton_dist.language.extra.language_extra import prefetch, tid";
    let tile = ptx_with(extra, "*fp32:16, *fp32:16, i32", "    prefetch(x + i * 32)");
    assert!(tile.contains("prefetch.global.L2 [") && !tile.contains("wanted"), "{tile}");
    let lanes = ptx_with(extra, "*fp32:16, *fp32:16, i32", "    if tid(0) < 3:\n        prefetch(x + tid(0) * 32)");
    assert!(lanes.contains("@wanted prefetch.global.L2 ["), "{lanes}");
}

/// What a user's own assembly asks of the GPU beside its values stays in it, in front of the accesses that follow.
#[test]
fn hints_of_assembly_are_kept() {
    let assembly = |asm: &str, operands: &str| {
        let constraints = if operands == "[]" { "=r" } else { "=r,l" };
        let call = format!(
            "tl.inline_asm_elementwise('{asm} mov.u32 $0, 0;', '{constraints}', {operands}, tl.int32, False, 1)"
        );
        ptx("*i32:16, *i32:16, i32", &format!("    {call}\n    tl.store(out + i, tl.load(x + i))"))
    };
    let tile = assembly("prefetch.global.L1 [$1+128]; st.global.u32 [$1], 7;", "[out + i]");
    assert!(tile.contains("prefetch.global.L1 [") && tile.contains("+128]"), "{tile}");
    let guarded = assembly("{ .reg .pred p; setp.ne.u64 p, $1, 0; @p discard.global.L2 [$1], 128; }", "[out + i * 32]");
    assert!(guarded.contains("@wanted discard.global.L2 [") && guarded.contains("], 128;"), "{guarded}");
    let waits = assembly("griddepcontrol.wait;", "[]");
    let (_, behind) = waits.split_once("griddepcontrol.wait").expect("the wait for the launch ahead");
    assert!(behind.contains("ld.global"), "{waits}");
}

/// A loop whose head does nothing but check an access, in a loop in which threads part.
#[test]
fn loops_are_entered_at_one_place() {
    let text = "
import shoal
import shoal.language as tl

@shoal.jit
def more(x, out, h, t):
    tl.store(out + tl.arange(0, 32), tl.histogram(tl.load(x + tl.arange(0, 128)), 32))
    tl.store(out + 32 + tl.arange(0, 4), h)
    return t < 1

@shoal.jit
def kernel(x, out, n):
    for k in range(0, n, 3):
        h = tl.histogram(tl.load(x + tl.arange(0, 16)), 4)
        t = 0
        while more(x, out, h, t):
            tl.store(out + 64, tl.load(x + 3))
            t += 1
";
    let kernel = Module::from_source("kernel.py", text).unwrap().kernel("kernel").unwrap();
    let specs = kernel.read_signature("*i32:16, *i32:16, i32").unwrap();
    let mut options = kernel.options().clone();
    options.debug = true;
    let code = kernel.with(options).emit(&specs, Stage::Asm, &target_named("sm_90a").unwrap()).unwrap();
    let code = String::from_utf8(code).unwrap();
    assert_eq!(ptx_flow::entries_of_loops(&code), Vec::<String>::new(), "{code}");
}
