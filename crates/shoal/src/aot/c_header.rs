//! Writes the C header of a family: what a C or C++ program includes.

use std::fmt::{self, Write};

use shoal_lang::{Access, Const, ConstValue};

use super::family::{Family, Param, ParamType, Place};
use super::names;
use crate::DType;

impl Family {
    /// The header: types, and the functions that load and launch the kernel.
    #[must_use]
    pub fn c_header(&self) -> String {
        let mut out = String::new();
        // Writing to a `String` cannot fail.
        let _ = write_header(self, &mut out);
        out
    }
}

fn write_header(family: &Family, out: &mut String) -> fmt::Result {
    let (name, guard) = (&family.name, names::upper(&family.name));
    writeln!(
        out,
        "/* The kernel `{}` of {}, compiled ahead of time by shoal {VERSION}.",
        family.kernel, family.source
    )?;
    let runner = match family.place() {
        Place::Cpu => "CPU",
        Place::Gpu => "GPU",
    };
    writeln!(
        out,
        " *\n * A launch takes the first of these variants that the {runner} can run and the arguments fit:"
    )?;
    for signature in family.signatures() {
        writeln!(out, " *   {signature}")?;
    }
    writeln!(out, " */\n#ifndef SHOAL_AOT_{guard}_H\n#define SHOAL_AOT_{guard}_H\n{SHARED}")?;
    if !family.constants.is_empty() {
        writeln!(out)?;
    }
    for (constant, value) in &family.constants {
        match c_literal(value) {
            Some(literal) => writeln!(out, "#define {guard}_{} {literal} /* compiled in */", names::upper(constant))?,
            None => writeln!(out, "/* compiled in: {constant} = {value} */")?,
        }
    }
    let configurations = family.configuration_names();
    if !configurations.is_empty() {
        writeln!(out, "\n/* What is compiled in differently; a launch says which it wants. */")?;
        writeln!(out, "typedef enum {name}_config {{")?;
        for (number, configuration) in configurations.iter().enumerate() {
            writeln!(out, "    {guard}_{configuration} = {number},")?;
        }
        writeln!(out, "}} {name}_config;")?;
    }
    let (load, launch, stream) = match family.place() {
        Place::Cpu => (LOAD, LAUNCH, ""),
        Place::Gpu => (LOAD_ON_GPU, LAUNCH_ON_GPU, STREAM),
    };
    writeln!(out, "{stream}\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n{load}")?;
    writeln!(out, "shoal_status {name}_load(void);\n\n{launch}")?;
    writeln!(out, "shoal_status {name}_launch({}{});\n", first_parameters(family), parameters(family, ", "))?;
    writeln!(out, "{VARIANT}\nconst char *{name}_variant({});\n", parameters_or_void(family))?;
    writeln!(out, "{ERROR}\nconst char *{name}_error(void);\n")?;
    writeln!(out, "#ifdef __cplusplus\n}}\n#endif\n\n#endif")
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the headers of all kernels have in common.
const SHARED: &str = "
#include <stdbool.h>
#include <stdint.h>

#ifndef SHOAL_AOT_SHARED
#define SHOAL_AOT_SHARED

/* How many programs there are along each axis; at least 1 where there is no such axis. */
typedef struct shoal_grid {
    uint32_t x, y, z;
} shoal_grid;

typedef enum shoal_status {
    SHOAL_OK = 0,
    SHOAL_NO_VARIANT = 1,    /* no compiled variant takes the arguments */
    SHOAL_CPU = 2,           /* the code is for other CPUs, or other GPUs */
    SHOAL_ARGUMENT = 3,      /* a configuration or a grid that cannot be */
    SHOAL_SYSTEM = 4,        /* code could not be loaded, memory or threads were refused, or there is no GPU */
    SHOAL_KERNEL_FAILED = 5, /* a program of the kernel failed */
    SHOAL_STUCK = 6,         /* programs of the kernel waited for each other in vain */
    SHOAL_INTERNAL = 7       /* a bug in Shoal */
} shoal_status;

/* Elements that C has no type for, by their bits. */
typedef uint16_t shoal_fp16;
typedef uint16_t shoal_bf16;
typedef uint8_t shoal_fp8;

#endif";

const LOAD: &str =
    "/* Loads the code for this CPU and starts the threads. Launches do that when it was not done before. */";
const LAUNCH: &str = "/* Runs the kernel once for each program of the grid; returns when all have ended. Any number of threads may launch at
 * the same time. Memory that the kernel writes must not overlap with its other arguments unless it was written for that. */";
const STREAM: &str = "
#ifndef SHOAL_AOT_STREAM
#define SHOAL_AOT_STREAM

/* A stream of CUDA: a CUstream or a cudaStream_t of the calling thread's context; NULL is the default one. */
typedef struct CUstream_st *shoal_stream;

#endif
";
const LOAD_ON_GPU: &str = "/* Loads the code on the GPU of the calling thread's context, or on the first one if it has none. Launches do that when it
 * was not done before. CUDA's driver is looked for when this is first called. */";
const LAUNCH_ON_GPU: &str = "/* Puts the kernel into the stream, and returns at once. Pointers are addresses of memory that the GPU reaches, and so is
 * whatever the kernel writes until it has ended. It can be captured in a graph once it was loaded. Kernels that were compiled
 * with `--debug` are waited for. Any number of threads may launch at the same time. */";
const VARIANT: &str =
    "/* The signature of the variant that a launch with these arguments takes; NULL if there is none. */";
const ERROR: &str = "/* What went wrong last in the calling thread, until the next error; empty if nothing has. */";

/// The parameters up to `grid`.
pub(super) fn first_parameters(family: &Family) -> &'static str {
    match family.place() {
        Place::Cpu => "shoal_grid grid",
        Place::Gpu => "shoal_stream stream, shoal_grid grid",
    }
}

/// The parameters behind `grid`, each with `before` in front of it.
pub(super) fn parameters(family: &Family, before: &str) -> String {
    let config =
        if family.configurations.len() > 1 { format!("{before}{}_config config", family.name) } else { String::new() };
    let one = |param: &Param| format!("{before}{}", declaration(param));
    family.params.iter().map(one).fold(config, |all, one| all + &one)
}

/// The parameters alone, as a function without any has them.
pub(super) fn parameters_or_void(family: &Family) -> String {
    match parameters(family, ", ").strip_prefix(", ") {
        Some(some) => some.to_owned(),
        None => "void".to_owned(),
    }
}

fn declaration(param: &Param) -> String {
    let name = names::param(&param.name);
    match param.ty {
        ParamType::Number(dtype @ (DType::F16 | DType::BF16)) => {
            format!("float {name} /* {} */", crate::signature_name(dtype))
        }
        ParamType::Number(dtype) => format!("{} {name}", element(dtype)),
        ParamType::Pointer(ptr, access, _) => {
            let constant = if access == Access::ReadOnly { "const " } else { "" };
            format!("{constant}{} {}{name}", element(ptr.pointee), "*".repeat(ptr.depth.into()))
        }
    }
}

/// The type of an element in memory.
fn element(dtype: DType) -> &'static str {
    match dtype {
        DType::I1 => "bool",
        DType::I8 => "int8_t",
        DType::I16 => "int16_t",
        DType::I32 => "int32_t",
        DType::I64 => "int64_t",
        DType::U8 => "uint8_t",
        DType::U16 => "uint16_t",
        DType::U32 => "uint32_t",
        DType::U64 => "uint64_t",
        DType::F8E4M3 | DType::F8E5M2 | DType::F8E4B15 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => "shoal_fp8",
        DType::F16 => "shoal_fp16",
        DType::BF16 => "shoal_bf16",
        DType::F32 => "float",
        DType::F64 => "double",
    }
}

/// Constants that C programs can compute with.
fn c_literal(value: &ConstValue) -> Option<String> {
    match value {
        ConstValue::Const(Const::Int(value)) => i64::try_from(*value).ok().map(|value| value.to_string()),
        ConstValue::Const(Const::Bool(value)) => Some(u8::from(*value).to_string()),
        ConstValue::Const(Const::Float(value)) if value.is_finite() => Some(format!("{value:?}")),
        _ => None,
    }
}
