//! The C types of the binary interface: what hooks take and return, and what constant data consists of.

/// A C type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CType {
    /// The calling program's context.
    Context,
    /// A place in the source, or null.
    Site,
    /// A checked access.
    CheckedAccess,
    /// UTF-8 that is not terminated; a length follows.
    Text,
    /// Bytes of any type.
    Bytes,
    /// An array of 32-bit numbers.
    U32s,
    /// An array of 64-bit numbers.
    U64s,
    /// A signed 32-bit integer.
    I32,
    /// An unsigned 32-bit integer.
    U32,
    /// A signed 64-bit integer.
    I64,
    /// An unsigned 64-bit integer.
    U64,
}

impl CType {
    /// How C spells it.
    #[must_use]
    pub const fn spelling(self) -> &'static str {
        match self {
            Self::Context => "Context *",
            Self::Site => "const Site *",
            Self::CheckedAccess => "const CheckedAccess *",
            Self::Text => "const char *",
            Self::Bytes => "const void *",
            Self::U32s => "const uint32_t *",
            Self::U64s => "const uint64_t *",
            Self::I32 => "int32_t",
            Self::U32 => "uint32_t",
            Self::I64 => "int64_t",
            Self::U64 => "uint64_t",
        }
    }

    /// Bits of an integer; `None` for a pointer.
    #[must_use]
    pub const fn integer_bits(self) -> Option<u32> {
        match self {
            Self::Context | Self::Site | Self::CheckedAccess | Self::Text | Self::Bytes | Self::U32s | Self::U64s => {
                None
            }
            Self::I32 | Self::U32 => Some(32),
            Self::I64 | Self::U64 => Some(64),
        }
    }
}

/// What a function gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CResult {
    /// Nothing.
    Void,
    /// It never returns.
    Never,
    /// A value.
    Value(CType),
}

/// The C type of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// What it takes.
    pub params: &'static [CType],
    /// What it gives back.
    pub result: CResult,
}

impl Signature {
    /// The declaration of a function of this type in C.
    #[must_use]
    pub fn declaration(&self, name: &str) -> String {
        let result = match self.result {
            CResult::Void => "void",
            CResult::Never => "_Noreturn void",
            CResult::Value(ty) => ty.spelling(),
        };
        let params: Vec<&str> = self.params.iter().map(|ty| ty.spelling()).collect();
        let params = if params.is_empty() { "void".to_owned() } else { params.join(", ") };
        format!("{result} {name}({params});")
    }
}
