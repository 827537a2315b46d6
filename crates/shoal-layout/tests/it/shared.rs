//! Layouts of shared memory, against address formulas.

use shoal_layout::{InDim, LayoutError, LinearLayout, Major, Place, Swizzle, TmaSwizzle};

fn element_at(layout: &LinearLayout, offset: u64) -> Vec<u32> {
    layout.apply(Place::along(InDim::Offset, offset as u32))
}

#[test]
fn swizzled_rows_exchange_their_parts() {
    for (vec, per_phase, max_phase) in [(1, 1, 1), (8, 1, 8), (4, 2, 4), (2, 4, 2), (8, 2, 4)] {
        let (rows, columns) = (32u32, 64u32);
        let swizzle = Swizzle { vec, per_phase, max_phase };
        let layout = LinearLayout::swizzled_shared(&[rows, columns], &[1, 0], swizzle).unwrap();
        let turned = LinearLayout::swizzled_shared(&[columns, rows], &[0, 1], swizzle).unwrap();
        for row in 0..rows {
            for column in 0..columns {
                let part = (column / vec) ^ ((row / per_phase) % max_phase);
                let offset = u64::from(row * columns + part * vec + column % vec);
                assert_eq!(element_at(&layout, offset), [row, column]);
                assert_eq!(element_at(&turned, offset), [column, row]);
            }
        }
    }
}

#[test]
fn further_dimensions_have_buffers_of_their_own() {
    let swizzle = Swizzle { vec: 4, per_phase: 1, max_phase: 4 };
    let one = LinearLayout::swizzled_shared(&[8, 16], &[1, 0], swizzle).unwrap();
    let all = LinearLayout::swizzled_shared(&[2, 8, 16], &[2, 1, 0], swizzle).unwrap();
    for offset in 0..128 {
        let mut expected = vec![1];
        expected.extend(element_at(&one, offset));
        assert_eq!(element_at(&all, 128 + offset), expected);
    }
    assert!(LinearLayout::swizzled_shared(&[16], &[0], Swizzle::NONE).unwrap().is_identity_along(InDim::Offset));
}

/// Where the hardware puts byte `linear` of a chunk: bits 4 and up of the address are xored with bits 7 and up.
fn hardware_address(linear: u64, swizzle: TmaSwizzle) -> u64 {
    let mask = match swizzle {
        TmaSwizzle::None => 0,
        TmaSwizzle::B32 => 0x10,
        TmaSwizzle::B64 => 0x30,
        TmaSwizzle::B128 => 0x70,
    };
    linear ^ ((linear >> 3) & mask)
}

#[test]
fn tma_writes_what_the_layout_says() {
    for swizzle in [TmaSwizzle::None, TmaSwizzle::B32, TmaSwizzle::B64, TmaSwizzle::B128] {
        for bits in [8u32, 16, 32] {
            let (rows, columns) = (32u32, 256u32);
            let bytes = bits / 8;
            let layout = LinearLayout::nvmma_shared(&[rows, columns], bits, swizzle, Major::Row).unwrap();
            let turned = LinearLayout::nvmma_shared(&[columns, rows], bits, swizzle, Major::Column).unwrap();
            assert!(layout.is_bijective());
            let chunk = swizzle.chunk_bytes() / bytes;
            for row in 0..rows {
                for column in 0..columns {
                    // One TMA box per chunk, box after box; within it rows follow each other.
                    let box_bytes = u64::from(rows * swizzle.chunk_bytes());
                    let inside = u64::from(row * swizzle.chunk_bytes() + column % chunk * bytes);
                    let address = u64::from(column / chunk) * box_bytes + hardware_address(inside, swizzle);
                    assert_eq!(element_at(&layout, address / u64::from(bytes)), [row, column]);
                    assert_eq!(element_at(&turned, address / u64::from(bytes)), [column, row]);
                }
            }
        }
    }
}

#[test]
fn batches_count_further_rows() {
    let flat = LinearLayout::nvmma_shared(&[32, 128], 16, TmaSwizzle::B128, Major::Row).unwrap();
    let batch = LinearLayout::nvmma_shared(&[4, 8, 128], 16, TmaSwizzle::B128, Major::Row).unwrap();
    assert_eq!(batch.reshape_outs(&[32, 128]), Ok(flat));
}

#[test]
fn buffers_the_hardware_cannot_swizzle_are_refused() {
    let shared = |shape: &[u32], bits| LinearLayout::nvmma_shared(shape, bits, TmaSwizzle::B128, Major::Row);
    assert_eq!(shared(&[8, 64], 12), Err(LayoutError::ElementBits { bits: 12 }));
    assert_eq!(shared(&[8, 32], 16).unwrap_err().to_string(), "a row of the buffer is shorter than the swizzle");
    assert_eq!(shared(&[4, 128], 16).unwrap_err().to_string(), "a buffer with several chunks needs eight rows");
    assert!(shared(&[4, 64], 16).is_ok());
}
