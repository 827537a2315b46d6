//! LLVM values of one kind for scalars and vectors.
//!
//! Tile code is emitted once and must serve single numbers and vectors of them alike, so everything here takes and
//! gives [`V`]. LLVM's own builder refuses nothing that is well typed; a failure is a bug of the backend, so these
//! functions panic rather than return errors nobody could handle.

use std::cell::Cell;

use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module;
use inkwell::types::{BasicType, BasicTypeEnum, FloatType, IntType, PointerType};
use inkwell::values::{
    BasicValue, BasicValueEnum, FastMathFlags, FunctionValue, InstructionOpcode, IntValue, PointerValue, VectorValue,
};
use inkwell::{AddressSpace, FloatPredicate, IntPredicate};

/// A scalar or a vector.
pub(crate) type V<'ctx> = BasicValueEnum<'ctx>;

/// A module under construction and the place where code goes.
pub(crate) struct Llvm<'ctx> {
    pub(crate) context: &'ctx Context,
    pub(crate) module: Module<'ctx>,
    pub(crate) builder: Builder<'ctx>,
    /// Numbers are rounded to `bf16` by an instruction.
    pub(crate) bf16_instructions: bool,
    /// Products may be rounded together with the sums they are added to; on while arithmetic of the kernel is written.
    pub(crate) fuse_products: Cell<bool>,
}

/// Why an LLVM builder call cannot fail here.
const WELL_TYPED: &str = "well-typed LLVM IR";

impl<'ctx> Llvm<'ctx> {
    pub(crate) fn new(context: &'ctx Context, name: &str) -> Self {
        Llvm {
            context,
            module: context.create_module(name),
            builder: context.create_builder(),
            bf16_instructions: false,
            fuse_products: Cell::new(false),
        }
    }

    /// For a target whose instructions to and from `bf16` keep subnormal numbers.
    pub(crate) fn with_bf16_instructions(mut self) -> Self {
        self.bf16_instructions = true;
        self
    }

    /// An integer in so many bits; a wider one has zeros above.
    pub(crate) fn cast_int(&self, a: V<'ctx>, bits: u32) -> V<'ctx> {
        let from = a.get_type().into_int_type().get_bit_width();
        let op = if bits < from { InstructionOpcode::Trunc } else { InstructionOpcode::ZExt };
        self.cast(op, a, self.int_type(bits).into())
    }

    // Types.

    pub(crate) fn i1(&self) -> IntType<'ctx> {
        self.context.bool_type()
    }

    pub(crate) fn i8(&self) -> IntType<'ctx> {
        self.context.i8_type()
    }

    pub(crate) fn i32(&self) -> IntType<'ctx> {
        self.context.i32_type()
    }

    pub(crate) fn i64(&self) -> IntType<'ctx> {
        self.context.i64_type()
    }

    pub(crate) fn int_type(&self, bits: u32) -> IntType<'ctx> {
        let bits = std::num::NonZeroU32::new(bits).expect("a width above zero");
        self.context.custom_width_int_type(bits).expect("an integer type of this width")
    }

    pub(crate) fn f32(&self) -> FloatType<'ctx> {
        self.context.f32_type()
    }

    pub(crate) fn ptr(&self) -> PointerType<'ctx> {
        self.context.ptr_type(AddressSpace::default())
    }

    /// `elem` with the lanes of `like`: a vector if that is one.
    pub(crate) fn like(&self, like: V<'ctx>, elem: BasicTypeEnum<'ctx>) -> BasicTypeEnum<'ctx> {
        lanes(like).map_or(elem, |lanes| vector_type(elem, lanes))
    }

    // Constants.

    pub(crate) fn const_i64(&self, value: i64) -> IntValue<'ctx> {
        self.i64().const_int(value as u64, true)
    }

    pub(crate) fn const_i32(&self, value: i64) -> IntValue<'ctx> {
        self.i32().const_int(value as u64, true)
    }

    pub(crate) fn undef(&self, ty: BasicTypeEnum<'ctx>) -> V<'ctx> {
        match ty {
            BasicTypeEnum::IntType(t) => t.get_undef().into(),
            BasicTypeEnum::FloatType(t) => t.get_undef().into(),
            BasicTypeEnum::PointerType(t) => t.get_undef().into(),
            BasicTypeEnum::VectorType(t) => t.get_undef().into(),
            BasicTypeEnum::ArrayType(t) => t.get_undef().into(),
            BasicTypeEnum::StructType(t) => t.get_undef().into(),
            BasicTypeEnum::ScalableVectorType(t) => t.get_undef().into(),
        }
    }

    /// A vector of the integer constants `values`.
    pub(crate) fn const_vector(&self, ty: IntType<'ctx>, values: impl IntoIterator<Item = i64>) -> VectorValue<'ctx> {
        let elements: Vec<IntValue<'ctx>> = values.into_iter().map(|v| ty.const_int(v as u64, true)).collect();
        inkwell::types::VectorType::const_vector(&elements)
    }

    // Arithmetic.

    pub(crate) fn bin(&self, op: InstructionOpcode, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
        let value = self.builder.build_binop(op, a, b, "").expect(WELL_TYPED);
        let float = matches!(op, InstructionOpcode::FAdd | InstructionOpcode::FSub | InstructionOpcode::FMul);
        if self.fuse_products.get()
            && float
            && let Some(instruction) = value.as_instruction_value()
        {
            instruction.set_fast_math_flags(FastMathFlags::AllowContract).expect("arithmetic of floats");
        }
        value
    }

    pub(crate) fn cast(&self, op: InstructionOpcode, a: V<'ctx>, elem: BasicTypeEnum<'ctx>) -> V<'ctx> {
        let ty = self.like(a, elem);
        if a.get_type() == ty { a } else { self.builder.build_cast(op, a, ty, "").expect(WELL_TYPED) }
    }

    pub(crate) fn icmp(&self, predicate: IntPredicate, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
        match (a, b) {
            (V::IntValue(a), V::IntValue(b)) => {
                self.builder.build_int_compare(predicate, a, b, "").expect(WELL_TYPED).into()
            }
            (V::VectorValue(a), V::VectorValue(b)) => {
                self.builder.build_int_compare(predicate, a, b, "").expect(WELL_TYPED).into()
            }
            (V::PointerValue(a), V::PointerValue(b)) => {
                let (a, b) = (self.ptr_to_int(a), self.ptr_to_int(b));
                self.builder.build_int_compare(predicate, a, b, "").expect(WELL_TYPED).into()
            }
            (a, b) => unreachable!("comparison of {a} and {b}"),
        }
    }

    pub(crate) fn fcmp(&self, predicate: FloatPredicate, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
        match (a, b) {
            (V::FloatValue(a), V::FloatValue(b)) => {
                self.builder.build_float_compare(predicate, a, b, "").expect(WELL_TYPED).into()
            }
            (V::VectorValue(a), V::VectorValue(b)) => {
                self.builder.build_float_compare(predicate, a, b, "").expect(WELL_TYPED).into()
            }
            (a, b) => unreachable!("comparison of {a} and {b}"),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "LLVM has more kinds of values than these can be")]
    pub(crate) fn select(&self, condition: V<'ctx>, a: V<'ctx>, b: V<'ctx>) -> V<'ctx> {
        match condition {
            V::IntValue(c) => self.builder.build_select(c, a, b, "").expect(WELL_TYPED),
            V::VectorValue(c) => self.builder.build_select(c, a, b, "").expect(WELL_TYPED),
            other => unreachable!("selection by {other}"),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "LLVM has more kinds of values than these can be")]
    pub(crate) fn fneg(&self, a: V<'ctx>) -> V<'ctx> {
        match a {
            V::FloatValue(a) => self.builder.build_float_neg(a, "").expect(WELL_TYPED).into(),
            V::VectorValue(a) => self.builder.build_float_neg(a, "").expect(WELL_TYPED).into(),
            other => unreachable!("negation of {other}"),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "LLVM has more kinds of values than these can be")]
    pub(crate) fn not(&self, a: V<'ctx>) -> V<'ctx> {
        match a {
            V::IntValue(a) => self.builder.build_not(a, "").expect(WELL_TYPED).into(),
            V::VectorValue(a) => self.builder.build_not(a, "").expect(WELL_TYPED).into(),
            other => unreachable!("complement of {other}"),
        }
    }

    pub(crate) fn add64(&self, a: IntValue<'ctx>, b: IntValue<'ctx>) -> IntValue<'ctx> {
        self.builder.build_int_add(a, b, "").expect(WELL_TYPED)
    }

    pub(crate) fn mul64(&self, a: IntValue<'ctx>, b: IntValue<'ctx>) -> IntValue<'ctx> {
        self.builder.build_int_mul(a, b, "").expect(WELL_TYPED)
    }

    pub(crate) fn shl64(&self, a: IntValue<'ctx>, bits: u32) -> IntValue<'ctx> {
        if bits == 0 { a } else { self.builder.build_left_shift(a, self.const_i64(bits.into()), "").expect(WELL_TYPED) }
    }

    pub(crate) fn shr64(&self, a: IntValue<'ctx>, bits: u32) -> IntValue<'ctx> {
        if bits == 0 {
            a
        } else {
            self.builder.build_right_shift(a, self.const_i64(bits.into()), false, "").expect(WELL_TYPED)
        }
    }

    pub(crate) fn and64(&self, a: IntValue<'ctx>, mask: u64) -> IntValue<'ctx> {
        self.builder.build_and(a, self.i64().const_int(mask, false), "").expect(WELL_TYPED)
    }

    pub(crate) fn or64(&self, a: IntValue<'ctx>, b: IntValue<'ctx>) -> IntValue<'ctx> {
        self.builder.build_or(a, b, "").expect(WELL_TYPED)
    }

    // Vectors.

    /// `a` in each of `lanes` lanes.
    pub(crate) fn splat(&self, a: V<'ctx>, lanes: u32) -> VectorValue<'ctx> {
        let V::VectorValue(undef) = self.undef(vector_type(a.get_type(), lanes)) else { unreachable!("a vector") };
        let first = self.builder.build_insert_element(undef, a, self.const_i64(0), "").expect(WELL_TYPED);
        let zeros = self.i32().vec_type(lanes).const_zero();
        self.builder.build_shuffle_vector(first, undef, zeros, "").expect(WELL_TYPED)
    }

    /// `a` in each lane if `like` is a vector, else `a`.
    pub(crate) fn splat_like(&self, a: V<'ctx>, like: V<'ctx>) -> V<'ctx> {
        lanes(like).map_or(a, |lanes| self.splat(a, lanes).into())
    }

    pub(crate) fn extract(&self, vector: VectorValue<'ctx>, lane: u64) -> V<'ctx> {
        self.builder.build_extract_element(vector, self.const_i64(lane as i64), "").expect(WELL_TYPED)
    }

    pub(crate) fn insert(&self, vector: VectorValue<'ctx>, value: V<'ctx>, lane: u64) -> VectorValue<'ctx> {
        self.builder.build_insert_element(vector, value, self.const_i64(lane as i64), "").expect(WELL_TYPED)
    }

    /// The lanes `picks` of `a` followed by `b`.
    pub(crate) fn shuffle(&self, a: VectorValue<'ctx>, b: VectorValue<'ctx>, picks: &[u32]) -> VectorValue<'ctx> {
        let mask = self.const_vector(self.i32(), picks.iter().map(|&p| i64::from(p)));
        self.builder.build_shuffle_vector(a, b, mask, "").expect(WELL_TYPED)
    }

    // Memory.

    /// The address `bytes` further.
    pub(crate) fn offset(&self, base: PointerValue<'ctx>, bytes: IntValue<'ctx>) -> PointerValue<'ctx> {
        // SAFETY: inkwell marks every GEP as unsafe because of inbounds reasoning; this one makes no inbounds claim.
        unsafe { self.builder.build_gep(self.i8(), base, &[bytes], "").expect(WELL_TYPED) }
    }

    pub(crate) fn load(&self, ty: impl BasicType<'ctx>, from: PointerValue<'ctx>, align: u32) -> V<'ctx> {
        let value = self.builder.build_load(ty, from, "").expect(WELL_TYPED);
        if let Some(instruction) = value.as_instruction_value() {
            instruction.set_alignment(align).expect("an alignment that is a power of two");
        }
        value
    }

    pub(crate) fn store(&self, value: V<'ctx>, to: PointerValue<'ctx>, align: u32) {
        let instruction = self.builder.build_store(to, value).expect(WELL_TYPED);
        instruction.set_alignment(align).expect("an alignment that is a power of two");
    }

    pub(crate) fn ptr_to_int(&self, a: PointerValue<'ctx>) -> IntValue<'ctx> {
        self.builder.build_ptr_to_int(a, self.i64(), "").expect(WELL_TYPED)
    }

    pub(crate) fn int_to_ptr(&self, a: IntValue<'ctx>) -> PointerValue<'ctx> {
        self.builder.build_int_to_ptr(a, self.ptr(), "").expect(WELL_TYPED)
    }

    // Calls.

    /// Calls the intrinsic `name`, overloaded on `types`.
    pub(crate) fn intrinsic(&self, name: &str, types: &[BasicTypeEnum<'ctx>], args: &[V<'ctx>]) -> Option<V<'ctx>> {
        let intrinsic = Intrinsic::find(name).unwrap_or_else(|| panic!("LLVM knows {name}"));
        let function = intrinsic.get_declaration(&self.module, types).unwrap_or_else(|| panic!("{name} on {types:?}"));
        self.call(function, args)
    }

    pub(crate) fn call(&self, function: FunctionValue<'ctx>, args: &[V<'ctx>]) -> Option<V<'ctx>> {
        let args: Vec<_> = args.iter().map(|&a| a.into()).collect();
        self.builder.build_call(function, &args, "").expect(WELL_TYPED).try_as_basic_value().basic()
    }

    /// An external function, declared on first use.
    pub(crate) fn external(
        &self,
        name: &str,
        result: Option<BasicTypeEnum<'ctx>>,
        params: &[BasicTypeEnum<'ctx>],
    ) -> FunctionValue<'ctx> {
        if let Some(function) = self.module.get_function(name) {
            return function;
        }
        let params: Vec<_> = params.iter().map(|&p| p.into()).collect();
        let ty = match result {
            Some(result) => result.fn_type(&params, false),
            None => self.context.void_type().fn_type(&params, false),
        };
        self.module.add_function(name, ty, None)
    }

    // Control flow.

    /// The block that code is appended to now.
    pub(crate) fn here(&self) -> BasicBlock<'ctx> {
        self.builder.get_insert_block().expect("code is being appended to a block")
    }

    pub(crate) fn new_block(&self, name: &str) -> BasicBlock<'ctx> {
        let function = self.here().get_parent().expect("a block of a function");
        self.context.append_basic_block(function, name)
    }

    pub(crate) fn jump(&self, to: BasicBlock<'ctx>) {
        self.builder.build_unconditional_branch(to).expect(WELL_TYPED);
    }

    pub(crate) fn branch(&self, condition: IntValue<'ctx>, then: BasicBlock<'ctx>, otherwise: BasicBlock<'ctx>) {
        self.builder.build_conditional_branch(condition, then, otherwise).expect(WELL_TYPED);
    }

    /// Runs `body` for `i = 0, step, 2 step, …` below `end` (above zero, a multiple of `step`), with the carried
    /// values; gives those after the last round. A single round makes no loop.
    pub(crate) fn counted_loop(
        &self,
        end: u64,
        step: u64,
        carried: &[V<'ctx>],
        body: &mut dyn FnMut(IntValue<'ctx>, &[V<'ctx>]) -> Vec<V<'ctx>>,
    ) -> Vec<V<'ctx>> {
        self.range_loop(0, end, step, carried, body)
    }

    /// As [`Llvm::counted_loop`], from `start`.
    pub(crate) fn range_loop(
        &self,
        start: u64,
        end: u64,
        step: u64,
        carried: &[V<'ctx>],
        body: &mut dyn FnMut(IntValue<'ctx>, &[V<'ctx>]) -> Vec<V<'ctx>>,
    ) -> Vec<V<'ctx>> {
        if start >= end {
            return carried.to_vec();
        }
        if start + step >= end {
            return body(self.const_i64(start as i64), carried);
        }
        let before = self.here();
        let head = self.new_block("loop");
        self.jump(head);
        self.builder.position_at_end(head);
        let counter = self.builder.build_phi(self.i64(), "i").expect(WELL_TYPED);
        counter.add_incoming(&[(&self.const_i64(start as i64), before)]);
        let phis: Vec<_> = carried
            .iter()
            .map(|v| {
                let phi = self.builder.build_phi(v.get_type(), "").expect(WELL_TYPED);
                phi.add_incoming(&[(v, before)]);
                phi
            })
            .collect();
        let i = counter.as_basic_value().into_int_value();
        let inside: Vec<V<'ctx>> = phis.iter().map(|phi| phi.as_basic_value()).collect();
        let next = body(i, &inside);
        let latch = self.here();
        let following = self.builder.build_int_nuw_add(i, self.const_i64(step as i64), "").expect(WELL_TYPED);
        let end = self.const_i64(end as i64);
        let again = self.builder.build_int_compare(IntPredicate::ULT, following, end, "").expect(WELL_TYPED);
        let after = self.new_block("after");
        self.branch(again, head, after);
        counter.add_incoming(&[(&following, latch)]);
        for (phi, value) in phis.iter().zip(&next) {
            phi.add_incoming(&[(value, latch)]);
        }
        self.builder.position_at_end(after);
        next
    }
}

/// How many lanes a vector has; `None` for a scalar.
pub(crate) fn lanes(a: V<'_>) -> Option<u32> {
    if let V::VectorValue(a) = a { Some(a.get_type().get_size()) } else { None }
}

/// A pointer as the integer that vectors hold; other values as they are.
pub(crate) fn pointer_as_int<'ctx>(llvm: &Llvm<'ctx>, value: V<'ctx>) -> V<'ctx> {
    if let V::PointerValue(p) = value { llvm.ptr_to_int(p).into() } else { value }
}

/// `lanes` of `elem`.
#[expect(clippy::wildcard_enum_match_arm, reason = "LLVM has more types than vectors are made of")]
pub(crate) fn vector_type(elem: BasicTypeEnum<'_>, lanes: u32) -> BasicTypeEnum<'_> {
    match elem {
        BasicTypeEnum::IntType(t) => t.vec_type(lanes).into(),
        BasicTypeEnum::FloatType(t) => t.vec_type(lanes).into(),
        BasicTypeEnum::PointerType(t) => t.vec_type(lanes).into(),
        other => unreachable!("a vector of {other}"),
    }
}
