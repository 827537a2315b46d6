//! Appending operations, with result types inferred where they follow from the operands.

use shoal_source::Span;

use crate::func::{Func, OpId, Region, Value};
use crate::infer;
use crate::numeric::Const;
use crate::op::{BinaryOp, CmpOp, LoadAttrs, OpKind, Rounding, UnaryOp};
use crate::types::{Elem, Scalar, Type};

/// Where the builder puts what it makes.
#[derive(Copy, Clone, Debug)]
enum Place {
    End(Region),
    Before(Region, usize),
}

/// Makes operations at one place of a function, one after another.
#[derive(Debug)]
pub struct Builder<'f> {
    /// The function under construction.
    pub func: &'f mut Func,
    place: Place,
    /// The span given to the operations made from now on.
    pub span: Span,
}

impl<'f> Builder<'f> {
    /// Appends to a region.
    pub fn at_end(func: &'f mut Func, region: Region, span: Span) -> Builder<'f> {
        Builder { func, place: Place::End(region), span }
    }

    /// Inserts before an operation, with its span.
    pub fn before(func: &'f mut Func, op: OpId) -> Builder<'f> {
        let region = func.op(op).parent().expect("an operation in a region");
        let (index, span) = (func.index_in_region(op), func.op(op).span);
        Builder { func, place: Place::Before(region, index), span }
    }

    /// The region in which the builder makes operations.
    pub fn region(&self) -> Region {
        match self.place {
            Place::End(region) | Place::Before(region, _) => region,
        }
    }

    /// Goes on at the end of another region.
    pub fn move_to_end(&mut self, region: Region) {
        self.place = Place::End(region);
    }

    /// Makes an operation with given result types and regions.
    pub fn op(
        &mut self,
        kind: OpKind,
        operands: impl IntoIterator<Item = Value>,
        result_types: impl IntoIterator<Item = Type>,
        regions: impl IntoIterator<Item = Region>,
    ) -> OpId {
        let op = self.func.make_op(kind, operands, result_types, regions, self.span);
        match &mut self.place {
            Place::End(region) => self.func.append(*region, op),
            Place::Before(region, index) => {
                self.func.insert(*region, *index, op);
                *index += 1;
            }
        }
        op
    }

    /// Makes an operation whose result types follow from its operands.
    ///
    /// # Panics
    /// If they do not; see [`infer::result_types`].
    pub fn inferred(&mut self, kind: OpKind, operands: &[Value], regions: &[Region]) -> OpId {
        let types: Vec<&Type> = operands.iter().map(|&v| self.func.ty(v)).collect();
        let results = infer::result_types(&kind, &types)
            .unwrap_or_else(|| panic!("result types of {kind:?} follow from operands {types:?}"));
        self.op(kind, operands.iter().copied(), results, regions.iter().copied())
    }

    /// Makes an operation with one inferred result.
    pub fn value(&mut self, kind: OpKind, operands: &[Value]) -> Value {
        let op = self.inferred(kind, operands, &[]);
        self.func.op(op).result()
    }

    /// Makes an operation with one result of a given type.
    pub fn value_as(&mut self, kind: OpKind, operands: &[Value], ty: Type) -> Value {
        let op = self.op(kind, operands.iter().copied(), [ty], []);
        self.func.op(op).result()
    }

    /// A constant of type `ty` (a scalar, or a tile with it everywhere).
    pub fn constant(&mut self, value: Const, ty: Type) -> Value {
        debug_assert_eq!(ty.number(), Some(value.ty()), "a constant has the type of its elements");
        self.value_as(OpKind::Const(value), &[], ty)
    }

    /// An integer constant, wrapped to `ty`'s number type.
    pub fn int(&mut self, value: i64, ty: impl Into<Type>) -> Value {
        let ty = ty.into();
        let scalar = ty.number().expect("an integer constant has a number type");
        self.constant(Const::from_i64(scalar, value), ty)
    }

    /// A float constant, rounded to `ty`'s number type.
    pub fn float(&mut self, value: f64, ty: impl Into<Type>) -> Value {
        let ty = ty.into();
        let scalar = ty.number().expect("a float constant has a number type");
        self.constant(Const::from_f64(scalar, value), ty)
    }

    /// `a op b`.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.value(OpKind::Binary(op), &[a, b])
    }

    /// `op a`.
    pub fn unary(&mut self, op: UnaryOp, a: Value) -> Value {
        self.value(OpKind::Unary(op), &[a])
    }

    /// `a op b` as `i1`.
    pub fn cmp(&mut self, op: CmpOp, a: Value, b: Value) -> Value {
        self.value(OpKind::Cmp(op), &[a, b])
    }

    /// `if c { a } else { b }` for each element.
    pub fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        self.value(OpKind::Select, &[c, a, b])
    }

    /// The value at another element type, by value.
    pub fn cast(&mut self, a: Value, elem: impl Into<Elem>) -> Value {
        let elem = elem.into();
        if self.func.ty(a).elem() == Some(elem) {
            return a;
        }
        let ty = self.func.ty(a).with_elem(elem);
        self.value_as(OpKind::Cast(Rounding::Nearest), &[a], ty)
    }

    /// The same bits at another element type.
    pub fn bitcast(&mut self, a: Value, elem: impl Into<Elem>) -> Value {
        let ty = self.func.ty(a).with_elem(elem);
        self.value_as(OpKind::Bitcast, &[a], ty)
    }

    /// A scalar in every place of a tile; itself if `shape` is empty.
    pub fn splat(&mut self, a: Value, shape: &[u32]) -> Value {
        if shape.is_empty() {
            return a;
        }
        let elem = self.func.ty(a).elem().expect("a splat of a scalar");
        self.value_as(OpKind::Splat, &[a], Type::tile(elem, shape))
    }

    /// Dimensions of size 1 repeated up to `shape`; itself if it has that shape. The layout of the result is open.
    pub fn broadcast(&mut self, a: Value, shape: &[u32]) -> Value {
        if self.func.ty(a).shape() == shape {
            return a;
        }
        let elem = self.func.ty(a).elem().expect("a broadcast of a tile");
        self.value_as(OpKind::Broadcast, &[a], Type::tile(elem, shape))
    }

    /// The same elements, row-major, at another shape.
    pub fn reshape(&mut self, a: Value, shape: &[u32]) -> Value {
        if self.func.ty(a).shape() == shape {
            return a;
        }
        let ty = infer::at_shape(self.func.ty(a), shape).expect("a shape with as many elements");
        self.value_as(OpKind::Reshape, &[a], ty)
    }

    /// `start..start + len`.
    pub fn iota(&mut self, start: i32, len: u32) -> Value {
        self.value_as(OpKind::Iota { start }, &[], Type::tile(Scalar::I32, &[len]))
    }

    /// A plain load.
    pub fn load(&mut self, ptr: Value, mask: Option<Value>, other: Option<Value>) -> Value {
        debug_assert!(other.is_none() || mask.is_some(), "`other` needs a mask");
        let operands: Vec<Value> = [Some(ptr), mask, other].into_iter().flatten().collect();
        self.value(OpKind::Load(LoadAttrs::default()), &operands)
    }

    /// Ends a region.
    pub fn yield_(&mut self, values: &[Value]) -> OpId {
        self.inferred(OpKind::Yield, values, &[])
    }
}
