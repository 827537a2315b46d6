//! Random kernels: the interpreter and native code agree, bit by bit.
//!
//! No tolerance is needed: the generator uses functions that are exact, and where a matrix product may be summed in any
//! order or with products rounded (inputs below `f32`; CPUs without fused multiply-add), small whole numbers, for which
//! the order does not matter. NaNs are equal to each other.
//!
//! `SHOAL_RANDOM_KERNELS=N` runs that many; `SHOAL_RANDOM_KERNELS_FROM=S` starts at another seed. A failing kernel is
//! made small and shown as text.

mod access;
pub(crate) mod choices;
mod control;
mod data;
mod elementwise;
mod found;
mod generate;
mod machine;
mod shrink;
mod tiles;

use shoal_abi::{CpuTarget, NvptxArch, Target};
use shoal_codegen::{Options, cpu};
use shoal_driver::cpu::CpuDevice;
use shoal_driver::cuda::CudaDevice;
use shoal_ir::op::{BinaryOp, DotPrecision, MathFn, RmwOp};
use shoal_ir::{Func, Module, OpId, OpKind, Region, Scalar, Value, combine};
use shoal_source::{Cancellation, SourceMap};

use crate::{assembled, ptx_flow};
use generate::{Case, Sums, case};

/// The CPUs that code is made for, where this machine can run it.
const TARGETS: [fn() -> Option<CpuTarget>; 3] = [
    || Some(cpu::host()),
    || std::is_x86_feature_detected!("avx2").then(|| CpuTarget::new("x86-64-v3", "")),
    || std::is_x86_feature_detected!("sse4.2").then(|| CpuTarget::new("x86-64-v2", "")),
];

/// The forms in which a kernel is compiled.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Form {
    /// As it is written.
    Plain,
    /// After the passes for CPUs.
    Optimised,
    /// The same, with checks of all accesses.
    Checked,
}

fn formed(module: &Module, form: Form) -> Module {
    let mut module = module.clone();
    if form != Form::Plain {
        shoal_passes::pipeline::optimize(&mut module, shoal::host_target(), &Cancellation::default()).unwrap();
    }
    module
}

/// What is wrong with native code for a module, if anything. A module that the interpreter refuses is no test.
fn wrong(device: &CpuDevice, case: &Case, module: &Module, form: Form, target: &CpuTarget) -> Option<String> {
    let expected = machine::interpreted(case, module).ok()?;
    match machine::native(device, case, &formed(module, form), target, form == Form::Checked) {
        Ok(found) => machine::difference(case, &expected, &found),
        // A refusal of LLVM comes with all its code.
        Err(why) => Some(why.chars().take(600).collect()),
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |n| n.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

/// What is wrong with a GPU's code for a module, if anything. A module is no test if what it stores depends on an order of
/// elements, or if it combines elements by what depends on more than their order.
fn wrong_on_gpu(device: CudaDevice, case: &Case, module: &Module, warps: u32, form: Form) -> Option<String> {
    let mut module = module.clone();
    module.funcs.iter_mut().for_each(for_gpu);
    if module.funcs.iter().any(|func| func.walk().into_iter().any(|op| combines_by_groups(func, op))) {
        return None;
    }
    let expected = machine::interpreted_in_any_order(case, &module)?;
    module.funcs.iter_mut().for_each(|func| func.gpu.num_warps = warps);
    let target = Target::Nvptx(device.arch());
    shoal_passes::pipeline::optimize(&mut module, &target, &Cancellation::default()).unwrap();
    match machine::on_gpu(device, case, &module, &target, form == Form::Checked) {
        Ok(found) => machine::difference(case, &expected, &found),
        Err(why) => Some(why.chars().take(600).collect()),
    }
}

/// Quotients, roots and products of tiles are exact on GPUs where they are asked to be. Atomic sums of `f32` never are: the
/// instruction takes subnormal numbers for zero.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other operations are the same everywhere")]
fn for_gpu(func: &mut Func) {
    for op in func.walk() {
        let float = func.op(op).operands().first().and_then(|&v| func.ty(v).number()).is_some_and(Scalar::is_float);
        let exact = match func.op(op).kind {
            OpKind::Binary(BinaryOp::Div) if float => OpKind::Binary(BinaryOp::DivRn),
            OpKind::Math(MathFn::Sqrt) => OpKind::Math(MathFn::SqrtRn),
            OpKind::AtomicRmw { op: RmwOp::Add, sem, scope } if sums_f32(func, op) => {
                OpKind::AtomicRmw { op: RmwOp::Max, sem, scope }
            }
            OpKind::Dot { max_imprecise_acc, .. } => OpKind::Dot { precision: DotPrecision::Ieee, max_imprecise_acc },
            _ => continue,
        };
        func.op_mut(op).kind = exact;
    }
}

/// Whether the second operand is of `f32`.
fn sums_f32(func: &Func, op: OpId) -> bool {
    func.ty(func.op(op).operands()[1]).number() == Some(Scalar::F32)
}

/// Whether it matters for what an operation combines in which groups it combines its elements: GPUs choose their own.
fn combines_by_groups(func: &Func, op: OpId) -> bool {
    let data = func.op(op);
    match data.kind {
        OpKind::Reduce { in_order: true, .. } | OpKind::Scan { .. } => !is_associative(func, data.regions()[0]),
        OpKind::Reduce { .. } => {
            !(is_associative(func, data.regions()[0]) && combine::commutes(func, data.regions()[0]))
        }
        _ => false,
    }
}

/// Whether a region is one of those that are associative bit by bit: the first or the last of all, one operation on integers,
/// or functions `x -> a * x + b` on integers, one after the other.
fn is_associative(func: &Func, region: Region) -> bool {
    let (params, yielded) = (func.region(region).params(), func.yielded(region));
    let (first, second) = params.split_at(params.len() / 2);
    if yielded == first || yielded == second {
        return true;
    }
    let of = |value: Value, wanted: BinaryOp| {
        let data = func.op(func.def_op(value)?);
        (data.kind == OpKind::Binary(wanted)).then(|| [data.operands()[0], data.operands()[1]])
    };
    let integers = params.iter().all(|&param| func.ty(param).number().is_some_and(Scalar::is_int));
    let free = [BinaryOp::Add, BinaryOp::Mul, BinaryOp::And, BinaryOp::Or, BinaryOp::Xor, BinaryOp::Min, BinaryOp::Max];
    let same =
        |found: Option<[Value; 2]>, a: Value, b: Value| found.is_some_and(|found| found == [a, b] || found == [b, a]);
    integers
        && match (first, second, yielded) {
            (&[a], &[b], &[sum]) => free.into_iter().any(|kind| same(of(sum, kind), a, b)),
            (&[a, b], &[c, d], &[factor, term]) => {
                let sum = of(term, BinaryOp::Add);
                let product = sum.and_then(|sum| sum.into_iter().find(|&part| part != d));
                same(of(factor, BinaryOp::Mul), a, c)
                    && product.is_some_and(|product| same(sum, product, d) && same(of(product, BinaryOp::Mul), b, c))
            }
            _ => false,
        }
}

/// Checks the kernels of some seeds on each target in turn.
fn check(seeds: std::ops::Range<u64>, form: Form) {
    let device = CpuDevice::new(1).expect("a device");
    for seed in seeds {
        let Some(target) = TARGETS[(seed % 3) as usize]() else { continue };
        let sums = if target.name() == "x86-64-v2" { Sums::Rounded } else { Sums::Fused };
        let case = case(seed, 4 + (seed / 3 % 24) as usize, sums);
        shoal_ir::verify(&case.module).unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{}", case.module));
        if let Err(why) = machine::interpreted(&case, &case.module) {
            panic!("seed {seed}: the interpreter refuses a kernel: {why}\n{}", case.module);
        }
        if let Some(why) = wrong(&device, &case, &case.module, form, &target) {
            eprintln!("seed {seed}, {form:?}, {}: {why}", target.name());
            let small = shrink::shrink(&case.module, &|m| wrong(&device, &case, m, form, &target).is_some());
            let why = wrong(&device, &case, &small, form, &target).unwrap_or_default();
            panic!("{why}\n{small}\ncompiled as\n{}", formed(&small, form));
        }
    }
}

/// A fault on the GPU ends its context, so the kernel that had it is not made small.
fn check_on_gpu(form: Form) {
    let device = match CudaDevice::new(0) {
        Ok(device) => device,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let mut found = Vec::new();
    // Checks make code large and slow to assemble: fewer are compiled so.
    let step = if form == Form::Checked { 4 } else { 1 };
    for seed in seeds(200).step_by(step) {
        let case = case(seed, 4 + (seed / 3 % 24) as usize, Sums::Fused);
        let warps = [4, 1, 8, 2][(seed % 4) as usize];
        if let Some(why) = wrong_on_gpu(device, &case, &case.module, warps, form) {
            let lost = device.synchronize().is_err();
            let small = match lost {
                true => case.module.clone(),
                false => shrink::shrink(&case.module, &|m| wrong_on_gpu(device, &case, m, warps, form).is_some()),
            };
            let now = (!lost).then(|| wrong_on_gpu(device, &case, &small, warps, form)).flatten();
            found.push(format!("seed {seed}, {warps} warps: {why}; made small: {}\n{small}", now.unwrap_or_default()));
            if lost {
                break;
            }
        }
    }
    assert!(found.is_empty(), "{} wrong\n{}", found.len(), found.join("\n"));
}

/// Random kernels are assembled for GPUs of several generations, with checks and without.
#[test]
fn what_is_made_for_gpus_is_assembled() {
    if !assembled::is_possible() {
        return;
    }
    for seed in seeds(60) {
        let mut case = case(seed, 4 + (seed / 3 % 24) as usize, Sums::Fused);
        case.module.funcs.iter_mut().for_each(|func| func.gpu.num_warps = [4, 1, 8, 2][(seed % 4) as usize]);
        let refused = assembled::refused(|target| {
            let mut module = case.module.clone();
            shoal_passes::pipeline::optimize(&mut module, target, &Cancellation::default()).unwrap();
            let how = Options { checks: seed % 8 == 0, ..Options::default() };
            shoal_codegen::compile(&module, "k", target, &SourceMap::default(), &how).map(|compiled| compiled.object)
        });
        if let Some(why) = refused {
            panic!("seed {seed} {why}\n{}", case.module);
        }
    }
}

/// Assemblers lose track of where threads meet again if a loop has two entries.
#[test]
fn loops_that_are_made_for_gpus_have_one_entry() {
    for seed in seeds(60) {
        let mut case = case(seed, 4 + (seed / 3 % 24) as usize, Sums::Fused);
        case.module.funcs.iter_mut().for_each(|func| func.gpu.num_warps = [4, 1, 8, 2][(seed % 4) as usize]);
        let target = Target::Nvptx(NvptxArch::Sm90a);
        shoal_passes::pipeline::optimize(&mut case.module, &target, &Cancellation::default()).unwrap();
        let how = Options { checks: seed % 2 == 0, ..Options::default() };
        let compiled = shoal_codegen::compile(&case.module, "k", &target, &SourceMap::default(), &how);
        let Ok(compiled) = compiled else { continue };
        let entries = ptx_flow::entries_of_loops(&String::from_utf8(compiled.object).unwrap());
        assert!(entries.is_empty(), "seed {seed}: {entries:?}\n{}", case.module);
    }
}

/// Most kernels are tests of a GPU, and those are not whose stores of several elements go to one address.
#[test]
fn few_kernels_depend_on_an_order_of_elements() {
    let cases: Vec<Case> = (0..100).map(|seed| case(seed, 4 + (seed / 3 % 24) as usize, Sums::Fused)).collect();
    let free = cases.iter().filter(|case| machine::interpreted_in_any_order(case, &case.module).is_some()).count();
    assert!((50..100).contains(&free), "{free} of {}", cases.len());
}

#[test]
fn a_gpu_does_what_the_interpreter_does() {
    check_on_gpu(Form::Optimised);
}

#[test]
fn a_gpu_that_checks_does_what_the_interpreter_does() {
    check_on_gpu(Form::Checked);
}

fn seeds(default: u64) -> std::ops::Range<u64> {
    let (from, count) = (number("SHOAL_RANDOM_KERNELS_FROM", 0), number("SHOAL_RANDOM_KERNELS", default));
    from..from + count
}

#[test]
fn native_code_does_what_the_interpreter_does() {
    check(seeds(60), Form::Plain);
}

#[test]
fn optimised_code_does_what_the_interpreter_does() {
    check(seeds(60), Form::Optimised);
}

#[test]
fn checked_code_does_what_the_interpreter_does() {
    check(seeds(60), Form::Checked);
}
