//! The kernel in AMX tiles: up to two by two tiles of `c`, two of `a` and two of `b`.
//!
//! A tile register holds up to 16 rows of 64 bytes. One configuration serves the whole product, because all sizes are
//! powers of two; it is loaded before the loops, and the tiles are released after them. Nothing of AMX's state is
//! live outside.

use inkwell::module::Linkage;
use inkwell::values::{IntValue, PointerValue};
use shoal_ir::Scalar;

use super::kernel::Views;
use super::pack::{each, each_of, further, stepped};
use super::plan::DotPlan;
use super::unit::Arithmetic;
use crate::shared::llvm::{Llvm, V};

/// Tile registers: 0 to 3 hold `c`, row by row.
const A: u32 = 4;
const B: u32 = 6;

/// Sizes of tiles, in rows and units.
#[derive(Copy, Clone)]
struct Tiles {
    /// Rows of `a` and `c`.
    rows: u32,
    /// Columns of `b` and `c`.
    cols: u32,
    /// Columns of `a` and rows of `b`.
    depth: u32,
}

/// Units of `k` that a tile holds.
pub(super) fn depth(plan: &DotPlan) -> u32 {
    plan.k_units().min(16)
}

/// Emits the product of `views` over so many depths of a tile, at least one; `a` has rows of units, `b` is packed.
pub(super) fn emit<'ctx>(llvm: &Llvm<'ctx>, plan: &DotPlan, views: &Views<'ctx>, steps: IntValue<'ctx>) {
    let block = plan.block;
    let tiles = Tiles { rows: block.rows.min(16), cols: block.lanes, depth: depth(plan) };
    let kernel = MicroKernel { llvm, plan, views, tiles, steps, down: block.rows / tiles.rows, right: block.vectors };
    llvm.intrinsic("llvm.x86.ldtilecfg", &[], &[configuration(llvm, tiles).into()]);
    // Along the rows of `c`, which are what is read and written most.
    each(llvm, plan.problem.m / block.rows, |row| {
        each(llvm, plan.problem.n / block.cols(), |col| {
            let a = stepped(llvm, views.a.base, row, views.a.block);
            let b = stepped(llvm, views.b.base, col, views.b.block);
            let c = stepped(llvm, views.c, row, u64::from(block.rows) * views.c_row);
            let c = stepped(llvm, c, col, u64::from(block.cols()) * views.c_col);
            kernel.block(a, b, c);
        });
    });
    llvm.intrinsic("llvm.x86.tilerelease", &[], &[]);
}

struct MicroKernel<'a, 'ctx> {
    llvm: &'a Llvm<'ctx>,
    plan: &'a DotPlan,
    views: &'a Views<'ctx>,
    tiles: Tiles,
    /// Depths of a tile along `k`.
    steps: IntValue<'ctx>,
    /// Tiles of `c` in a column of the block.
    down: u32,
    /// Tiles of `c` in a row of the block.
    right: u32,
}

impl<'ctx> MicroKernel<'_, 'ctx> {
    fn block(&self, a: PointerValue<'ctx>, b: PointerValue<'ctx>, c: PointerValue<'ctx>) {
        self.each_sum(|tile, down, right| self.load(tile, self.sum(c, down, right), self.views.c_row));
        each_of(self.llvm, self.steps, |k| self.step(a, b, k));
        self.each_sum(|tile, down, right| self.store(tile, self.sum(c, down, right), self.views.c_row));
    }

    /// Adds the products of one tile's depth of `k`.
    fn step(&self, a: PointerValue<'ctx>, b: PointerValue<'ctx>, k: IntValue<'ctx>) {
        let (llvm, views, tiles) = (self.llvm, self.views, self.tiles);
        let a = stepped(llvm, a, k, u64::from(tiles.depth) * views.a.k);
        let b = stepped(llvm, b, k, u64::from(tiles.depth) * views.b.k);
        for right in 0..self.right {
            let b = further(llvm, b, u64::from(right * tiles.cols) * views.b.outer);
            self.load(B + right, b, views.b.k);
        }
        for down in 0..self.down {
            let a = further(llvm, a, u64::from(down * tiles.rows) * views.a.outer);
            self.load(A + down, a, views.a.outer);
        }
        let multiply = match self.plan.arithmetic {
            Arithmetic::AmxBf16 => "llvm.x86.tdpbf16ps",
            Arithmetic::AmxI8 if self.plan.problem.a.elem == Scalar::U8 => "llvm.x86.tdpbuud",
            Arithmetic::AmxI8 => "llvm.x86.tdpbssd",
            Arithmetic::F32 | Arithmetic::F64 | Arithmetic::I32 | Arithmetic::I16Pairs | Arithmetic::Bf16Pairs => {
                unreachable!("not for AMX")
            }
        };
        self.each_sum(|tile, down, right| {
            llvm.intrinsic(multiply, &[], &[self.tile(tile), self.tile(A + down), self.tile(B + right)]);
        });
    }

    fn each_sum(&self, mut visit: impl FnMut(u32, u32, u32)) {
        for down in 0..self.down {
            for right in 0..self.right {
                visit(2 * down + right, down, right);
            }
        }
    }

    /// The address of a tile of `c`.
    fn sum(&self, c: PointerValue<'ctx>, down: u32, right: u32) -> PointerValue<'ctx> {
        let bytes = u64::from(down * self.tiles.rows) * self.views.c_row
            + u64::from(right * self.tiles.cols) * self.views.c_col;
        further(self.llvm, c, bytes)
    }

    fn load(&self, tile: u32, at: PointerValue<'ctx>, stride: u64) {
        let stride = self.llvm.const_i64(stride as i64);
        self.llvm.intrinsic("llvm.x86.tileloadd64", &[], &[self.tile(tile), at.into(), stride.into()]);
    }

    fn store(&self, tile: u32, at: PointerValue<'ctx>, stride: u64) {
        let stride = self.llvm.const_i64(stride as i64);
        self.llvm.intrinsic("llvm.x86.tilestored64", &[], &[self.tile(tile), at.into(), stride.into()]);
    }

    fn tile(&self, tile: u32) -> V<'ctx> {
        self.llvm.i8().const_int(tile.into(), false).into()
    }
}

/// A constant of the module: the block of memory that `ldtilecfg` reads.
fn configuration<'ctx>(llvm: &Llvm<'ctx>, tiles: Tiles) -> PointerValue<'ctx> {
    let Tiles { rows, cols, depth } = tiles;
    let name = format!("dot.tiles.{rows}x{cols}x{depth}");
    if let Some(global) = llvm.module.get_global(&name) {
        return global.as_pointer_value();
    }
    // Byte 0: palette 1. From byte 16: bytes per row of each tile, 16 bits. From byte 48: rows of each tile.
    let mut bytes = [0u8; 64];
    bytes[0] = 1;
    let mut set = |tile: u32, rows: u32, units: u32| {
        let tile = tile as usize;
        bytes[16 + 2 * tile] = 4 * units as u8;
        bytes[48 + tile] = rows as u8;
    };
    (0..4).for_each(|tile| set(tile, rows, cols));
    (A..A + 2).for_each(|tile| set(tile, rows, depth));
    (B..B + 2).for_each(|tile| set(tile, depth, cols));
    let value = llvm.context.const_string(&bytes, false);
    let global = llvm.module.add_global(value.get_type(), None, &name);
    global.set_initializer(&value);
    global.set_constant(true);
    global.set_linkage(Linkage::Private);
    global.set_alignment(64);
    global.as_pointer_value()
}
