//! Arguments bound to a kernel's parameters.

use shoal_driver::cuda::LaunchShape;
use shoal_ir::GpuShape;
use shoal_source::{Diagnostic, similar};
use smallvec::SmallVec;

use crate::Error;
use crate::arg::{Arg, Args};
use crate::param::Param;
use crate::specialise::ArgumentError;

/// Launch options that are accepted by name next to the arguments, as in Triton. They tell a GPU how to run a kernel;
/// to a CPU only the number of warps (`num_warps` times `num_ctas`) means something, and only in code for single threads.
pub(crate) const GPU_OPTIONS: [&str; 12] = [
    "num_warps",
    "num_stages",
    "num_ctas",
    "maxnreg",
    "enable_fp_fusion",
    "enable_reflect_ftz",
    "launch_cooperative_grid",
    "launch_pdl",
    "waves_per_eu",
    "matrix_instr_nonkdim",
    "kpack",
    "num_cpu_threads",
];

/// The arguments of a launch, one for each parameter.
#[derive(Debug)]
pub struct Bound<'a> {
    pub(crate) params: &'a [Param],
    pub(crate) args: SmallVec<[&'a Arg<'a>; 32]>,
    pub(crate) shape: NamedShape,
}

/// What a launch names of how a GPU runs it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NamedShape {
    num_warps: Option<u32>,
    num_ctas: Option<u32>,
    num_stages: Option<u32>,
    max_registers: Option<u32>,
    /// Whether the launch may begin before the one ahead of it has ended.
    programmatic: Option<bool>,
}

impl NamedShape {
    /// The kernel's own shape, with what the launch names instead.
    #[inline]
    pub(crate) fn over(self, own: GpuShape) -> GpuShape {
        let named = GpuShape {
            num_warps: self.num_warps.unwrap_or(own.num_warps),
            num_stages: self.num_stages.unwrap_or(own.num_stages),
            max_registers: self.max_registers.or(own.max_registers),
            fuse_products: own.fuse_products,
        };
        self.num_ctas.map_or(named, |blocks| named.with_blocks(blocks))
    }

    /// The kernel's own way to be launched, with what the launch names instead.
    #[inline]
    pub(crate) fn launched(self, own: LaunchShape) -> LaunchShape {
        LaunchShape { programmatic: self.programmatic.unwrap_or(own.programmatic), ..own }
    }

    fn set(&mut self, kernel: Signature<'_>, name: &str, arg: &Arg<'_>) -> Result<(), ArgumentError> {
        let place = match name {
            "launch_pdl" => {
                self.programmatic = match arg {
                    Arg::None => None,
                    Arg::Bool(truth) => Some(*truth),
                    _ => return Err(not_a_truth(kernel, name, arg)),
                };
                return Ok(());
            }
            "num_warps" => &mut self.num_warps,
            "num_ctas" => &mut self.num_ctas,
            "num_stages" => &mut self.num_stages,
            "maxnreg" => &mut self.max_registers,
            _ => return Ok(()),
        };
        *place = match arg {
            Arg::None => None,
            Arg::Int(number) => Some(u32::try_from(*number).map_err(|_| not_a_count(kernel, name, arg))?),
            _ => return Err(not_a_count(kernel, name, arg)),
        };
        match self.num_ctas {
            Some(blocks) if !blocks.is_power_of_two() => Err(not_a_power_of_two(kernel, "num_ctas", blocks)),
            _ => Ok(()),
        }
    }
}

impl<'a> Bound<'a> {
    /// No arguments yet.
    #[inline]
    pub(crate) fn none_of(params: &'a [Param]) -> Bound<'a> {
        Bound { params, args: SmallVec::new(), shape: NamedShape::default() }
    }

    /// Finds the argument of each parameter.
    #[inline]
    pub(crate) fn bind(&mut self, kernel: Signature<'a>, args: &'a Args<'_>) -> Result<(), ArgumentError> {
        // Slices let the arguments' lifetime shrink to that of the borrow; the vectors would not.
        let (positional, named): (&'a [Arg<'_>], &'a [(&str, Arg<'_>)]) = (&args.positional, &args.named);
        if named.is_empty() && positional.len() == self.params.len() {
            self.args.extend(positional);
            return Ok(());
        }
        self.bind_by_name(kernel, positional, named)
    }

    fn bind_by_name(
        &mut self,
        kernel: Signature<'a>,
        positional: &'a [Arg<'a>],
        named: &'a [(&str, Arg<'a>)],
    ) -> Result<(), ArgumentError> {
        let params = self.params;
        if positional.len() > params.len() {
            return Err(too_many(kernel, positional.len()));
        }
        let mut found: SmallVec<[Option<&'a Arg<'a>>; 32]> = SmallVec::from_elem(None, params.len());
        for (slot, arg) in found.iter_mut().zip(positional) {
            *slot = Some(arg);
        }
        for (name, arg) in named {
            match params.iter().position(|p| p.name == *name) {
                Some(at) if found[at].is_some() => return Err(twice(&params[at])),
                Some(at) => found[at] = Some(arg),
                None if GPU_OPTIONS.contains(name) => self.shape.set(kernel, name, arg)?,
                None => return Err(unknown(kernel, name)),
            }
        }
        for (param, slot) in params.iter().zip(&found) {
            match slot.or(param.default.as_ref()) {
                Some(arg) => self.args.push(arg),
                None => return Err(missing(kernel, &found)),
            }
        }
        Ok(())
    }

    /// The argument of a parameter.
    #[must_use]
    pub fn arg(&self, name: &str) -> Option<&Arg<'a>> {
        self.params.iter().position(|p| p.name == name).map(|at| self.args[at])
    }

    /// An integer argument.
    ///
    /// # Errors
    /// When there is no such argument or it is no integer of 64 bits.
    pub fn int(&self, name: &str) -> Result<i64, Error> {
        let wrong = |found: String| Error::BoundArgument { name: name.to_owned(), found };
        match self.arg(name) {
            Some(Arg::Int(value)) => i64::try_from(*value).map_err(|_| wrong(value.to_string())),
            Some(other) => Err(wrong(other.described())),
            None => Err(wrong("nothing".into())),
        }
    }
}

/// What messages about a launch need to know of its kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signature<'a> {
    pub(crate) name: &'a str,
    pub(crate) span: shoal_source::Span,
    pub(crate) params: &'a [Param],
}

fn too_many(kernel: Signature<'_>, given: usize) -> ArgumentError {
    let takes = kernel.params.len();
    let text = format!("kernel `{}` takes {takes} arguments, but {given} were passed", kernel.name);
    let label = format!("takes {}", names(kernel.params.iter()));
    let help = "leave out the last ones; options such as `num_warps` are passed by name";
    Box::new(Diagnostic::error(kernel.span, text).label(label).help(help))
}

fn not_a_count(kernel: Signature<'_>, option: &str, arg: &Arg<'_>) -> ArgumentError {
    let text = format!("`{option}` must be a small whole number, not {}", arg.described());
    Box::new(Diagnostic::error(kernel.span, text).label("this kernel"))
}

fn not_a_power_of_two(kernel: Signature<'_>, option: &str, count: u32) -> ArgumentError {
    let text = format!("`{option}` must be a power of two, not {count}");
    Box::new(Diagnostic::error(kernel.span, text).label("this kernel"))
}

fn not_a_truth(kernel: Signature<'_>, option: &str, arg: &Arg<'_>) -> ArgumentError {
    let text = format!("`{option}` must be true or false, not {}", arg.described());
    Box::new(Diagnostic::error(kernel.span, text).label("this kernel"))
}

fn twice(param: &Param) -> ArgumentError {
    let text = format!("`{}` was passed twice: by position and by name", param.name);
    Box::new(Diagnostic::error(param.span, text).label("this parameter").help("leave one of the two out"))
}

fn unknown(kernel: Signature<'_>, name: &str) -> ArgumentError {
    let text = format!("kernel `{}` has no parameter `{name}`, and no launch option has that name", kernel.name);
    let near = similar(name, kernel.params.iter().map(|p| p.name.as_str()));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("its parameters are {}", names(kernel.params.iter())),
    };
    Box::new(Diagnostic::error(kernel.span, text).label("this kernel").help(help))
}

fn missing(kernel: Signature<'_>, found: &[Option<&Arg<'_>>]) -> ArgumentError {
    let absent: Vec<&Param> = kernel
        .params
        .iter()
        .zip(found)
        .filter(|(param, slot)| slot.is_none() && param.default.is_none())
        .map(|(param, _)| param)
        .collect();
    let count = absent.len();
    let what = if count == 1 { "an argument is" } else { "arguments are" };
    let text = format!("kernel `{}`: {what} missing for {}", kernel.name, names(absent.iter().copied()));
    let mut diagnostic = Diagnostic::error(absent.first().map_or(kernel.span, |p| p.span), text).label("not passed");
    for param in absent.iter().skip(1) {
        diagnostic = diagnostic.with_label(param.span, "not passed");
    }
    let example = absent.first().map_or("x", |p| p.name.as_str());
    Box::new(diagnostic.help(format!("pass a value by position or by name (`{example} = …`), or give a default")))
}

fn names<'p>(params: impl Iterator<Item = &'p Param>) -> String {
    let names: Vec<String> = params.map(|p| format!("`{}`", p.name)).collect();
    names.join(", ")
}
