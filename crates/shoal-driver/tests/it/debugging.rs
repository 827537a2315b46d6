//! Loaded code is known to native debuggers for as long as it is loaded.

use crate::objects::{compile, info, options, pointers};
use shoal_driver::{
    Buffer,
    cpu::{Code, CpuDevice, LoadedKernel, registered_objects},
};
use std::{env, process::Command, sync::Arc};

#[test]
fn loaded_code_is_registered() {
    let object = compile("ENTRY(k) { ARG(double *, 0)[0] = 1; }", &["-g"]);
    let first = Code::load(&object).unwrap();
    let second = Code::load(&object).unwrap();
    let listed = registered_objects();
    assert!(listed.contains(&first.debug_object()) && listed.contains(&second.debug_object()));
    let gone = first.debug_object();
    drop(first);
    let listed = registered_objects();
    assert!(!listed.contains(&gone) && listed.contains(&second.debug_object()));
}

const LINES: &str = "
#line 1 \"kernel.c\"
ENTRY(k) {
    double *out = ARG(double *, 0);
    EACH(p)
        out[p] = 1;
}";

/// What the next test runs under the debugger.
#[test]
fn runs_a_kernel_with_debug_information() {
    let code = Code::load(&compile(LINES, &["-g", "-O0"])).unwrap();
    let kernel = LoadedKernel::new(Arc::new(code), info(1)).unwrap();
    let out = Buffer::zeroed(24).unwrap();
    let device = CpuDevice::new(1).unwrap();
    // SAFETY: one element per program.
    unsafe { device.launch(&kernel, [3, 1, 1], &pointers(&[out.as_ptr()]), &options()) }.unwrap();
    assert_eq!(out.as_slice::<f64>(), &[1.0; 3]);
}

/// GDB stops at a line of a kernel that is loaded only after the program has started.
#[test]
fn a_debugger_shows_kernel_lines() {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", "set debuginfod enabled off"]);
    gdb.args(["-ex", "break kernel.c:4", "-ex", "run", "-ex", "backtrace 1", "-ex", "kill", "--args"]);
    gdb.arg(env::current_exe().unwrap()).args(["--exact", "debugging::runs_a_kernel_with_debug_information"]);
    let Ok(output) = gdb.output() else {
        println!("skipped: gdb is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if text.contains("ptrace") {
        println!("skipped: this system does not let processes be traced");
        return;
    }
    assert!(text.contains("kernel.c:4") && text.contains("#0  k ("), "{text}");
}
