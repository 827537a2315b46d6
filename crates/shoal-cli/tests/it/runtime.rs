//! The runtime as other programs link it, built by Cargo into a folder of its own: the usual one may be in use by another
//! Cargo for long.

use std::path::{Path, PathBuf};
use std::process::Command;

/// `libshoal_runtime.a`.
pub(crate) fn archive() -> PathBuf {
    file("a")
}

/// Compiles a Rust program that depends on the runtime alone; returns where it is.
pub(crate) fn rust_program(folder: &Path, source: &str, out_dir: &Path) -> PathBuf {
    let library = file("rlib");
    let dependencies = library.parent().expect("a folder").join("deps");
    let mut extern_ = std::ffi::OsString::from("shoal_runtime=");
    extern_.push(&library);
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "-Dwarnings", "-o", "program", "--extern"])
        .arg(extern_)
        .arg("-L")
        .arg(dependencies)
        .arg(source)
        .env("OUT_DIR", out_dir)
        .current_dir(folder)
        .output()
        .expect("rustc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("program")
}

/// Cargo's file for the library with this ending.
fn file(ending: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime");
    // Other tests build there too; the wait for them is bounded.
    let mut command = Command::new("timeout");
    command
        .arg("600")
        .arg(cargo)
        .args(["build", "--offline", "-p", "shoal-runtime", "--message-format=json", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(folder);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).expect("cargo prints text");
    let messages = said.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let files = messages.filter(|message| message["target"]["name"] == "shoal_runtime");
    let files: Vec<PathBuf> = files
        .flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default())
        .filter_map(|name| name.as_str().map(PathBuf::from))
        .collect();
    let found = files.iter().find(|path| path.extension().is_some_and(|e| e == ending));
    found.unwrap_or_else(|| panic!("no .{ending} among {files:?}")).clone()
}
