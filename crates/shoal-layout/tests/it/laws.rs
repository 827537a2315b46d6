//! The laws.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use shoal_layout::{InDim, LinearLayout, Place, Reach};

use crate::random::{DIMS, bijection_of, layout, layout_of, places, shape};

fn xor(a: Place, b: Place) -> Place {
    let mut sum = Place::default();
    for dim in InDim::ALL {
        sum[dim] = a[dim] ^ b[dim];
    }
    sum
}

fn place() -> impl Strategy<Value = Place> {
    (0u32..8, 0u32..8, 0u32..8).prop_map(|(register, lane, warp)| Place { register, lane, warp, ..Place::default() })
}

/// The layout with dimensions of size one added to its tile, up to the given rank.
fn with_rank(layout: &LinearLayout, rank: usize) -> LinearLayout {
    let mut shape = layout.shape();
    shape.resize(rank.max(shape.len()), 1);
    layout.reshape_outs(&shape).expect("ones change nothing")
}

proptest! {
    #[test]
    fn layouts_are_linear(layout in layout(), a in place(), b in place()) {
        prop_assert_eq!(layout.apply_flat(xor(a, b)), layout.apply_flat(a) ^ layout.apply_flat(b));
        let (a_image, b_image) = (layout.apply(a), layout.apply(b));
        let sum: Vec<u32> = a_image.iter().zip(&b_image).map(|(a, b)| a ^ b).collect();
        prop_assert_eq!(layout.apply(xor(a, b)), sum);
    }

    #[test]
    fn text_reads_back(layout in layout()) {
        let text = layout.to_string();
        prop_assert_eq!(text.find('>'), Some(text.len() - 1), "a layout ends at the first bracket");
        prop_assert!(!text.contains('\n'));
        prop_assert_eq!(text.parse::<LinearLayout>(), Ok(layout));
    }

    #[test]
    fn any_text_is_no_panic(text in "(#layout<)?([a-z0-9=,\\[\\]<> é]{0,40}|(lane=\\[\\[[0-9]{1,11}\\]\\], ?)?out=\\[[0-9]{1,11}\\]>)") {
        if let Ok(layout) = text.parse::<LinearLayout>() {
            prop_assert_eq!(layout.to_string().parse(), Ok(layout));
        }
    }

    #[test]
    fn the_product_is_associative(a in layout(), b in layout(), c in layout()) {
        prop_assert_eq!(&(&a * &b) * &c, &a * &(&b * &c));
    }

    #[test]
    fn the_empty_layout_is_neutral(a in layout()) {
        prop_assert_eq!(&(&a * &LinearLayout::empty()), &a);
        prop_assert_eq!(&(&LinearLayout::empty() * &a), &a);
    }

    #[test]
    fn division_undoes_the_product(a in layout(), b in layout()) {
        let product = &a * &b;
        prop_assert_eq!(product.divide_left(&a), Some(with_rank(&b, a.rank())));
    }

    #[test]
    fn division_gives_a_factor_or_nothing(a in layout(), b in layout()) {
        if let Some(quotient) = a.divide_left(&b) {
            prop_assert_eq!(&b * &quotient, a);
        }
    }

    #[test]
    fn division_on_the_right_undoes_the_product(a in layout(), b in layout()) {
        let product = &a * &b;
        prop_assert_eq!(product.divide_right(&b), Some(with_rank(&a, b.rank())));
    }

    #[test]
    fn division_on_the_right_gives_a_factor_or_nothing(a in layout(), b in layout()) {
        if let Some(quotient) = a.divide_right(&b) {
            prop_assert_eq!(&quotient * &b, a);
        }
    }

    #[test]
    fn one_sided_inverses_undo_the_layout_on_their_side(layout in layout()) {
        prop_assert_eq!(layout.right_inverse().is_some(), layout.is_surjective());
        prop_assert_eq!(layout.left_inverse().is_some(), layout.is_injective());
        prop_assert_eq!(layout.inverse().is_some(), layout.is_bijective());
        if let Some(inverse) = layout.right_inverse() {
            for element in 0..layout.num_elements() {
                prop_assert_eq!(layout.apply_flat(inverse.apply_flat(element)), element);
            }
        }
        if let Some(inverse) = layout.left_inverse() {
            for place in places(&layout) {
                prop_assert_eq!(inverse.apply(&layout.apply(place)), place);
            }
        }
    }

    #[test]
    fn the_order_of_dimensions_is_found((layout, order) in layout().prop_flat_map(|layout| {
        let order: Vec<usize> = (0..layout.rank()).collect();
        (Just(layout), Just(order).prop_shuffle())
    })) {
        let transposed = layout.transpose_outs(&order).unwrap();
        let found = layout.order_to(&transposed).expect("they differ in the order alone");
        prop_assert_eq!(layout.transpose_outs(&found), Ok(transposed));
    }

    #[test]
    fn the_reach_of_a_conversion_is_as_short_as_can_be(
        (from, to) in shape().prop_flat_map(|shape| (layout_of(shape.clone()), layout_of(shape)))
    ) {
        let Ok(conversion) = from.invert_and_compose(&to) else { return Ok(()) };
        let held_within = |place: Place, dims: &[InDim]| places(&to).any(|other| {
            dims.iter().all(|&dim| other[dim] == place[dim]) && to.apply_flat(other) == from.apply_flat(place)
        });
        let same_size = |dim| from.in_size(dim) == to.in_size(dim);
        let in_lane = same_size(InDim::Lane) && same_size(InDim::Warp)
            && places(&from).all(|place| held_within(place, &[InDim::Lane, InDim::Warp]));
        let in_warp = same_size(InDim::Warp) && places(&from).all(|place| held_within(place, &[InDim::Warp]));
        prop_assert_eq!(conversion.reach() <= Reach::Registers, in_lane);
        prop_assert_eq!(conversion.reach() <= Reach::Lanes, in_warp);
    }

    #[test]
    fn surjective_and_injective_mean_what_they_say(layout in layout()) {
        let images: Vec<u64> = places(&layout).map(|place| layout.apply_flat(place)).collect();
        let distinct: HashSet<u64> = images.iter().copied().collect();
        prop_assert_eq!(layout.is_surjective(), distinct.len() as u64 == layout.num_elements());
        prop_assert_eq!(layout.is_injective(), distinct.len() == images.len());
    }

    #[test]
    fn places_without_free_bits_hold_each_element_once(layout in layout()) {
        let masks = layout.free_variable_masks();
        let mut holders: HashMap<u64, u32> = HashMap::new();
        for place in places(&layout) {
            let chosen = DIMS.into_iter().all(|dim| place[dim] & masks[dim] == 0);
            *holders.entry(layout.apply_flat(place)).or_default() += u32::from(chosen);
        }
        prop_assert!(holders.values().all(|&count| count == 1));
    }

    #[test]
    fn runs_are_consecutive_and_as_long_as_can_be(layout in layout()) {
        let is_run = |length: u32| places(&layout).all(|place| {
            let first = Place { register: place.register & !(length - 1), ..place };
            let begin = layout.apply_flat(first);
            begin.is_multiple_of(length.into())
                && layout.apply_flat(place) == begin + u64::from(place.register - first.register)
        });
        let length = layout.num_consecutive(InDim::Register);
        prop_assert!(length <= layout.in_size(InDim::Register) && is_run(length));
        prop_assert!(length == layout.in_size(InDim::Register) || !is_run(2 * length));
    }

    #[test]
    fn transposing_twice_is_nothing((layout, order) in layout().prop_flat_map(|layout| {
        let order: Vec<usize> = (0..layout.rank()).collect();
        (Just(layout), Just(order).prop_shuffle())
    })) {
        let transposed = layout.transpose_outs(&order).unwrap();
        let mut back = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            back[old] = new;
        }
        prop_assert_eq!(transposed.transpose_outs(&back), Ok(layout));
    }

    #[test]
    fn a_bijection_composed_with_its_inverse_is_the_identity(
        (a, b) in shape().prop_flat_map(|shape| (bijection_of(shape.clone()), bijection_of(shape)))
    ) {
        prop_assert!(a.is_bijective() && b.is_bijective());
        let there = a.invert_and_compose(&b).unwrap();
        let back = b.invert_and_compose(&a).unwrap();
        prop_assert!(there.then(&back).unwrap().is_identity());
        prop_assert_eq!(there.inverse(), Some(back));
        prop_assert_eq!(b.compose(&there), Ok(a));
    }

    #[test]
    fn conversions_bring_every_element_to_its_place(
        (from, to) in shape().prop_flat_map(|shape| (layout_of(shape.clone()), layout_of(shape)))
    ) {
        let held: HashSet<u64> = places(&to).map(|place| to.apply_flat(place)).collect();
        let covered = places(&from).all(|place| held.contains(&from.apply_flat(place)));
        let conversion = from.invert_and_compose(&to);
        prop_assert_eq!(conversion.is_ok(), covered);
        if let Ok(conversion) = conversion {
            for place in places(&from) {
                prop_assert_eq!(to.apply_flat(conversion.apply(place)), from.apply_flat(place));
            }
            prop_assert_eq!(to.compose(&conversion), Ok(from));
        }
    }

    #[test]
    fn converting_to_itself_moves_nothing(layout in layout()) {
        prop_assert!(layout.invert_and_compose(&layout).unwrap().is_identity());
    }

    #[test]
    fn blocked_layouts_cover_the_tile(
        (shape, sizes, order) in shape().prop_flat_map(|shape| {
            let rank = shape.len();
            let sizes = prop::collection::vec((0u32..3).prop_map(|bits| 1 << bits), rank);
            let order: Vec<usize> = (0..rank).collect();
            (Just(shape), [sizes.clone(), sizes.clone(), sizes], Just(order).prop_shuffle())
        })
    ) {
        let [per_thread, threads, warps] = sizes;
        let layout = LinearLayout::blocked(&shape, &per_thread, &threads, &warps, &order).unwrap();
        prop_assert_eq!(layout.shape(), shape);
        prop_assert!(layout.is_surjective());
        prop_assert_eq!(layout.free_variable_masks().register, 0, "registers hold no copies");
        prop_assert_eq!(layout.in_size(InDim::Lane), threads.iter().product::<u32>());
        prop_assert_eq!(layout.in_size(InDim::Warp), warps.iter().product::<u32>());
    }
}
