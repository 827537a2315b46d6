//! How near products of tiles come to the speed of the multiply-add units, for each kind of CPU this one can stand for.
//!
//! `cargo run -p shoal-codegen --example dot_peak [FILTER]`: prints a line for each CPU, type, shape and layout whose
//! description contains FILTER. All runs on one core, with everything in its own caches; `peak` is a loop of
//! independent multiply-adds on registers. With `DOT_PEAK_ASM` set in the environment, the assembly is printed too.
//! Code is made by LLVM at run time, so the profile of this program does not matter.

use std::time::{Duration, Instant};

use inkwell::OptimizationLevel;
use inkwell::attributes::AttributeLoc;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine};
use inkwell::types::VectorType;
use inkwell::{IntPredicate, intrinsics::Intrinsic};
use shoal_codegen::cpu::dot::{DotFunction, Operand};
use shoal_ir::Scalar;

type Function = unsafe extern "C" fn(*const u8, *const u8, *mut u8, *mut u8);
type PeakFunction = unsafe extern "C" fn(*mut u8);

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    Target::initialize_native(&InitializationConfig::default()).expect("a native target");
    let host = TargetMachine::get_host_cpu_features().to_string();
    let amx = host.contains("+amx-bf16") && request_amx();
    let no_amx = format!("{host},-amx-tile,-amx-bf16,-amx-int8,-avx512fp16");
    let mut cpus = vec![("sse", String::new(), 4), ("avx2", "+avx,+avx2,+fma,+f16c".to_owned(), 8)];
    if host.contains("+avx512bw") {
        cpus.push(("avx512", format!("{no_amx},-avx512bf16,-avx512vnni"), 16));
    }
    if host.contains("+avx512bf16") {
        cpus.push(("avx512+bf16", no_amx, 16));
    }
    if amx {
        cpus.push(("amx", host, 16));
    }
    println!(
        "cpu          product                                       GFLOP/s  f32 peak    ratio  passes ms  code ms  scratch"
    );
    for (cpu, features, lanes) in cpus {
        for case in cases() {
            let line = format!("{cpu:<12} {:<44}", case.name());
            if line.contains(&filter) {
                // Measured next to each product, because clocks change with what else the machine does.
                let peak = if features.is_empty() { f64::NAN } else { measure_peak(&features, lanes) };
                let Measured { gflops, passes, code, scratch } = case.measure(&features);
                let ratio = gflops / peak;
                let (passes, code) = (passes.as_secs_f64() * 1e3, code.as_secs_f64() * 1e3);
                println!("{line} {gflops:>8.1} {peak:>9.1} {ratio:>8.2} {passes:>10.1} {code:>8.1} {scratch:>8}");
            }
        }
    }
}

struct Case {
    shape: [u32; 3],
    types: [Scalar; 3],
    /// Whether `a` and `b` are given by columns.
    by_columns: [bool; 2],
}

fn cases() -> Vec<Case> {
    let f32 = [Scalar::F32; 3];
    let case = |shape, types, by_columns| Case { shape, types, by_columns };
    let shapes = [
        [128, 128, 64],
        [128, 128, 32],
        [64, 64, 64],
        [64, 64, 32],
        [32, 32, 32],
        [16, 16, 16],
        [128, 256, 64],
        [64, 256, 32],
        [64, 1024, 64],
        [128, 128, 256],
        [128, 64, 1024],
        [1, 256, 64],
        [256, 1, 64],
    ];
    let mut cases: Vec<Case> = shapes.map(|shape| case(shape, f32, [false; 2])).into();
    cases.push(case([128, 128, 64], f32, [true, false]));
    cases.push(case([128, 128, 64], f32, [false, true]));
    cases.push(case([128, 128, 64], [Scalar::F64; 3], [false; 2]));
    for elem in [Scalar::BF16, Scalar::F16, Scalar::F8E4M3] {
        cases.push(case([128, 128, 64], [elem, elem, Scalar::F32], [false; 2]));
        cases.push(case([128, 128, 64], [elem, elem, Scalar::F32], [false, true]));
    }
    cases.push(case([64, 64, 32], [Scalar::BF16, Scalar::BF16, Scalar::F32], [false; 2]));
    cases.push(case([128, 128, 64], [Scalar::BF16, Scalar::BF16, Scalar::F32], [true, false]));
    cases.push(case([128, 128, 64], [Scalar::F16; 3], [false; 2]));
    cases.push(case([128, 128, 64], [Scalar::I8, Scalar::I8, Scalar::I32], [false; 2]));
    cases.push(case([128, 128, 64], [Scalar::I8, Scalar::I8, Scalar::I32], [false, true]));
    cases
}

struct Measured {
    gflops: f64,
    passes: Duration,
    code: Duration,
    scratch: u64,
}

impl Case {
    fn name(&self) -> String {
        let [m, n, k] = self.shape;
        let [a, b, c] = self.types;
        let order = |by_columns| if by_columns { "ᵀ" } else { "" };
        format!("{m}x{n}x{k} {a}{} @ {b}{} -> {c}", order(self.by_columns[0]), order(self.by_columns[1]))
    }

    fn measure(&self, features: &str) -> Measured {
        let [m, n, k] = self.shape;
        let operand = |elem, rows, cols, by_columns| {
            if by_columns { Operand::column_major(elem, rows) } else { Operand::row_major(elem, cols) }
        };
        let operands = [
            operand(self.types[0], m, k, self.by_columns[0]),
            operand(self.types[1], k, n, self.by_columns[1]),
            operand(self.types[2], m, n, false),
        ];
        let context = Context::create();
        let function = DotFunction::new(&context, features, self.shape, operands);
        let passes = optimize(&function.module, features);
        if std::env::var_os("DOT_PEAK_ASM").is_some() {
            print_assembly(&function.module, features);
        }
        let start = Instant::now();
        machine(features).write_to_memory_buffer(&function.module, FileType::Object).expect("an object");
        let code = start.elapsed();
        let engine = function.module.create_jit_execution_engine(OptimizationLevel::Default).expect("a JIT");
        // SAFETY: the module's function has this type.
        let dot = unsafe { engine.get_function::<Function>("dot") }.expect("the function");
        let bytes = |elem: Scalar, count: u32| u64::from(elem.bytes()) * u64::from(count);
        let mut a = Memory::new(bytes(self.types[0], m * k));
        let mut b = Memory::new(bytes(self.types[1], k * n));
        let mut c = Memory::new(bytes(self.types[2], m * n));
        let mut scratch = Memory::new(function.scratch_bytes);
        let seconds = best_time(|| {
            // SAFETY: the matrices and the scratch have the sizes the function was made for.
            unsafe { dot.call(a.pointer(), b.pointer(), c.pointer(), scratch.pointer()) };
        });
        let operations = 2.0 * f64::from(m) * f64::from(n) * f64::from(k);
        Measured { gflops: operations / seconds * 1e-9, passes, code, scratch: function.scratch_bytes }
    }
}

/// Memory aligned to cache lines; all zero, which is no special case for any instruction used.
struct Memory(Vec<Line>);

#[derive(Clone)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "only there to take space")] [u8; 64]);

impl Memory {
    fn new(bytes: u64) -> Memory {
        Memory(vec![Line([0; 64]); bytes as usize / 64 + 1])
    }

    fn pointer(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Seconds per call: the best of several batches, so that interruptions do not count.
fn best_time(mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut calls = 0u32;
    while start.elapsed() < Duration::from_millis(10) {
        call();
        calls += 1;
    }
    let batch = (calls / 20).max(1);
    let time_batch = |_| {
        let start = Instant::now();
        (0..batch).for_each(|_| call());
        start.elapsed().as_secs_f64() / f64::from(batch)
    };
    (0..200).map(time_batch).fold(f64::INFINITY, f64::min)
}

/// About what the CPU backend runs.
const PASSES: &str = "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(loop-rotate,licm),gvn,\
                      instcombine<no-verify-fixpoint>,loop(loop-deletion),simplifycfg)";

/// Runs LLVM's passes for this CPU; gives the time they took.
fn optimize(module: &Module<'_>, features: &str) -> Duration {
    let context = module.get_context();
    let cpu = TargetMachine::get_host_cpu_name().to_string();
    let target_cpu = context.create_string_attribute("target-cpu", &cpu);
    for function in module.get_functions().filter(|f| f.count_basic_blocks() > 0) {
        // A lesser CPU is stood for by features alone.
        if features.contains("avx512f") {
            function.add_attribute(AttributeLoc::Function, target_cpu);
        }
    }
    let start = Instant::now();
    module.run_passes(PASSES, &machine(features), PassBuilderOptions::create()).expect("LLVM's passes");
    start.elapsed()
}

fn machine(features: &str) -> TargetMachine {
    let triple = TargetMachine::get_default_triple();
    let target = Target::from_triple(&triple).expect("the native target");
    let cpu = TargetMachine::get_host_cpu_name().to_string();
    target
        .create_target_machine(&triple, &cpu, features, OptimizationLevel::Default, RelocMode::PIC, CodeModel::Default)
        .expect("a target machine")
}

fn print_assembly(module: &Module<'_>, features: &str) {
    let assembly = machine(features).write_to_memory_buffer(module, FileType::Assembly).expect("assembly");
    println!("{}", String::from_utf8_lossy(assembly.as_slice()));
}

/// The rate of independent multiply-adds of `f32` on registers, in GFLOP/s.
fn measure_peak(features: &str, lanes: u32) -> f64 {
    const ROUNDS: u64 = 2000;
    let accumulators = if lanes == 16 { 24 } else { 12 };
    let context = Context::create();
    let module = context.create_module("peak");
    let builder = context.create_builder();
    let pointer = context.ptr_type(inkwell::AddressSpace::default());
    let function = module.add_function("peak", context.void_type().fn_type(&[pointer.into()], false), None);
    function.add_attribute(AttributeLoc::Function, context.create_string_attribute("target-features", features));
    let [entry, round, done] = ["entry", "round", "done"].map(|name| context.append_basic_block(function, name));
    let vector = context.f32_type().vec_type(lanes);
    let constant = |value: f64| VectorType::const_vector(&vec![context.f32_type().const_float(value); lanes as usize]);
    let fma = Intrinsic::find("llvm.fma").expect("an intrinsic");
    let fma = fma.get_declaration(&module, &[vector.into()]).expect("an intrinsic on vectors");

    builder.position_at_end(entry);
    let out = function.get_first_param().expect("a parameter").into_pointer_value();
    let factor = builder.build_load(vector, out, "").expect("a load").into_vector_value();
    builder.build_unconditional_branch(round).expect("a branch");
    builder.position_at_end(round);
    let counter = builder.build_phi(context.i64_type(), "").expect("a phi");
    let sums: Vec<_> = (0..accumulators).map(|_| builder.build_phi(vector, "").expect("a phi")).collect();
    counter.add_incoming(&[(&context.i64_type().const_zero(), entry)]);
    let mut last = Vec::new();
    for (i, sum) in sums.iter().enumerate() {
        sum.add_incoming(&[(&constant(i as f64), entry)]);
        let args = [factor.into(), factor.into(), sum.as_basic_value().into()];
        let next = builder.build_call(fma, &args, "").expect("a call").try_as_basic_value().expect_basic("a value");
        sum.add_incoming(&[(&next, round)]);
        last.push(next.into_vector_value());
    }
    let next = builder
        .build_int_add(counter.as_basic_value().into_int_value(), context.i64_type().const_int(1, false), "")
        .expect("an addition");
    counter.add_incoming(&[(&next, round)]);
    let again = builder
        .build_int_compare(IntPredicate::ULT, next, context.i64_type().const_int(ROUNDS, false), "")
        .expect("a comparison");
    builder.build_conditional_branch(again, round, done).expect("a branch");
    builder.position_at_end(done);
    let total = last.into_iter().reduce(|a, b| builder.build_float_add(a, b, "").expect("an addition")).expect("a sum");
    builder.build_store(out, total).expect("a store").set_alignment(4).expect("an alignment");
    builder.build_return(None).expect("a return");

    let engine = module.create_jit_execution_engine(OptimizationLevel::Default).expect("a JIT");
    // SAFETY: the module's function has this type.
    let peak = unsafe { engine.get_function::<PeakFunction>("peak") }.expect("the function");
    let mut memory = Memory::new(64);
    // SAFETY: the function reads and writes one vector there.
    let seconds = best_time(|| unsafe { peak.call(memory.pointer()) });
    2.0 * f64::from(accumulators * lanes) * ROUNDS as f64 / seconds * 1e-9
}

/// Asks Linux for the use of AMX by this process.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn request_amx() -> bool {
    const ARCH_PRCTL: i64 = 158;
    const ARCH_REQ_XCOMP_PERM: i64 = 0x1023;
    const XFEATURE_XTILEDATA: i64 = 18;
    let result: i64;
    // SAFETY: the system call touches no memory of ours; it clobbers what is listed.
    unsafe {
        std::arch::asm!("syscall", inlateout("rax") ARCH_PRCTL => result, in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XFEATURE_XTILEDATA, out("rcx") _, out("r11") _, options(nostack));
    }
    result == 0
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn request_amx() -> bool {
    false
}
