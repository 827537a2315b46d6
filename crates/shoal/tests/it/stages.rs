//! One kernel of the library at every station of the compiler: what a change of any stage does to all that follow.

use shoal::{CpuTarget, Module, Stage, Target};

#[test]
fn softmax_at_every_station() {
    let text = include_str!("../../../shoal-kernels/kernels/softmax.py");
    let module = Module::from_source("softmax.py", text).unwrap();
    let softmax = module.kernel("softmax").unwrap();
    let specs = softmax.read_signature("*kfp32:16, *fp32:16, i32:16, i32:16, i32, i32, BLOCK=1024").unwrap();
    let target = Target::Cpu(CpuTarget::named("x86-64-v4").unwrap());
    for stage in [Stage::Tile, Stage::Optimised, Stage::Llvm] {
        let text = String::from_utf8(softmax.emit(&specs, stage, &target).unwrap()).unwrap();
        insta::assert_snapshot!(format!("softmax_{}", stage.name()), text);
    }
}
