//! Numbers as the words that instructions move: several small ones in a word of 32 bits.

use inkwell::types::BasicTypeEnum;
use inkwell::values::InstructionOpcode as Op;
use shoal_ir::{Elem, Scalar};

use crate::shared::llvm::{Llvm, V, vector_type};
use crate::shared::value_type::{from_memory, memory_type, to_memory};

/// The words of so many neighbouring elements: bits of one, and how many there are.
pub(super) fn words_of(elem: Elem, elements: u32) -> (u32, u32) {
    let bits = elem.bytes() * 8;
    let total = bits * elements;
    if bits == 64 {
        (64, elements)
    } else if total >= 32 {
        (32, total / 32)
    } else {
        (total, 1)
    }
}

/// Numbers in their form in memory, packed into words of `word_bits` bits.
pub(super) fn pack<'ctx>(llvm: &Llvm<'ctx>, elem: Elem, values: &[V<'ctx>], word_bits: u32) -> Vec<V<'ctx>> {
    let each = (word_bits / (elem.bytes() * 8)).max(1) as usize;
    let word = llvm.int_type(word_bits).into();
    values.chunks(each).map(|chunk| pack_one(llvm, elem, chunk, word)).collect()
}

fn pack_one<'ctx>(llvm: &Llvm<'ctx>, elem: Elem, values: &[V<'ctx>], word: BasicTypeEnum<'ctx>) -> V<'ctx> {
    let stored: Vec<V<'ctx>> = values.iter().map(|&value| to_memory(llvm, elem, value)).collect();
    if let [one] = stored[..] {
        return llvm.cast(Op::BitCast, one, word);
    }
    let ty = vector_type(stored[0].get_type(), stored.len() as u32);
    let V::VectorValue(mut vector) = llvm.undef(ty) else { unreachable!("a vector") };
    for (at, &value) in stored.iter().enumerate() {
        vector = llvm.insert(vector, value, at as u64);
    }
    llvm.builder.build_bit_cast(vector, word, "").expect("words as wide as what they hold")
}

/// The numbers in words, the first `count` of them.
pub(super) fn unpack<'ctx>(llvm: &Llvm<'ctx>, elem: Elem, words: &[V<'ctx>], count: usize) -> Vec<V<'ctx>> {
    let held = memory_type(llvm, elem);
    let mut values = Vec::with_capacity(count);
    for &word in words {
        let each = (word.get_type().into_int_type().get_bit_width() / (elem.bytes() * 8)).max(1);
        if each == 1 {
            values.push(from_memory(llvm, elem, llvm.cast(Op::BitCast, word, held)));
            continue;
        }
        if elem == Elem::Scalar(Scalar::BF16) {
            // Shifts and masks: a half of a word in the upper half of another is then one instruction.
            let upper = llvm.bin(Op::LShr, word, llvm.const_i32(16).into());
            values.extend([word, upper].map(|half| llvm.cast(Op::Trunc, half, held)));
            continue;
        }
        let vector = llvm.builder.build_bit_cast(word, vector_type(held, each), "").expect("as wide");
        let V::VectorValue(vector) = vector else { unreachable!("a vector") };
        for at in 0..each {
            values.push(from_memory(llvm, elem, llvm.extract(vector, at.into())));
        }
    }
    values.truncate(count);
    values
}
