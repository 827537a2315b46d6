//! Types: scalars, pointers, tiles, tensor descriptors, tokens.

use std::fmt;

use shoal_layout::LinearLayout;
use smallvec::SmallVec;

/// The most elements a tile may have.
pub const MAX_TILE_ELEMENTS: u64 = 1 << 20;

/// A number type. Signedness is part of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// A truth value.
    I1,
    /// Signed 8-bit integer.
    I8,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// 4 exponent bits, 3 mantissa bits, bias 7, no infinities (`e4m3fn`).
    F8E4M3,
    /// 5 exponent bits, 2 mantissa bits, bias 15, IEEE-like.
    F8E5M2,
    /// 4 exponent bits, 3 mantissa bits, bias 15, no infinities, no NaN.
    F8E4B15,
    /// 4 exponent bits, 3 mantissa bits, bias 8, one zero, one NaN (`e4m3fnuz`).
    F8E4M3Fnuz,
    /// 5 exponent bits, 2 mantissa bits, bias 16, one zero, one NaN (`e5m2fnuz`).
    F8E5M2Fnuz,
    /// IEEE half precision.
    F16,
    /// The upper half of an `f32`.
    BF16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl Scalar {
    /// Every scalar type.
    pub const ALL: [Scalar; 18] = [
        Scalar::I1,
        Scalar::I8,
        Scalar::I16,
        Scalar::I32,
        Scalar::I64,
        Scalar::U8,
        Scalar::U16,
        Scalar::U32,
        Scalar::U64,
        Scalar::F8E4M3,
        Scalar::F8E5M2,
        Scalar::F8E4B15,
        Scalar::F8E4M3Fnuz,
        Scalar::F8E5M2Fnuz,
        Scalar::F16,
        Scalar::BF16,
        Scalar::F32,
        Scalar::F64,
    ];

    /// The spelling in the text format.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::I1 => "i1",
            Scalar::I8 => "i8",
            Scalar::I16 => "i16",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::U8 => "u8",
            Scalar::U16 => "u16",
            Scalar::U32 => "u32",
            Scalar::U64 => "u64",
            Scalar::F8E4M3 => "f8e4m3",
            Scalar::F8E5M2 => "f8e5m2",
            Scalar::F8E4B15 => "f8e4b15",
            Scalar::F8E4M3Fnuz => "f8e4m3fnuz",
            Scalar::F8E5M2Fnuz => "f8e5m2fnuz",
            Scalar::F16 => "f16",
            Scalar::BF16 => "bf16",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        }
    }

    /// The type with that spelling.
    pub fn from_name(name: &str) -> Option<Scalar> {
        Scalar::ALL.into_iter().find(|s| s.name() == name)
    }

    /// Width in bits; 1 for `i1`.
    pub fn bits(self) -> u32 {
        match self {
            Scalar::I1 => 1,
            Scalar::I8
            | Scalar::U8
            | Scalar::F8E4M3
            | Scalar::F8E5M2
            | Scalar::F8E4B15
            | Scalar::F8E4M3Fnuz
            | Scalar::F8E5M2Fnuz => 8,
            Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::BF16 => 16,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 32,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 64,
        }
    }

    /// Size in memory; an `i1` takes one byte.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Any integer type, `i1` included.
    pub fn is_int(self) -> bool {
        self <= Scalar::U64
    }

    /// Any floating-point type.
    pub fn is_float(self) -> bool {
        !self.is_int()
    }

    /// An 8-bit floating-point type.
    pub fn is_fp8(self) -> bool {
        self.is_float() && self.bits() == 8
    }

    /// A signed integer. `i1` is unsigned.
    pub fn is_signed_int(self) -> bool {
        matches!(self, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64)
    }

    /// An unsigned integer, `i1` included.
    pub fn is_unsigned_int(self) -> bool {
        self.is_int() && !self.is_signed_int()
    }

    /// The integer of this width: signed if `signed`. `None` for widths without such a type.
    pub fn int(bits: u32, signed: bool) -> Option<Scalar> {
        Some(match (bits, signed) {
            (1, _) => Scalar::I1,
            (8, true) => Scalar::I8,
            (16, true) => Scalar::I16,
            (32, true) => Scalar::I32,
            (64, true) => Scalar::I64,
            (8, false) => Scalar::U8,
            (16, false) => Scalar::U16,
            (32, false) => Scalar::U32,
            (64, false) => Scalar::U64,
            _ => return None,
        })
    }

    /// The type in which backends compute: 8- and 16-bit floats compute in `f32`, all others in themselves.
    pub fn compute_type(self) -> Scalar {
        if self.is_float() && self.bits() < 32 { Scalar::F32 } else { self }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a pointer points.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Device memory, reached by every program of the rank, and by other ranks if it is in the symmetric heap.
    Global,
    /// Memory of one program.
    Shared,
}

impl Space {
    /// Every space.
    pub const ALL: [Space; 2] = [Space::Global, Space::Shared];
}

/// A pointer to numbers, or (for `depth` above 1) to pointers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ptr {
    /// The number type at the end of the chain.
    pub pointee: Scalar,
    /// Where it points.
    pub space: Space,
    /// How many loads lead to a number; at least 1.
    pub depth: u8,
}

impl Ptr {
    /// A pointer to numbers in device memory.
    pub fn global(pointee: Scalar) -> Ptr {
        Ptr { pointee, space: Space::Global, depth: 1 }
    }

    /// What a load through this pointer gives.
    pub fn element(self) -> Elem {
        if self.depth > 1 { Elem::Ptr(Ptr { depth: self.depth - 1, ..self }) } else { Elem::Scalar(self.pointee) }
    }

    /// A pointer to elements of this type.
    pub fn to(element: Elem) -> Ptr {
        match element {
            Elem::Scalar(pointee) => Ptr::global(pointee),
            Elem::Ptr(inner) => Ptr { depth: inner.depth + 1, ..inner },
        }
    }
}

/// What a scalar value is, and what a tile holds: a number or a pointer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Elem {
    /// A number.
    Scalar(Scalar),
    /// An address.
    Ptr(Ptr),
}

impl Elem {
    /// The number type, if it is one.
    pub fn scalar(self) -> Option<Scalar> {
        match self {
            Elem::Scalar(s) => Some(s),
            Elem::Ptr(_) => None,
        }
    }

    /// The pointer type, if it is one.
    pub fn ptr(self) -> Option<Ptr> {
        match self {
            Elem::Ptr(p) => Some(p),
            Elem::Scalar(_) => None,
        }
    }

    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            Elem::Scalar(s) => s.bits(),
            Elem::Ptr(_) => 64,
        }
    }

    /// Size in memory.
    pub fn bytes(self) -> u32 {
        match self {
            Elem::Scalar(s) => s.bytes(),
            Elem::Ptr(_) => 8,
        }
    }
}

impl From<Scalar> for Elem {
    fn from(s: Scalar) -> Elem {
        Elem::Scalar(s)
    }
}

impl From<Ptr> for Elem {
    fn from(p: Ptr) -> Elem {
        Elem::Ptr(p)
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Elem::Scalar(s) => s.fmt(f),
            Elem::Ptr(p) => {
                write!(f, "ptr<{}", p.element())?;
                match p.space {
                    Space::Global => {}
                    Space::Shared => f.write_str(", shared")?,
                }
                f.write_str(">")
            }
        }
    }
}

/// The dimensions of a tile, outermost first.
pub type Shape = SmallVec<[u32; 4]>;

/// A dense, row-major array of numbers or pointers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileType {
    /// What it holds.
    pub elem: Elem,
    /// Its dimensions, each a power of two; never empty.
    pub shape: Shape,
    /// How its elements are spread over a device's registers, lanes and warps, once that is decided.
    pub layout: Option<LinearLayout>,
}

impl TileType {
    /// A tile whose layout is open.
    pub fn new(elem: impl Into<Elem>, shape: &[u32]) -> TileType {
        TileType { elem: elem.into(), shape: shape.into(), layout: None }
    }

    /// The number of elements.
    pub fn len(&self) -> u64 {
        self.shape.iter().map(|&d| u64::from(d)).product()
    }

    /// Never: a tile has at least one element. (Here because `len` is.)
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }
}

/// A view of a tensor in memory that is read and written in blocks of a fixed shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DescType {
    /// What the tensor holds.
    pub elem: Scalar,
    /// The shape of a block; the tensor has as many dimensions.
    pub block: Shape,
    /// What reads beyond the tensor's edge give.
    pub padding: Padding,
}

/// One of the values that a descriptor is passed to a kernel as.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum DescPart {
    /// The address of its first element.
    Base,
    /// The size of a dimension, an `i32`.
    Size(usize),
    /// The stride of a dimension in elements, an `i64`.
    Stride(usize),
}

impl DescPart {
    /// The values of a descriptor with so many dimensions, in the order in which they are passed: the binary layout of
    /// descriptors. The last dimension's stride is 1 and not passed.
    pub fn passed(rank: usize) -> impl Iterator<Item = DescPart> {
        let strides = (1..rank).map(|axis| DescPart::Stride(axis - 1));
        std::iter::once(DescPart::Base).chain((0..rank).map(DescPart::Size)).chain(strides)
    }

    /// What it is promised to be a multiple of, an address in bytes: the copy engines of GPUs need aligned tensors.
    pub fn divisor(self) -> u64 {
        match self {
            DescPart::Base => 16,
            DescPart::Size(_) | DescPart::Stride(_) => 1,
        }
    }

    /// Its type, for a descriptor of a tensor of `elem`.
    pub fn ty(self, elem: Scalar) -> Type {
        match self {
            DescPart::Base => Type::Elem(Elem::Ptr(Ptr::global(elem))),
            DescPart::Size(_) => Type::scalar(Scalar::I32),
            DescPart::Stride(_) => Type::scalar(Scalar::I64),
        }
    }
}

/// What a read beyond a tensor's edge gives.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Padding {
    /// Zero.
    Zero,
    /// Not a number.
    Nan,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// One number or pointer.
    Elem(Elem),
    /// Many of them.
    Tile(TileType),
    /// A tensor descriptor.
    Desc(DescType),
    /// Proof that a wait is over; orders what consumes it after the wait. Has no run-time content.
    Token,
}

impl Type {
    /// One number.
    pub fn scalar(s: Scalar) -> Type {
        Type::Elem(Elem::Scalar(s))
    }

    /// A tile whose layout is open; a scalar if `shape` is empty.
    pub fn tile(elem: impl Into<Elem>, shape: &[u32]) -> Type {
        if shape.is_empty() { Type::Elem(elem.into()) } else { Type::Tile(TileType::new(elem, shape)) }
    }

    /// The element type of a scalar or a tile.
    pub fn elem(&self) -> Option<Elem> {
        match self {
            Type::Elem(e) => Some(*e),
            Type::Tile(t) => Some(t.elem),
            Type::Desc(_) | Type::Token => None,
        }
    }

    /// The number type of a scalar or a tile of numbers.
    pub fn number(&self) -> Option<Scalar> {
        self.elem().and_then(Elem::scalar)
    }

    /// The shape; empty for everything but tiles.
    pub fn shape(&self) -> &[u32] {
        match self {
            Type::Tile(t) => &t.shape,
            Type::Elem(_) | Type::Desc(_) | Type::Token => &[],
        }
    }

    /// The tile type, if it is one.
    pub fn as_tile(&self) -> Option<&TileType> {
        match self {
            Type::Tile(t) => Some(t),
            Type::Elem(_) | Type::Desc(_) | Type::Token => None,
        }
    }

    /// The tile's layout, if it is decided.
    pub fn layout(&self) -> Option<&LinearLayout> {
        self.as_tile().and_then(|tile| tile.layout.as_ref())
    }

    /// The same with another layout, or an open one. Only tiles have layouts; other types stay as they are.
    #[must_use]
    pub fn with_layout(&self, layout: Option<LinearLayout>) -> Type {
        match self {
            Type::Tile(tile) => Type::Tile(TileType { layout, ..tile.clone() }),
            Type::Elem(_) | Type::Desc(_) | Type::Token => self.clone(),
        }
    }

    /// Whether it is a tile.
    pub fn is_tile(&self) -> bool {
        self.as_tile().is_some()
    }

    /// The same shape (and layout) with other elements. Descriptors and tokens stay as they are.
    pub fn with_elem(&self, elem: impl Into<Elem>) -> Type {
        match self {
            Type::Elem(_) => Type::Elem(elem.into()),
            Type::Tile(t) => Type::Tile(TileType { elem: elem.into(), ..t.clone() }),
            Type::Desc(_) | Type::Token => self.clone(),
        }
    }
}

impl From<Scalar> for Type {
    fn from(s: Scalar) -> Type {
        Type::scalar(s)
    }
}

impl fmt::Display for TileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tile<")?;
        for dim in &self.shape {
            write!(f, "{dim}x")?;
        }
        write!(f, "{}", self.elem)?;
        if let Some(layout) = &self.layout {
            write!(f, ", {layout}")?;
        }
        f.write_str(">")
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Elem(e) => e.fmt(f),
            Type::Tile(t) => t.fmt(f),
            Type::Desc(d) => {
                f.write_str("desc<")?;
                for dim in &d.block {
                    write!(f, "{dim}x")?;
                }
                write!(f, "{}", d.elem)?;
                match d.padding {
                    Padding::Zero => {}
                    Padding::Nan => f.write_str(", nan")?,
                }
                f.write_str(">")
            }
            Type::Token => f.write_str("token"),
        }
    }
}
