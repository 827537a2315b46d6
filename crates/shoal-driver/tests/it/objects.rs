//! Objects made from C snippets with the system's compiler, as the kernel compiler would make them.

use shoal_abi::{CpuNeeds, KernelDescription, ParamLayout, TargetNeeds, Waits};
use shoal_driver::cpu::{ArgBlock, Code, Kernel, LaunchOptions};
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

/// The binary interface, from `shoal_driver::cpu::abi`, in C.
const HEADER: &str = r#"
#include <stdint.h>
typedef struct { unsigned char *scratch; uint32_t grid[3]; uint64_t program; int64_t fuel; } Context;
typedef struct { const char *file; uint64_t file_len; uint32_t line, col; const char *what; uint64_t what_len; } Site;
void shoal_yield(Context *, const Site *);
void shoal_poll_wait(Context *, const Site *);
int32_t shoal_poll(Context *);
uint64_t shoal_clock_ns(void);
_Noreturn void shoal_fail(Context *, const Site *, const char *, uint64_t);
void shoal_print_value(Context *, const Site *, const char *, uint64_t, uint32_t, uint32_t, const void *, uint32_t,
                       const uint32_t *);
void shoal_print_text(Context *, const Site *, const char *, uint64_t);
#define ENTRY(name) void name(const unsigned char *args, Context *ctx, uint64_t first, uint64_t last)
#define EACH(p) for (uint64_t p = first; p < last && (ctx->program = p, 1); p++)
#define POLL() do { if (--ctx->fuel < 0 && shoal_poll(ctx)) return; } while (0)
#define ARG(type, offset) (*(type const *)(args + (offset)))
#define SITE(name, line, what) static const Site name = {"kernel.py", 9, line, 5, what, sizeof(what) - 1}
"#;

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
    stdin.write_all(HEADER.as_bytes()).and_then(|()| stdin.write_all(source.as_bytes())).unwrap();
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
pub(crate) fn kernel(source: &str, info: KernelDescription) -> Kernel {
    let code = Code::load(&compile(source, &[])).unwrap();
    Kernel::new(Arc::new(code), info).unwrap()
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
