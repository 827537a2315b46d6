//! The names under which generated code calls [functions of mathematics](crate::math).

/// The type that a function of generated code computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatWidth {
    /// `float` in C.
    F32,
    /// `double` in C.
    F64,
}

impl FloatWidth {
    /// Both.
    pub const ALL: [Self; 2] = [Self::F32, Self::F64];

    fn suffix(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// The name under which generated code calls a function: with so many operands of this type, and such a result.
#[must_use]
pub fn symbol(name: &str, width: FloatWidth) -> String {
    format!("shoal_{name}_{}", width.suffix())
}
