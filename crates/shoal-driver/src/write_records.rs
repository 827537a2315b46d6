//! Where a rank's segment says who wrote a word of it last, for reports of programs that wait in vain.
//!
//! A record is eight words, found by where the written word lies in the segment. Words share records: who wrote last has
//! it, so a record says which word it is about.

/// Records of a segment.
const RECORDS: usize = 1024;
/// Words of 64 bits in a record: one cache line.
pub const WORDS: usize = 8;
/// Bytes of all records.
pub const BYTES: usize = RECORDS * WORDS * 8;

/// The byte at which the record of a word is, when the word is at byte `offset` of the segment.
#[must_use]
pub const fn record_of(offset: usize) -> usize {
    // Neighbours have different records, and so have the same places of neighbouring pages.
    let word = offset / 4;
    (word + word / RECORDS) % RECORDS * WORDS * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_lie_inside_and_neighbours_have_their_own() {
        for offset in (0..1 << 20).step_by(4) {
            let record = record_of(offset);
            assert!(record.is_multiple_of(64) && record + 64 <= BYTES);
            assert_ne!(record, record_of(offset + 4));
        }
    }
}
