//! Products by `wgmma`: four warps together multiply 64 rows with operands that lie in shared memory. A may also be in
//! registers.

use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_ir::{OpId, Scalar, Value};
use shoal_layout::{InDim, LinearLayout, Major, Place, TmaSwizzle};

use super::super::emitter::{Emitter, Held, SharedTile};
use super::super::inline_ptx::{Does, operand_list};
use super::super::pipeline::swizzled_buffer;
use super::super::place::registers;
use super::super::words::pack;
use crate::shared::llvm::V;

/// The K of one instruction, in elements of 16 bits.
const DEPTH: u32 = 16;

/// An operand in shared memory, as a descriptor of the hardware says it.
struct Described<'ctx> {
    base: IntValue<'ctx>,
    swizzle: TmaSwizzle,
    /// K is the contiguous dimension.
    along_k: bool,
    /// The sizes along M (or N) and along K.
    outer: u32,
    inner: u32,
}

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn dot_by_wgmma(&mut self, op: OpId, columns: u32) {
        let func = self.func;
        let (llvm, data) = (self.llvm, func.op(op));
        let [left, right, start] = [0, 1, 2].map(|index| data.operands()[index]);
        let name = if self.number(left) == Scalar::BF16 { "bf16" } else { "f16" };
        let inner = func.ty(left).shape()[1];
        let acc_layout = self.layout(start).clone();
        let a_in_registers = self.is_wgmma_operand(left);
        let Some((a, b)) = self.described(op, left, right, a_in_registers) else {
            self.fail(op, "the operands of this product cannot be read by the matrix unit");
            let numbers = self.numbers(start).to_vec();
            return self.hold_tile(data.result(), numbers);
        };
        let acc = self.accumulator(start);
        let a_words = if a_in_registers { self.a_fragments(left) } else { Vec::new() };
        let (row_part, column_part) = self.group_place(&acc_layout);
        let each = (columns / 2) as usize;
        let mut operands: Vec<V<'ctx>> = Vec::new();
        let mut lines = vec!["wgmma.fence.sync.aligned;".to_owned()];
        let first_operand = acc.len();
        for k in (0..inner).step_by(DEPTH as usize) {
            for group in 0..registers(&acc_layout) as usize / each {
                let at = acc_layout.apply(Place { register: (group * each) as u32, ..Place::default() });
                let sums = operand_list(group * each, each);
                let mut push = |value: V<'ctx>| {
                    operands.push(value);
                    first_operand + operands.len() - 1
                };
                let (a_text, a_flags) = match &a {
                    None => {
                        let key = [at[0], k];
                        let words = &a_words.iter().find(|(place, _)| *place == key).expect("the operand's rows").1;
                        let names: Vec<String> = words.iter().map(|&word| format!("${}", push(word))).collect();
                        (format!("{{{}}}", names.join(", ")), String::new())
                    }
                    Some(a) => {
                        let descriptor = self.descriptor(a, at[0], row_part, k);
                        (format!("${}", push(descriptor)), format!(", {}", u8::from(!a.along_k)))
                    }
                };
                let descriptor = self.descriptor(&b, at[1], column_part, k);
                let b_text = format!("${}", push(descriptor));
                lines.push(format!(
                    "wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{name}.{name} {sums}, {a_text}, {b_text}, p, 1, 1{a_flags}, {};",
                    u8::from(!b.along_k)
                ));
            }
        }
        lines.push("wgmma.commit_group.sync.aligned;".to_owned());
        // One may be unfinished while the next begins; that before is over then.
        let unfinished = u8::from(self.unfinished == Some(op));
        lines.push(format!("wgmma.wait_group.sync.aligned {unfinished};"));
        let text = format!("{{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n{}\n}}", lines.join("\n"));
        let types = vec![llvm.f32().into(); acc.len()];
        let sums = llvm.ptx(&text, &types, &acc, &operands, Does::Act);
        self.hold_accumulator(data.result(), sums);
    }

    /// Waits for all products; gives the values they were added to, among others that stay.
    pub(in super::super) fn finish_products(&mut self, carried: Vec<V<'ctx>>) -> Vec<V<'ctx>> {
        let llvm = self.llvm;
        let sums: Vec<V<'ctx>> = carried.iter().copied().filter(|v| v.get_type() == llvm.f32().into()).collect();
        let types = vec![llvm.f32().into(); sums.len()];
        let mut finished = llvm.ptx("wgmma.wait_group.sync.aligned 0;", &types, &sums, &[], Does::Act).into_iter();
        carried
            .into_iter()
            .map(|v| if v.get_type() == llvm.f32().into() { finished.next().expect("one for each") } else { v })
            .collect()
    }

    fn is_wgmma_operand(&self, value: Value) -> bool {
        let layout = self.layout(value);
        let warps = self.func.gpu.num_warps;
        let grids =
            (2..=5).map(|bit| 1 << bit).filter(|rows| warps.is_multiple_of(*rows)).map(|rows| [rows, warps / rows]);
        let shape = self.func.ty(value).shape();
        let in_shared = matches!(self.held[&value], Held::Shared(_));
        !in_shared && grids.into_iter().any(|grid| LinearLayout::wgmma_operand(shape, &grid, 2).as_ref() == Ok(layout))
    }

    /// A's registers as words, four for each instruction, by the element they begin at.
    fn a_fragments(&mut self, value: Value) -> Vec<([u32; 2], Vec<V<'ctx>>)> {
        let layout = self.layout(value).clone();
        let elem = self.elem(value);
        let numbers = self.numbers(value);
        (0..registers(&layout))
            .step_by(8)
            .map(|first| {
                let at = layout.apply(Place { register: first, ..Place::default() });
                ([at[0], at[1]], pack(self.llvm, elem, &numbers[first as usize..first as usize + 8], 32))
            })
            .collect()
    }

    /// Both operands in shared memory; those that are not yet there are written.
    fn described(
        &mut self,
        op: OpId,
        left: Value,
        right: Value,
        a_in_registers: bool,
    ) -> Option<(Option<Described<'ctx>>, Described<'ctx>)> {
        let func = self.func;
        let in_registers = |e: &Self, value: Value| !matches!(e.held[&value], Held::Shared(_));
        let bytes = |value: Value| (func.ty(value).as_tile().map_or(0, |t| t.len()) as u32 * 2).next_multiple_of(1024);
        let (write_a, write_b) = (!a_in_registers && in_registers(self, left), in_registers(self, right));
        let mut tiles = Vec::new();
        if write_a || write_b {
            self.shared.floor = self.shared.floor.next_multiple_of(1024);
            let total = if write_a { bytes(left) } else { 0 } + if write_b { bytes(right) } else { 0 };
            let lists: Vec<_> = [(write_a, left), (write_b, right)]
                .into_iter()
                .filter(|(write, _)| *write)
                .map(|(_, value)| (value, self.numbers(value)))
                .collect();
            let mut at = self.use_scratch(total);
            for (value, numbers) in lists {
                let memory = swizzled_buffer(func.ty(value).shape(), 16, Major::Row)?;
                let base = self.llvm.const_i32(at.into());
                let (layout, elem) = (self.layout(value).clone(), self.elem(value));
                self.write_shared(&numbers, &layout, &memory, base, elem);
                tiles.push((value, SharedTile { base, memory }));
                at += bytes(value);
            }
            self.llvm.ptx_act("fence.proxy.async.shared::cta;", &[]);
            self.block_barrier();
            self.scratch_may_be_busy();
        }
        let find = |e: &Self, value: Value| match &e.held[&value] {
            Held::Shared(tile) => Some(tile.clone()),
            Held::Scalar(_) | Held::Tile(_) => tiles.iter().find(|(v, _)| *v == value).map(|(_, tile)| tile.clone()),
        };
        let _ = op;
        let a = if a_in_registers { None } else { Some(describe(&find(self, left)?, Side::Left)?) };
        let b = describe(&find(self, right)?, Side::Right)?;
        Some((a, b))
    }

    /// Which rows and columns this warp's group begins at, beyond those of the first group.
    fn group_place(&self, layout: &LinearLayout) -> (IntValue<'ctx>, IntValue<'ctx>) {
        let part = |dim: usize| {
            let columns: Vec<u64> = layout
                .bases(InDim::Warp)
                .enumerate()
                .map(|(bit, basis)| if bit < 2 { 0 } else { u64::from(basis[dim]) })
                .collect();
            self.thread_number(&[], &columns).value
        };
        (part(0), part(1))
    }

    /// The descriptor of an operand from `first + part` along M (or N) and `k` along K.
    fn descriptor(&self, tile: &Described<'ctx>, first: u32, part: IntValue<'ctx>, k: u32) -> V<'ctx> {
        let llvm = self.llvm;
        let chunk = tile.swizzle.chunk_bytes();
        let (constant, moved, leading) = if tile.along_k {
            let in_row = k * 2;
            let moved = llvm.bin(Op::Mul, part.into(), llvm.const_i32(chunk.into()).into());
            (in_row / chunk * tile.outer * chunk + in_row % chunk + first * chunk, moved, 1)
        } else {
            // A chunk is so many elements wide; a group may begin inside of one.
            let (wide, across) = (chunk / 2, tile.inner * chunk);
            let chunks = llvm.bin(Op::LShr, part.into(), llvm.const_i32(wide.ilog2().into()).into());
            let inside = llvm.bin(Op::And, part.into(), llvm.const_i32(i64::from(wide) - 1).into());
            let chunks = llvm.bin(Op::Mul, chunks, llvm.const_i32(across.into()).into());
            let inside = llvm.bin(Op::Shl, inside, llvm.const_i32(1).into());
            (first / wide * across + first % wide * 2 + k * chunk, llvm.bin(Op::Add, chunks, inside), across)
        };
        let offset = llvm.bin(Op::Add, tile.base.into(), moved);
        let offset = llvm.bin(Op::Add, offset, llvm.const_i32(constant.into()).into());
        let address = self.shared_address(offset.into_int_value());
        let wide = llvm.cast(Op::ZExt, address, llvm.i64().into());
        let address =
            llvm.bin(Op::And, llvm.bin(Op::LShr, wide, llvm.const_i64(4).into()), llvm.const_i64(0x3fff).into());
        let swizzle: u64 = match tile.swizzle {
            TmaSwizzle::None => 0,
            TmaSwizzle::B128 => 1,
            TmaSwizzle::B64 => 2,
            TmaSwizzle::B32 => 3,
        };
        let stride = u64::from(8 * chunk / 16);
        let leading = u64::from(leading.div_ceil(16)) & 0x3fff;
        let fixed = leading << 16 | stride << 32 | swizzle << 62;
        llvm.bin(Op::Or, address, llvm.i64().const_int(fixed, false).into())
    }
}

/// Which operand of a product.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// How the hardware would read a tile; `None` if it cannot.
fn describe<'ctx>(tile: &SharedTile<'ctx>, side: Side) -> Option<Described<'ctx>> {
    let shape = tile.memory.shape();
    let &[rows, columns] = &shape[..] else { return None };
    let (outer, inner) = if side == Side::Left { (rows, columns) } else { (columns, rows) };
    for swizzle in [TmaSwizzle::B128, TmaSwizzle::B64, TmaSwizzle::B32] {
        for major in [Major::Row, Major::Column] {
            if LinearLayout::nvmma_shared(&shape, 16, swizzle, major).as_ref() == Ok(&tile.memory) {
                let along_k = (major == Major::Row) == (side == Side::Left);
                return Some(Described { base: tile.base, swizzle, along_k, outer, inner });
            }
        }
    }
    None
}
