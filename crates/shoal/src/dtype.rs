//! Names of element types: those of the kernel language.

use shoal_ir::Scalar;

/// An element type.
pub type DType = Scalar;

/// The language's name for a type, as in `tl.float32`.
#[must_use]
pub fn dtype_name(dtype: DType) -> &'static str {
    shoal_lang::language_name(dtype)
}

/// The type with this name: the language's (`float32`), the signature's (`fp32`) or the IR's (`f32`).
#[must_use]
pub fn dtype_from_name(name: &str) -> Option<DType> {
    let name = name.strip_prefix("tl.").unwrap_or(name);
    let names = |dtype: DType| [dtype_name(dtype), signature_name(dtype), dtype.name()];
    DType::ALL.into_iter().find(|&dtype| names(dtype).contains(&name))
}

/// The short name that signatures use, as in `*fp32`. Truth values are passed as bytes without a sign.
#[must_use]
pub fn signature_name(dtype: DType) -> &'static str {
    if dtype == DType::I1 { "u1" } else { shoal_lang::scalar_name(dtype) }
}
