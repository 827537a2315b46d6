//! Instructions of AVX-512 that LLVM takes only when they are named, on vectors of `f32`.

use inkwell::values::InstructionOpcode as Op;
use shoal_ir::Extreme;

use super::isa::Isa;
use crate::shared::llvm::{Llvm, V, lanes};

/// The instructions on vectors of one of its widths.
pub(super) struct Avx512<'a, 'ctx> {
    llvm: &'a Llvm<'ctx>,
    lanes: u32,
}

impl<'a, 'ctx> Avx512<'a, 'ctx> {
    /// On vectors with as many lanes as this value has.
    pub(super) fn of(llvm: &'a Llvm<'ctx>, isa: &Isa, like: V<'ctx>) -> Option<Self> {
        let lanes = lanes(like)?;
        (isa.avx512 && matches!(lanes, 4 | 8 | 16)).then_some(Avx512 { llvm, lanes })
    }

    /// `x` less the nearest integer; nothing of an infinite `x`.
    pub(super) fn less_nearest_integer(&self, x: V<'ctx>) -> V<'ctx> {
        self.call("llvm.x86.avx512.mask.reduce.ps", &[x, self.llvm.const_i32(0).into()])
    }

    /// `p * 2^n`, rounded once.
    pub(super) fn scale(&self, p: V<'ctx>, n: V<'ctx>) -> V<'ctx> {
        self.call("llvm.x86.avx512.mask.scalef.ps", &[p, n])
    }

    /// The lesser or the greater, zeros in order. A quiet NaN is passed over, a signalling one comes back quiet.
    pub(super) fn range(&self, which: Extreme, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
        // The upper two bits: with the sign of what is picked.
        let control = match which {
            Extreme::Min => 0b0100,
            Extreme::Max => 0b0101,
        };
        self.call(RANGE, &[a, b, self.llvm.const_i32(control).into()])
    }

    /// An instruction on all lanes; the widest takes a rounding mode, which is the one in force.
    fn call(&self, name: &str, args: &[V<'ctx>]) -> V<'ctx> {
        let (llvm, lanes) = (self.llvm, self.lanes);
        let all_lanes = llvm.int_type(lanes.max(8)).const_all_ones();
        let mut args = args.to_vec();
        args.extend([V::from(llvm.f32().vec_type(lanes).const_zero()), all_lanes.into()]);
        if lanes == 16 {
            args.push(llvm.const_i32(4).into());
        }
        llvm.intrinsic(&format!("{name}.{}", lanes * 32), &[], &args).expect("a value")
    }
}

/// How the name of that instruction begins.
pub(super) const RANGE: &str = "llvm.x86.avx512.mask.range.ps";

/// `f32` to the bits of `bf16`, to nearest even, by the instruction that makes zeros of subnormal numbers: where it meets one,
/// `other` does the work. On whole vectors.
pub(super) fn round_to_bf16<'ctx>(
    llvm: &Llvm<'ctx>,
    isa: &Isa,
    a: V<'ctx>,
    other: impl FnOnce() -> V<'ctx>,
) -> Option<V<'ctx>> {
    const SUBNORMAL: i64 = 0x20;
    if !isa.bf16_rounding || lanes(a) != Some(16) {
        return None;
    }
    let class = [a, llvm.const_i32(SUBNORMAL).into()];
    let subnormal = llvm.intrinsic("llvm.x86.avx512.fpclass.ps.512", &[], &class).expect("a mask");
    let some = llvm.intrinsic("llvm.vector.reduce.or", &[subnormal.get_type()], &[subnormal]).expect("a bit");
    let [quick, slow, after] = ["round", "round_subnormal", "rounded"].map(|name| llvm.new_block(name));
    llvm.branch(some.into_int_value(), slow, quick);
    llvm.builder.position_at_end(quick);
    let rounded = llvm.intrinsic("llvm.x86.avx512bf16.cvtneps2bf16.512", &[], &[a]).expect("a value");
    let rounded = llvm.cast(Op::BitCast, rounded, llvm.int_type(16).into());
    llvm.jump(after);
    llvm.builder.position_at_end(slow);
    let other = other();
    let slow = llvm.here();
    llvm.jump(after);
    llvm.builder.position_at_end(after);
    let phi = llvm.builder.build_phi(rounded.get_type(), "").expect("a phi");
    phi.add_incoming(&[(&rounded, quick), (&other, slow)]);
    Some(phi.as_basic_value())
}
