//! Kernels compiled ahead of time for GPUs, in C and Rust programs that are built here. They run where there is a GPU, and
//! say what is missing where there is none.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::runtime;
use crate::shoal::Workplace;

const DOCS: &str = include_str!("../../../../docs/ahead-of-time.md");
const ADD: &str = include_str!("../../../../examples/add.py");
const GPU_C: &str = include_str!("../../../../examples/ahead-of-time/gpu.c");
const GPU_RS: &str = include_str!("../../../../examples/ahead-of-time/gpu.rs");
const SIGNATURES: [&str; 4] =
    ["-s", "*kfp32:16, *kfp32:16, *fp32:16, i32:16, 1024", "-s", "*kfp32, *kfp32, *fp32, i32, 1024"];
const NO_DRIVER: &str = "there is no CUDA driver here: ";

fn place() -> Workplace {
    let place = Workplace::new();
    place.write("add.py", ADD);
    place.write("gpu.c", GPU_C);
    place.write("gpu.rs", GPU_RS);
    place
}

fn shoal(place: &Workplace, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shoal"));
    command.args(args).current_dir(place.path()).env("SHOAL_RUNTIME", runtime::archive());
    command.env_remove("CC").output().expect("the command starts")
}

/// What is said by a call that fails, or one that does not.
fn said(output: &Output, fails: bool) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), !fails, "{text}");
    text
}

fn compile(place: &Workplace, emit: &str, targets: &str) {
    let args = [&["compile", "add.py", "--emit", emit, "--target", targets, "-o", "made"], &SIGNATURES[..]].concat();
    said(&shoal(place, &args), false);
}

/// Runs a program: with a GPU it computes; without, it says why not.
fn runs_or_says_why_not(place: &Workplace, program: PathBuf, variant: &str) {
    let output = Command::new(program).current_dir(place.path()).output().expect("a program");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if err.starts_with(NO_DRIVER) {
        assert!(!output.status.success() && out.is_empty(), "{out}");
        assert!(err.contains("install NVIDIA's driver, whose library `libcuda.so.1`"), "{err}");
        return eprintln!("skipped: {err}");
    }
    assert!(output.status.success() && out.starts_with(variant), "{out}\n{err}");
}

#[test]
fn the_documentation_names_the_examples() {
    assert!(DOCS.contains("examples/ahead-of-time/gpu.c") && DOCS.contains("examples/ahead-of-time/gpu.rs"));
}

#[test]
fn a_c_program_loads_the_code_by_the_driver() {
    let place = place();
    compile(&place, "c", "sm_80,sm_90a");
    let header = std::fs::read_to_string(place.path().join("made/add.h")).unwrap();
    assert!(
        header.contains("shoal_status add_launch(shoal_stream stream, shoal_grid grid, const float *x,"),
        "{header}"
    );
    assert!(header.contains(" *   *kfp32:16, *kfp32:16, *fp32:16, i32:16, 1024 for sm_90a\n"), "{header}");
    let runtime = runtime::archive();
    let runtime = runtime.to_str().expect("a plain path");
    let args = ["gpu.c", "made/add.c", "-Imade", runtime, "-Wall", "-Werror", "-std=c99", "-D_GNU_SOURCE"];
    let options = ["-lpthread", "-ldl", "-lm", "-o", "main"];
    let built = Command::new("cc").args(args).args(options).current_dir(place.path()).output().expect("a compiler");
    said(&built, false);
    runs_or_says_why_not(&place, place.path().join("main"), "1000 by *kfp32, *kfp32, *fp32, i32, 1024 for sm_");
}

#[test]
fn a_rust_program_loads_the_code_by_the_driver() {
    let place = place();
    compile(&place, "rust", "sm_80,sm_90a");
    let program = runtime::rust_program(place.path(), "gpu.rs", &place.path().join("made"));
    runs_or_says_why_not(&place, program, "1000 by *kfp32, *kfp32, *fp32, i32, 1024");
}

#[test]
fn ptx_and_cubins_go_by_their_names() {
    let place = place();
    let signature = SIGNATURES[3];
    let ptx = |target: &str| shoal(&place, &["compile", "add.py", "-s", signature, "-e", "ptx", "--target", target]);
    for target in ["sm_80", "sm_90a"] {
        let output = ptx(target);
        said(&output, false);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(".visible .entry add(") && text.contains(&format!(".target {target}\n")), "{text}");
    }
    let wrong = said(&ptx("x86-64-v3"), true);
    assert!(wrong.contains("`ptx` is made for NVIDIA GPUs, not for x86-64-v3"), "{wrong}");
    let cubin = ["compile", "add.py", "-s", signature, "-e", "ptx,cubin", "--target", "sm_80", "-o", "made"];
    let output = shoal(&place, &cubin);
    if !output.status.success() {
        let why = said(&output, true);
        assert!(why.contains("a cubin is made by `ptxas`, which is not here"), "{why}");
        return eprintln!("skipped: {why}");
    }
    let made = |name: &str| std::fs::read(Path::new(&place.path()).join("made").join(name)).unwrap();
    assert!(made("add.cubin").starts_with(b"\x7fELF"));
    assert!(made("add.ptx").starts_with(b"// shoal-kernel 1 name=add "));
}

#[test]
fn one_function_is_for_cpus_or_for_gpus() {
    let place = place();
    let args = ["compile", "add.py", "-s", SIGNATURES[3], "-e", "c", "--target", "sm_80,native"];
    let why = said(&shoal(&place, &args), true);
    assert!(why.contains("one launch function cannot be for sm_80 and for"), "{why}");
}
