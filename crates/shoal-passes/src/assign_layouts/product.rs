//! Layouts for matrix products.
//!
//! | unit | when |
//! |---|---|
//! | `wgmma` | sm_90a, 16-bit floats, 8-bit floats and integers, `f32` as tf32; at least 64 rows, warps in groups of four |
//! | `mma.sync` | 16-bit floats, 8-bit integers, `f32` that may be rounded to tf32, `f64`; at least 16 × 8, `f64` 8 × 8 |
//! | fused multiply-add | everything else |

use std::collections::HashSet;

use shoal_abi::NvptxArch;
use shoal_ir::class::OpClass;
use shoal_ir::op::{DotPrecision, OpKind};
use shoal_ir::{Builder, Func, OpId, Scalar, Value};
use shoal_layout::{LinearLayout, MmaShape, Operand};

use super::coalesce::spread;
use super::{Hardware, LANES};

/// How the tiles of a product are laid out. An operand without a layout is read from shared memory, whatever it has.
#[derive(Clone, Debug)]
pub(super) struct ProductLayouts {
    pub(super) acc: LinearLayout,
    pub(super) a: Option<LinearLayout>,
    pub(super) b: Option<LinearLayout>,
}

/// Chooses the layouts of a product.
pub(super) fn choose(func: &Func, op: OpId, hardware: Hardware) -> ProductLayouts {
    let wgmma = || use_wgmma(func, op, hardware).then(|| wgmma_layouts(func, op, hardware)).flatten();
    let mma = || use_mma(func, op).then(|| mma_layouts(func, op, hardware)).flatten();
    wgmma().or_else(mma).unwrap_or_else(|| fma_layouts(func, op, hardware))
}

/// Products of 8-bit floats that no unit computes are products of 16-bit ones: every such number is one of those. So are
/// those whose sums the kernel wants to be exact: units that multiply 8-bit floats add them up with fewer bits.
pub(super) fn widen_small_floats(func: &mut Func, hardware: Hardware) {
    for op in func.walk() {
        let OpKind::Dot { max_imprecise_acc, .. } = func.op(op).kind else { continue };
        let by_unit = use_wgmma(func, op, hardware) && wgmma_layouts(func, op, hardware).is_some();
        if by_unit && max_imprecise_acc == 0 {
            continue;
        }
        for index in 0..2 {
            let operand = func.op(op).operands()[index];
            if func.ty(operand).number().is_some_and(Scalar::is_fp8) {
                let wide = Builder::before(func, op).cast(operand, Scalar::F16);
                func.set_operand(op, index, wide);
            }
        }
    }
}

struct Sizes {
    m: u32,
    n: u32,
    k: u32,
    number: Scalar,
    /// The right operand's number.
    other: Scalar,
    precision: DotPrecision,
}

/// The sizes of a product of matrices; `None` for a batch of them.
fn sizes(func: &Func, op: OpId) -> Option<Sizes> {
    let data = func.op(op);
    let OpKind::Dot { precision, .. } = data.kind else { return None };
    let (&[m, k], &[_, n]) = (func.ty(data.operands()[0]).shape(), func.ty(data.operands()[1]).shape()) else {
        return None;
    };
    let [number, other] = [0, 1].map(|index| func.ty(data.operands()[index]).number());
    Some(Sizes { m, n, k, number: number?, other: other?, precision })
}

fn is_half(number: Scalar) -> bool {
    matches!(number, Scalar::F16 | Scalar::BF16)
}

fn use_wgmma(func: &Func, op: OpId, hardware: Hardware) -> bool {
    let groups = hardware.arch == NvptxArch::Sm90a && hardware.warps.is_multiple_of(4);
    let fits = |s: &Sizes| wgmma_depth(s).is_some_and(|depth| s.m >= 64 && s.n >= 8 && s.k >= depth);
    groups && sizes(func, op).is_some_and(|s| fits(&s))
}

/// The K of one `wgmma`; `None` where there is none.
fn wgmma_depth(sizes: &Sizes) -> Option<u32> {
    let is_small = |number: Scalar| matches!(number, Scalar::F8E4M3 | Scalar::F8E5M2);
    let same = sizes.number == sizes.other;
    if is_half(sizes.number) && same {
        return Some(16);
    }
    if sizes.number == Scalar::F32 && same && sizes.precision == DotPrecision::Tf32 {
        return Some(8);
    }
    let small = is_small(sizes.number) && is_small(sizes.other);
    let integers = matches!(sizes.number, Scalar::I8 | Scalar::U8) && same;
    (small || integers).then_some(32)
}

/// The K of one `mma.sync`; `None` where there is none.
fn mma_depth(number: Scalar, precision: DotPrecision) -> Option<u32> {
    let rounded = matches!(precision, DotPrecision::Tf32 | DotPrecision::Tf32x3 | DotPrecision::Bf16x3);
    let depth = |bits: u32| 256 / bits;
    if number == Scalar::F64 {
        return Some(4);
    }
    let has_unit = is_half(number) || matches!(number, Scalar::I8 | Scalar::U8) || number == Scalar::F32 && rounded;
    has_unit.then(|| depth(number.bits()))
}

fn use_mma(func: &Func, op: OpId) -> bool {
    let rows = |s: &Sizes| if s.number == Scalar::F64 { 8 } else { 16 };
    let fits = |s: &Sizes| mma_depth(s.number, s.precision).is_some_and(|k| s.m >= rows(s) && s.n >= 8 && s.k >= k);
    sizes(func, op).is_some_and(|s| fits(&s))
}

/// Elements of 16 bits in one row of the widest swizzle of shared memory.
const CHUNK: u32 = 64;

fn wgmma_layouts(func: &Func, op: OpId, hardware: Hardware) -> Option<ProductLayouts> {
    let Sizes { m, n, number, .. } = sizes(func, op)?;
    let rows = (m / 64 * 4).min(hardware.warps);
    let warps = if is_chained(func, op) { [hardware.warps, 1] } else { [rows, hardware.warps / rows] };
    let columns = (n / warps[1]).clamp(8, 256);
    if warps[1] > 1 && columns < CHUNK {
        // Groups would begin inside of a swizzled chunk, which has not been tried on the hardware: `mma.sync` does it.
        return None;
    }
    let acc = LinearLayout::wgmma_accumulator(&[m, n], &warps, columns).ok()?;
    let left = func.op(op).operands()[0];
    // What is loaded is read where the copy put it; what was made before a loop is put into shared memory once. Both
    // leave registers to the sums.
    let from_outside = func.defining_region(left) != func.defining_region(func.op(op).result());
    let from_memory = is_loaded(func, left) || from_outside;
    let width = 32 / number.bits();
    let a = (!from_memory).then(|| LinearLayout::wgmma_operand(func.ty(left).shape(), &warps, width).ok());
    let a = match a {
        Some(None) => return None,
        Some(layout) => layout,
        None => None,
    };
    Some(ProductLayouts { acc, a, b: None })
}

fn mma_layouts(func: &Func, op: OpId, hardware: Hardware) -> Option<ProductLayouts> {
    let Sizes { m, n, number, .. } = sizes(func, op)?;
    let mut warps = [1, 1];
    while warps[0] * warps[1] < hardware.warps {
        let along_rows = is_chained(func, op) || m / 16 / warps[0] >= n / 8 / (2 * warps[1]).max(1);
        warps[usize::from(!along_rows)] *= 2;
    }
    let data = func.op(op);
    let shape = |index: usize| func.ty(data.operands()[index]).shape();
    let width = (32 / number.bits()).max(1);
    let instruction = if number == Scalar::F64 { MmaShape::M8N8 } else { MmaShape::M16N8 };
    let operand = |index, which| LinearLayout::mma_operand(shape(index), &warps, instruction, which, width).ok();
    Some(ProductLayouts {
        acc: LinearLayout::mma_accumulator(&[m, n], &warps, instruction).ok()?,
        a: Some(operand(0, Operand::A)?),
        b: Some(operand(1, Operand::B)?),
    })
}

fn fma_layouts(func: &Func, op: OpId, hardware: Hardware) -> ProductLayouts {
    let shape = func.ty(func.op(op).operands()[2]).shape();
    let elements: u64 = shape.iter().map(|&size| u64::from(size)).product();
    let mut each = vec![1; shape.len()];
    let mut left = (elements / u64::from(LANES * hardware.warps)).clamp(1, 16) as u32;
    for &dim in [shape.len() - 1, shape.len() - 2].iter() {
        each[dim] = left.min(4).min(shape[dim]);
        left /= each[dim];
    }
    let order: Vec<usize> = (0..shape.len()).rev().collect();
    ProductLayouts { acc: spread(shape, &order, &each, hardware), a: None, b: None }
}

/// Whether a value is what memory holds, perhaps transposed.
fn is_loaded(func: &Func, value: Value) -> bool {
    let Some(op) = func.def_op(value) else { return false };
    let data = func.op(op);
    matches!(data.kind, OpKind::Load(_) | OpKind::DescLoad)
        || matches!(data.kind, OpKind::Transpose { .. }) && is_loaded(func, data.operands()[0])
}

/// Whether the left operand is computed from another product, or the result becomes the left operand of one: then all
/// warps stand along the rows, and the one becomes the other without leaving its lane.
fn is_chained(func: &Func, op: OpId) -> bool {
    let data = func.op(op);
    comes_from_product(func, data.operands()[0]) || feeds_product(func, data.result())
}

/// How many operations between two products are looked at.
const CHAIN: usize = 64;

fn comes_from_product(func: &Func, value: Value) -> bool {
    let (mut open, mut seen) = (vec![value], HashSet::new());
    while let Some(value) = open.pop() {
        let Some(op) = func.def_op(value) else { continue };
        let kind = &func.op(op).kind;
        if matches!(kind, OpKind::Dot { .. }) {
            return true;
        }
        if is_elementwise(kind) && seen.len() < CHAIN && seen.insert(op) {
            open.extend_from_slice(func.op(op).operands());
        }
    }
    false
}

fn feeds_product(func: &Func, value: Value) -> bool {
    let (mut open, mut seen) = (vec![value], HashSet::new());
    while let Some(value) = open.pop() {
        for this in func.value(value).uses() {
            let kind = &func.op(this.op).kind;
            if matches!(kind, OpKind::Dot { .. }) && this.index == 0 {
                return true;
            }
            if is_elementwise(kind) && seen.len() < CHAIN && seen.insert(this.op) {
                open.extend_from_slice(func.op(this.op).results());
            }
        }
    }
    false
}

fn is_elementwise(kind: &OpKind) -> bool {
    matches!(kind.class(), OpClass::Elementwise(_))
}
