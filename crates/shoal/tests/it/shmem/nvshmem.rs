//! Every operation calls NVSHMEM's function. Linked is a stand-in for its library, or with `SHOAL_NVSHMEM` the library itself.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use shoal::{CompileOptions, DiskCache, Error, Stage, target_named};

use super::harness::kernel;

/// Functions of NVSHMEM's, as LLVM declares them.
const FUNCTIONS: [&str; 20] = [
    "ptr @nvshmem_ptr(ptr, i32)",
    "void @nvshmem_quiet()",
    "void @nvshmem_putmem(ptr, ptr, i64, i32)",
    "void @nvshmemx_putmem_warp(ptr, ptr, i64, i32)",
    "void @nvshmemx_putmem_block(ptr, ptr, i64, i32)",
    "void @nvshmem_putmem_nbi(ptr, ptr, i64, i32)",
    "void @nvshmemx_putmem_nbi_warp(ptr, ptr, i64, i32)",
    "void @nvshmemx_putmem_nbi_block(ptr, ptr, i64, i32)",
    "void @nvshmem_getmem(ptr, ptr, i64, i32)",
    "void @nvshmemx_getmem_warp(ptr, ptr, i64, i32)",
    "void @nvshmemx_getmem_block(ptr, ptr, i64, i32)",
    "void @nvshmem_getmem_nbi(ptr, ptr, i64, i32)",
    "void @nvshmemx_getmem_nbi_block(ptr, ptr, i64, i32)",
    "void @nvshmem_putmem_signal(ptr, ptr, i64, ptr, i64, i32, i32)",
    "void @nvshmemx_putmem_signal_block(ptr, ptr, i64, ptr, i64, i32, i32)",
    "void @nvshmemx_putmem_signal_nbi_warp(ptr, ptr, i64, ptr, i64, i32, i32)",
    "void @nvshmemx_putmem_signal_nbi_block(ptr, ptr, i64, ptr, i64, i32, i32)",
    "void @nvshmemx_signal_op(ptr, i64, i32, i32)",
    "i64 @nvshmem_signal_wait_until(ptr, i32, i64)",
    "void @nvshmem_uint32_p(ptr, i32, i32)",
];

/// A body, and the functions that it calls.
const BODIES: [(&str, &[&str]); 14] = [
    ("shm.putmem(y, x, 64, peer)", &["nvshmemx_putmem_block"]),
    ("shm.putmem_nbi_block(y, x, 64, peer)\nshm.quiet()", &["nvshmemx_putmem_nbi_block", "nvshmem_quiet"]),
    ("shm.getmem_block(y, x, 64, peer)", &["nvshmemx_getmem_block"]),
    ("shm.getmem_nbi_block(y, x, 64, peer)\nshm.fence()", &["nvshmemx_getmem_nbi_block", "nvshmem_quiet"]),
    ("shm.putmem_signal_block(y, x, 64, flags, 1, shm.NVSHMEM_SIGNAL_ADD, peer)", &["nvshmemx_putmem_signal_block"]),
    (
        "shm.putmem_signal_nbi_block(y, x, 64, flags, 1, shm.NVSHMEM_SIGNAL_SET, peer)",
        &["nvshmemx_putmem_signal_nbi_block"],
    ),
    ("shm.int_p(y, 5, peer)", &["nvshmem_uint32_p"]),
    ("shm.signal_op(flags, 1, shm.NVSHMEM_SIGNAL_SET, peer)", &["nvshmemx_signal_op"]),
    ("shm.signal_wait_until(flags, shm.NVSHMEM_CMP_GE, 1)", &["nvshmem_signal_wait_until"]),
    ("shm.barrier_all_block()", &["nvshmem_quiet", "nvshmemx_signal_op", "nvshmem_signal_wait_until"]),
    (
        "shm.fcollect_block(number, y, x, 2)",
        &["nvshmemx_getmem_block", "nvshmem_quiet", "nvshmemx_signal_op", "nvshmem_signal_wait_until"],
    ),
    ("tl.store(dl.symm_at(y, peer), tl.load(x))", &["nvshmem_ptr"]),
    ("dl.notify(flags, peer)", &["nvshmem_quiet", "nvshmemx_signal_op"]),
    // Each lane puts for itself.
    ("i = tid(0)\nshm.putmem(y + i, x + i, 4, peer)", &["nvshmem_putmem"]),
];

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("shoal-nvshmem-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Bitcode with these functions; whether this machine has an assembler that our LLVM can read.
fn assemble(library: &Path, functions: &[&str]) -> bool {
    let mut text = "target triple = \"nvptx64-nvidia-cuda\"\n\
                    @nvshmemi_device_state_d = addrspace(4) externally_initialized global [64 x i8] zeroinitializer\n\
                    declare void @llvm.nvvm.membar.sys()\n"
        .to_owned();
    for function in functions {
        let (result, _) = function.split_once(' ').unwrap();
        let value = match result {
            "void" => "ret void",
            "ptr" => "ret ptr null",
            _ => "ret i64 0",
        };
        writeln!(text, "define {function} noinline {{\n  call void @llvm.nvvm.membar.sys()\n  {value}\n}}").unwrap();
    }
    std::fs::write(library.with_extension("ll"), text).unwrap();
    let assembled = Command::new("llvm-as-22").arg(library.with_extension("ll")).arg("-o").arg(library).status();
    assembled.is_ok_and(|status| status.success())
}

fn ptx(body: &str, library: &Path) -> Result<String, Error> {
    let options =
        CompileOptions { nvshmem: Some(library.to_owned()), disk_cache: DiskCache::Off, ..CompileOptions::default() };
    let kernel = kernel(body).with(options);
    let specs = kernel.read_signature("*i32, *i32, *i64, i32").unwrap();
    let code = kernel.emit(&specs, Stage::Asm, &target_named("sm_90a").unwrap())?;
    Ok(String::from_utf8(code).unwrap())
}

#[test]
fn operations_call_nvshmem() {
    let folder = folder();
    let stand_in = folder.join("all.bc");
    if !assemble(&stand_in, &FUNCTIONS) {
        println!("skipped: llvm-as-22 is not installed");
        return;
    }
    for (body, functions) in BODIES {
        let text = ptx(body, &stand_in).unwrap_or_else(|error| panic!("{body}: {error}"));
        for function in functions {
            assert!(
                text.contains(&format!("{function},")) || text.contains(&format!("{function}(")),
                "{function} in\n{text}"
            );
        }
        let unneeded =
            FUNCTIONS.iter().filter(|known| !functions.iter().any(|name| known.contains(&format!("@{name}("))));
        for known in unneeded {
            let name = known.split(['@', '(']).nth(1).unwrap();
            assert!(!text.contains(&format!("{name},")), "{name} is called by {body}");
        }
        assert!(text.contains("nvshmemi_device_state_d"), "the host finds the library's state in\n{text}");
    }
    if !assemble(&stand_in, &FUNCTIONS[..2]) {
        return;
    }
    let said = ptx(BODIES[0].0, &stand_in).unwrap_err().to_string();
    assert!(said.contains("it has no function `nvshmemx_putmem_block`"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn nvshmems_own_bitcode_is_linked() {
    let Some(folder) = std::env::var_os("SHOAL_NVSHMEM") else {
        println!("skipped: SHOAL_NVSHMEM names no folder with NVSHMEM");
        return;
    };
    let library = PathBuf::from(folder).join("libnvshmem_device.bc");
    for (body, _) in BODIES {
        let start = std::time::Instant::now();
        let text = ptx(body, &library).unwrap_or_else(|error| panic!("{body}: {error}"));
        println!("{body}: {} bytes of PTX in {:?}", text.len(), start.elapsed());
        assert!(text.contains("nvshmemi_device_state_d") && text.contains(".entry kernel"), "{body}");
    }
}
