//! What a value holds while a program runs. Its type and shape are static: the function knows them.

use std::rc::Rc;

use shoal_ir::Type;

/// A view of a tensor in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) base: u64,
    pub(crate) shape: Vec<i64>,
    /// In elements.
    pub(crate) strides: Vec<i64>,
}

/// The content of a value. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub(crate) enum Val {
    /// Nothing: a token, or a value that is not alive.
    #[default]
    Empty,
    /// One number's bits, or an address.
    Scalar(u64),
    /// A tile's elements in row-major order.
    Tile(Rc<Vec<u64>>),
    /// A descriptor.
    Desc(Rc<Descriptor>),
}

impl Val {
    pub(crate) fn tile(bits: Vec<u64>) -> Val {
        Val::Tile(Rc::new(bits))
    }

    /// A scalar or a tile, as its type says.
    pub(crate) fn of(ty: &Type, bits: Vec<u64>) -> Val {
        if ty.is_tile() { Val::tile(bits) } else { Val::Scalar(bits.first().copied().unwrap_or(0)) }
    }

    /// The elements; one for a scalar.
    pub(crate) fn bits(&self) -> &[u64] {
        match self {
            Val::Scalar(bits) => std::slice::from_ref(bits),
            Val::Tile(bits) => bits,
            Val::Empty | Val::Desc(_) => &[],
        }
    }

    /// The first element.
    pub(crate) fn scalar(&self) -> u64 {
        self.bits().first().copied().unwrap_or(0)
    }

    /// Whether both have the same content.
    pub(crate) fn same(&self, other: &Val) -> bool {
        match (self, other) {
            (Val::Tile(a), Val::Tile(b)) => Rc::ptr_eq(a, b) || a == b,
            (Val::Scalar(a), Val::Scalar(b)) => a == b,
            (Val::Desc(a), Val::Desc(b)) => a == b,
            (Val::Empty, Val::Empty) => true,
            (Val::Empty | Val::Scalar(_) | Val::Tile(_) | Val::Desc(_), _) => false,
        }
    }
}
