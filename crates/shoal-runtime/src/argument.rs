//! Rust values as the words that a launch passes.
//!
//! A word has 64 bits: an address; an integer, extended by its sign if it has one; or the bits of a float.

use half::{bf16, f16};
use shoal_driver::Pod;
use shoal_driver::cuda::CudaBuffer;

/// A value that can be passed to a kernel.
pub trait Argument {
    /// Its word.
    fn word(self) -> u64;
}

macro_rules! argument {
    ($($t:ty: $value:ident => $word:expr;)*) => { $(
        impl Argument for $t {
            fn word(self) -> u64 {
                let $value = self;
                $word
            }
        }
    )* };
}
argument! {
    i8: value => i64::from(value).cast_unsigned();
    i16: value => i64::from(value).cast_unsigned();
    i32: value => i64::from(value).cast_unsigned();
    i64: value => value.cast_unsigned();
    u8: value => value.into();
    u16: value => value.into();
    u32: value => value.into();
    u64: value => value;
    bool: value => value.into();
    f16: value => value.to_bits().into();
    bf16: value => value.to_bits().into();
    f32: value => value.to_bits().into();
    f64: value => value.to_bits();
}

impl<T> Argument for &[T] {
    fn word(self) -> u64 {
        self.as_ptr().expose_provenance() as u64
    }
}

impl<T> Argument for &mut [T] {
    fn word(self) -> u64 {
        self.as_mut_ptr().expose_provenance() as u64
    }
}

impl<T: Pod> Argument for &CudaBuffer<T> {
    fn word(self) -> u64 {
        self.address()
    }
}

impl<T: Pod> Argument for &mut CudaBuffer<T> {
    fn word(self) -> u64 {
        self.address()
    }
}

/// `None` is the null pointer.
impl<S: Argument + IsMemory> Argument for Option<S> {
    fn word(self) -> u64 {
        self.map_or(0, Argument::word)
    }
}

/// Memory: what may be left out, where a variant was compiled with `None` for it.
pub trait IsMemory {}
impl<T> IsMemory for &[T] {}
impl<T> IsMemory for &mut [T] {}
impl<T> IsMemory for &CudaBuffer<T> {}
impl<T> IsMemory for &mut CudaBuffer<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_value_and_sign() {
        assert_eq!((-1i8).word(), u64::MAX);
        assert_eq!(255u8.word(), 255);
        assert_eq!(true.word(), 1);
        assert_eq!(1.0f32.word(), 0x3f80_0000);
        assert_eq!(f16::ONE.word(), 0x3c00);
        let values = [1.0f32, 2.0];
        assert_eq!(values[1..].word() - values[..].word(), 4);
        assert_eq!(None::<&[f32]>.word(), 0);
    }
}
