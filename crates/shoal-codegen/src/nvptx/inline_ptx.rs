//! PTX where LLVM has no instruction, or none with the predicate or the modifiers that are wanted.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::types::{BasicType, BasicTypeEnum};

use crate::shared::llvm::{Llvm, V};

/// Whether an instruction does more than compute its results.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// It computes.
    Compute,
    /// It computes together with other threads, which must all come to it.
    Exchange,
    /// It accesses memory or orders accesses.
    Act,
}

/// The letter of the registers that hold a type.
#[expect(clippy::wildcard_enum_match_arm, reason = "LLVM has more types than registers hold")]
pub(super) fn register_letter(ty: BasicTypeEnum<'_>) -> &'static str {
    match ty {
        BasicTypeEnum::IntType(int) => match int.get_bit_width() {
            1 => "b",
            16 => "h",
            32 => "r",
            64 => "l",
            bits => unreachable!("no register holds {bits} bits"),
        },
        BasicTypeEnum::FloatType(float) if float == float.get_context().f64_type() => "d",
        BasicTypeEnum::FloatType(float) if float == float.get_context().f32_type() => "f",
        BasicTypeEnum::FloatType(_) => "h",
        BasicTypeEnum::PointerType(_) => "l",
        other => unreachable!("no register holds {other}"),
    }
}

impl<'ctx> Llvm<'ctx> {
    /// Runs PTX: `$0, $1, …` are the results, then the operands. The first `tied` operands start out in the results'
    /// registers, and are not counted.
    pub(super) fn ptx(
        &self,
        text: &str,
        results: &[BasicTypeEnum<'ctx>],
        tied: &[V<'ctx>],
        operands: &[V<'ctx>],
        does: Does,
    ) -> Vec<V<'ctx>> {
        let mut constraints: Vec<String> = results.iter().map(|&ty| format!("={}", register_letter(ty))).collect();
        constraints.extend(operands.iter().map(|v| register_letter(v.get_type()).to_owned()));
        constraints.extend((0..tied.len()).map(|index| index.to_string()));
        let all: Vec<V<'ctx>> = operands.iter().chain(tied).copied().collect();
        let params: Vec<_> = all.iter().map(|v| v.get_type().into()).collect();
        let ty = match results {
            [] => self.context.void_type().fn_type(&params, false),
            [one] => one.fn_type(&params, false),
            several => self.context.struct_type(several, false).fn_type(&params, false),
        };
        let acts = does == Does::Act;
        if acts {
            constraints.push("~{memory}".to_owned());
        }
        let asm = self.context.create_inline_asm(ty, text.to_owned(), constraints.join(","), acts, false, None, false);
        let args: Vec<_> = all.iter().map(|&v| v.into()).collect();
        let call = self.builder.build_indirect_call(ty, asm, &args, "").expect("inline assembly");
        let mut flags = vec![("nounwind", 0)];
        if !acts {
            // `memory` is a set of what is accessed: nothing.
            flags.extend([("memory", 0), ("willreturn", 0)]);
        }
        if does != Does::Compute {
            flags.push(("convergent", 0));
        }
        for (name, value) in flags {
            let attribute = self.context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value);
            call.add_attribute(AttributeLoc::Function, attribute);
        }
        let Some(value) = call.try_as_basic_value().basic() else { return Vec::new() };
        match (results.len(), value) {
            (1, one) => vec![one],
            (count, V::StructValue(fields)) => {
                (0..count as u32).map(|at| self.builder.build_extract_value(fields, at, "").expect("a field")).collect()
            }
            (_, other) => unreachable!("several results, not {other}"),
        }
    }

    /// PTX with one result that only computes.
    pub(super) fn ptx_value(&self, text: &str, result: BasicTypeEnum<'ctx>, operands: &[V<'ctx>]) -> V<'ctx> {
        self.ptx(text, &[result], &[], operands, Does::Compute)[0]
    }

    /// PTX without results, for its effect.
    pub(super) fn ptx_act(&self, text: &str, operands: &[V<'ctx>]) {
        self.ptx(text, &[], &[], operands, Does::Act);
    }
}

/// `{$from, $from+1, …}`, or one operand without braces.
pub(super) fn operand_list(from: usize, count: usize) -> String {
    if count == 1 {
        return format!("${from}");
    }
    let names: Vec<String> = (from..from + count).map(|at| format!("${at}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// The suffix of vectors of so many words.
pub(super) fn vector_suffix(words: u32) -> &'static str {
    match words {
        1 => "",
        2 => ".v2",
        _ => ".v4",
    }
}
