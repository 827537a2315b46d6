//! Inline PTX as tile IR.
//!
//! Kernels carry snippets of PTX: special registers, spin loops on flags, accesses with scope and order, arithmetic on
//! packed numbers. They are parsed and given their meaning as ordinary operations, so that such kernels run, and are
//! checked, on every target. A snippet is applied to each element of the tiles it is given, or once by each lane if it
//! is given none. What it says that has no meaning here is told by the instruction's name.

mod arithmetic;
mod bitwise;
mod execute;
mod flow;
mod hint;
mod lex;
mod machine;
mod memory;
mod multimem;
mod pack;
mod parse;
mod program;
mod small_pairs;
mod special;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use shoal_ir::Value as IrValue;
use shoal_ir::op::InlineAsm;
use shoal_ir::types::{Elem, Scalar, Type};

use self::machine::{Machine, unsigned};
use self::program::{Operand, Program, Source};
use super::broadcast;
use super::operand::elem;
use crate::emit::Emit;
use crate::lanes;
use crate::lower_error::{LowerError, LowerResult};
use crate::value::Tensor;

/// Whether assembly is PTX rather than that of a CPU: the names of its instructions have dots.
pub(crate) fn is_ptx(text: &str) -> bool {
    let statement = |text: &str| {
        let text = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '{' | '}'));
        // Past a guard and a label.
        let text = match text.strip_prefix('@') {
            Some(rest) => rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest),
            None => text,
        };
        let text = match text.split_once(':') {
            Some((label, rest)) if !label.contains(char::is_whitespace) && !rest.starts_with(':') => rest,
            _ => text,
        };
        let word = text.split_whitespace().next().unwrap_or("");
        word == ".reg" || (word.starts_with(|c: char| c.is_ascii_lowercase()) && word.contains('.'))
    };
    text.split(';').any(statement)
}

/// What a snippet computes: one result for each type.
pub(crate) fn lower(e: &mut Emit<'_>, code: &InlineAsm, args: &[Tensor], results: &[Elem]) -> LowerResult<Vec<Tensor>> {
    let text = code.asm.replace("${:uid}", "").replace("$$", "_");
    let program = parse::parse(&text).map_err(|problem| refused(e, &problem))?;
    let constraints = Constraints::read(&code.constraints).map_err(|problem| refused(e, &problem))?;
    let args = shaped(e, &program, args)?;
    if let Some(t) = args.first().filter(|_| code.pack > 1) {
        let count: u32 = t.shape().iter().product();
        if lanes::is_per_lane(t) || !code.pack.is_power_of_two() || !count.is_multiple_of(code.pack) {
            return Err(e
                .error(format!("{count} elements cannot be taken {} at a time", code.pack))
                .help("`pack` must be a power of two that divides the number of elements")
                .into());
        }
    }
    let shape = base_type(e, &program, &args, code.pack);
    let mut inputs = Vec::new();
    for arg in &args {
        let bits = as_bits(e, arg);
        if code.pack > 1 {
            inputs.extend(pack::packed(e, bits, code.pack));
        } else {
            inputs.push(if lanes::is_lane_type(&shape) { lanes::splat(e, bits) } else { bits });
        }
    }
    let per_result = |elem: &Elem| code.pack / pack::per_register(elem.bits().max(8), code.pack);
    let outputs: u32 = results.iter().map(per_result).sum();
    constraints.check(outputs as usize, inputs.len()).map_err(|problem| refused(e, &problem))?;

    let active = if lanes::is_lane_type(&shape) { e.active } else { None };
    let mut machine = Machine {
        e,
        program: &program,
        shape: shape.clone(),
        held: BTreeMap::new(),
        widths: constraints.widths.clone(),
        active,
        waiting: HashMap::new(),
        open_loops: Vec::new(),
    };
    for (i, &input) in inputs.iter().enumerate() {
        let number = constraints.outputs + i;
        let bits = machine.resized(input, constraints.widths[number]);
        machine.held.insert(Source::Argument(number), bits);
    }
    for &(output, input) in &constraints.tied {
        let value = machine.held.get(&Source::Argument(input)).copied();
        machine.held.extend(value.map(|value| (Source::Argument(output), value)));
    }
    let ran = machine.run();
    let written: Result<Vec<IrValue>, String> =
        ran.and_then(|()| (0..constraints.outputs).map(|i| machine.bits(Source::Argument(i))).collect());
    let written = written.map_err(|problem| refused(e, &problem))?;
    let full = args.first().map(|t| t.shape().to_vec()).unwrap_or_default();
    Ok(given_back(e, &written, results, code.pack, &full))
}

/// The results, from the registers that were written.
fn given_back(e: &mut Emit<'_>, written: &[IrValue], results: &[Elem], pack: u32, full: &[u32]) -> Vec<Tensor> {
    let mut rest = written;
    results
        .iter()
        .map(|&elem| {
            let bits = elem.bits().max(8);
            let count = (pack / pack::per_register(bits, pack)) as usize;
            let (mine, others) = rest.split_at(count);
            rest = others;
            let value = if pack > 1 { pack::unpacked(e, mine, bits, pack, full) } else { mine[0] };
            let value = from_bits(e, value, elem);
            e.tensor(value)
        })
        .collect()
}

/// A value of a type from the bits of a register.
fn from_bits(e: &mut Emit<'_>, value: IrValue, elem: Elem) -> IrValue {
    match elem {
        Elem::Ptr(p) => {
            let wide = e.b().cast(value, Scalar::U64);
            let address = e.b().bitcast(wide, Scalar::I64);
            e.b().cast(address, p)
        }
        Elem::Scalar(scalar) => {
            let bits = e.b().cast(value, unsigned(scalar.bits()));
            if unsigned(scalar.bits()) == scalar { bits } else { e.b().bitcast(bits, scalar) }
        }
    }
}

/// The bits of an operand.
fn as_bits(e: &mut Emit<'_>, t: &Tensor) -> IrValue {
    match elem(t) {
        Elem::Ptr(_) => {
            let address = e.b().cast(t.value, Scalar::I64);
            e.b().bitcast(address, Scalar::U64)
        }
        Elem::Scalar(Scalar::I1) => e.b().cast(t.value, Scalar::U8),
        Elem::Scalar(s) if s.is_unsigned_int() => t.value,
        Elem::Scalar(s) => e.b().bitcast(t.value, unsigned(s.bits())),
    }
}

fn refused(e: &Emit<'_>, problem: &str) -> LowerError {
    e.error(format!("this assembly cannot be used here: {problem}"))
        .label("inline PTX")
        .help("outside of NVIDIA GPUs the compiler gives PTX its meaning instruction by instruction")
        .into()
}

/// The operands at one shape.
fn shaped(e: &mut Emit<'_>, program: &Program, args: &[Tensor]) -> LowerResult<Vec<Tensor>> {
    let per_lane = args.iter().all(Tensor::is_scalar) && acts_by_lane(e, program);
    if per_lane {
        return args.iter().map(|t| lanes::of_each(e, t)).collect();
    }
    broadcast::all(e, args)
}

/// Whether a snippet on scalars does something different on each lane, or that each lane does by itself.
fn acts_by_lane(e: &Emit<'_>, program: &Program) -> bool {
    let reads_thread = |operand: &Operand| match operand {
        Operand::Special(name) => special::differs(name),
        _ => false,
    };
    program.instructions.iter().any(|i| match i.name.as_str() {
        "atom" | "red" | "vote" | "shfl" | "activemask" | "elect" | "redux" => true,
        "st" | "prefetch" | "prefetchu" | "discard" | "applypriority" => e.active.is_some(),
        "multimem" => i.has("red") || e.active.is_some(),
        _ => i.operands.iter().any(reads_thread),
    })
}

/// The type that all values of a snippet have, but for their elements.
fn base_type(e: &Emit<'_>, program: &Program, args: &[Tensor], pack: u32) -> Type {
    match args.first() {
        Some(t) if pack > 1 => Type::tile(Scalar::U32, &[t.shape().iter().product::<u32>() / pack]),
        Some(t) => t.ty.with_elem(Scalar::U32),
        None if acts_by_lane(e, program) => lanes::lane_type(e, Scalar::U32),
        None => Type::scalar(Scalar::U32),
    }
}

/// What the constraints say of the assembly's operands.
struct Constraints {
    outputs: usize,
    /// The width of each operand in bits.
    widths: Vec<u32>,
    /// Outputs that begin with what an input holds.
    tied: Vec<(usize, usize)>,
}

impl Constraints {
    fn read(text: &str) -> Result<Constraints, String> {
        let mut found = Constraints { outputs: 0, widths: Vec::new(), tied: Vec::new() };
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty() && !part.starts_with('~')) {
            let output = part.starts_with('=') || part.starts_with('+');
            let letters = part.trim_start_matches(['=', '+', '&', '*', ' ']);
            if output && found.widths.len() > found.outputs {
                return Err("an output comes after an input in the constraints".into());
            }
            if let Ok(tied) = letters.parse::<usize>() {
                let width = found.widths.get(tied).copied().filter(|_| tied < found.outputs);
                found.tied.push((tied, found.widths.len()));
                found.widths.push(width.ok_or_else(|| format!("the constraint `{part}` names no output"))?);
                continue;
            }
            found.widths.push(match letters {
                "b" => 1,
                "c" => 8,
                "h" => 16,
                "r" | "f" => 32,
                "l" | "d" => 64,
                "n" | "i" => 32,
                _ => return Err(format!("the constraint `{part}` is not one of PTX")),
            });
            found.outputs += usize::from(output);
        }
        Ok(found)
    }

    fn check(&self, outputs: usize, inputs: usize) -> Result<(), String> {
        let (want, have) = (self.outputs, self.widths.len() - self.outputs);
        if (want, have) == (outputs, inputs) {
            return Ok(());
        }
        Err(format!(
            "the constraints name {want} outputs and {have} inputs, the call has {outputs} results and {inputs} operands"
        ))
    }
}

/// What a snippet computes, if all of it is understood; otherwise nothing is written.
pub(crate) fn lower_whole(
    e: &mut Emit<'_>,
    code: &InlineAsm,
    args: &[Tensor],
    results: &[Elem],
) -> Option<Vec<Tensor>> {
    let (region, outcome) = e.in_region(&[], |e, _| lower(e, code, args, results));
    match outcome {
        Ok(results) => {
            let (to, end) = (e.region, e.func.region(e.region).ops().len());
            e.func.splice(region, 0, to, end);
            Some(results)
        }
        Err(_) => {
            for op in e.func.take_ops(region).into_iter().rev() {
                e.func.erase(op);
            }
            None
        }
    }
}
