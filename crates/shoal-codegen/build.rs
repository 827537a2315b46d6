//! Compiles the functions of mathematics to LLVM bitcode that kernels for GPUs are linked with: `libm`, and what is made of it
//! in `device/math.rs`. They compute with numbers alone, so what the compiler says of this machine does not matter.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=device/math.rs");
    println!("cargo:rerun-if-changed=../shoal-abi/src/math");
    println!("cargo:rerun-if-changed=../../Cargo.lock");
    let out = PathBuf::from(variable("OUT_DIR"));
    let libm = libm_source();
    compile(&libm, "libm", "2021", &out, &[]);
    let library = format!("libm={}", out.join("liblibm.rlib").display());
    compile(Path::new("device/math.rs"), "shoal_device_math", "2024", &out, &["--extern", &library]);
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// Where the source of the `libm` is that this workspace was locked to.
fn libm_source() -> PathBuf {
    let mut cargo = Command::new(variable("CARGO"));
    // Not offline: this asks about the whole workspace, and a build of one crate may not have fetched all of it.
    cargo.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &variable("TARGET")]);
    let metadata: serde_json::Value =
        serde_json::from_slice(&output(&mut cargo)).expect("`cargo metadata` writes JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let libm = packages.iter().find(|package| package["name"] == "libm").expect("libm, which shoal-abi needs");
    let manifest = libm["manifest_path"].as_str().expect("where it is");
    Path::new(manifest).with_file_name("src").join("lib.rs")
}

/// Writes `NAME.bc`, and a library that other files can be compiled with.
fn compile(source: &Path, name: &str, edition: &str, out: &Path, more: &[&str]) {
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.arg(source).args(["--crate-name", name, "--edition", edition, "--crate-type", "rlib"]);
    rustc.args(["--emit", "link,llvm-bc", "--cap-lints", "allow", "--out-dir"]).arg(out).args(more);
    // Vectors of this machine are not those of a GPU, and aliases are functions with names that PTX does not know.
    let unlike = ["no-vectorize-loops", "no-vectorize-slp", "llvm-args=-mergefunc-use-aliases=false"];
    rustc.args(unlike.into_iter().flat_map(|option| ["-C", option]));
    let options = ["opt-level=2", "codegen-units=1", "panic=abort", "force-unwind-tables=no", "embed-bitcode=no"];
    rustc.args(options.into_iter().flat_map(|option| ["-C", option]));
    output(&mut rustc);
}

fn output(command: &mut Command) -> Vec<u8> {
    let done = command.output().unwrap_or_else(|why| panic!("{command:?}: {why}"));
    assert!(done.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}
