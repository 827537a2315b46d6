//! The kernel in AMX tiles: up to two by two tiles of `c`, two of `a` and two of `b`.
//!
//! A tile register holds up to 16 rows of 64 bytes. One configuration serves the whole product, because all sizes are
//! powers of two; it is loaded before the loops, and the tiles are released after them. Nothing of AMX's state is
//! live outside.

use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::values::{IntValue, PointerValue};
use shoal_ir::Scalar;

use super::kernel::{Rounds, Sums, View};
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

/// The left factor: rows of units.
#[derive(Copy, Clone)]
pub(super) enum Factor<'ctx> {
    /// One matrix, so many depths of a tile long.
    Whole { view: View<'ctx>, steps: u32 },
    /// The matrices of several rounds of a loop, each `steps` depths long.
    Rounds { rounds: Rounds<'ctx>, steps: u32 },
}

/// What a product of tiles is made of; `b` is packed.
#[derive(Copy, Clone)]
pub(super) struct Product<'ctx> {
    pub(super) a: Factor<'ctx>,
    pub(super) b: View<'ctx>,
    pub(super) sums: Sums<'ctx>,
    /// Whether `c` is only written.
    pub(super) from_zero: IntValue<'ctx>,
}

impl<'ctx> Product<'ctx> {
    /// Emits the product.
    pub(super) fn emit(self, llvm: &Llvm<'ctx>, plan: &DotPlan) {
        self.emit_blocks(llvm, plan, |row, col| self.sums.block(llvm, plan, row, col), |_, _| {});
    }

    /// Emits the product with blocks of `c` that lie at `place`, and with `visit` after each of them.
    pub(super) fn emit_blocks(
        self,
        llvm: &Llvm<'ctx>,
        plan: &DotPlan,
        place: impl Fn(IntValue<'ctx>, IntValue<'ctx>) -> PointerValue<'ctx>,
        mut visit: impl FnMut(IntValue<'ctx>, IntValue<'ctx>),
    ) {
        let block = plan.block;
        let tiles = Tiles { rows: block.rows.min(16), cols: block.lanes, depth: depth(plan) };
        let (down, right) = (block.rows / tiles.rows, block.vectors);
        let kernel = MicroKernel { llvm, plan, product: self, tiles, down, right };
        llvm.intrinsic("llvm.x86.ldtilecfg", &[], &[configuration(llvm, tiles).into()]);
        // Along the rows of `c`, which are what is read and written most.
        each(llvm, plan.problem.m / block.rows, |row| {
            each(llvm, plan.problem.n / block.cols(), |col| {
                kernel.block(row, stepped(llvm, self.b.base, col, self.b.block), place(row, col));
                visit(row, col);
            });
        });
        llvm.intrinsic("llvm.x86.tilerelease", &[], &[]);
    }
}

struct MicroKernel<'a, 'ctx> {
    llvm: &'a Llvm<'ctx>,
    plan: &'a DotPlan,
    product: Product<'ctx>,
    tiles: Tiles,
    /// Tiles of `c` in a column of the block.
    down: u32,
    /// Tiles of `c` in a row of the block.
    right: u32,
}

/// Rows of units at one distance.
#[derive(Copy, Clone)]
struct Rows<'ctx> {
    base: PointerValue<'ctx>,
    distance: IntValue<'ctx>,
}

impl<'ctx> MicroKernel<'_, 'ctx> {
    /// The block of `c` that is at `c`, in this row of blocks.
    fn block(&self, row: IntValue<'ctx>, b: PointerValue<'ctx>, c: PointerValue<'ctx>) {
        let llvm = self.llvm;
        let c_row = llvm.const_i64(self.product.sums.row as i64);
        self.start(c, c_row);
        let depth = u64::from(self.tiles.depth);
        let b_step = depth * self.product.b.k;
        match self.product.a {
            Factor::Whole { view, steps } => {
                let base = stepped(llvm, view.base, row, view.block);
                let distance = llvm.const_i64(view.outer as i64);
                each(llvm, steps, |k| {
                    let a = Rows { base: stepped(llvm, base, k, depth * view.k), distance };
                    self.step(a, stepped(llvm, b, k, b_step));
                });
            }
            Factor::Rounds { rounds, steps } => {
                let (some, after) = (llvm.new_block("rounds"), llvm.new_block("summed"));
                let none = llvm.icmp(IntPredicate::EQ, rounds.count.into(), llvm.const_i64(0).into());
                llvm.branch(none.into_int_value(), after, some);
                llvm.builder.position_at_end(some);
                each_of(llvm, rounds.count, |round| {
                    let (base, distance) = rounds.entry(llvm, round);
                    let rows = llvm.mul64(row, llvm.const_i64(self.plan.block.rows.into()));
                    let base = llvm.offset(base, llvm.mul64(rows, distance));
                    let b = stepped(llvm, b, round, u64::from(steps) * b_step);
                    let unit = u64::from(self.plan.arithmetic.unit_bytes());
                    each(llvm, steps, |k| {
                        let a = Rows { base: stepped(llvm, base, k, depth * unit), distance };
                        self.step(a, stepped(llvm, b, k, b_step));
                    });
                });
                llvm.jump(after);
                llvm.builder.position_at_end(after);
            }
        }
        self.each_sum(|tile, down, right| self.store(tile, self.sum(c, down, right), c_row));
    }

    /// Gives the sums of a block the values that products are added to.
    fn start(&self, c: PointerValue<'ctx>, c_row: IntValue<'ctx>) {
        let llvm = self.llvm;
        let clear = || self.each_sum(|tile, _, _| _ = llvm.intrinsic("llvm.x86.tilezero", &[], &[self.tile(tile)]));
        let load = || self.each_sum(|tile, down, right| self.load(tile, self.sum(c, down, right), c_row));
        match self.product.from_zero.get_zero_extended_constant() {
            Some(0) => load(),
            Some(_) => clear(),
            None => {
                let [cleared, loaded, after] = ["clear", "load", "start"].map(|name| llvm.new_block(name));
                llvm.branch(self.product.from_zero, cleared, loaded);
                llvm.builder.position_at_end(cleared);
                clear();
                llvm.jump(after);
                llvm.builder.position_at_end(loaded);
                load();
                llvm.jump(after);
                llvm.builder.position_at_end(after);
            }
        }
    }

    /// Adds the products of one tile's depth of `k`.
    fn step(&self, a: Rows<'ctx>, b: PointerValue<'ctx>) {
        let (llvm, tiles) = (self.llvm, self.tiles);
        let b_row = llvm.const_i64(self.product.b.k as i64);
        let load_b = |right: u32| {
            let b = further(llvm, b, u64::from(right * tiles.cols) * self.product.b.outer);
            self.load(B + right, b, b_row);
        };
        let load_a = |down: u32| {
            let rows = llvm.mul64(a.distance, llvm.const_i64(i64::from(down * tiles.rows)));
            self.load(A + down, if down == 0 { a.base } else { llvm.offset(a.base, rows) }, a.distance);
        };
        let multiply = match self.plan.arithmetic {
            Arithmetic::AmxBf16 => "llvm.x86.tdpbf16ps",
            Arithmetic::AmxI8 if self.plan.problem.a.elem == Scalar::U8 => "llvm.x86.tdpbuud",
            Arithmetic::AmxI8 => "llvm.x86.tdpbssd",
            Arithmetic::F32 | Arithmetic::F64 | Arithmetic::I32 | Arithmetic::I16Pairs | Arithmetic::Bf16Pairs => {
                unreachable!("not for AMX")
            }
        };
        // Each factor is loaded right before its first product.
        self.each_sum(|tile, down, right| {
            if down == 0 {
                load_b(right);
            }
            if right == 0 {
                load_a(down);
            }
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
        let (tiles, sums) = (self.tiles, self.product.sums);
        further(self.llvm, c, u64::from(down * tiles.rows) * sums.row + u64::from(right * tiles.cols) * sums.col)
    }

    fn load(&self, tile: u32, at: PointerValue<'ctx>, stride: IntValue<'ctx>) {
        self.llvm.intrinsic("llvm.x86.tileloadd64", &[], &[self.tile(tile), at.into(), stride.into()]);
    }

    fn store(&self, tile: u32, at: PointerValue<'ctx>, stride: IntValue<'ctx>) {
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
