//! Names of element types: those of the kernel language.

use shoal_ir::Scalar;

/// An element type.
pub type DType = Scalar;

/// The language's name for a type, as in `tl.float32`.
#[must_use]
pub fn dtype_name(dtype: DType) -> &'static str {
    names(dtype).0
}

/// The type with this name: the language's (`float32`), the signature's (`fp32`) or the IR's (`f32`).
#[must_use]
pub fn dtype_from_name(name: &str) -> Option<DType> {
    let name = name.strip_prefix("tl.").unwrap_or(name);
    DType::ALL.into_iter().find(|&dtype| {
        let (language, signature) = names(dtype);
        [language, signature, dtype.name()].contains(&name)
    })
}

/// The short name that signatures use, as in `*fp32`.
#[must_use]
pub fn signature_name(dtype: DType) -> &'static str {
    names(dtype).1
}

fn names(dtype: DType) -> (&'static str, &'static str) {
    match dtype {
        DType::I1 => ("int1", "u1"),
        DType::I8 => ("int8", "i8"),
        DType::I16 => ("int16", "i16"),
        DType::I32 => ("int32", "i32"),
        DType::I64 => ("int64", "i64"),
        DType::U8 => ("uint8", "u8"),
        DType::U16 => ("uint16", "u16"),
        DType::U32 => ("uint32", "u32"),
        DType::U64 => ("uint64", "u64"),
        DType::F8E4M3 => ("float8e4nv", "fp8e4nv"),
        DType::F8E5M2 => ("float8e5", "fp8e5"),
        DType::F8E4B15 => ("float8e4b15", "fp8e4b15"),
        DType::F8E4M3Fnuz => ("float8e4b8", "fp8e4b8"),
        DType::F8E5M2Fnuz => ("float8e5b16", "fp8e5b16"),
        DType::F16 => ("float16", "fp16"),
        DType::BF16 => ("bfloat16", "bf16"),
        DType::F32 => ("float32", "fp32"),
        DType::F64 => ("float64", "fp64"),
    }
}
