//! Functions of user bitcode.

use inkwell::context::Context;

use shoal_codegen::{Options, cpu};
use shoal_source::SourceMap;

use crate::run::{Arg, run};

/// Bitcode with `float twice_plus(float, float)`: `2 a + b`. Its other function, `float shuffled(float, float)`, is for
/// GPUs.
fn bitcode(path: &std::path::Path) {
    let context = Context::create();
    let module = context.create_module("user");
    let f32 = context.f32_type();
    let function = module.add_function("twice_plus", f32.fn_type(&[f32.into(), f32.into()], false), None);
    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(function, "entry"));
    let [a, b] = [0, 1].map(|i| function.get_nth_param(i).unwrap().into_float_value());
    let twice = builder.build_float_add(a, a, "").unwrap();
    let sum = builder.build_float_add(twice, b, "").unwrap();
    builder.build_return(Some(&sum)).unwrap();
    let i32 = context.i32_type();
    let permute = module.add_function("llvm.nvvm.prmt", i32.fn_type(&[i32.into(); 3], false), None);
    let shuffled = module.add_function("shuffled", f32.fn_type(&[f32.into(), f32.into()], false), None);
    builder.position_at_end(context.append_basic_block(shuffled, "entry"));
    let [a, b] = [0, 1].map(|i| shuffled.get_nth_param(i).unwrap().into_float_value());
    let [a, b] = [a, b].map(|x| builder.build_bit_cast(x, i32, "").unwrap().into());
    let bits = builder.build_call(permute, &[a, b, b], "").unwrap().try_as_basic_value().unwrap_basic();
    let mixed = builder.build_bit_cast(bits, f32, "").unwrap();
    builder.build_return(Some(&mixed)).unwrap();
    assert!(module.write_bitcode_to_path(path));
}

fn kernel(symbol: &str, path: &std::path::Path) -> String {
    format!(
        r#"
kernel @apply(%0: ptr<f32>, %1: ptr<f32>) {{
  %2 = iota {{start = 0}} () : tile<64xi32>
  %3 = splat (%0) : tile<64xptr<f32>>
  %4 = ptr_add (%3, %2) : tile<64xptr<f32>>
  %5 = load (%4) : tile<64xf32>
  %6 = const {{value = 1.0}} () : tile<64xf32>
  %7 = extern {{symbol = {symbol:?}, library = {path:?}, pure}} (%5, %6) : tile<64xf32>
  %8 = splat (%1) : tile<64xptr<f32>>
  %9 = ptr_add (%8, %2) : tile<64xptr<f32>>
  store (%9, %7)
  return ()
}}
"#
    )
}

#[test]
fn a_function_of_user_bitcode_runs_on_each_element() {
    let path = std::env::temp_dir().join(format!("shoal-extern-{}.bc", std::process::id()));
    bitcode(&path);
    let mut x: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let mut out = vec![f32::NAN; 64];
    run(&kernel("twice_plus", &path), [1, 1, 1], &mut [Arg::F32(&mut x), Arg::F32(&mut out)]);
    std::fs::remove_file(&path).expect("the bitcode is removed");
    let expected: Vec<f32> = x.iter().map(|v| 2.0 * v + 1.0).collect();
    assert_eq!(out, expected);
}

#[test]
fn functions_for_gpus_are_refused() {
    let path = std::env::temp_dir().join(format!("shoal-extern-gpu-{}.bc", std::process::id()));
    bitcode(&path);
    let text = kernel("shuffled", &path);
    let mut sources = SourceMap::default();
    let file = sources.add("test.tile", &text);
    let module = shoal_ir::parse::module(&text, file).expect("a module");
    let refused = cpu::compile(&module, "apply", &cpu::host(), &sources, &Options::default());
    std::fs::remove_file(&path).expect("the bitcode is removed");
    let said = refused.expect_err("it cannot be compiled").to_string();
    assert!(said.contains("this kernel calls a function that is for GPUs"), "{said}");
}
