//! The text format, written.
//!
//! ```text
//! kernel @name(%0: type {facts}, …) {
//!   %2, %3 = mnemonic {attr = value, …} (%0, %1) : type {facts}, type do (%4: type) {
//!     …
//!   } do {
//!     …
//!   }
//! }
//! ```
//! One operation a line: its results, its mnemonic, its attributes, its operands, the types of its results, and its
//! regions with their parameters. Values have the names that the user gave them (`%mask`; `%mask.1` for the second of that
//! name), the others numbers. Device functions open with `func` and give the types they return. Before its body a
//! function may say `noinline`, `num_warps N`, `num_stages N`, `maxnreg N`, `separate_products`.
//! [`mod@crate::parse`] reads it back.

use std::collections::HashMap;
use std::fmt::{self, Write};

use crate::comm::CommOp;
use crate::func::{Facts, Func, FuncKind, GpuShape, Module, OpId, Region, Value};
use crate::op::{Evict, LoadCache, LoadMode, OpKind, StoreCache};
use crate::shmem::ShmemOp;

/// An attribute's value in the text format.
#[derive(Clone, Debug, PartialEq)]
pub enum Attr {
    /// A bare word or number: `rtne`, `16`, `-1.5`, `0x7fc00000`.
    Word(String),
    /// A quoted string.
    Text(String),
    /// A list of numbers.
    List(Vec<u64>),
    /// Present, without a value.
    Flag,
}

impl Attr {
    fn word(value: impl fmt::Display) -> Attr {
        Attr::Word(value.to_string())
    }
}

/// A kind as its mnemonic and its attributes; [`crate::parse`] holds the inverse.
pub fn spell(kind: &OpKind) -> (&'static str, Vec<(&'static str, Attr)>) {
    let plain = |name| (name, Vec::new());
    let atomic = |name, sem: &crate::op::Sem, scope: &crate::op::Scope| {
        (name, vec![("sem", Attr::word(sem)), ("scope", Attr::word(scope))])
    };
    match kind {
        OpKind::Const(c) => ("const", vec![("value", Attr::word(c))]),
        OpKind::Iota { start } => ("iota", vec![("start", Attr::word(start))]),
        OpKind::ProgramId { axis } => ("program_id", vec![("axis", Attr::word(axis))]),
        OpKind::NumPrograms { axis } => ("num_programs", vec![("axis", Attr::word(axis))]),
        OpKind::Unary(op) => plain(op.name()),
        OpKind::Binary(op) => plain(op.name()),
        OpKind::Math(function) => ("math", vec![("fn", Attr::word(function))]),
        OpKind::Cmp(op) => ("cmp", vec![("is", Attr::word(op))]),
        OpKind::Select => plain("select"),
        OpKind::Fma => plain("fma"),
        OpKind::Cast(rounding) => ("cast", vec![("round", Attr::word(rounding))]),
        OpKind::Bitcast => plain("bitcast"),
        OpKind::PtrAdd => plain("ptr_add"),
        OpKind::Extern(f) => {
            let mut attrs = vec![("symbol", Attr::Text(f.symbol.clone())), ("library", Attr::Text(f.library.clone()))];
            attrs.extend(f.pure.then_some(("pure", Attr::Flag)));
            ("extern", attrs)
        }
        OpKind::InlineAsm(asm) => {
            let mut attrs = vec![
                ("asm", Attr::Text(asm.asm.clone())),
                ("constraints", Attr::Text(asm.constraints.clone())),
                ("pack", Attr::word(asm.pack)),
            ];
            attrs.extend(asm.pure.then_some(("pure", Attr::Flag)));
            ("inline_asm", attrs)
        }
        OpKind::MapElementwise { pack } => ("map_elementwise", vec![("pack", Attr::word(pack))]),
        OpKind::Splat => plain("splat"),
        OpKind::Broadcast => plain("broadcast"),
        OpKind::Reshape => plain("reshape"),
        OpKind::Transpose { perm } => {
            ("transpose", vec![("perm", Attr::List(perm.iter().map(|&p| u64::from(p)).collect()))])
        }
        OpKind::Join => plain("join"),
        OpKind::Split => plain("split"),
        OpKind::ConvertLayout => plain("convert_layout"),
        OpKind::Gather { axis } => ("gather", vec![("axis", Attr::word(axis))]),
        OpKind::Reduce { axis, in_order } => {
            let mut attrs = vec![("axis", Attr::word(axis))];
            attrs.extend(in_order.then_some(("in_order", Attr::Flag)));
            ("reduce", attrs)
        }
        OpKind::Scan { axis, reverse } => {
            let mut attrs = vec![("axis", Attr::word(axis))];
            attrs.extend(reverse.then_some(("reverse", Attr::Flag)));
            ("scan", attrs)
        }
        OpKind::Histogram => plain("histogram"),
        OpKind::Dot { precision, max_imprecise_acc } => {
            let mut attrs = vec![("precision", Attr::word(precision))];
            attrs.extend((*max_imprecise_acc > 0).then(|| ("max_imprecise_acc", Attr::word(max_imprecise_acc))));
            ("dot", attrs)
        }
        OpKind::Load(a) => {
            let mut attrs = Vec::new();
            attrs.extend((a.cache != LoadCache::Default).then(|| ("cache", Attr::word(a.cache))));
            attrs.extend((a.evict != Evict::Normal).then(|| ("evict", Attr::word(a.evict))));
            attrs.extend((a.mode != LoadMode::Free).then(|| ("mode", Attr::word(a.mode))));
            ("load", attrs)
        }
        OpKind::Store { cache, evict } => {
            let mut attrs = Vec::new();
            attrs.extend((*cache != StoreCache::Default).then(|| ("cache", Attr::word(cache))));
            attrs.extend((*evict != Evict::Normal).then(|| ("evict", Attr::word(evict))));
            ("store", attrs)
        }
        OpKind::AtomicRmw { op, sem, scope } => {
            ("atomic_rmw", vec![("op", Attr::word(op)), ("sem", Attr::word(sem)), ("scope", Attr::word(scope))])
        }
        OpKind::AtomicCas { sem, scope } => atomic("atomic_cas", sem, scope),
        OpKind::AtomicLoad { sem, scope } => atomic("atomic_load", sem, scope),
        OpKind::AtomicStore { sem, scope } => atomic("atomic_store", sem, scope),
        OpKind::AtomicPoll { sem, scope } => atomic("atomic_poll", sem, scope),
        OpKind::MakeDesc => plain("make_desc"),
        OpKind::DescBase => ("desc_base", vec![]),
        OpKind::DescSize { dim } => ("desc_size", vec![("dim", Attr::word(dim))]),
        OpKind::DescStride { dim } => ("desc_stride", vec![("dim", Attr::word(dim))]),
        OpKind::DescLoad => plain("desc_load"),
        OpKind::DescStore => plain("desc_store"),
        OpKind::Comm(op) => spell_comm(*op),
        OpKind::Barrier => plain("barrier"),
        OpKind::Fence { sem, scope } => atomic("fence", sem, scope),
        OpKind::Clock => plain("clock"),
        OpKind::GridWords => plain("grid_words"),
        OpKind::Print { prefix, hex } => {
            let mut attrs = vec![("prefix", Attr::Text(prefix.clone()))];
            attrs.extend(hex.then_some(("hex", Attr::Flag)));
            ("print", attrs)
        }
        OpKind::Assert { message } => ("assert", vec![("message", Attr::Text(message.clone()))]),
        OpKind::Assume => plain("assume"),
        OpKind::If => plain("if"),
        OpKind::For(a) => {
            let mut attrs = Vec::new();
            attrs.extend(a.num_stages.map(|n| ("num_stages", Attr::word(n))));
            attrs.extend(a.unroll.map(|n| ("unroll", Attr::word(n))));
            attrs.extend(a.flatten.then_some(("flatten", Attr::Flag)));
            attrs.extend(a.warp_specialize.then_some(("warp_specialize", Attr::Flag)));
            attrs.extend(a.disallow_acc_multi_buffer.then_some(("disallow_acc_multi_buffer", Attr::Flag)));
            attrs.extend(a.disable_licm.then_some(("disable_licm", Attr::Flag)));
            ("for", attrs)
        }
        OpKind::While { disable_licm } => {
            ("while", disable_licm.then_some(("disable_licm", Attr::Flag)).into_iter().collect())
        }
        OpKind::Condition => plain("condition"),
        OpKind::Yield => plain("yield"),
        OpKind::Return => plain("return"),
        OpKind::Call { callee } => ("call", vec![("callee", Attr::Text(callee.clone()))]),
    }
}

fn spell_comm(op: CommOp) -> (&'static str, Vec<(&'static str, Attr)>) {
    let along = |axis: Option<u8>| axis.map(|axis| ("axis", Attr::word(axis))).into_iter().collect();
    match op {
        CommOp::Rank { axis } => ("rank", along(axis)),
        CommOp::NumRanks { axis } => ("num_ranks", along(axis)),
        CommOp::SymmAt => ("symm_at", Vec::new()),
        CommOp::Wait { sem, scope } => ("wait", vec![("sem", Attr::word(sem)), ("scope", Attr::word(scope))]),
        CommOp::ConsumeToken => ("consume_token", Vec::new()),
        CommOp::Notify { op, scope } => ("notify", vec![("op", Attr::word(op)), ("scope", Attr::word(scope))]),
        CommOp::Shmem(op) => spell_shmem(op),
    }
}

fn spell_shmem(op: ShmemOp) -> (&'static str, Vec<(&'static str, Attr)>) {
    match op {
        ShmemOp::TeamRank => ("shmem_team_rank", Vec::new()),
        ShmemOp::TeamSize => ("shmem_team_size", Vec::new()),
        ShmemOp::TeamTranslate => ("shmem_team_translate", Vec::new()),
        ShmemOp::Copy { way, completion, by } => {
            let attrs = [("way", Attr::word(way)), ("completion", Attr::word(completion)), ("by", Attr::word(by))];
            ("shmem_copy", attrs.into())
        }
        ShmemOp::PutSignal { op, completion, by } => {
            let attrs = [("op", Attr::word(op)), ("completion", Attr::word(completion)), ("by", Attr::word(by))];
            ("shmem_put_signal", attrs.into())
        }
        ShmemOp::PutValue => ("shmem_put_value", Vec::new()),
        ShmemOp::Signal { op } => ("shmem_signal", vec![("op", Attr::word(op))]),
        ShmemOp::SignalWait { cmp } => ("shmem_signal_wait", vec![("is", Attr::word(cmp))]),
        ShmemOp::Fence => ("shmem_fence", Vec::new()),
        ShmemOp::Quiet => ("shmem_quiet", Vec::new()),
        ShmemOp::Meet { meeting, by } => ("shmem_meet", vec![("meeting", Attr::word(meeting)), ("by", Attr::word(by))]),
        ShmemOp::Collect { by } => ("shmem_collect", vec![("by", Attr::word(by))]),
    }
}

struct Printer<'f> {
    func: &'f Func,
    /// What values are called: their user's name, or a number. Both count in the order of printing, so that text does
    /// not depend on an arena's history.
    names: Vec<Option<String>>,
    next: u32,
    /// How many values have had a name.
    used: HashMap<&'f str, u32>,
    out: String,
}

impl Printer<'_> {
    fn define(&mut self, value: Value) -> String {
        use cranelift_entity::EntityRef;
        let name = match self.func.value(value).name.as_deref().filter(|name| is_name(name)) {
            Some(name) => {
                let used = self.used.entry(name).or_default();
                *used += 1;
                // The first has the name itself; no name of a user has a dot.
                if *used == 1 { format!("%{name}") } else { format!("%{name}.{}", *used - 1) }
            }
            None => {
                self.next += 1;
                format!("%{}", self.next - 1)
            }
        };
        self.names[value.index()] = Some(name.clone());
        name
    }

    fn name(&self, value: Value) -> String {
        use cranelift_entity::EntityRef;
        match &self.names[value.index()] {
            Some(name) => name.clone(),
            None => format!("%undefined{}", value.index()),
        }
    }

    fn params(&mut self, region: Region) {
        self.out.push('(');
        for (i, &param) in self.func.region(region).params().iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            let name = self.define(param);
            let data = self.func.value(param);
            let _ = write!(self.out, "{name}: {}", data.ty);
            self.facts(&data.facts);
        }
        self.out.push(')');
    }

    fn facts(&mut self, facts: &Facts) {
        if facts.is_empty() {
            return;
        }
        let lists = [("divisible", &facts.divisible), ("contiguous", &facts.contiguous), ("constant", &facts.constant)];
        let shown: Vec<(&str, Attr)> =
            lists.into_iter().filter(|(_, l)| !l.is_empty()).map(|(name, l)| (name, Attr::List(l.to_vec()))).collect();
        self.out.push(' ');
        self.attrs(&shown);
    }

    fn attrs(&mut self, attrs: &[(&str, Attr)]) {
        self.out.push('{');
        for (i, (name, value)) in attrs.iter().enumerate() {
            if i > 0 {
                self.out.push_str(", ");
            }
            self.out.push_str(name);
            let _ = match value {
                Attr::Word(word) => write!(self.out, " = {word}"),
                Attr::Text(text) => write!(self.out, " = {text:?}"),
                Attr::List(list) => write!(self.out, " = {list:?}"),
                Attr::Flag => Ok(()),
            };
        }
        self.out.push('}');
    }

    fn region(&mut self, region: Region, indent: usize) {
        self.out.push_str("{\n");
        for &op in self.func.region(region).ops() {
            self.op(op, indent + 1);
        }
        let _ = write!(self.out, "{:1$}}}", "", indent * 2);
    }

    fn op(&mut self, op: OpId, indent: usize) {
        let data = self.func.op(op);
        let _ = write!(self.out, "{:1$}", "", indent * 2);
        // Results are numbered after the regions' values: that is the order in which they come to be. Their names stand
        // first all the same, so they are numbered now.
        let results: Vec<String> = data.results().iter().map(|&r| self.define(r)).collect();
        if !results.is_empty() {
            let _ = write!(self.out, "{} = ", results.join(", "));
        }
        let (mnemonic, attrs) = spell(&data.kind);
        self.out.push_str(mnemonic);
        if !attrs.is_empty() {
            self.out.push(' ');
            self.attrs(&attrs);
        }
        let operands: Vec<String> = data.operands().iter().map(|&v| self.name(v)).collect();
        let _ = write!(self.out, " ({})", operands.join(", "));
        for (i, &result) in data.results().iter().enumerate() {
            let value = self.func.value(result);
            let _ = write!(self.out, "{}{}", if i == 0 { " : " } else { ", " }, value.ty);
            self.facts(&value.facts);
        }
        for &region in data.regions() {
            self.out.push_str(" do ");
            if !self.func.region(region).params().is_empty() {
                self.params(region);
                self.out.push(' ');
            }
            self.region(region, indent);
        }
        self.out.push('\n');
    }
}

impl fmt::Display for Func {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut p = Printer {
            func: self,
            names: vec![None; self.num_values()],
            next: 0,
            used: HashMap::new(),
            out: String::new(),
        };
        let _ = write!(p.out, "{} @{}", keyword(self.kind), self.name);
        p.params(self.body());
        if !self.results.is_empty() {
            let types: Vec<String> = self.results.iter().map(ToString::to_string).collect();
            let _ = write!(p.out, " -> ({})", types.join(", "));
        }
        if self.noinline {
            p.out.push_str(" noinline");
        }
        let (shape, usual) = (self.gpu, GpuShape::default());
        for (name, number) in [
            ("num_warps", (shape.num_warps != usual.num_warps).then_some(shape.num_warps)),
            ("num_stages", (shape.num_stages != usual.num_stages).then_some(shape.num_stages)),
            ("maxnreg", shape.max_registers),
        ] {
            if let Some(number) = number {
                let _ = write!(p.out, " {name} {number}");
            }
        }
        if !shape.fuse_products {
            p.out.push_str(" separate_products");
        }
        p.out.push(' ');
        p.region(self.body(), 0);
        p.out.push('\n');
        f.write_str(&p.out)
    }
}

/// Whether a user's name can stand in the text: numbers are for values without one.
pub(crate) fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// How a function of this kind opens.
pub fn keyword(kind: FuncKind) -> &'static str {
    match kind {
        FuncKind::Kernel => "kernel",
        FuncKind::Device => "func",
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, func) in self.funcs.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            func.fmt(f)?;
        }
        Ok(())
    }
}
