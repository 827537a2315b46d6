//! Conversions between layouts, as `shoal_layout`'s plans say.

use inkwell::values::{InstructionOpcode as Op, IntValue};
use shoal_abi::NvptxArch;
use shoal_ir::{Elem, OpId};
use shoal_layout::{
    AccessKind, Barrier, ConversionOptions, ConversionPlan, Direction, InDim, LinearIndex, LinearLayout, MatrixAccess,
    MatrixOrder, MemoryPlan, Place, SharedAccess, ShufflePlan,
};

use super::emitter::{Emitter, Held, SharedTile};
use super::inline_ptx::{Does, operand_list};
use super::place::registers;
use super::words::{pack, unpack, words_of};
use crate::shared::llvm::V;
use crate::shared::value_type::{from_memory, to_memory};

/// The scratch that one conversion may use; larger tiles go in several passes.
const SCRATCH: u32 = 64 << 10;

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn convert_layout(&mut self, op: OpId) {
        let func = self.func;
        let data = func.op(op);
        let (source, result) = (data.operands()[0], data.result());
        let target = self.layout(result).clone();
        let elem = self.elem(result);
        if let Held::Shared(tile) = self.held[&source].clone() {
            let numbers = self.read_shared(&tile, &target, elem);
            self.hold_tile(result, numbers);
            return;
        }
        let numbers = self.numbers(source);
        let from = self.layout(source).clone();
        match self.convert(&numbers, &from, &target, elem) {
            Ok(numbers) => self.hold_tile(result, numbers),
            Err(why) => {
                self.fail(op, format!("a tile cannot be brought from one layout to another: {why}"));
                let count = registers(&target) as usize;
                self.hold_tile(result, vec![numbers[0]; count]);
            }
        }
    }

    /// The matrix instructions between registers and shared memory.
    pub(super) fn matrix_access(&self) -> MatrixAccess {
        if self.arch >= NvptxArch::Sm90 { MatrixAccess::LoadAndStore } else { MatrixAccess::Load }
    }

    /// A tile in another layout.
    pub(super) fn convert(
        &mut self,
        numbers: &[V<'ctx>],
        from: &LinearLayout,
        to: &LinearLayout,
        elem: Elem,
    ) -> Result<Vec<V<'ctx>>, shoal_layout::LayoutError> {
        let room = self.shared.limit.saturating_sub(self.shared.floor).min(SCRATCH);
        let options =
            ConversionOptions { element_bits: elem.bytes() * 8, matrix: self.matrix_access(), scratch_bytes: room };
        Ok(match from.plan_conversion(to, options)? {
            ConversionPlan::Nothing => {
                let nearest = to.invert_and_compose(from)?;
                self.by_registers(numbers, to, &nearest.index_along(InDim::Register))
            }
            ConversionPlan::Registers(index) => self.by_registers(numbers, to, &index),
            ConversionPlan::Shuffles(plan) => self.by_shuffles(numbers, to, &plan, elem),
            ConversionPlan::Memory(plan) => self.by_memory(numbers, to, &plan, elem),
        })
    }

    /// Which register has an element may depend on the thread: of copies, each thread takes its own.
    fn by_registers(&self, numbers: &[V<'ctx>], to: &LinearLayout, index: &LinearIndex) -> Vec<V<'ctx>> {
        (0..registers(to)).map(|register| self.pick(numbers, index, register)).collect()
    }

    /// One of `values`, by a number that depends on the thread: `index` at `register`.
    fn pick(&self, values: &[V<'ctx>], index: &LinearIndex, register: u32) -> V<'ctx> {
        let constant = index.apply(Place { register, ..Place::default() }) as usize;
        let columns = |dim| index.columns(dim);
        let moving = columns(InDim::Lane).iter().chain(columns(InDim::Warp)).fold(0, |bits, &column| bits | column);
        if moving == 0 {
            return values[constant];
        }
        let thread = self.thread_number(columns(InDim::Lane), columns(InDim::Warp));
        // A tree of selections, one level for each bit that may change.
        let bits: Vec<u32> = (0..32).filter(|bit| moving >> bit & 1 == 1).collect();
        let mut level: Vec<V<'ctx>> = (0..1usize << bits.len())
            .map(|picked| {
                let flipped = bits.iter().enumerate().fold(0, |sum, (at, &bit)| sum | (picked >> at & 1) << bit);
                values[constant ^ flipped]
            })
            .collect();
        let llvm = self.llvm;
        for &bit in &bits {
            let mask = llvm.const_i32(1 << bit).into();
            let set = llvm.bin(Op::And, thread.value.into(), mask);
            let is_set = llvm.icmp(inkwell::IntPredicate::NE, set, llvm.const_i32(0).into());
            level = level.chunks(2).map(|pair| llvm.select(is_set, pair[1], pair[0])).collect();
        }
        level[0]
    }

    fn by_shuffles(&mut self, numbers: &[V<'ctx>], to: &LinearLayout, plan: &ShufflePlan, elem: Elem) -> Vec<V<'ctx>> {
        let llvm = self.llvm;
        let stored: Vec<V<'ctx>> = numbers.iter().map(|&v| to_memory(llvm, elem, v)).collect();
        let mut rounds = Vec::with_capacity(plan.rounds as usize);
        for round in 0..plan.rounds {
            let given = self.pick(&stored, &plan.select, round);
            let lane = {
                let columns = |dim| plan.source_lane.columns(dim);
                let thread = self.thread_number(columns(InDim::Lane), columns(InDim::Warp));
                self.with_constant(thread, plan.source_lane.apply(Place { register: round, ..Place::default() }).into())
            };
            rounds.push(self.shuffle_bits(given, |e, word| e.shuffle_word("idx", word, lane.into())));
        }
        (0..registers(to)).map(|register| from_memory(llvm, elem, self.pick(&rounds, &plan.place, register))).collect()
    }

    /// Sends a number of any width through a shuffle of 32-bit words.
    pub(super) fn shuffle_bits(&self, value: V<'ctx>, shuffle: impl Fn(&Self, V<'ctx>) -> V<'ctx>) -> V<'ctx> {
        let llvm = self.llvm;
        let ty = value.get_type();
        let bits = match ty {
            inkwell::types::BasicTypeEnum::IntType(int) => int.get_bit_width(),
            inkwell::types::BasicTypeEnum::FloatType(float) => float.get_bit_width(),
            inkwell::types::BasicTypeEnum::PointerType(_) => {
                let whole = self.shuffle_bits(llvm.ptr_to_int(value.into_pointer_value()).into(), shuffle);
                return llvm.int_to_ptr(whole.into_int_value()).into();
            }
            inkwell::types::BasicTypeEnum::ArrayType(_)
            | inkwell::types::BasicTypeEnum::StructType(_)
            | inkwell::types::BasicTypeEnum::VectorType(_)
            | inkwell::types::BasicTypeEnum::ScalableVectorType(_) => unreachable!("a number"),
        };
        let raw = llvm.cast(Op::BitCast, value, llvm.int_type(bits).into());
        let moved = if bits == 64 {
            let halves = unpack(llvm, shoal_ir::Scalar::I32.into(), &[raw], 2);
            let halves: Vec<V<'ctx>> = halves.into_iter().map(|half| shuffle(self, half)).collect();
            pack(llvm, shoal_ir::Scalar::I32.into(), &halves, 64)[0]
        } else {
            let wide = llvm.cast(Op::ZExt, raw, llvm.i32().into());
            llvm.cast(Op::Trunc, shuffle(self, wide), llvm.int_type(bits).into())
        };
        llvm.cast(Op::BitCast, moved, ty)
    }

    /// One shuffle of all lanes: `idx`, `bfly`, `up` or `down`.
    pub(super) fn shuffle_word(&self, mode: &str, word: V<'ctx>, by: V<'ctx>) -> V<'ctx> {
        let clamp = if mode == "up" { 0 } else { 31 };
        let text = format!("shfl.sync.{mode}.b32 $0, $1, $2, {clamp}, -1;");
        self.llvm.ptx(&text, &[self.llvm.i32().into()], &[], &[word, by], Does::Exchange)[0]
    }

    fn by_memory(&mut self, numbers: &[V<'ctx>], to: &LinearLayout, plan: &MemoryPlan, elem: Elem) -> Vec<V<'ctx>> {
        let llvm = self.llvm;
        let mut result: Vec<Option<V<'ctx>>> = vec![None; registers(to) as usize];
        for pass in 0..plan.passes() {
            let flip = plan.pass(pass);
            let base = self.use_scratch(plan.scratch_bytes() as u32);
            let base = llvm.const_i32(base.into());
            self.write_access(numbers, &plan.store, base, elem, flip.source);
            match plan.barrier {
                // A warp may overtake others only if none of them still reads what it will write next.
                Barrier::Warp => self.warp_barrier(),
                Barrier::Block => {
                    self.block_barrier();
                    self.scratch_is_read();
                }
            }
            self.read_access(&mut result, &plan.load, base, elem, flip.target);
        }
        result.into_iter().map(|number| number.expect("every register is read")).collect()
    }

    /// Writes registers, xored with `flip`, to shared memory.
    pub(super) fn write_access(
        &mut self,
        numbers: &[V<'ctx>],
        access: &SharedAccess,
        base: IntValue<'ctx>,
        elem: Elem,
        flip: u32,
    ) {
        let addresses = self.access_addresses(access, base);
        let active = (access.idle_warps != 0).then(|| {
            let llvm = self.llvm;
            let idle = llvm.bin(Op::And, self.warp.into(), llvm.const_i32(access.idle_warps.into()).into());
            llvm.icmp(inkwell::IntPredicate::EQ, idle, llvm.const_i32(0).into()).into_int_value()
        });
        self.when(active, |e| {
            for (list, &address) in access.registers.iter().zip(&addresses) {
                let values: Vec<V<'ctx>> = list.iter().map(|&register| numbers[(register ^ flip) as usize]).collect();
                match access.kind {
                    AccessKind::Vector { elements } => e.store_words(&values, address, elem, elements),
                    AccessKind::Matrix { matrices, order } => e.store_matrix(&values, address, elem, matrices, order),
                }
            }
        });
    }

    /// Reads registers, xored with `flip`, from shared memory.
    fn read_access(
        &self,
        result: &mut [Option<V<'ctx>>],
        access: &SharedAccess,
        base: IntValue<'ctx>,
        elem: Elem,
        flip: u32,
    ) {
        let addresses = self.access_addresses(access, base);
        for (list, &address) in access.registers.iter().zip(&addresses) {
            let values = match access.kind {
                AccessKind::Vector { elements } => self.load_words(address, elem, elements),
                AccessKind::Matrix { matrices, order } => self.load_matrix(address, elem, matrices, order),
            };
            for (&register, value) in list.iter().zip(values) {
                result[(register ^ flip) as usize] = Some(value);
            }
        }
        for &(copy, register) in &access.copies {
            result[(copy ^ flip) as usize] = result[(register ^ flip) as usize];
        }
    }

    /// The address in bytes that this thread gives to each instruction of an access.
    pub(super) fn access_addresses(&self, access: &SharedAccess, base: IntValue<'ctx>) -> Vec<IntValue<'ctx>> {
        let add = |(thread, constant)| {
            let offset = self.with_constant(thread, constant);
            self.llvm.builder.build_int_nuw_add(base, offset, "").expect("integers")
        };
        self.access_parts(access).into_iter().map(add).collect()
    }

    /// As [`Emitter::access_addresses`], but as instructions take them: one sum for all that differ by a constant, which
    /// the assembler then writes into the instruction.
    pub(super) fn window_addresses(&self, access: &SharedAccess, base: IntValue<'ctx>) -> Vec<V<'ctx>> {
        let llvm = self.llvm;
        let window = self.shared_address(base);
        let mut known: Vec<(IntValue<'ctx>, u64, V<'ctx>)> = Vec::new();
        let parts = self.access_parts(access).into_iter();
        parts
            .map(|(thread, constant)| {
                let (inside, beyond) = thread.split(constant);
                let same = known.iter().find(|(number, bits, _)| *number == thread.value && *bits == inside);
                let sum = same.map(|(_, _, sum)| *sum).unwrap_or_else(|| {
                    let sum = llvm.bin(Op::Add, window, self.with_constant(thread, inside).into());
                    known.push((thread.value, inside, sum));
                    sum
                });
                llvm.bin(Op::Add, sum, llvm.const_i32(beyond as i64).into())
            })
            .collect()
    }

    /// For each instruction of an access, a number of this thread and a constant: their sum over F2 is its address.
    fn access_parts(&self, access: &SharedAccess) -> Vec<(super::place::ThreadNumber<'ctx>, u64)> {
        let bytes = u64::from(access.element_bits / 8);
        let at = |instruction, lane, warp| u64::from(access.address(instruction, lane, warp)) * bytes;
        let warp_bits = access.offset.columns(InDim::Warp).len();
        let mut known: Option<(Vec<u64>, Vec<u64>, super::place::ThreadNumber<'ctx>)> = None;
        (0..access.registers.len())
            .map(|instruction| {
                let zero = at(instruction, 0, 0);
                let lanes: Vec<u64> = (0..5).map(|bit| at(instruction, 1 << bit, 0) ^ zero).collect();
                let warps: Vec<u64> = (0..warp_bits).map(|bit| at(instruction, 0, 1 << bit) ^ zero).collect();
                let thread = match &known {
                    Some((l, w, thread)) if *l == lanes && *w == warps => *thread,
                    _ => {
                        let thread = self.thread_number(&lanes, &warps);
                        known = Some((lanes, warps, thread));
                        thread
                    }
                };
                (thread, zero)
            })
            .collect()
    }

    fn store_words(&self, values: &[V<'ctx>], address: IntValue<'ctx>, elem: Elem, elements: u32) {
        let llvm = self.llvm;
        let (word_bits, count) = words_of(elem, elements);
        let words = pack(llvm, elem, values, word_bits);
        self.store_shared(vector_of(llvm, &words), address, word_bits / 8 * count);
    }

    fn load_words(&self, address: IntValue<'ctx>, elem: Elem, elements: u32) -> Vec<V<'ctx>> {
        let llvm = self.llvm;
        let (word_bits, count) = words_of(elem, elements);
        let word = llvm.int_type(word_bits);
        let words = if count == 1 {
            vec![self.load_shared(word, address, word_bits / 8)]
        } else {
            let loaded = self.load_shared(word.vec_type(count), address, word_bits / 8 * count).into_vector_value();
            (0..count).map(|at| llvm.extract(loaded, at.into())).collect()
        };
        unpack(llvm, elem, &words, elements as usize)
    }

    fn load_matrix(&self, address: IntValue<'ctx>, elem: Elem, matrices: u32, order: MatrixOrder) -> Vec<V<'ctx>> {
        let (count, llvm) = (matrices as usize, self.llvm);
        let text = format!(
            "ldmatrix.sync.aligned.m8n8.x{matrices}{}.shared.b16 {}, [${count}];",
            transposed(order),
            braced(0, count)
        );
        let results = vec![llvm.i32().into(); count];
        let words = llvm.ptx(&text, &results, &[], &[self.shared_address(address)], Does::Act);
        unpack(llvm, elem, &words, count * (4 / elem.bytes()) as usize)
    }

    fn store_matrix(&self, values: &[V<'ctx>], address: IntValue<'ctx>, elem: Elem, matrices: u32, order: MatrixOrder) {
        let words = pack(self.llvm, elem, values, 32);
        let text = format!(
            "stmatrix.sync.aligned.m8n8.x{matrices}{}.shared.b16 [$0], {};",
            transposed(order),
            braced(1, words.len())
        );
        let operands: Vec<V<'ctx>> = [self.shared_address(address)].into_iter().chain(words).collect();
        self.llvm.ptx_act(&text, &operands);
    }

    /// A tile that lies in shared memory, in registers.
    pub(super) fn read_shared(&mut self, tile: &SharedTile<'ctx>, layout: &LinearLayout, elem: Elem) -> Vec<V<'ctx>> {
        let access = layout
            .access(&tile.memory, elem.bytes() * 8, Direction::Load, self.matrix_access())
            .expect("the buffer holds every element of its tile");
        let mut result = vec![None; registers(layout) as usize];
        self.read_access(&mut result, &access, tile.base, elem, 0);
        result.into_iter().map(|number| number.expect("every register is read")).collect()
    }

    /// Writes a tile to shared memory, as `memory` says. The caller sees to barriers.
    pub(super) fn write_shared(
        &mut self,
        numbers: &[V<'ctx>],
        layout: &LinearLayout,
        memory: &LinearLayout,
        base: IntValue<'ctx>,
        elem: Elem,
    ) {
        let access = layout
            .access(memory, elem.bytes() * 8, Direction::Store, self.matrix_access())
            .expect("the buffer holds every element of its tile");
        self.write_access(numbers, &access, base, elem, 0);
    }
}

fn transposed(order: MatrixOrder) -> &'static str {
    match order {
        MatrixOrder::Plain => "",
        MatrixOrder::Transposed => ".trans",
    }
}

/// `{$0, …}`, in braces even if it is one.
pub(super) fn braced(from: usize, count: usize) -> String {
    if count == 1 { format!("{{${from}}}") } else { operand_list(from, count) }
}

/// Words as one value: a vector if there are several.
pub(super) fn vector_of<'ctx>(llvm: &crate::shared::llvm::Llvm<'ctx>, words: &[V<'ctx>]) -> V<'ctx> {
    if let [one] = words {
        return *one;
    }
    let ty = crate::shared::llvm::vector_type(words[0].get_type(), words.len() as u32);
    let V::VectorValue(mut vector) = llvm.undef(ty) else { unreachable!("a vector") };
    for (at, &word) in words.iter().enumerate() {
        vector = llvm.insert(vector, word, at as u64);
    }
    vector.into()
}
