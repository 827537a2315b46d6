//! Loads and stores: as wide as neighbouring registers have neighbouring addresses, with a predicate where there is a mask.

use inkwell::AddressSpace;
use inkwell::values::{InstructionOpcode as Op, IntValue, PointerValue};
use shoal_ir::op::{Evict, LoadAttrs, LoadCache, LoadMode, StoreCache};
use shoal_ir::{Elem, OpId, Value};
use shoal_layout::{InDim, LinearLayout};

use super::check::Accesses;
use super::convert::vector_of;
use super::emitter::{Emitter, Held};
use super::give_up::Seen;
use super::inline_ptx::{Does, operand_list, vector_suffix};
use super::place::registers;
use super::words::{pack, unpack, words_of};
use crate::shared::llvm::{V, vector_type};
use crate::shared::value_type::{from_memory, memory_type, register_type, to_memory};

/// The most bytes that one instruction moves for one thread.
const WIDEST: u32 = 16;

impl<'ctx> Emitter<'_, 'ctx> {
    /// How many registers one access takes: neighbours in the layout at neighbouring addresses, under one mask.
    pub(super) fn access_width(&self, layout: &LinearLayout, pointers: Value, mask: Option<Value>) -> u32 {
        let elem = self.elem(pointers).ptr().expect("pointers").element();
        let Some(first) = layout.bases(InDim::Register).next() else { return 1 };
        let Some(dim) = first.iter().position(|&coordinate| coordinate == 1) else { return 1 };
        let fact = |list: &[u64]| list.get(dim).copied().unwrap_or(1);
        let facts = &self.func.value(pointers).facts;
        let bytes = u64::from(elem.bytes());
        let mut width = fact(&facts.contiguous).min(fact(&facts.divisible) / bytes).min(u64::from(WIDEST) / bytes);
        if let Some(mask) = mask {
            width = width.min(self.mask_run(mask, dim));
        }
        let run = layout.bases(InDim::Register).enumerate().take_while(|(bit, basis)| {
            basis.iter().enumerate().all(|(at, &coordinate)| coordinate == if at == dim { 1 << bit } else { 0 })
        });
        width = width.min(1 << run.count());
        // No other basis may break a run apart.
        while width > 1 {
            let inner = width.trailing_zeros() as usize;
            let others = layout.bases(InDim::Register).skip(inner).chain(layout.bases(InDim::Lane));
            let broken = others.chain(layout.bases(InDim::Warp)).any(|basis| u64::from(basis[dim]) % width != 0);
            if !broken {
                break;
            }
            width /= 2;
        }
        width.max(1) as u32
    }

    /// Along `dim`, how many neighbours a mask treats alike.
    fn mask_run(&self, mask: Value, dim: usize) -> u64 {
        let constant = matches!(self.func.def_kind(mask), Some(shoal_ir::OpKind::Const(_) | shoal_ir::OpKind::Splat));
        if constant {
            return u64::MAX;
        }
        self.func.value(mask).facts.constant.get(dim).copied().unwrap_or(1)
    }

    pub(super) fn global(&self, pointer: V<'ctx>) -> PointerValue<'ctx> {
        let space = self.llvm.context.ptr_type(AddressSpace::from(1));
        self.llvm.builder.build_address_space_cast(pointer.into_pointer_value(), space, "").expect("a pointer")
    }

    pub(super) fn load(&mut self, op: OpId, attrs: LoadAttrs) {
        let func = self.func;
        let data = func.op(op);
        let (pointers, result) = (data.operands()[0], data.result());
        let (mask, other) = (data.operands().get(1).copied(), data.operands().get(2).copied());
        let elem = self.elem(result);
        self.order_access(op);
        if !func.ty(result).is_tile() {
            self.scalar_load(op, attrs);
            return;
        }
        let layout = self.layout(result).clone();
        let width = self.access_width(&layout, pointers, mask) as usize;
        let addresses = self.numbers(pointers);
        let masks = mask.map(|mask| self.numbers(mask));
        let others = other.map(|other| self.numbers(other));
        let zero = register_type(self.llvm, elem).const_zero();
        let runs = (0..addresses.len()).step_by(width);
        let wanted = runs.clone().map(|first| masks.as_ref().map(|masks| masks[first].into_int_value())).collect();
        let starts: Vec<V<'ctx>> = runs.clone().map(|first| addresses[first]).collect();
        let accesses = Accesses { addresses: &starts, count: width as u32, sees: Seen::ByEach };
        let wanted = self.checked(op, &accesses, wanted);
        let mut numbers = Vec::with_capacity(addresses.len());
        for (first, mask) in runs.zip(wanted) {
            let fill: Vec<V<'ctx>> =
                (first..first + width).map(|at| others.as_ref().map_or(zero, |others| others[at])).collect();
            numbers.extend(self.load_run(elem, addresses[first], mask, &fill, attrs));
        }
        self.hold_tile(result, numbers);
    }

    /// One load of neighbours.
    fn load_run(
        &mut self,
        elem: Elem,
        address: V<'ctx>,
        mask: Option<IntValue<'ctx>>,
        fill: &[V<'ctx>],
        attrs: LoadAttrs,
    ) -> Vec<V<'ctx>> {
        let llvm = self.llvm;
        let (word_bits, words) = words_of(elem, fill.len() as u32);
        let mask = mask.filter(|mask| mask.get_zero_extended_constant() != Some(1));
        let plain = attrs.cache == LoadCache::Default && attrs.evict == Evict::Normal;
        // A pinned load is inline assembly: LLVM's volatile loads are `ld.volatile`.
        if mask.is_none() && plain && attrs.mode != LoadMode::Pinned {
            let word = llvm.int_type(word_bits).into();
            let ty = if words == 1 { word } else { vector_type(word, words) };
            let loaded = llvm.load(ty, self.global(address), word_bits / 8 * words);
            if attrs.mode == LoadMode::Volatile {
                let instruction = inkwell::values::BasicValue::as_instruction_value(&loaded).expect("a load");
                instruction.set_volatile(true).expect("loads can be volatile");
            }
            let list = if let V::VectorValue(vector) = loaded {
                (0..words).map(|at| llvm.extract(vector, at.into())).collect()
            } else {
                vec![loaded]
            };
            return unpack(llvm, elem, &list, fill.len());
        }
        let filled = pack(llvm, elem, fill, word_bits);
        // No register holds eight bits.
        let narrow = word_bits == 8;
        let filled: Vec<V<'ctx>> = filled
            .into_iter()
            .map(|word| if narrow { llvm.cast(Op::ZExt, word, llvm.int_type(16).into()) } else { word })
            .collect();
        let count = filled.len();
        let predicate = if mask.is_some() { format!("@${} ", count + 1) } else { String::new() };
        let volatile = attrs.mode == LoadMode::Volatile;
        let text = format!(
            "{predicate}ld{}.global{}{}.b{word_bits} {}, [${count}];",
            if volatile { ".volatile" } else { "" },
            if volatile { String::new() } else { load_modifiers(attrs) },
            vector_suffix(words),
            operand_list(0, count),
        );
        let types: Vec<_> = filled.iter().map(|word| word.get_type()).collect();
        let operands: Vec<V<'ctx>> = [address].into_iter().chain(mask.map(Into::into)).collect();
        let loaded = llvm.ptx(&text, &types, &filled, &operands, Does::Act);
        let loaded: Vec<V<'ctx>> = loaded
            .into_iter()
            .map(|word| if narrow { llvm.cast(Op::Trunc, word, llvm.i8().into()) } else { word })
            .collect();
        unpack(llvm, elem, &loaded, fill.len())
    }

    /// Every thread loads the one element.
    fn scalar_load(&mut self, op: OpId, attrs: LoadAttrs) {
        let func = self.func;
        let data = func.op(op);
        let result = data.result();
        let elem = self.elem(result);
        let scalar = |e: &Self, index: usize| data.operands().get(index).map(|&v| e.scalar(v));
        let address = self.scalar(data.operands()[0]);
        let mask = scalar(self, 1).map(V::into_int_value);
        let fill = scalar(self, 2).unwrap_or_else(|| register_type(self.llvm, elem).const_zero());
        let accesses = Accesses { addresses: &[address], count: 1, sees: Seen::ByAll };
        let mask = self.checked(op, &accesses, vec![mask])[0];
        let number = self.load_run(elem, address, mask, &[fill], attrs)[0];
        self.hold(result, Held::Scalar(number));
    }

    pub(super) fn store(&mut self, op: OpId, cache: StoreCache, evict: Evict) {
        let func = self.func;
        let data = func.op(op);
        let (pointers, values) = (data.operands()[0], data.operands()[1]);
        let mask = data.operands().get(2).copied();
        let elem = self.elem(values);
        let modifiers = store_modifiers(cache, evict);
        self.order_access(op);
        if !func.ty(pointers).is_tile() {
            let llvm = self.llvm;
            let first = llvm.icmp(inkwell::IntPredicate::EQ, self.thread.into(), llvm.const_i32(0).into());
            let wanted = mask.map_or(first, |mask| llvm.bin(Op::And, first, self.scalar(mask)));
            let (address, value) = (self.scalar(pointers), self.scalar(values));
            let accesses = Accesses { addresses: &[address], count: 1, sees: Seen::ByEach };
            let wanted = self.checked(op, &accesses, vec![Some(wanted.into_int_value())])[0];
            self.store_run(elem, address, wanted, &[value], &modifiers);
            return;
        }
        let layout = self.layout(pointers).clone();
        let width = self.access_width(&layout, pointers, mask) as usize;
        let (addresses, numbers) = (self.numbers(pointers), self.numbers(values));
        let masks = mask.map(|mask| self.numbers(mask));
        let first_holder = self.is_first_holder(&layout);
        let copies = layout.free_variable_masks().register;
        let runs = (0..registers(&layout) as usize).step_by(width).filter(|&first| first as u32 & copies == 0);
        let wanted = |first: usize| {
            let mask = masks.as_ref().map(|masks| masks[first]);
            let wanted = match (mask, first_holder) {
                (Some(mask), Some(holder)) => Some(self.llvm.bin(Op::And, mask, holder.into())),
                (one, None) => one,
                (None, Some(holder)) => Some(holder.into()),
            };
            wanted.map(V::into_int_value)
        };
        let wanted = runs.clone().map(wanted).collect();
        let starts: Vec<V<'ctx>> = runs.clone().map(|first| addresses[first]).collect();
        let accesses = Accesses { addresses: &starts, count: width as u32, sees: Seen::ByEach };
        let wanted = self.checked(op, &accesses, wanted);
        for (first, wanted) in runs.zip(wanted) {
            self.store_run(elem, addresses[first], wanted, &numbers[first..first + width], &modifiers);
        }
    }

    fn store_run(
        &self,
        elem: Elem,
        address: V<'ctx>,
        mask: Option<IntValue<'ctx>>,
        values: &[V<'ctx>],
        modifiers: &str,
    ) {
        let llvm = self.llvm;
        let (word_bits, words) = words_of(elem, values.len() as u32);
        let packed = pack(llvm, elem, values, word_bits);
        let mask = mask.filter(|mask| mask.get_zero_extended_constant() != Some(1));
        if mask.is_none() && modifiers.is_empty() {
            llvm.store(vector_of(llvm, &packed), self.global(address), word_bits / 8 * words);
            return;
        }
        let packed: Vec<V<'ctx>> = packed
            .into_iter()
            .map(|word| if word_bits == 8 { llvm.cast(Op::ZExt, word, llvm.int_type(16).into()) } else { word })
            .collect();
        let predicate = if mask.is_some() { format!("@${} ", packed.len() + 1) } else { String::new() };
        let text = format!(
            "{predicate}st.global{modifiers}{}.b{word_bits} [$0], {};",
            vector_suffix(words),
            operand_list(1, packed.len()),
        );
        let operands: Vec<V<'ctx>> = [address].into_iter().chain(packed).chain(mask.map(Into::into)).collect();
        llvm.ptx_act(&text, &operands);
    }

    /// One element in its form in memory, at an address of shared memory.
    pub(super) fn store_element(&self, elem: Elem, value: V<'ctx>, at: IntValue<'ctx>) {
        self.store_shared(to_memory(self.llvm, elem, value), at, elem.bytes());
    }

    /// One element from an address of shared memory.
    pub(super) fn load_element(&self, elem: Elem, at: IntValue<'ctx>) -> V<'ctx> {
        from_memory(self.llvm, elem, self.load_shared(memory_type(self.llvm, elem), at, elem.bytes()))
    }
}

fn load_modifiers(attrs: LoadAttrs) -> String {
    let cache = match attrs.cache {
        LoadCache::Default => "",
        LoadCache::All => ".ca",
        LoadCache::Global => ".cg",
        LoadCache::Streaming => ".cs",
        LoadCache::Volatile => ".cv",
    };
    if cache.is_empty() { eviction(attrs.evict).to_owned() } else { cache.to_owned() }
}

fn store_modifiers(cache: StoreCache, evict: Evict) -> String {
    let cache = match cache {
        StoreCache::Default => "",
        StoreCache::WriteBack => ".wb",
        StoreCache::Global => ".cg",
        StoreCache::Streaming => ".cs",
        StoreCache::WriteThrough => ".wt",
    };
    if cache.is_empty() { eviction(evict).to_owned() } else { cache.to_owned() }
}

fn eviction(evict: Evict) -> &'static str {
    match evict {
        Evict::Normal => "",
        Evict::First => ".L1::evict_first",
        Evict::Last => ".L1::evict_last",
    }
}
