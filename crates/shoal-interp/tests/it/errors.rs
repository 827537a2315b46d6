use shoal_interp::{Arg, Error, Memory, Options, run};
use shoal_ir::{Const, Scalar};

use crate::support::{launch, module};

const KERNEL: &str = "kernel @k(%p: ptr<f32>, %n: i32, %d: desc<4x4xf32>) {\nreturn ()\n}";

#[test]
fn unknown_kernels_are_named() {
    let error = run(&module(KERNEL), "q", [1, 1, 1], &[], &mut Memory::new(), &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "there is no kernel `q`");
    let device = "func @k() {\nreturn ()\n}";
    assert!(matches!(launch(device, [1, 1, 1], &[], &mut Memory::new()), Err(Error::NoKernel { .. })));
}

#[test]
fn arguments_must_fit() {
    let mut memory = Memory::new();
    let p = Arg::Pointer(memory.alloc(4));
    let n = Arg::Scalar(Const::from_i64(Scalar::I32, 1));
    let wide = Arg::Scalar(Const::from_i64(Scalar::I64, 1));
    let Arg::Pointer(base) = p else { unreachable!() };
    let desc = |rank: usize| Arg::Desc { base, shape: vec![1; rank], strides: vec![1; rank] };
    let mut message = |args: &[Arg]| launch(KERNEL, [1, 1, 1], args, &mut memory).unwrap_err().to_string();
    assert_eq!(message(&[]), "kernel `k` takes 3 arguments, but 0 were given");
    assert!(message(&[n.clone(), n.clone(), desc(2)]).contains("`ptr<f32>`, but a number of type `i32` was given"));
    assert!(message(&[p.clone(), wide, desc(2)]).contains("`i32`, but a number of type `i64` was given"));
    assert!(message(&[p.clone(), n.clone(), desc(3)]).contains("but a tensor with 3 dimensions was given"));
    launch(KERNEL, [0, 1, 1], &[p, n, desc(2)], &mut memory).unwrap();
}
