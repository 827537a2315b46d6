//! The types of elements in symmetric memory.

/// A number that may lie in symmetric memory: plain bytes, any pattern of which is a value.
///
/// # Safety
///
/// Every bit pattern must be a value of the type, and it must have no padding.
pub unsafe trait Element: Copy + Send + Sync + 'static {}

macro_rules! elements {
    ($($type:ty)*) => {
        $(
            // SAFETY: a number without padding, for which every bit pattern is a value.
            unsafe impl Element for $type {}
        )*
    };
}

elements!(u8 u16 u32 u64 i8 i16 i32 i64 usize isize f32 f64 half::f16 half::bf16);

/// The bytes of elements.
pub(crate) fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: elements have no padding, so all their bytes are initialised.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// Elements to be overwritten as bytes.
pub(crate) fn bytes_of_mut<T: Element>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: elements have no padding, and any bytes written make values.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}

/// Elements with all bits zero.
pub(crate) fn zeroed<T: Element>(count: usize) -> Vec<T> {
    // SAFETY: every bit pattern is a value.
    vec![unsafe { std::mem::zeroed() }; count]
}
