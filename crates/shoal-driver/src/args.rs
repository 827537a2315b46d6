//! Packed argument blocks, in the layout that [the binary interface](shoal_abi) specifies.
//!
//! Blocks up to 256 bytes need no allocation, so a warm launch allocates nothing.

use smallvec::SmallVec;

/// Words held inline: 256 bytes, enough for 32 pointers.
const INLINE_WORDS: usize = 32;

/// The packed arguments of one launch.
#[derive(Clone, Debug, Default)]
pub struct ArgBlock {
    words: SmallVec<[u64; INLINE_WORDS]>,
    len: usize,
}

impl ArgBlock {
    /// An empty block: a kernel without run-time parameters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts writing a block.
    #[must_use]
    pub fn writer() -> ArgWriter {
        ArgWriter::default()
    }

    /// Bytes used, without padding after the last argument.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no arguments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The block's address, aligned to 8 bytes; what an [`Entry`](shoal_abi::Entry) takes.
    #[must_use]
    pub fn as_ptr(&self) -> *const u8 {
        self.words.as_ptr().cast()
    }

    /// The same with words behind the last argument, at a multiple of so many bytes.
    pub(crate) fn with_words(&self, words: &[u64], align: usize) -> Self {
        let mut block = self.clone();
        let start = block.len.next_multiple_of(align.max(8));
        block.words.resize(start / 8, 0);
        block.words.extend_from_slice(words);
        block.len = start + 8 * words.len();
        block
    }

    /// The bits of the argument at an offset that is a multiple of its size in bytes, zero-extended.
    pub(crate) fn bits(&self, offset: usize, size: usize) -> Option<u64> {
        let word = *self.words.get(offset / 8)?;
        let byte = offset % 8;
        let shift = if cfg!(target_endian = "little") { byte } else { 8usize.checked_sub(size + byte)? } * 8;
        Some(if size >= 8 { word } else { (word >> shift) & ((1 << (8 * size)) - 1) })
    }

    /// Removes all arguments and keeps the storage.
    pub fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
    }
}

/// Appends arguments to a block in parameter order, each at its natural alignment.
#[derive(Clone, Debug, Default)]
pub struct ArgWriter {
    block: ArgBlock,
}

impl ArgWriter {
    /// Continues with the storage of `block`, which is cleared first.
    #[must_use]
    pub fn reuse(mut block: ArgBlock) -> Self {
        block.clear();
        Self { block }
    }

    /// What was written so far.
    #[must_use]
    pub fn block(&self) -> &ArgBlock {
        &self.block
    }

    /// The finished block.
    #[must_use]
    pub fn finish(self) -> ArgBlock {
        self.block
    }

    /// Appends the low `BYTES` bytes of `bits`. Values are aligned to their size, so none straddles two words.
    #[inline]
    fn push<const BYTES: usize>(&mut self, bits: u64) -> &mut Self {
        let offset = self.block.len.next_multiple_of(BYTES);
        let (word, byte) = (offset / 8, offset % 8);
        let shift = if cfg!(target_endian = "little") { byte * 8 } else { (8 - BYTES - byte) * 8 };
        if word == self.block.words.len() {
            self.block.words.push(0);
        }
        self.block.words[word] |= bits << shift;
        self.block.len = offset + BYTES;
        self
    }

    /// Appends an `i1`.
    #[inline]
    pub fn push_bool(&mut self, value: bool) -> &mut Self {
        self.push::<1>(u64::from(value))
    }

    /// Appends an 8-bit integer or the bits of an 8-bit float.
    #[inline]
    pub fn push_u8(&mut self, value: u8) -> &mut Self {
        self.push::<1>(u64::from(value))
    }

    /// Appends a 16-bit integer or the bits of a 16-bit float.
    #[inline]
    pub fn push_u16(&mut self, value: u16) -> &mut Self {
        self.push::<2>(u64::from(value))
    }

    /// Appends a 32-bit integer.
    #[inline]
    pub fn push_u32(&mut self, value: u32) -> &mut Self {
        self.push::<4>(u64::from(value))
    }

    /// Appends a 64-bit integer.
    #[inline]
    pub fn push_u64(&mut self, value: u64) -> &mut Self {
        self.push::<8>(value)
    }

    /// Appends a signed 32-bit integer.
    #[inline]
    pub fn push_i32(&mut self, value: i32) -> &mut Self {
        self.push_u32(value.cast_unsigned())
    }

    /// Appends a signed 64-bit integer.
    #[inline]
    pub fn push_i64(&mut self, value: i64) -> &mut Self {
        self.push_u64(value.cast_unsigned())
    }

    /// Appends an `f32`.
    #[inline]
    pub fn push_f32(&mut self, value: f32) -> &mut Self {
        self.push_u32(value.to_bits())
    }

    /// Appends an `f64`.
    #[inline]
    pub fn push_f64(&mut self, value: f64) -> &mut Self {
        self.push_u64(value.to_bits())
    }

    /// Appends a pointer.
    #[inline]
    pub fn push_ptr<T>(&mut self, pointer: *const T) -> &mut Self {
        self.push_u64(pointer.expose_provenance() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(block: &ArgBlock) -> Vec<u8> {
        block.words.iter().flat_map(|w| w.to_ne_bytes()).take(block.len()).collect()
    }

    #[test]
    fn arguments_lie_at_their_natural_alignment() {
        let mut writer = ArgBlock::writer();
        writer.push_bool(true).push_u16(0x0302).push_u8(4).push_f32(1.0).push_i64(-2).push_u8(9).push_u32(7);
        let block = writer.finish();
        assert_eq!(block.len(), 32);
        let got = bytes(&block);
        assert_eq!(&got[..5], &[1, 0, 2, 3, 4]);
        assert_eq!(&got[8..12], &1.0f32.to_ne_bytes());
        assert_eq!(&got[16..24], &(-2i64).to_ne_bytes());
        assert_eq!(got[24], 9);
        assert_eq!(&got[28..32], &7u32.to_ne_bytes());
        assert!(block.as_ptr().cast::<u64>().is_aligned());
    }

    #[test]
    fn arguments_are_read_and_words_put_behind_them() {
        let mut writer = ArgBlock::writer();
        writer.push_u8(7).push_i32(-2).push_u64(1 << 40).push_u16(9);
        let block = writer.finish();
        assert_eq!(
            [(0, 1), (4, 4), (8, 8), (16, 2)].map(|(at, size)| block.bits(at, size).unwrap()),
            [7, 0xffff_fffe, 1 << 40, 9]
        );
        assert_eq!(block.bits(24, 8), None);
        let longer = block.with_words(&[5, 6], 64).with_words(&[7], 64);
        assert_eq!(longer.len(), 136);
        assert_eq!(bytes(&longer)[..18], bytes(&block)[..]);
        assert_eq!([64, 72, 128].map(|at| longer.bits(at, 8).unwrap()), [5, 6, 7]);
    }

    #[test]
    fn long_blocks_spill_and_reuse_starts_over() {
        let mut writer = ArgBlock::writer();
        for i in 0..100 {
            writer.push_u64(i);
        }
        let block = writer.finish();
        assert_eq!(block.len(), 800);
        let mut writer = ArgWriter::reuse(block);
        writer.push_u64(3).push_u64(4);
        let block = writer.finish();
        assert_eq!(block.len(), 16);
        assert_eq!(block.words.as_slice(), &[3, 4]);
    }
}
