//! Writes the Rust module of a family: a typed launch function over `shoal-runtime`, with the code embedded.

use std::fmt::{self, Write};

use shoal_abi::Slot;
use shoal_lang::{Access, Const, ConstValue};

use super::family::{Family, Null, Param, ParamType, Variant};
use super::names;
use crate::{DType, Error};

impl Family {
    /// The module. Its objects are expected beside it, named as [`object_name`](Family::object_name) says.
    ///
    /// # Errors
    /// When a parameter has no Rust type: pointers to pointers, numbers of 8-bit float types.
    pub fn rust_module(&self) -> Result<String, Error> {
        let parameters = self.params.iter().map(rust_parameter).collect::<Result<Vec<_>, _>>()?;
        let mut out = String::new();
        // Writing to a `String` cannot fail.
        let _ = write_module(self, &parameters, &mut out);
        Ok(out)
    }

    /// The file name of a variant's object.
    #[must_use]
    pub fn object_name(&self, variant: usize) -> String {
        format!("{}.{variant}.o", self.name)
    }
}

fn write_module(family: &Family, parameters: &[String], out: &mut String) -> fmt::Result {
    let name = &family.name;
    writeln!(out, "// The kernel `{}` of {}, compiled ahead of time by shoal.", family.kernel, family.source)?;
    writeln!(out, "//\n// A launch takes the first of these variants that the CPU can run and the arguments fit:")?;
    for signature in family.signatures() {
        writeln!(out, "//   {signature}")?;
    }
    writeln!(
        out,
        "\nuse ::shoal_runtime::{{Argument, Error, Family, IntoGrid, Loaded, Param, Slot, Variant, WordKind}};"
    )?;
    for (constant, value) in &family.constants {
        if let Some((ty, literal)) = rust_literal(value) {
            writeln!(out, "\n/// Compiled in.\n#[allow(dead_code)]")?;
            writeln!(out, "pub const {}: {ty} = {literal};", names::upper(constant))?;
        }
    }
    write_configurations(family, out)?;
    let several = family.configurations.len() > 1;
    let config = if several { "config: Config, " } else { "" };
    let number = if several { "config.0" } else { "0" };
    let typed = parameters.join(", ");
    let word = |param: &Param| format!("        Argument::word({}),\n", names::param(&param.name));
    let words: String = family.params.iter().map(word).collect();
    let words = format!("    let words: [u64; {}] = [\n{words}    ];", family.params.len());
    writeln!(out, "\n{LAUNCH}\npub fn {name}(grid: impl IntoGrid, {config}{typed}) -> Result<(), Error> {{")?;
    writeln!(out, "{words}\n{SAFETY}\n    unsafe {{ FAMILY.launch({number}, grid, &words) }}\n}}")?;
    writeln!(out, "\n{LOAD}\npub fn load() -> Result<(), Error> {{\n    FAMILY.load()\n}}")?;
    writeln!(out, "\n{VARIANT}\npub fn variant({config}{typed}) -> Result<&'static str, Error> {{")?;
    writeln!(out, "{words}\n    Ok(FAMILY.choose({number}, &words)?.signature)\n}}")?;
    write_family(family, out)
}

const LAUNCH: &str = "/// Runs the kernel once for each program of the grid, and returns when all have ended.
///
/// Native code is trusted: the kernel must stay inside of the slices for this grid and these arguments.
///
/// # Errors
/// When no variant takes the arguments, this CPU cannot run the code, or a program fails.
#[allow(dead_code, non_snake_case, clippy::too_many_arguments)]";
const SAFETY: &str = "    // SAFETY: the compiler described its own code below. The slices are borrowed until the kernel has ended, mutably
    // where it may write; that it stays inside of them is what whoever wrote the kernel promises.";
const LOAD: &str =
    "/// Loads the code for this CPU and starts the threads. Launches do that when it was not done before.
///
/// # Errors
/// When this CPU cannot run the code, or the system refuses memory or threads.
#[allow(dead_code)]";
const VARIANT: &str = "/// The signature of the variant that a launch with these arguments takes.
///
/// # Errors
/// When there is none.
#[allow(dead_code, non_snake_case, clippy::too_many_arguments)]";

fn write_configurations(family: &Family, out: &mut String) -> fmt::Result {
    let configurations = family.configuration_names();
    if configurations.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n/// What is compiled in differently; a launch says which it wants.")?;
    writeln!(out, "#[derive(Debug, Clone, Copy, PartialEq, Eq)]\npub struct Config(u32);\n\n#[allow(dead_code)]")?;
    writeln!(out, "impl Config {{")?;
    for (number, (name, configuration)) in configurations.iter().zip(&family.configurations).enumerate() {
        let values: Vec<String> =
            configuration.values.iter().map(|(name, value)| format!("`{name} = {value}`")).collect();
        writeln!(out, "    /// {}.\n    pub const {name}: Config = Config({number});", values.join(", "))?;
    }
    writeln!(out, "}}")
}

fn write_family(family: &Family, out: &mut String) -> fmt::Result {
    writeln!(out, "\nstatic FAMILY: Family = Family {{")?;
    writeln!(out, "    name: {:?},\n    params: &[", family.kernel)?;
    for param in &family.params {
        let kind = param.ty.word_kind();
        writeln!(out, "        Param {{ name: {:?}, kind: WordKind::{kind:?} }},", param.name)?;
    }
    writeln!(out, "    ],\n    configurations: {},\n    variants: &VARIANTS,\n}};", family.configurations.len())?;
    writeln!(out, "\nstatic VARIANTS: [Variant; {}] = [", family.variants.len())?;
    for (number, variant) in family.variants.iter().enumerate() {
        write_variant(&family.object_name(number), variant, out)?;
    }
    writeln!(out, "];")
}

fn write_variant(object: &str, variant: &Variant, out: &mut String) -> fmt::Result {
    let Variant { signature, configuration, slots, description, object: _ } = variant;
    writeln!(out, "    Variant {{\n        signature: {signature:?},")?;
    writeln!(out, "        configuration: {configuration},\n        slots: &[")?;
    for Slot { bytes, divisible, equals } in slots {
        writeln!(out, "            Slot {{ bytes: {bytes}, divisible: {divisible}, equals: {equals:?} }},")?;
    }
    let description = description.to_string();
    writeln!(out, "        ],\n        description: {description:?},\n        object: include_bytes!({object:?}),")?;
    writeln!(out, "        loaded: Loaded::new(),\n    }},")
}

fn rust_parameter(param: &Param) -> Result<String, Error> {
    let refuse = |what: &str| {
        let text = format!("`{}` is {what}, which has no type in Rust; emit C, or pass it another way", param.name);
        Error::AheadOfTime(text)
    };
    let ty = match param.ty {
        ParamType::Number(dtype) if dtype.is_fp8() => return Err(refuse("a number of an 8-bit float type")),
        ParamType::Number(dtype) => element(dtype).to_owned(),
        ParamType::Pointer(ptr, ..) if ptr.depth > 1 => return Err(refuse("a pointer to pointers")),
        ParamType::Pointer(ptr, access, null) => {
            let mutable = if access == Access::ReadOnly { "" } else { "mut " };
            let slice = format!("&{mutable}[{}]", element(ptr.pointee));
            if null == Null::Allowed { format!("Option<{slice}>") } else { slice }
        }
    };
    Ok(format!("{}: {ty}", names::param(&param.name)))
}

/// The type of an element.
fn element(dtype: DType) -> &'static str {
    match dtype {
        DType::I1 => "bool",
        DType::I8 => "i8",
        DType::I16 => "i16",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::U16 => "u16",
        DType::U32 => "u32",
        DType::U64 => "u64",
        // By their bits: Rust has no such floats.
        DType::U8 | DType::F8E4M3 | DType::F8E5M2 | DType::F8E4B15 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => "u8",
        DType::F16 => "::shoal_runtime::half::f16",
        DType::BF16 => "::shoal_runtime::half::bf16",
        DType::F32 => "f32",
        DType::F64 => "f64",
    }
}

/// Constants that Rust programs can compute with, and their types.
fn rust_literal(value: &ConstValue) -> Option<(&'static str, String)> {
    match value {
        ConstValue::Const(Const::Int(value)) => i64::try_from(*value).ok().map(|value| ("i64", value.to_string())),
        ConstValue::Const(Const::Bool(value)) => Some(("bool", value.to_string())),
        ConstValue::Const(Const::Float(value)) if value.is_finite() => Some(("f64", format!("{value:?}"))),
        _ => None,
    }
}
