//! Reference 1.2: the same elements at other places.

use shoal::args;

use super::harness::{case, holds};

/// A kernel that stores the tile `value`, made from `m` (a 4x8 tile of 0, 1, 2, …) and `v` (eight numbers), whose shape
/// is `shape`.
fn tile(value: &str, shape: &[i32], expected: &[i32]) {
    let count: i32 = shape.iter().product();
    let body = format!(
        "
    v = tl.arange(0, 8)
    m = tl.arange(0, 4)[:, None] * 8 + v[None, :]
    r = {value}
    tl.static_assert(r.shape == {shape:?}, 'shape')
    tl.store(out + tl.arange(0, {count}), tl.reshape(r, [{count}]))
"
    );
    case("out", &body).gives(args!(), expected);
}

fn numbers(range: std::ops::Range<i32>) -> Vec<i32> {
    range.collect()
}

#[test]
fn new_dimensions_and_broadcasting() {
    tile("v[None, :]", &[1, 8], &numbers(0..8));
    tile("v[:, None, None]", &[8, 1, 1], &numbers(0..8));
    tile("m[:]", &[4, 8], &numbers(0..32));
    tile("m[None]", &[1, 4, 8], &numbers(0..32));
    tile("tl.expand_dims(v, -1)", &[8, 1], &numbers(0..8));
    tile("tl.expand_dims(v, (0, 2))", &[1, 8, 1], &numbers(0..8));
    tile("v.expand_dims([1, 2])", &[8, 1, 1], &numbers(0..8));
    tile("tl.unsqueeze(v, 1)", &[8, 1], &numbers(0..8));
    tile("tl.squeeze(v[None, :], 0)", &[8], &numbers(0..8));
    tile("tl.broadcast_to(v[None, :], 2, 8)", &[2, 8], &[numbers(0..8), numbers(0..8)].concat());
    tile("tl.broadcast_to(v[None, :], (2, 8))", &[2, 8], &[numbers(0..8), numbers(0..8)].concat());
    tile("tl.broadcast_to(3, [4])", &[4], &[3; 4]);
    tile("tl.broadcast(v[None, :], tl.zeros([2, 1], tl.int32))[0]", &[2, 8], &[numbers(0..8), numbers(0..8)].concat());
    tile("v[:, None] - v[None, :] * 0", &[8, 8], &(0..64).map(|at| at / 8).collect::<Vec<_>>());
    tile("m + v", &[4, 8], &(0..32).map(|at| at + at % 8).collect::<Vec<_>>());
}

#[test]
fn reshape_view_ravel_and_item() {
    tile("m.reshape(2, 16)", &[2, 16], &numbers(0..32));
    tile("tl.reshape(m, (2, 2, 2, 4))", &[2, 2, 2, 4], &numbers(0..32));
    tile("tl.reshape(m, [32])", &[32], &numbers(0..32));
    tile("m.ravel()", &[32], &numbers(0..32));
    tile("tl.full([1, 1], 5, tl.int32).item() + v", &[8], &numbers(5..13));
    tile("tl.reshape(tl.full([1], 5, tl.int32), ()) + v", &[8], &numbers(5..13));
    // Reordering is allowed to the compiler, not asked for: all elements are there.
    let sum = "    m = tl.arange(0, 32)\n    tl.store(out, tl.sum(tl.view(m, [4, 8])) + tl.sum(m.reshape(8, 4, can_reorder=True)))";
    case("out", sum).gives(args!(), &[2 * 496]);
}

#[test]
fn trans_and_permute() {
    let transposed: Vec<i32> = (0..32).map(|at| at % 4 * 8 + at / 4).collect();
    tile("tl.trans(m)", &[8, 4], &transposed);
    tile("m.T", &[8, 4], &transposed);
    tile("m.trans(1, 0)", &[8, 4], &transposed);
    tile("m.permute(1, 0)", &[8, 4], &transposed);
    tile("tl.permute(m, (1, 0))", &[8, 4], &transposed);
    let cube = |order: [usize; 3]| {
        let size = [2, 4, 4];
        let stride = [16, 4, 1];
        let mut all = Vec::new();
        for a in 0..size[order[0]] {
            for b in 0..size[order[1]] {
                all.extend(
                    (0..size[order[2]]).map(|c| a * stride[order[0]] + b * stride[order[1]] + c * stride[order[2]]),
                );
            }
        }
        all
    };
    tile("m.reshape(2, 4, 4).permute(2, 0, 1)", &[4, 2, 4], &cube([2, 0, 1]));
    tile("m.reshape(2, 4, 4).permute(1, 2, 0)", &[4, 4, 2], &cube([1, 2, 0]));
    tile("tl.trans(m.reshape(2, 4, 4))", &[2, 4, 4], &cube([0, 2, 1]));
    tile("tl.trans(m.reshape(2, 4, 4), 2, 1, 0)", &[4, 4, 2], &cube([2, 1, 0]));
}

#[test]
fn join_split_cat_and_interleave() {
    let pairs: Vec<i32> = (0..8).flat_map(|v| [v, v + 100]).collect();
    tile("tl.join(v, v + 100)", &[8, 2], &pairs);
    tile("tl.interleave(v, v + 100)", &[16], &pairs);
    tile("tl.join(v, 100)", &[8, 2], &(0..8).flat_map(|v| [v, 100]).collect::<Vec<_>>());
    tile("tl.join(tl.to_tensor(3), tl.to_tensor(4))", &[2], &[3, 4]);
    tile("tl.split(m.reshape(16, 2))[0]", &[16], &(0..16).map(|v| 2 * v).collect::<Vec<_>>());
    tile("m.reshape(4, 4, 2).split()[1]", &[4, 4], &(0..16).map(|v| 2 * v + 1).collect::<Vec<_>>());
    tile("tl.split(tl.arange(5, 7))[1] + v", &[8], &numbers(6..14));
    tile("tl.cat(v, v + 8)", &[16], &numbers(0..16));
    tile("tl.cat(m, m + 32)", &[8, 8], &numbers(0..64));
    tile(
        "tl.cat(m, m + 100, dim=1)",
        &[4, 16],
        &(0..64).map(|at| at / 16 * 8 + at % 8 + at % 16 / 8 * 100).collect::<Vec<_>>(),
    );
    let sum = "    v = tl.arange(0, 8)\n    tl.store(out, tl.sum(tl.cat(v, v + 8, can_reorder=True)))";
    case("out", sum).gives(args!(), &[120]);
    tile(
        "tl.interleave(m, -m)",
        &[4, 16],
        &(0..64).map(|at| if at % 2 == 0 { at / 2 } else { -(at / 2) }).collect::<Vec<_>>(),
    );
}

#[test]
fn flip_and_gather() {
    tile("tl.flip(v)", &[8], &(0..8).rev().collect::<Vec<_>>());
    tile("tl.flip(m, 0)", &[4, 8], &(0..32).map(|at| (3 - at / 8) * 8 + at % 8).collect::<Vec<_>>());
    tile("m.flip(-1)", &[4, 8], &(0..32).map(|at| at / 8 * 8 + 7 - at % 8).collect::<Vec<_>>());
    tile("tl.gather(v * 10, (v * 3) % 8, 0)", &[8], &(0..8).map(|v| v * 3 % 8 * 10).collect::<Vec<_>>());
    tile("tl.gather(v * 10, tl.arange(0, 16) // 2, axis=0)", &[16], &(0..16).map(|v| v / 2 * 10).collect::<Vec<_>>());
    tile("m.gather((m * 5) % 8, 1)", &[4, 8], &(0..32).map(|at| at / 8 * 8 + at * 5 % 8).collect::<Vec<_>>());
    tile("tl.gather(m, (m * 3) % 4, 0)", &[4, 8], &(0..32).map(|at| at * 3 % 4 * 8 + at % 8).collect::<Vec<_>>());
}

#[test]
fn properties_of_tiles() {
    holds(
        "m = tl.zeros([4, 8], tl.float16)",
        &[
            "m.shape[0] == 4",
            "m.shape[1] == 8",
            "len(m.shape) == 2",
            "m.numel == 32",
            "m.dtype == tl.float16",
            "m.type.is_block()",
            "m.T.shape == (8, 4)",
            "tl.program_id(0).shape == ()",
        ],
    );
}

#[test]
fn wrong_shapes() {
    let wrong = |value: &str, words: &[&str]| {
        let body = format!("    v = tl.arange(0, 8)\n    m = tl.zeros([4, 8], tl.int32)\n    x = {value}");
        let mut words = words.to_vec();
        words.push("kernel.py:11");
        case("out", &body).refused(args!(), &words);
    };
    wrong("m[0]", &["index"]);
    wrong("m[0, :]", &["index"]);
    wrong("v[:, :]", &["indices"]);
    wrong("m + tl.arange(0, 4)", &["4", "8"]);
    wrong("m.reshape(5)", &["power of two"]);
    wrong("m.reshape(16)", &["32", "16"]);
    wrong("tl.expand_dims(v, (0, 0))", &["0"]);
    wrong("tl.expand_dims(v, 5)", &["5"]);
    wrong("tl.split(m)", &["2"]);
    wrong("tl.join(m, v[:, None])", &["4", "8"]);
    wrong("tl.permute(m, 0, 0)", &["0"]);
    wrong("tl.broadcast_to(v, 4, 8)", &["4"]);
    wrong("tl.gather(m, v, 0)", &[]);
    wrong("tl.gather(v, v.to(tl.float32), 0)", &["int"]);
    wrong("m.item()", &["32"]);
    wrong("tl.arange(0, 2048)[:, None] + tl.arange(0, 1024)", &["2097152", "1048576"]);
    wrong("tl.join(tl.arange(0, 1048576), 1)", &["2097152"]);
}
