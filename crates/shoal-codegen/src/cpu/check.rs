//! Checks of every access, for kernels that are being debugged: the runtime knows the memory of each argument, and is
//! shown the addresses before they are used.

use inkwell::values::{InstructionOpcode, PointerValue};
use shoal_abi::{CheckedAccess, Field, Hook, Site};
use shoal_ir::{Elem, OpId, Scalar};

use super::chunk::Chunk;
use super::emitter::Emitter;
use crate::shared::access::Access;
use crate::shared::llvm::V;

/// Most lanes that are checked at once: a bit for each.
const MAX_LANES: u32 = 64;

/// What the emitter of checked code keeps.
pub(super) struct Checks<'ctx> {
    /// Where the addresses of a chunk are put for the runtime.
    room: PointerValue<'ctx>,
    /// The runtime's `CheckedAccess` of each operation.
    accesses: std::collections::HashMap<OpId, PointerValue<'ctx>>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// All accesses emitted from now on are checked.
    pub(super) fn check_accesses(&mut self) {
        let room = self.allocate_bytes(u64::from(MAX_LANES) * 8);
        self.checks = Some(Checks { room, accesses: std::collections::HashMap::new() });
        self.needs.can_fail = true;
    }

    /// Before `op` accesses the addresses of some lanes, those hidden by the mask excepted.
    pub(super) fn check(&mut self, op: OpId, pointers: Chunk<'ctx>, mask: Option<Chunk<'ctx>>, lanes: u32) {
        let Some(checks) = &self.checks else { return };
        let room = checks.room;
        let access: V<'ctx> = self.access(op).into();
        let llvm = self.llvm;
        let mask = self.mask_bits(mask, lanes);
        let context: V<'ctx> = self.context.into();
        let range = |first: V<'ctx>, step: i64| {
            let first = llvm.ptr_to_int(first.into_pointer_value()).into();
            llvm.call(llvm.hook(Hook::CheckRange), &[context, access, first, llvm.const_i64(step).into(), mask]);
        };
        match pointers {
            Chunk::Uniform(pointer) => range(pointer, 0),
            Chunk::Affine { base, step } => range(base, step),
            Chunk::Vector(addresses) => {
                llvm.store(addresses.into(), room, 8);
                llvm.call(llvm.hook(Hook::CheckEach), &[context, access, room.into(), mask]);
            }
        }
    }

    /// A bit for each lane.
    fn mask_bits(&self, mask: Option<Chunk<'ctx>>, lanes: u32) -> V<'ctx> {
        assert!(lanes <= MAX_LANES, "a chunk has at most {MAX_LANES} lanes");
        let llvm = self.llvm;
        let all: V<'ctx> = llvm.i64().const_int(u64::MAX >> (MAX_LANES - lanes), false).into();
        match mask {
            None => all,
            Some(Chunk::Vector(mask)) => {
                let bits = llvm.builder.build_bit_cast(mask, llvm.int_type(lanes), "").expect("bits of a mask");
                llvm.cast(InstructionOpcode::ZExt, bits, llvm.i64().into())
            }
            Some(mask) => llvm.select(mask.single(llvm, Elem::Scalar(Scalar::I1)), all, llvm.const_i64(0).into()),
        }
    }

    /// The constant that describes an access to the runtime.
    fn access(&mut self, op: OpId) -> PointerValue<'ctx> {
        if let Some(&known) = self.checks.as_ref().and_then(|checks| checks.accesses.get(&op)) {
            return known;
        }
        let llvm = self.llvm;
        let Access { base, kind, bytes, what } = Access::of(self.func, op);
        let number = |n: u32| llvm.i32().const_int(u64::from(n), false).into();
        let values = [number(bytes), number(kind.number()), number(base.number().cast_unsigned())];
        let values = [&self.site_values(op, what)[..], &values].concat();
        let access = llvm.constant_data("access", &access_fields(), &values);
        if let Some(checks) = &mut self.checks {
            checks.accesses.insert(op, access);
        }
        access
    }
}

/// All fields of a [`CheckedAccess`], those of its site first.
fn access_fields() -> Vec<Field> {
    [&Site::FIELDS[..], &CheckedAccess::FIELDS].concat()
}
