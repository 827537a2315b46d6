//! A snippet of PTX: what its instructions and operands are.

use std::collections::HashMap;

/// A register: its place in [`Program::registers`].
pub(super) type Register = usize;
/// A label: its place in [`Program::labels`].
pub(super) type Label = usize;

/// A parsed snippet.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// Instructions in order.
    pub(super) instructions: Vec<Instruction>,
    /// The width of each register in bits; 1 for predicates.
    pub(super) registers: Vec<u32>,
    /// Where each label stands: before the instruction with this number.
    pub(super) labels: Vec<usize>,
}

/// One instruction.
#[derive(Debug, Clone)]
pub(super) struct Instruction {
    /// Done where this predicate holds, or does not.
    pub(super) guard: Option<Guard>,
    /// The first word: `add` of `add.s32`.
    pub(super) name: String,
    /// The other words: `s32` of `add.s32`.
    pub(super) words: Vec<String>,
    /// What it takes, the destination first.
    pub(super) operands: Vec<Operand>,
}

/// The predicate in front of an instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guard {
    pub(super) register: Source,
    pub(super) negated: bool,
}

/// What holds a value: a register of the snippet, or an operand of the assembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Source {
    Register(Register),
    /// `$0`
    Argument(usize),
}

/// What an instruction takes.
#[derive(Debug, Clone)]
pub(super) enum Operand {
    Source(Source),
    /// Not the predicate.
    Negated(Source),
    /// An integer, by its bits.
    Integer(u64),
    /// A float.
    Float(f64),
    /// A float by its bits: `0f3F800000`.
    FloatBits(u32),
    /// `%tid.x`
    Special(String),
    /// `[base + offset]`
    Address(Box<Operand>, i64),
    /// `{a, b}`
    Vector(Vec<Operand>),
    /// `p|q`
    Pair(Box<Operand>, Box<Operand>),
    /// Where a branch goes.
    Label(Label),
    /// `_`: nobody wants it.
    Sink,
}

impl Instruction {
    /// Whether one of its words is this one.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|w| w == word)
    }

    /// As it is written, without operands.
    pub(super) fn spelled(&self) -> String {
        std::iter::once(&self.name).chain(&self.words).cloned().collect::<Vec<_>>().join(".")
    }

    /// Whether it goes elsewhere.
    pub(super) fn branch(&self) -> Option<Label> {
        match (self.name.as_str(), self.operands.as_slice()) {
            ("bra", [Operand::Label(label)]) => Some(*label),
            _ => None,
        }
    }

    /// What it may write.
    pub(super) fn destinations(&self) -> Vec<Source> {
        let mut found = Vec::new();
        let writes_nothing = matches!(self.name.as_str(), "st" | "red" | "bra" | "prefetch" | "prefetchu")
            || (self.name == "multimem" && !self.has("ld_reduce"));
        if let (false, Some(first)) = (writes_nothing, self.operands.first()) {
            sources(first, &mut found);
        }
        found
    }
}

fn sources(operand: &Operand, found: &mut Vec<Source>) {
    match operand {
        Operand::Source(source) => found.push(*source),
        Operand::Vector(parts) => parts.iter().for_each(|part| sources(part, found)),
        Operand::Pair(a, b) => {
            sources(a, found);
            sources(b, found);
        }
        Operand::Negated(_)
        | Operand::Integer(_)
        | Operand::Float(_)
        | Operand::FloatBits(_)
        | Operand::Special(_)
        | Operand::Address(..)
        | Operand::Label(_)
        | Operand::Sink => {}
    }
}

/// The names that are visible in one pair of braces.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) registers: HashMap<String, Register>,
    /// Vectors of registers: `.reg .v4 .b32 %a` declares `%a` and its elements `%a.x` to `%a.w`.
    pub(super) vectors: HashMap<String, Vec<Register>>,
    pub(super) labels: HashMap<String, Label>,
}
