//! The CPUs that code can be compiled for by name.

use shoal_codegen::cpu::Target;

use crate::Error;
use crate::compile::host_target;

/// LLVM ends the process on names it does not know, so only these reach it.
const CPUS: &[&str] = &[
    "x86-64",
    "x86-64-v2",
    "x86-64-v3",
    "x86-64-v4",
    "haswell",
    "broadwell",
    "skylake",
    "skylake-avx512",
    "cascadelake",
    "cooperlake",
    "icelake-client",
    "icelake-server",
    "tigerlake",
    "alderlake",
    "raptorlake",
    "sapphirerapids",
    "emeraldrapids",
    "graniterapids",
    "znver1",
    "znver2",
    "znver3",
    "znver4",
    "znver5",
];

/// The target of this name; `native` is this machine, `generic` any x86-64.
pub(crate) fn named(cpu: &str) -> Result<Target, Error> {
    let cpu = match cpu {
        "native" => return Ok(host_target().clone()),
        "generic" => "x86-64",
        other => other,
    };
    if CPUS.contains(&cpu) {
        return Ok(Target::named(cpu, ""));
    }
    let known = CPUS.join(", ");
    Err(Error::Target(format!(
        "no code can be made for the CPU `{cpu}`: this build's LLVM makes code for native, generic, {known}"
    )))
}
