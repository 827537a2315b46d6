//! What this backend cannot do, said before any code is made.

use shoal_abi::NvptxArch;
use shoal_ir::class::{ApplyOp, DescOp, EffectOp, OpClass};
use shoal_ir::source::Diagnostic;
use shoal_ir::tensor_map::tensor_map;
use shoal_ir::{Func, OpId, Type};

use super::atomic;
use crate::Options;

/// All operations of a kernel that no code can be made for.
pub(super) fn refusals(func: &Func, arch: NvptxArch, options: &Options) -> Vec<Diagnostic> {
    let refusal = |op: OpId| {
        let text = reason(func, op, arch)?;
        Some(Diagnostic::error(func.op(op).span, text).label("not available on NVIDIA GPUs"))
    };
    let mut found: Vec<Diagnostic> = func.walk().into_iter().filter_map(refusal).collect();
    if func.params().iter().any(|&p| !matches!(func.ty(p), Type::Elem(_))) {
        found.push(Diagnostic::error(
            func.span,
            "parameters reach a GPU as numbers and pointers: run the pass `lower_descriptors` first",
        ));
    }
    if let Some(op) = without_layout(func) {
        let text = "tiles are spread over threads by the pass `assign_layouts`: run it first";
        found.push(Diagnostic::error(func.op(op).span, text).label("not available on NVIDIA GPUs"));
        return found;
    }
    let size: u64 = func.walk().into_iter().map(|op| instructions(func, op)).sum();
    if size > MOST_INSTRUCTIONS {
        let text = format!("`{}` is too large for {} warps: about {size} instructions", func.name, func.gpu.num_warps);
        let help = "use smaller blocks, more warps, or `range` instead of `static_range`";
        found.push(Diagnostic::error(func.span, text).label("not available on NVIDIA GPUs").help(help));
    }
    for op in func.walk() {
        let large = func.op(op).results().iter().any(|&result| held_by_thread(func, result) > MOST_REGISTERS);
        if large {
            let text = format!("a tile of this size is too large for {} warps", func.gpu.num_warps);
            let help = "each thread would hold thousands of elements: use smaller blocks, or more warps";
            found.push(Diagnostic::error(func.op(op).span, text).help(help));
            break;
        }
    }
    if options.checks && func.params().len() > MOST_CHECKED_PARAMETERS {
        let text = format!("`{}` has too many parameters for its accesses to be checked", func.name);
        let help = format!("at most {MOST_CHECKED_PARAMETERS} are; debug the kernel on the CPU");
        found.push(Diagnostic::error(func.span, text).label("not available on NVIDIA GPUs").help(help));
    }
    found
}

/// A launch passes at most 4 KiB: a parameter, and where its memory begins and ends.
const MOST_CHECKED_PARAMETERS: usize = 160;

/// The most elements of one tile that a thread may hold: far more than it has registers, and few enough to compile.
const MOST_REGISTERS: u32 = 1024;

/// The most instructions of a kernel, roughly: few enough to compile in seconds.
const MOST_INSTRUCTIONS: u64 = 1 << 18;

/// About how many instructions an operation becomes: threads do it once for each element they hold.
fn instructions(func: &Func, op: OpId) -> u64 {
    let values = func.op(op).results().iter().chain(func.op(op).operands());
    let held = values.map(|&value| held_by_thread(func, value)).max().unwrap_or(0).max(1);
    // In a scan each element is combined with those before it, across lanes and warps too. Other heavy operations are
    // loops, or have instructions of their own.
    let is_scan = matches!(func.op(op).kind.class(), OpClass::Apply(ApplyOp::Scan { .. }));
    let weight = if is_scan { 512 } else { func.op_weight(op).min(64) };
    weight * u64::from(held)
}

/// The first operation with a tile that no thread has a part of.
fn without_layout(func: &Func) -> Option<OpId> {
    let bare = |value: &shoal_ir::Value| func.ty(*value).is_tile() && func.ty(*value).layout().is_none();
    func.walk().into_iter().find(|&op| func.op(op).results().iter().any(bare))
}

/// Whether a descriptor is one that the kernel makes, and not a parameter or what control flow hands on. Whether the copy
/// engine can reach its tensor is asked where it is made.
fn is_mapped(func: &Func, desc: shoal_ir::Value) -> bool {
    matches!(func.def_kind(desc), Some(shoal_ir::OpKind::MakeDesc))
}

fn held_by_thread(func: &Func, value: shoal_ir::Value) -> u32 {
    func.ty(value).layout().map_or(0, super::place::registers)
}

fn reason(func: &Func, op: OpId, arch: NvptxArch) -> Option<String> {
    let data = func.op(op);
    match data.kind.class() {
        OpClass::Comm(_) => None,
        OpClass::Desc(DescOp::Make) if arch >= NvptxArch::Sm90 && tensor_map(func, op).is_some() => None,
        OpClass::Desc(DescOp::Load | DescOp::Store) if is_mapped(func, data.operands()[0]) => None,
        OpClass::Desc(_) => {
            Some("tensor descriptors reach a GPU as pointers: run the pass `lower_descriptors` first".to_owned())
        }
        OpClass::Call(callee) => {
            Some(format!("the call of `{callee}` reaches a GPU inlined: run the pass `inline_all` first"))
        }
        OpClass::Effect(EffectOp::GridWords) => Some(
            "GPUs give a cooperative launch its words in `%envreg1` and `%envreg2`: read them by inline PTX".into(),
        ),
        OpClass::Atomic(kind, ..) => {
            let elem = func.ty(data.operands()[0]).elem()?.ptr()?.element();
            (!atomic::is_possible(kind, elem)).then(|| format!("GPUs have no such atomic operation on {elem}"))
        }
        OpClass::Source(_)
        | OpClass::Elementwise(_)
        | OpClass::Shape(_)
        | OpClass::Tile(_)
        | OpClass::Apply(_)
        | OpClass::Access(_)
        | OpClass::Effect(
            EffectOp::Barrier
            | EffectOp::Fence { .. }
            | EffectOp::Clock
            | EffectOp::Assume
            | EffectOp::Assert { .. }
            | EffectOp::Print { .. },
        )
        | OpClass::Control(_)
        | OpClass::Terminator(_) => None,
    }
}
