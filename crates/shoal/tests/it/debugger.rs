//! A native debugger stops in a kernel and shows the kernel's own lines.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use shoal::{CompileOptions, DebugInfo, DiskCache, Module, args};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/debugger/scale.py")
}

/// The program that the debugger runs.
#[test]
fn the_kernel_runs() {
    let module = Module::from_file(source()).unwrap();
    let options =
        CompileOptions { disk_cache: DiskCache::Off, debug_info: DebugInfo::Lines, ..CompileOptions::default() };
    let x: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let mut out = vec![0.0f32; 100];
    module.kernel("scale").unwrap().with(options).launch(2, args!(&x, &mut out, 100, BLOCK = 64)).unwrap();
    assert!(out.iter().enumerate().all(|(i, &v)| v == 2.0 * i as f32 + 1.0));
}

/// Runs [`the_kernel_runs`] under gdb with these commands; `None` where there is no gdb.
fn gdb(commands: &[&str]) -> Option<Output> {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-iex", "set debuginfod enabled off"]);
    for command in ["set breakpoint pending on", "set disable-randomization off"].iter().chain(commands) {
        gdb.args(["-ex", command]);
    }
    gdb.arg("--args").arg(std::env::current_exe().unwrap());
    gdb.args(["--exact", "debugger::the_kernel_runs", "--nocapture"]);
    match gdb.output() {
        Ok(output) => Some(output),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            println!("skipped: gdb is not installed");
            None
        }
        Err(e) => panic!("gdb does not start: {e}"),
    }
}

/// Lines of the source that hold a text, from 1.
fn line_of(part: &str) -> usize {
    let text = std::fs::read_to_string(source()).unwrap();
    1 + text.lines().position(|line| line.contains(part)).unwrap()
}

/// Asks gdb to stop at the line that holds `part`, and checks what it shows there.
fn stops_at(part: &str) {
    let line = line_of(part);
    let Some(output) = gdb(&[&format!("break scale.py:{line}"), "run", "backtrace 1", "kill"]) else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let stopped = text.split_once("hit Breakpoint 1").map(|(_, after)| after);
    let after = stopped.unwrap_or_else(|| panic!("gdb does not stop:\n{text}\n{errors}"));
    assert!(after.contains(&format!("scale () at scale.py:{line}")), "the kernel and its line {line}:\n{text}");
    assert!(after.contains(part), "the text of line {line}:\n{text}");
}

#[test]
fn a_debugger_stops_at_a_store() {
    stops_at("tl.store(out + at");
}

/// Its tile is fused into the loop of the store; its line stays its own.
#[test]
fn a_debugger_stops_at_a_fused_load() {
    stops_at("tl.load(x + at");
}

#[test]
fn a_debugger_stops_in_a_called_function() {
    stops_at("doubled = x * 2");
}
