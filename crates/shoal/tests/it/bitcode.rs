//! Bitcode that kernels link: a file that changes is linked again.

use std::path::{Path, PathBuf};
use std::process::Command;

use shoal::{CompileOptions, DiskCache, Module, args};

const KERNEL: &str = "
import shoal
import shoal.language as tl

@shoal.jit
def apply(x, out):
    i = tl.arange(0, 4)
    y = tl.extern_elementwise('user', LIBRARY, [tl.load(x + i)], {(tl.float32,): ('user', tl.float32)}, is_pure=True)
    tl.store(out + i, y)
";

/// Bitcode of a function that multiplies by a number; whether this machine has an assembler that our LLVM can read.
fn assemble(library: &Path, factor: &str) -> bool {
    let text = library.with_extension("ll");
    let code = format!("define float @user(float %x) {{\n  %y = fmul float %x, {factor}\n  ret float %y\n}}\n");
    std::fs::write(&text, code).unwrap();
    let assembled = Command::new("llvm-as-22").arg(&text).arg("-o").arg(library).status();
    assembled.is_ok_and(|status| status.success())
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("shoal-bitcode-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn recompiles(name: &str, named_by_kernel: bool) {
    let folder = folder(name);
    let library = folder.join("user.bc");
    if !assemble(&library, "2.0") {
        return;
    }
    let path = if named_by_kernel { library.display().to_string() } else { String::new() };
    let module = Module::from_source("apply.py", &KERNEL.replace("LIBRARY", &format!("{path:?}"))).unwrap();
    let extern_libs = if named_by_kernel { Vec::new() } else { vec![library.clone()] };
    let options = CompileOptions { extern_libs, disk_cache: DiskCache::Off, ..CompileOptions::default() };
    let kernel = module.kernel("apply").unwrap().with(options);
    let x = [1.0f32, 2.0, 3.0, 4.0];
    let result = || {
        let mut out = [0.0f32; 4];
        kernel.launch(1, args!(&x[..], &mut out[..])).unwrap();
        out
    };
    assert_eq!(result(), [2.0, 4.0, 6.0, 8.0]);
    assert_eq!(kernel.reports().len(), 1);
    assert!(assemble(&library, "3.0"));
    assert_eq!(result(), [3.0, 6.0, 9.0, 12.0]);
    assert_eq!(result(), [3.0, 6.0, 9.0, 12.0]);
    assert_eq!(kernel.reports().len(), 1, "the variant that is out of date is gone");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_changed_file_that_the_kernel_names_is_linked_again() {
    recompiles("named", true);
}

#[test]
fn a_changed_file_of_the_options_is_linked_again() {
    recompiles("options", false);
}

#[test]
fn kernels_that_call_no_function_of_a_file_need_none() {
    let source = "
import shoal
import shoal.language as tl
from shoal.language.extra import libdevice

@shoal.jit
def arcs(x, out):
    i = tl.arange(0, 4)
    tl.store(out + i, libdevice.asin(tl.load(x + i)))
";
    let module = Module::from_source("arcs.py", source).unwrap();
    let extern_libs = vec![PathBuf::from("/nowhere/libdevice.10.bc")];
    let options = CompileOptions { extern_libs: extern_libs.clone(), ..CompileOptions::default() };
    let mut out = [0.0f32; 4];
    let kernel = module.kernel("arcs").unwrap().with(options);
    kernel.launch(1, args!(&[0.0f32, 0.5, -0.5, 1.0][..], &mut out[..])).unwrap();
    assert!((out[3] - std::f32::consts::FRAC_PI_2).abs() < 1e-6, "{out:?}");

    let module = Module::from_source("apply.py", &KERNEL.replace("LIBRARY", "''")).unwrap();
    let options = CompileOptions { extern_libs, ..CompileOptions::default() };
    let error = module.kernel("apply").unwrap().with(options).launch(1, args!(&[0.0f32; 4][..], &mut out[..]));
    assert!(error.unwrap_err().to_string().contains("cannot link `/nowhere/libdevice.10.bc`"));
}
