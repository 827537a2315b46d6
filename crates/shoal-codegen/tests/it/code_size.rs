//! Code does not grow with the number of elements of a tile.

use shoal_abi::CpuTarget;
use shoal_codegen::{Emit, Options, cpu};
use shoal_source::SourceMap;

/// `out = exp-like polynomial of x, masked`, on tiles of `n` elements.
fn elementwise(n: u32) -> String {
    format!(
        "kernel @k(%0: ptr<f32>, %1: ptr<f32>, %2: i32) {{
           %3 = iota {{start = 0}} () : tile<{n}xi32>
           %4 = splat (%2) : tile<{n}xi32>
           %5 = cmp {{is = lt}} (%3, %4) : tile<{n}xi1>
           %6 = splat (%0) : tile<{n}xptr<f32>>
           %7 = ptr_add (%6, %3) : tile<{n}xptr<f32>>
           %8 = load (%7, %5) : tile<{n}xf32>
           %9 = fma (%8, %8, %8) : tile<{n}xf32>
           %10 = math {{fn = sqrt}} (%9) : tile<{n}xf32>
           %11 = splat (%1) : tile<{n}xptr<f32>>
           %12 = ptr_add (%11, %3) : tile<{n}xptr<f32>>
           store (%12, %10, %5)
           return ()
         }}"
    )
}

/// Row sums of a square, and the square scaled by them.
fn rows(n: u32) -> String {
    format!(
        "kernel @k(%0: ptr<f32>) {{
           %1 = iota {{start = 0}} () : tile<{n}xi32>
           %2 = reshape (%1) : tile<{n}x1xi32>
           %3 = const {{value = {n}}} () : tile<{n}x1xi32>
           %4 = mul (%2, %3) : tile<{n}x1xi32>
           %5 = broadcast (%4) : tile<{n}x{n}xi32>
           %6 = reshape (%1) : tile<1x{n}xi32>
           %7 = broadcast (%6) : tile<{n}x{n}xi32>
           %8 = add (%5, %7) : tile<{n}x{n}xi32>
           %9 = splat (%0) : tile<{n}x{n}xptr<f32>>
           %10 = ptr_add (%9, %8) : tile<{n}x{n}xptr<f32>>
           %11 = load (%10) : tile<{n}x{n}xf32>
           %12 = reduce {{axis = 1}} (%11) : tile<{n}xf32> do (%13: f32, %14: f32) {{
             %15 = add (%13, %14) : f32
             yield (%15)
           }}
           %16 = reshape (%12) : tile<{n}x1xf32>
           %17 = broadcast (%16) : tile<{n}x{n}xf32>
           %18 = div_rn (%11, %17) : tile<{n}x{n}xf32>
           store (%10, %18)
           return ()
         }}"
    )
}

/// How many instructions LLVM has for a kernel.
fn instructions(text: &str, form: Emit) -> usize {
    let mut sources = SourceMap::default();
    let file = sources.add("k.tile", text);
    let module = shoal_ir::parse::module(text, file).unwrap_or_else(|e| panic!("{e:?}"));
    shoal_ir::verify(&module).unwrap_or_else(|e| panic!("{e:?}"));
    let code = cpu::emit(&module, "k", &CpuTarget::new("x86-64-v3", ""), &sources, &Options::default(), form);
    let code = String::from_utf8(code.unwrap_or_else(|e| panic!("{e}"))).expect("text");
    // Instructions are the indented lines.
    code.lines().filter(|line| line.starts_with("  ")).count()
}

#[test]
fn code_does_not_grow_with_the_tile() {
    let kernels = [(elementwise(256), elementwise(65_536)), (rows(256), rows(1024))];
    for (small, large) in kernels {
        for form in [Emit::LlvmRaw, Emit::Llvm] {
            let (small, large) = (instructions(&small, form), instructions(&large, form));
            assert!(small > 20, "{small} instructions");
            assert!(large * 10 <= small * 11 && small * 10 <= large * 11, "{form:?}: {small} and {large} instructions");
        }
    }
}
