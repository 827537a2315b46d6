//! A mnemonic and its attributes back to an [`OpKind`]: the inverse of [`crate::print::spell`].

use shoal_source::{Diagnostic, Span};

use super::attrs::Attrs;
use crate::comm::{CommOp, CommScope, SignalOp};
use crate::numeric::Const;
use crate::op::{
    BinaryOp, CmpOp, DotPrecision, Evict, ExternFn, ForAttrs, InlineAsm, LoadAttrs, LoadCache, LoadMode, MathFn,
    OpKind, RmwOp, Rounding, Scope, Sem, StoreCache, UnaryOp,
};
use crate::shmem::{Completion, Meeting, Participants, ShmemOp, Way};
use crate::types::{Scalar, Type};

/// The kind these parts spell. A constant's type is that of the first result.
pub(super) fn from_parts(
    mnemonic: &str,
    span: Span,
    mut attrs: Attrs,
    result: Option<&Type>,
) -> Result<OpKind, Diagnostic> {
    let a = &mut attrs;
    let kind = match mnemonic {
        "const" => OpKind::Const(constant(a, span, result)?),
        "iota" => OpKind::Iota { start: a.number("start")? },
        "program_id" => OpKind::ProgramId { axis: a.number("axis")? },
        "num_programs" => OpKind::NumPrograms { axis: a.number("axis")? },
        "math" => OpKind::Math(a.required("fn", MathFn::from_name)?),
        "cmp" => OpKind::Cmp(a.required("is", CmpOp::from_name)?),
        "select" => OpKind::Select,
        "fma" => OpKind::Fma,
        "cast" => OpKind::Cast(a.optional("round", Rounding::from_name)?.unwrap_or(Rounding::Nearest)),
        "bitcast" => OpKind::Bitcast,
        "ptr_add" => OpKind::PtrAdd,
        "extern" => OpKind::Extern(Box::new(ExternFn {
            symbol: a.text("symbol")?,
            library: a.text("library")?,
            pure: a.flag("pure")?,
        })),
        "inline_asm" => OpKind::InlineAsm(Box::new(InlineAsm {
            asm: a.text("asm")?,
            constraints: a.text("constraints")?,
            pack: a.number("pack")?,
            pure: a.flag("pure")?,
        })),
        "map_elementwise" => OpKind::MapElementwise { pack: a.number("pack")? },
        "splat" => OpKind::Splat,
        "broadcast" => OpKind::Broadcast,
        "reshape" => OpKind::Reshape,
        "transpose" => OpKind::Transpose { perm: permutation(a, span)? },
        "join" => OpKind::Join,
        "split" => OpKind::Split,
        "convert_layout" => OpKind::ConvertLayout,
        "gather" => OpKind::Gather { axis: a.number("axis")? },
        "reduce" => OpKind::Reduce { axis: a.number("axis")?, in_order: a.flag("in_order")? },
        "scan" => OpKind::Scan { axis: a.number("axis")?, reverse: a.flag("reverse")? },
        "histogram" => OpKind::Histogram,
        "dot" => OpKind::Dot {
            precision: a.required("precision", DotPrecision::from_name)?,
            max_imprecise_acc: a.optional("max_imprecise_acc", |w| w.parse().ok())?.unwrap_or(0),
        },
        "load" => OpKind::Load(LoadAttrs {
            cache: a.optional("cache", LoadCache::from_name)?.unwrap_or(LoadCache::Default),
            evict: a.optional("evict", Evict::from_name)?.unwrap_or(Evict::Normal),
            mode: a.optional("mode", LoadMode::from_name)?.unwrap_or(LoadMode::Free),
        }),
        "store" => OpKind::Store {
            cache: a.optional("cache", StoreCache::from_name)?.unwrap_or(StoreCache::Default),
            evict: a.optional("evict", Evict::from_name)?.unwrap_or(Evict::Normal),
        },
        "atomic_rmw" => {
            let op = a.required("op", RmwOp::from_name)?;
            let (sem, scope) = ordering(a)?;
            OpKind::AtomicRmw { op, sem, scope }
        }
        "atomic_cas" => ordering(a).map(|(sem, scope)| OpKind::AtomicCas { sem, scope })?,
        "atomic_load" => ordering(a).map(|(sem, scope)| OpKind::AtomicLoad { sem, scope })?,
        "atomic_store" => ordering(a).map(|(sem, scope)| OpKind::AtomicStore { sem, scope })?,
        "atomic_poll" => ordering(a).map(|(sem, scope)| OpKind::AtomicPoll { sem, scope })?,
        "make_desc" => OpKind::MakeDesc,
        "desc_base" => OpKind::DescBase,
        "desc_size" => OpKind::DescSize { dim: a.number("dim")? },
        "desc_stride" => OpKind::DescStride { dim: a.number("dim")? },
        "desc_load" => OpKind::DescLoad,
        "desc_store" => OpKind::DescStore,
        "rank" => OpKind::Comm(CommOp::Rank { axis: a.optional("axis", |w| w.parse().ok())? }),
        "num_ranks" => OpKind::Comm(CommOp::NumRanks { axis: a.optional("axis", |w| w.parse().ok())? }),
        "symm_at" => OpKind::Comm(CommOp::SymmAt),
        "wait" => ordering(a).map(|(sem, scope)| OpKind::Comm(CommOp::Wait { sem, scope }))?,
        "consume_token" => OpKind::Comm(CommOp::ConsumeToken),
        "notify" => OpKind::Comm(CommOp::Notify {
            op: a.required("op", SignalOp::from_name)?,
            scope: a.required("scope", CommScope::from_name)?,
        }),
        "barrier" => OpKind::Barrier,
        "fence" => ordering(a).map(|(sem, scope)| OpKind::Fence { sem, scope })?,
        "clock" => OpKind::Clock,
        "grid_words" => OpKind::GridWords,
        "print" => OpKind::Print { prefix: a.text("prefix")?, hex: a.flag("hex")? },
        "assert" => OpKind::Assert { message: a.text("message")? },
        "assume" => OpKind::Assume,
        "if" => OpKind::If,
        "for" => OpKind::For(ForAttrs {
            num_stages: a.optional("num_stages", |w| w.parse().ok())?,
            unroll: a.optional("unroll", |w| w.parse().ok())?,
            flatten: a.flag("flatten")?,
            warp_specialize: a.flag("warp_specialize")?,
            disallow_acc_multi_buffer: a.flag("disallow_acc_multi_buffer")?,
            disable_licm: a.flag("disable_licm")?,
        }),
        "while" => OpKind::While { disable_licm: a.flag("disable_licm")? },
        "condition" => OpKind::Condition,
        "yield" => OpKind::Yield,
        "return" => OpKind::Return,
        "call" => OpKind::Call { callee: a.text("callee")? },
        other if other.starts_with("shmem_") => OpKind::Comm(CommOp::Shmem(shmem(other, a, span)?)),
        other => match (UnaryOp::from_name(other), BinaryOp::from_name(other)) {
            (Some(op), _) => OpKind::Unary(op),
            (None, Some(op)) => OpKind::Binary(op),
            (None, None) => return Err(Diagnostic::error(span, format!("there is no operation `{other}`"))),
        },
    };
    attrs.finish()?;
    Ok(kind)
}

fn shmem(mnemonic: &str, a: &mut Attrs, span: Span) -> Result<ShmemOp, Diagnostic> {
    let completion = |a: &mut Attrs| a.required("completion", Completion::from_name);
    let by = |a: &mut Attrs| a.required("by", Participants::from_name);
    Ok(match mnemonic {
        "shmem_team_rank" => ShmemOp::TeamRank,
        "shmem_team_size" => ShmemOp::TeamSize,
        "shmem_team_translate" => ShmemOp::TeamTranslate,
        "shmem_copy" => {
            ShmemOp::Copy { way: a.required("way", Way::from_name)?, completion: completion(a)?, by: by(a)? }
        }
        "shmem_put_signal" => {
            ShmemOp::PutSignal { op: a.required("op", SignalOp::from_name)?, completion: completion(a)?, by: by(a)? }
        }
        "shmem_put_value" => ShmemOp::PutValue,
        "shmem_signal" => ShmemOp::Signal { op: a.required("op", SignalOp::from_name)? },
        "shmem_signal_wait" => ShmemOp::SignalWait { cmp: a.required("is", CmpOp::from_name)? },
        "shmem_fence" => ShmemOp::Fence,
        "shmem_quiet" => ShmemOp::Quiet,
        "shmem_meet" => ShmemOp::Meet { meeting: a.required("meeting", Meeting::from_name)?, by: by(a)? },
        "shmem_collect" => ShmemOp::Collect { by: by(a)? },
        _ => return Err(Diagnostic::error(span, format!("there is no operation `{mnemonic}`"))),
    })
}

fn ordering(attrs: &mut Attrs) -> Result<(Sem, Scope), Diagnostic> {
    Ok((attrs.required("sem", Sem::from_name)?, attrs.required("scope", Scope::from_name)?))
}

fn permutation(attrs: &mut Attrs, span: Span) -> Result<Vec<u8>, Diagnostic> {
    let list = attrs.list("perm")?.ok_or_else(|| Diagnostic::error(span, "the attribute `perm` is missing"))?;
    let bytes: Option<Vec<u8>> = list.into_iter().map(|p| u8::try_from(p).ok()).collect();
    bytes.ok_or_else(|| Diagnostic::error(span, "`perm` is not a permutation"))
}

fn constant(attrs: &mut Attrs, span: Span, result: Option<&Type>) -> Result<Const, Diagnostic> {
    let Some(ty) = result.and_then(Type::number) else {
        return Err(Diagnostic::error(span, "a constant has one result, of a number type"));
    };
    attrs.required("value", |word| read_constant(ty, word))
}

fn read_constant(ty: Scalar, word: &str) -> Option<Const> {
    match word {
        "true" => return Some(Const::bool(true)).filter(|c| c.ty() == ty),
        "false" => return Some(Const::bool(false)).filter(|c| c.ty() == ty),
        _ => {}
    }
    if let Some(hex) = word.strip_prefix("0x") {
        let bits = u64::from_str_radix(hex, 16).ok()?;
        return Some(Const::from_bits(ty, bits)).filter(|c| c.bits() == bits);
    }
    if ty.is_float() {
        return word.parse().ok().map(|value| Const::from_f64(ty, value));
    }
    let value: i128 = word.parse().ok()?;
    let constant = Const::from_bits(ty, value as u64);
    (constant.as_int() == Some(value)).then_some(constant)
}
