//! Functions of user bitcode.

use inkwell::context::Context;

use crate::run::{Arg, run};

/// Bitcode with `float twice_plus(float, float)`: `2 a + b`.
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
    assert!(module.write_bitcode_to_path(path));
}

#[test]
fn a_function_of_user_bitcode_runs_on_each_element() {
    let path = std::env::temp_dir().join(format!("shoal-extern-{}.bc", std::process::id()));
    bitcode(&path);
    let text = format!(
        r#"
kernel @apply(%0: ptr<f32>, %1: ptr<f32>) {{
  %2 = iota {{start = 0}} () : tile<64xi32>
  %3 = splat (%0) : tile<64xptr<f32>>
  %4 = ptr_add (%3, %2) : tile<64xptr<f32>>
  %5 = load (%4) : tile<64xf32>
  %6 = const {{value = 1.0}} () : tile<64xf32>
  %7 = extern {{symbol = "twice_plus", library = {path:?}, pure}} (%5, %6) : tile<64xf32>
  %8 = splat (%1) : tile<64xptr<f32>>
  %9 = ptr_add (%8, %2) : tile<64xptr<f32>>
  store (%9, %7)
  return ()
}}
"#
    );
    let mut x: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let mut out = vec![f32::NAN; 64];
    run(&text, [1, 1, 1], &mut [Arg::F32(&mut x), Arg::F32(&mut out)]);
    std::fs::remove_file(&path).expect("the bitcode is removed");
    let expected: Vec<f32> = x.iter().map(|v| 2.0 * v + 1.0).collect();
    assert_eq!(out, expected);
}
