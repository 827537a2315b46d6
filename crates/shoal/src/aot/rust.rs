//! Writes the Rust module of a family: a typed launch function over `shoal-runtime`, with the code embedded.

use std::fmt::{self, Write};

use shoal_abi::Slot;
use shoal_lang::{Access, Const, ConstValue};

use super::family::{Family, Null, Param, ParamType, Place, Variant};
use super::names;
use crate::{DType, Error};

impl Family {
    /// The module. Its objects are expected beside it, named as [`object_name`](Family::object_name) says.
    ///
    /// # Errors
    /// When a parameter has no Rust type: pointers to pointers, numbers of 8-bit float types.
    pub fn rust_module(&self) -> Result<String, Error> {
        let place = self.place();
        let parameters = self.params.iter().map(|p| rust_parameter(p, place)).collect::<Result<Vec<_>, _>>()?;
        let mut out = String::new();
        // Writing to a `String` cannot fail.
        let _ = write_module(self, &parameters, &mut out);
        Ok(out)
    }

    /// The file name of a variant's object.
    #[must_use]
    pub fn object_name(&self, variant: usize) -> String {
        let is_ptx = self.variants.get(variant).is_some_and(|variant| !variant.object.starts_with(b"\x7fELF"));
        let ending = match (self.place(), is_ptx) {
            (Place::Cpu, _) => "o",
            (Place::Gpu, false) => "cubin",
            (Place::Gpu, true) => "ptx",
        };
        format!("{}.{variant}.{ending}", self.name)
    }
}

fn write_module(family: &Family, parameters: &[String], out: &mut String) -> fmt::Result {
    let name = &family.name;
    writeln!(out, "// The kernel `{}` of {}, compiled ahead of time by shoal.", family.kernel, family.source)?;
    let texts = texts(family.place());
    writeln!(
        out,
        "//\n// A launch takes the first of these variants that the {} can run and the arguments fit:",
        texts.runner
    )?;
    for signature in family.signatures() {
        writeln!(out, "//   {signature}")?;
    }
    writeln!(
        out,
        "\nuse ::shoal_runtime::{{Argument, Error, Family, IntoGrid, Loaded, Param, Slot, Variant, WordKind}};{}",
        texts.imports
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
    let Texts { launch, safety, load, variant, .. } = texts;
    let (stream, device) = (texts.stream, texts.device);
    writeln!(out, "\n{launch}\npub fn {name}({stream}grid: impl IntoGrid, {config}{typed}) -> Result<(), Error> {{")?;
    let call = texts.call.replace("CONFIG", number);
    writeln!(out, "{words}\n{safety}\n    unsafe {{ FAMILY.{call} }}\n}}")?;
    writeln!(out, "\n{load}\npub fn load({device}) -> Result<(), Error> {{\n    FAMILY.{}\n}}", texts.call_load)?;
    let comma = if device.is_empty() { "" } else { ", " };
    writeln!(out, "\n{variant}\npub fn variant({device}{comma}{config}{typed}) -> Result<&'static str, Error> {{")?;
    let call = texts.call_choose.replace("CONFIG", number);
    writeln!(out, "{words}\n    Ok(FAMILY.{call}?.signature)\n}}")?;
    write_family(family, out)
}

/// What differs between modules for CPUs and for GPUs.
struct Texts {
    runner: &'static str,
    imports: &'static str,
    launch: &'static str,
    safety: &'static str,
    load: &'static str,
    variant: &'static str,
    /// Parameters of their own.
    stream: &'static str,
    device: &'static str,
    /// Calls of the runtime; `CONFIG` stands for the configuration.
    call: &'static str,
    call_load: &'static str,
    call_choose: &'static str,
}

fn texts(place: Place) -> Texts {
    match place {
        Place::Cpu => Texts {
            runner: "CPU",
            imports: "",
            launch: LAUNCH,
            safety: SAFETY,
            load: LOAD,
            variant: VARIANT,
            stream: "",
            device: "",
            call: "launch(CONFIG, grid, &words)",
            call_load: "load()",
            call_choose: "choose(CONFIG, &words)",
        },
        Place::Gpu => Texts {
            runner: "GPU",
            imports: "\n#[allow(unused_imports)]\nuse ::shoal_runtime::cuda::{CudaBuffer, CudaDevice, StreamRef};",
            launch: LAUNCH_ON_GPU,
            safety: SAFETY_ON_GPU,
            load: LOAD_ON_GPU,
            variant: VARIANT,
            stream: "stream: StreamRef, ",
            device: "device: CudaDevice",
            call: "launch_in(CONFIG, stream, grid, &words)",
            call_load: "load_on(device)",
            call_choose: "choose_on(device, CONFIG, &words)",
        },
    }
}

const LAUNCH_ON_GPU: &str = "/// Puts the kernel into the stream, and returns at once; whoever reads the buffers waits. Kernels that were compiled with
/// `--debug` are waited for.
///
/// The code is trusted: the kernel must stay inside of the buffers for this grid and these arguments.
///
/// # Errors
/// When no variant takes the arguments, the GPU cannot run the code, or the driver refuses.
#[allow(dead_code, non_snake_case, clippy::too_many_arguments)]";
const SAFETY_ON_GPU: &str = "    // SAFETY: the compiler described its own code below. Buffers are given back in the order of streams; that the kernel
    // stays inside of them is what whoever wrote it promises.";
const LOAD_ON_GPU: &str = "/// Loads the code on a GPU. Launches do that when it was not done before.
///
/// # Errors
/// When the GPU cannot run the code, or the driver refuses.
#[allow(dead_code)]";
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

fn rust_parameter(param: &Param, place: Place) -> Result<String, Error> {
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
            let memory = match place {
                Place::Cpu => format!("&{mutable}[{}]", element(ptr.pointee)),
                // A GPU's memory is not known to hold nothing but 0 and 1.
                Place::Gpu if ptr.pointee == DType::I1 => format!("&{mutable}CudaBuffer<u8>"),
                Place::Gpu => format!("&{mutable}CudaBuffer<{}>", element(ptr.pointee)),
            };
            if null == Null::Allowed { format!("Option<{memory}>") } else { memory }
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
