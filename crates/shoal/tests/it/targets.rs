//! What code is made for: named by users, asked about by kernels.

use shoal::{Error, Kernel, Module, Stage, target_named};

const ASKS: &str = "
import shoal
import shoal.language as tl

@shoal.jit
def asks(out):
    if tl.target_info.cuda_capability_geq(9):
        tl.store(out, 90)
    elif tl.target_info.is_cuda():
        tl.store(out, 80)
    elif tl.target_info.is_hip_cdna3():
        tl.store(out, 942)
    elif tl.target_info.is_hip():
        tl.store(out, 900)
    else:
        tl.store(out, 1)
";

fn asks() -> Kernel {
    Module::from_source("asks.py", ASKS).unwrap().kernel("asks").unwrap()
}

fn emitted(stage: Stage, target: &str) -> Result<String, Error> {
    let kernel = asks();
    let specs = kernel.read_signature("*i32").unwrap();
    kernel.emit(&specs, stage, &target_named(target)?).map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn kernels_ask_about_the_target_they_are_compiled_for() {
    for (target, answer) in
        [("sm_80", 80), ("sm_90a", 90), ("sm_100", 90), ("gfx90a", 900), ("gfx942", 942), ("x86-64-v3", 1)]
    {
        for stage in [Stage::Tile, Stage::Optimised] {
            let text = emitted(stage, target).unwrap();
            assert!(text.contains(&format!("const {{value = {answer}}} ")), "{target}: {text}");
        }
    }
    let mut out = [0];
    asks().launch(1, shoal::args!(&mut out[..])).unwrap();
    assert_eq!(out, [1]);
}

#[test]
fn targets_without_a_backend_are_told() {
    let said = emitted(Stage::Asm, "gfx942").unwrap_err().to_string();
    assert!(said.contains("no code can be made for gfx942: this version of Shoal has no backend"), "{said}");
    assert!(said.contains("asks.py:6"), "{said}");
    assert!(said.contains("help: compile for a CPU, such as `native` or `x86-64-v3`"), "{said}");
}

#[test]
fn kernels_of_amd_gpus_are_not_shipped_yet() {
    let build = shoal::aot::Build::new(asks()).signature("*i32").target("gfx942");
    let said = build.compile().unwrap_err().to_string();
    assert!(said.contains("gfx942"), "{said}");
    assert!(emitted(Stage::Asm, "sm_90a").unwrap().contains(".target sm_90a"));
}

#[test]
fn unknown_targets_are_told_with_those_that_there_are() {
    let said = emitted(Stage::Tile, "sm_9").unwrap_err().to_string();
    assert!(said.starts_with("there is no target `sm_9`; there are CPUs: native, generic,"), "{said}");
}

#[test]
fn this_machine_has_what_code_for_it_needs() {
    let shoal::Target::Cpu(cpu) = shoal::host_target() else { panic!("this machine is a CPU") };
    let required = cpu.required();
    let missing: Vec<_> =
        required.iter().filter(|name| !shoal::build_info().unwrap().features.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?} are not detected");
    assert!(!required.is_empty());
}
