//! A model of tiles with layouts: every register of every lane of every warp holds a number, operations compute on what
//! their own thread holds, and only a conversion moves numbers between threads. What a program does in this model is what
//! it does without layouts.

use std::collections::HashMap;

use proptest::prelude::*;
use shoal_abi::{NvptxArch, Target};
use shoal_ir::{Const, Func, Module, OpId, OpKind, Scalar, Type};
use shoal_layout::{InDim, LinearLayout, Place};
use shoal_passes::pipeline;
use shoal_source::Cancellation;

use crate::evaluate::{Elements, Evaluator, Memory, rows};
use crate::text::{self, verified};

/// The elements that the places of a layout hold, row-major: all registers of a lane, all lanes of a warp, all warps.
fn held(layout: &LinearLayout) -> Vec<u64> {
    let size = |dim| layout.in_size(dim);
    let (registers, lanes) = (size(InDim::Register), size(InDim::Lane));
    let place = |at: u32| Place {
        register: at % registers,
        lane: at / registers % lanes,
        warp: at / registers / lanes,
        ..Place::default()
    };
    (0..registers * lanes * size(InDim::Warp)).map(|at| layout.apply_flat(place(at))).collect()
}

fn layout(ty: &Type) -> &LinearLayout {
    ty.layout().expect("every tile has a layout")
}

/// A tile's elements in order; all places that hold an element must agree on it.
pub(crate) fn gathered(ty: &Type, places: &Elements) -> Elements {
    let mut found: Vec<Option<u64>> = vec![None; ty.shape().iter().product::<u32>() as usize];
    for (element, &number) in held(layout(ty)).into_iter().zip(places) {
        let known = found[element as usize].get_or_insert(number);
        assert_eq!(*known, number, "two places hold different numbers for the same element");
    }
    found.into_iter().map(|number| number.expect("some place holds each element")).collect()
}

/// The elements of a tile, put where its layout has them.
pub(crate) fn scattered(ty: &Type, elements: &Elements) -> Elements {
    if !ty.is_tile() {
        return elements.clone();
    }
    held(layout(ty)).into_iter().map(|element| elements[element as usize]).collect()
}

/// What each place of `to` takes over from a place of its own thread, which must hold the element that `source` names.
fn within_threads(to: &Type, from: &[(&Type, &Elements)], source: impl Fn(u64) -> (usize, u64)) -> Elements {
    let tables: Vec<(u32, Vec<u64>)> =
        from.iter().map(|(ty, _)| (layout(ty).in_size(InDim::Register), held(layout(ty)))).collect();
    let registers = layout(to).in_size(InDim::Register);
    let wanted = held(layout(to));
    let number = |(at, element): (usize, &u64)| {
        let thread = at / registers as usize;
        let (operand, element) = source(*element);
        let (each, table) = &tables[operand];
        let own = thread * *each as usize..(thread + 1) * *each as usize;
        let register = table[own.clone()].iter().position(|&held| held == element);
        let register = register.expect("only a conversion moves elements between threads");
        from[operand].1[own.start + register]
    };
    wanted.iter().enumerate().map(number).collect()
}

/// For each element, the one that comes in its stead where threads combine a row along an axis in their own order: registers
/// of a lane, lanes of a warp, warps.
fn in_order_of_places(ty: &Type, axis: usize) -> Vec<usize> {
    let mut first = HashMap::new();
    for (place, element) in held(layout(ty)).into_iter().enumerate() {
        first.entry(element as usize).or_insert(place);
    }
    let mut sources = vec![0; first.len()];
    for row in rows(ty, axis) {
        let mut sorted = row.clone();
        sorted.sort_by_key(|element| first[element]);
        for (to, from) in row.into_iter().zip(sorted) {
            sources[to] = from;
        }
    }
    sources
}

fn index_of(flat: u64, shape: &[u32]) -> Vec<u32> {
    let mut rest = flat;
    let mut index = vec![0; shape.len()];
    for (dim, &size) in shape.iter().enumerate().rev() {
        index[dim] = (rest % u64::from(size)) as u32;
        rest /= u64::from(size);
    }
    index
}

fn flat_of(index: &[u32], shape: &[u32]) -> u64 {
    index.iter().zip(shape).fold(0, |flat, (&i, &size)| flat * u64::from(size) + u64::from(i))
}

impl Evaluator<'_> {
    /// What an operation gives that depends on where elements are; `None` for one that computes on each place.
    pub(crate) fn placed(&mut self, op: OpId, operands: &[Elements], types: &[Type]) -> Option<Vec<Elements>> {
        let func: &Func = self.func();
        let data = func.op(op);
        let results: Vec<Type> = data.results().iter().map(|&result| func.ty(result).clone()).collect();
        let to = results.first()?.clone();
        let everywhere = |number: u64| if to.is_tile() { vec![number; held(layout(&to)).len()] } else { vec![number] };
        Some(match &data.kind {
            OpKind::Const(c) => vec![everywhere(c.bits())],
            OpKind::Splat => vec![everywhere(operands[0][0])],
            OpKind::Iota { start } => {
                let number = |at: u64| Const::from_i64(Scalar::I32, i64::from(*start) + at as i64).bits();
                vec![held(layout(&to)).into_iter().map(number).collect()]
            }
            OpKind::ConvertLayout => vec![scattered(&to, &gathered(&types[0], &operands[0]))],
            OpKind::Reshape if !to.is_tile() => vec![gathered(&types[0], &operands[0])],
            OpKind::Reshape => vec![within_threads(&to, &[(&types[0], &operands[0])], |element| (0, element))],
            OpKind::Broadcast => {
                let from = types[0].shape();
                let source = |element: u64| {
                    let index = index_of(element, to.shape());
                    let index: Vec<u32> = index.iter().zip(from).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
                    (0, flat_of(&index, from))
                };
                vec![within_threads(&to, &[(&types[0], &operands[0])], source)]
            }
            OpKind::Transpose { perm } => {
                let source = |element: u64| {
                    let index = index_of(element, to.shape());
                    let mut from = vec![0; index.len()];
                    for (i, &p) in perm.iter().enumerate() {
                        from[usize::from(p)] = index[i];
                    }
                    (0, flat_of(&from, types[0].shape()))
                };
                vec![within_threads(&to, &[(&types[0], &operands[0])], source)]
            }
            OpKind::Join if types[0].is_tile() => {
                let halves = [(&types[0], &operands[0]), (&types[1], &operands[1])];
                vec![within_threads(&to, &halves, |element| ((element % 2) as usize, element / 2))]
            }
            OpKind::Join => vec![scattered(&to, &vec![operands[0][0], operands[1][0]])],
            OpKind::Split if to.is_tile() => [0, 1]
                .map(|half| within_threads(&to, &[(&types[0], &operands[0])], |element| (0, 2 * element + half)))
                .to_vec(),
            OpKind::Split => gathered(&types[0], &operands[0]).into_iter().map(|half| vec![half]).collect(),
            OpKind::Reduce { axis, in_order } => {
                let (ty, axis) = (&types[0], usize::from(*axis));
                let mut whole = gathered(ty, &operands[0]);
                if *in_order {
                    let sources = in_order_of_places(ty, axis);
                    whole = sources.into_iter().map(|element| whole[element]).collect();
                }
                vec![scattered(&to, &self.reduce(op, ty, &whole, axis))]
            }
            OpKind::Scan { axis, reverse } => {
                let (ty, axis) = (&types[0], usize::from(*axis));
                let whole = gathered(ty, &operands[0]);
                let sources = in_order_of_places(ty, axis);
                let sorted = sources.iter().map(|&element| whole[element]).collect();
                let mut scanned = whole;
                for (element, number) in sources.into_iter().zip(self.scan(op, ty, &sorted, axis, *reverse)) {
                    scanned[element] = number;
                }
                vec![scattered(&to, &scanned)]
            }
            OpKind::Dot { .. } => {
                let whole: Vec<Elements> =
                    types.iter().zip(operands).map(|(ty, places)| gathered(ty, places)).collect();
                vec![scattered(&to, &crate::evaluate::product(types, &whole))]
            }
            _ => return None,
        })
    }
}

/// Runs the passes for a GPU, and compares what the kernel does before and after.
fn check(original: &Module, arch: NvptxArch, arguments: &[u64]) -> Result<(), TestCaseError> {
    let target = Target::Nvptx(arch);
    let mut module = original.clone();
    let expected: Memory = Evaluator::run(&original.funcs[0], arguments).0.memory;
    pipeline::run(&mut module, &target, &pipeline::passes_for(&target), &Cancellation::default(), &mut |_, _, _| {})
        .expect("nobody cancels");
    verified(&module);
    let found = Evaluator::run_laid_out(&module.funcs[0], arguments).0.memory;
    prop_assert!(expected == found, "layouts for {} change what\n{original}does:\n{module}", arch.name());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn layouts_keep_what_a_program_does(seed: u64, size in 4usize..40, warps in 0u32..4) {
        let mut original = crate::random::wild_program(seed, size);
        original.funcs[0].gpu.num_warps = 1 << warps;
        for arch in [NvptxArch::Sm80, NvptxArch::Sm90a] {
            check(&original, arch, &[4096, 37, 1])?;
        }
    }
}

/// The kernels of the file tests: products and row sums among them.
#[test]
fn layouts_keep_what_the_file_tests_do() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/passes/assign_layouts");
    let mut seen = HashMap::new();
    for file in std::fs::read_dir(folder).expect("the folder of file tests") {
        let file = file.expect("an entry").path();
        let source = std::fs::read_to_string(&file).expect("a readable test");
        let original = text::module(source.split("; ---- expected").next().expect("a module"));
        let func = &original.funcs[0];
        // Pointers to memory of their own, and small numbers.
        let argument = |(at, &param): (usize, &shoal_ir::Value)| match func.ty(param).number() {
            Some(_) => 33,
            None => (at as u64 + 1) << 20,
        };
        let arguments: Vec<u64> = func.params().iter().enumerate().map(argument).collect();
        for arch in [NvptxArch::Sm80, NvptxArch::Sm90a] {
            check(&original, arch, &arguments).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
        }
        seen.insert(file, ());
    }
    assert!(seen.len() >= 3, "the file tests are found");
}
