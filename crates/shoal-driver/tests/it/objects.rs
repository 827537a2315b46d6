//! Objects made from C snippets with the system's compiler, as the kernel compiler would make them.

use shoal_abi::{CheckedAccess, Context, CpuNeeds, Hook, KernelDescription, ParamLayout, Site, TargetNeeds, Waits};
use shoal_driver::cpu::{ArgBlock, Code, LaunchOptions, LoadedKernel};
use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// What kernels in C need besides the binary interface.
const MACROS: &str = r#"
#define ENTRY(name) void name(const unsigned char *args, Context *ctx, uint64_t first, uint64_t last)
#define EACH(p) for (uint64_t p = first; p < last && (ctx->program = p, 1); p++)
#define CHECK_STOP() do { if (--ctx->fuel < 0 && shoal_check_stop(ctx)) return; } while (0)
#define ARG(type, offset) (*(type const *)(args + (offset)))
#define SITE(name, line, what) static const Site name = {"kernel.py", 9, line, 5, what, sizeof(what) - 1}
"#;

/// The binary interface in C, with the places of its fields asserted.
fn header() -> String {
    let mut out = String::from("#include <stdint.h>\n#include <stddef.h>\n");
    for definition in [Context::C_DEFINITION, Site::C_DEFINITION, CheckedAccess::C_DEFINITION] {
        out += &format!("{definition}\n");
    }
    for hook in Hook::ALL {
        out += &format!("{}\n", hook.declaration());
    }
    let mut place =
        |field: &str, offset: usize| out += &format!("_Static_assert(offsetof({field}) == {offset}, \"{field}\");\n");
    place("Context, scratch", Context::SCRATCH_AT);
    place("Context, grid", Context::GRID_AT);
    place("Context, program", Context::PROGRAM_AT);
    place("Context, fuel", Context::FUEL_AT);
    place("Context, fresh", Context::FRESH_AT);
    place("Context, passed", Context::PASSED_AT);
    for (name, field) in ["file", "file_len", "line", "col", "what", "what_len"].into_iter().zip(Site::FIELDS) {
        place(&format!("Site, {name}"), field.offset);
    }
    for (name, field) in ["bytes", "kind", "base"].into_iter().zip(CheckedAccess::FIELDS) {
        place(&format!("CheckedAccess, {name}"), field.offset);
    }
    out + MACROS
}

/// Compiles C to a relocatable object.
pub(crate) fn compile(source: &str, flags: &[&str]) -> Vec<u8> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut output = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    output.push(format!("snippet-{}-{number}.o", std::process::id()));
    let mut child = Command::new("cc")
        .args(["-xc", "-", "-c", "-O2", "-fPIC", "-fno-stack-protector", "-Wall", "-Werror", "-o"])
        .arg(&output)
        .args(flags)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a C compiler");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(header().as_bytes()).and_then(|()| stdin.write_all(source.as_bytes())).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success(), "the snippet does not compile");
    let object = std::fs::read(&output).unwrap();
    std::fs::remove_file(&output).unwrap();
    object
}

/// A description of kernel `k` that takes `params` pointers, and neither waits nor fails.
pub(crate) fn info(pointers: usize) -> KernelDescription {
    KernelDescription {
        name: "k".into(),
        waits: Waits::Never,
        can_fail: false,
        needs: TargetNeeds::Cpu(CpuNeeds::default()),
        params: vec![ParamLayout { size: 8, align: 8 }; pointers],
    }
}

/// The same with so much working memory for each program.
pub(crate) fn with_scratch(scratch_bytes: usize, info: KernelDescription) -> KernelDescription {
    let needs = TargetNeeds::Cpu(CpuNeeds { scratch_bytes, ..info.cpu().clone() });
    KernelDescription { needs, ..info }
}

/// The kernel `k` of a C snippet.
pub(crate) fn kernel(source: &str, info: KernelDescription) -> LoadedKernel {
    let code = Code::load(&compile(source, &[])).unwrap();
    LoadedKernel::new(Arc::new(code), info).unwrap()
}

/// A block of pointers.
pub(crate) fn pointers(pointers: &[*const u8]) -> ArgBlock {
    let mut writer = ArgBlock::writer();
    for &pointer in pointers {
        writer.push_ptr(pointer);
    }
    writer.finish()
}

/// Options with a short wait timeout, so that a broken scheduler fails a test instead of hanging it.
pub(crate) fn options() -> LaunchOptions {
    LaunchOptions { timeout: Some(Duration::from_secs(10)), ..LaunchOptions::default() }
}
