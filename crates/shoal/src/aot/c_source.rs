//! Writes the C source of a family: its code and description as constants, and the functions of its header.
//!
//! It compiles with any C99 compiler and calls the runtime (`libshoal_runtime.a`) through the interface that
//! `crates/shoal-runtime/src/c_abi.rs` defines.

use std::fmt::{self, Write};

use shoal_abi::{AHEAD_OF_TIME_VERSION, Slot};

use super::c_header::{first_parameters, parameters, parameters_or_void};
use super::family::{Family, Param, ParamType, Place, Variant};
use super::names;
use crate::DType;

impl Family {
    /// The source file that belongs to [`c_header`](Family::c_header).
    #[must_use]
    pub fn c_source(&self) -> String {
        let mut out = String::new();
        // Writing to a `String` cannot fail.
        let _ = write_source(self, &mut out);
        out
    }

    /// The functions that C programs call.
    pub(super) fn c_functions(&self) -> [String; 4] {
        ["load", "launch", "variant", "error"].map(|what| format!("{}_{what}", self.name))
    }
}

fn write_source(family: &Family, out: &mut String) -> fmt::Result {
    let name = &family.name;
    writeln!(out, "/* The kernel `{}` of {}, compiled ahead of time; see {name}.h. */", family.kernel, family.source)?;
    writeln!(out, "#include \"{name}.h\"\n\n#include <stddef.h>\n#include <string.h>\n{INTERFACE}")?;
    for (number, variant) in family.variants.iter().enumerate() {
        write_code(number, variant, out)?;
    }
    // C has no empty arrays: a family without parameters gets one entry that is never read.
    writeln!(out, "static const shoal_aot_param params[] = {{")?;
    for param in &family.params {
        writeln!(out, "    {{ {}, {} }},", text(&param.name), param.ty.word_kind() as u32)?;
    }
    writeln!(out, "    {{ NULL, 0 }},\n}};\n\nstatic const shoal_aot_variant variants[] = {{")?;
    for (number, variant) in family.variants.iter().enumerate() {
        let Variant { signature, configuration, description, .. } = variant;
        writeln!(out, "    {{ {},\n      {},", text(signature), text(&description.to_string()))?;
        writeln!(out, "      slots_{number}, object_{number}, sizeof object_{number}, {configuration} }},")?;
    }
    writeln!(out, "}};\n\nstatic shoal_aot_family family = {{")?;
    writeln!(out, "    {AHEAD_OF_TIME_VERSION}, {}, {},", family.configurations.len(), text(&family.kernel))?;
    writeln!(out, "    params, {}, variants, {}, NULL,\n}};\n", family.params.len(), family.variants.len())?;
    write_functions(family, out)
}

/// What `shoal-runtime` calls its own; see there.
const INTERFACE: &str = "
typedef struct shoal_aot_param {
    const char *name;
    uint32_t kind; /* 0: pointer, 1: signed, 2: unsigned, 3: float, 4: pointer or null */
} shoal_aot_param;

typedef struct shoal_aot_slot {
    uint64_t divisible;
    int64_t equals;
    uint32_t must_equal;
    uint32_t bytes; /* 0: compiled in */
} shoal_aot_slot;

typedef struct shoal_aot_variant {
    const char *signature;
    const char *description;
    const shoal_aot_slot *slots;
    const unsigned char *object;
    size_t object_bytes;
    uint32_t configuration;
} shoal_aot_variant;

typedef struct shoal_aot_family {
    uint32_t version;
    uint32_t configurations;
    const char *name;
    const shoal_aot_param *params;
    size_t param_count;
    const shoal_aot_variant *variants;
    size_t variant_count;
    void *state;
} shoal_aot_family;

shoal_status shoal_aot_load(const shoal_aot_family *family);
shoal_status shoal_aot_launch(const shoal_aot_family *family, uint32_t config, shoal_grid grid, const uint64_t *words);
shoal_status shoal_aot_launch_in(const shoal_aot_family *family, uint32_t config, void *stream, shoal_grid grid,
                                 const uint64_t *words);
const char *shoal_aot_variant_of(const shoal_aot_family *family, uint32_t config, const uint64_t *words);
const char *shoal_aot_error(void);
uint64_t shoal_aot_f16(float value);
uint64_t shoal_aot_bf16(float value);
";

/// A variant's object and what it asks of arguments.
fn write_code(number: usize, variant: &Variant, out: &mut String) -> fmt::Result {
    writeln!(out, "static const unsigned char object_{number}[] = {{")?;
    for line in variant.object.chunks(32) {
        for byte in line {
            write!(out, "{byte},")?;
        }
        out.push('\n');
    }
    writeln!(out, "}};\n\nstatic const shoal_aot_slot slots_{number}[] = {{")?;
    for Slot { bytes, divisible, equals } in &variant.slots {
        writeln!(out, "    {{ {divisible}, {}, {}, {bytes} }},", equals.unwrap_or(0), u8::from(equals.is_some()))?;
    }
    writeln!(out, "    {{ 1, 0, 0, 0 }},\n}};\n")
}

fn write_functions(family: &Family, out: &mut String) -> fmt::Result {
    let [load, launch, variant, error] = family.c_functions();
    let config = if family.configurations.len() > 1 { "(uint32_t)config" } else { "0" };
    // Floats are passed by their bits.
    for (bits, ty) in [(32, "float"), (64, "double")] {
        let used = |p: &Param| matches!(p.ty, ParamType::Number(dtype) if word(dtype, "") == format!("bits{bits}()"));
        if family.params.iter().any(used) {
            writeln!(out, "static uint64_t bits{bits}({ty} value) {{\n    uint{bits}_t bits;")?;
            writeln!(out, "    memcpy(&bits, &value, sizeof bits);\n    return bits;\n}}\n")?;
        }
    }
    let one = |param: &Param| {
        let name = names::param(&param.name);
        match param.ty {
            ParamType::Pointer(..) => format!("        (uint64_t)(uintptr_t){name},\n"),
            ParamType::Number(dtype) => format!("        {},\n", word(dtype, &name)),
        }
    };
    let words: String = family.params.iter().map(one).collect();
    let words = format!("    const uint64_t words[] = {{\n{words}        0,\n    }};");
    writeln!(out, "shoal_status {load}(void) {{\n    return shoal_aot_load(&family);\n}}\n")?;
    let call = match family.place() {
        Place::Cpu => format!("shoal_aot_launch(&family, {config}, grid, words)"),
        Place::Gpu => format!("shoal_aot_launch_in(&family, {config}, stream, grid, words)"),
    };
    let (first, more) = (first_parameters(family), parameters(family, ", "));
    writeln!(out, "shoal_status {launch}({first}{more}) {{\n{words}")?;
    writeln!(out, "    return {call};\n}}\n")?;
    writeln!(out, "const char *{variant}({}) {{\n{words}", parameters_or_void(family))?;
    writeln!(out, "    return shoal_aot_variant_of(&family, {config}, words);\n}}\n")?;
    writeln!(out, "const char *{error}(void) {{\n    return shoal_aot_error();\n}}")
}

/// A number as the word that is passed.
fn word(dtype: DType, name: &str) -> String {
    match dtype {
        DType::F32 => format!("bits32({name})"),
        DType::F64 => format!("bits64({name})"),
        DType::F16 => format!("shoal_aot_f16({name})"),
        DType::BF16 => format!("shoal_aot_bf16({name})"),
        dtype if dtype.is_signed_int() => format!("(uint64_t)(int64_t){name}"),
        _ => format!("(uint64_t){name}"),
    }
}

/// A text as C writes it.
fn text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
