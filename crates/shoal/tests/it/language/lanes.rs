//! Code for single threads: lanes, divergence, their accesses, vectors.

use shoal::{Args, args};

use super::harness::{Case, case, integers, with};

const EXTRA: &str = "from triton_dist.language.extra.language_extra import *
from triton_dist.language.extra import language_extra as le
import triton_dist.language as dl
from triton_dist.language.extra.language_extra import tid, ntid, laneid, ld, st, __syncthreads, atomic_add, atomic_cas";

/// A kernel of two warps.
fn lanes(params: &str, body: &str) -> Case {
    with(EXTRA, params, body).options(|options| options.gpu.num_warps = 2)
}

#[test]
fn every_thread_has_its_number() {
    let body = "
    t = tid(0)
    tl.store(out + t, t * 1000 + laneid() * 10 + le.warp_idx() + tid(1) + ntid(1) - 1)
";
    let expected: Vec<i32> = (0..64).map(|t| t * 1000 + t % 32 * 10 + t / 32).collect();
    lanes("out", body).gives(Args::new(), &expected);
    let body = "
    tl.store(out, ntid(0))
    tl.store(out + 1, le.num_threads())
    tl.store(out + 2, le.num_warps())
    tl.store(out + 3, le.threads_per_warp())
";
    lanes("out", body).gives(Args::new(), &[64i32, 64, 2, 32]);
    lanes("out", body).gives(args!(num_warps = 8), &[256i32, 256, 8, 32]);
    // A cluster's blocks are warps of one block, as far as a block has them.
    lanes("out", body).gives(args!(num_ctas = 4), &[256i32, 256, 8, 32]);
    lanes("out", body).gives(args!(num_warps = 8, num_ctas = 16), &[1024i32, 1024, 32, 32]);
}

#[test]
fn lanes_take_different_branches() {
    let body = "
    t = tid(0)
    x = t * 2
    seen = 7
    if t < 10:
        x = x + 100
        y = t
        if t % 2 == 0:
            seen = t
    elif t < 20:
        x = 5
        y = -t
    else:
        y = 0
    z = 1 if t == 3 else 2
    tl.store(out + t, x * 10000 + y * 100 + seen * 10 + z)
";
    let expected: Vec<i32> = (0..64)
        .map(|t| {
            let (mut x, mut seen) = (t * 2, 7);
            let y = match t {
                0..10 => {
                    x += 100;
                    if t % 2 == 0 {
                        seen = t;
                    }
                    t
                }
                10..20 => {
                    x = 5;
                    -t
                }
                _ => 0,
            };
            x * 10000 + y * 100 + seen * 10 + if t == 3 { 1 } else { 2 }
        })
        .collect();
    lanes("out", body).gives(Args::new(), &expected);
}

#[test]
fn lanes_leave_loops_at_different_times() {
    let body = "
    t = tid(0)
    n = 0
    x = t + 1
    while x != 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        n += 1
    tl.store(out + t, n)
";
    let steps = |mut x: i32| {
        let mut n = 0;
        while x != 1 {
            x = if x % 2 == 0 { x / 2 } else { 3 * x + 1 };
            n += 1;
        }
        n
    };
    let expected: Vec<i32> = (1..=64).map(steps).collect();
    lanes("out", body).gives(Args::new(), &expected);
}

#[test]
fn loops_stride_over_memory_by_threads() {
    let data = integers(1000, 3);
    let body = "
    t = tid(0)
    total = 0
    for i in range(t, n, ntid(0)):
        v = ld(x + i, scope='gpu', semantic='relaxed')
        st(out + i, v + 1)
        total += 1
    for j in range(2):
        total = total + t
    tl.store(out + 1000 + t, total)
";
    let mut expected: Vec<i32> = data.iter().map(|v| v.wrapping_add(1)).collect();
    expected.extend((0..64).map(|t| (t..1000).step_by(64).count() as i32 + 2 * t));
    lanes("x, n, out", body).gives(args!(&data[..], 1000), &expected);
    let down = "
    t = tid(0)
    last = -1
    for i in range(t, -1, -3):
        last = i
    tl.store(out + t, last)
";
    let expected: Vec<i32> = (0..64).map(|t| t % 3).collect();
    lanes("out", down).gives(Args::new(), &expected);
}

#[test]
fn every_lane_does_its_own_atomics() {
    let body = "
    t = tid(0)
    old = atomic_add(out, 1, 'gpu', 'relaxed')
    if t < 5:
        atomic_add(out + 1, t, 'sys', 'acq_rel')
        le.red_release(out + 2, 10, 'sys')
    won = atomic_cas(out + 3, 0, 1, 'gpu', 'acq_rel')
    tl.atomic_add(out + 4, 1)
    if t == 40:
        tl.atomic_add(out + 4, 100)
        le.atomic_max(out + 5, t, 'gpu', 'relaxed')
        le.st(out + 6, 7, 'sys', 'release')
        le.st_release(out + 6, t)
    if won == 0:
        atomic_add(out + 7, 1, 'gpu', 'relaxed')
    __syncthreads()
    st(out + 8 + old, old)
    le.membar('gl')
    le.fence('acq_rel', 'sys')
";
    let mut expected = vec![64, 10, 50, 1, 101, 40, 40, 1];
    expected.extend(0..64);
    let initial = vec![0i32; 72];
    lanes("out", body).updates(Args::new(), &initial, &expected);
}

#[test]
fn lanes_return_early_and_call_functions() {
    let definitions = "
@shoal.jit
def half(v, t):
    if t % 2 == 0:
        return v // 2
    return v * 3

@shoal.jit
def note(out, t, v):
    if t > 50:
        return
    st(out + t, v)
";
    let body = "
    t = tid(0)
    v = half(t * 10, t)
    if t < 60:
        note(out, t, v)
    if t == 63:
        return
    if t > 61:
        st(out + t, 9)
";
    let mut expected = vec![-1i32; 64];
    for t in 0..=50 {
        expected[t as usize] = if t % 2 == 0 { t * 5 } else { t * 30 };
    }
    expected[62] = 9;
    with(&format!("{EXTRA}\n{definitions}"), "out", body).options(|o| o.gpu.num_warps = 2).updates(
        Args::new(),
        &[-1i32; 64],
        &expected,
    );
}

#[test]
fn warps_shuffle_and_vote() {
    let body = "
    t = tid(0)
    full = 0xffffffff
    v = t * t
    tl.store(out + t, le.__shfl_sync_i32(full, v, 5))
    tl.store(out + 64 + t, le.__shfl_up_sync_i32(full, v, 3))
    tl.store(out + 128 + t, le.__shfl_down_sync_i32(full, v, 2))
    tl.store(out + 192 + t, le.__shfl_xor_sync_i32(full, v, 7))
    tl.store(out + 256 + t, le.__ballot_sync(full, t % 3 == 0))
    if laneid() < 4:
        tl.store(out + 320 + t, le.__activemask())
    else:
        tl.store(out + 320 + t, le.__any_sync(full, t == 40).to(tl.int32) * 2 + le.__all_sync(full, t > 3).to(tl.int32))
";
    let square = |t: i32| t * t;
    let ballot =
        |w: i32, f: &dyn Fn(i32) -> bool| (0..32).filter(|&l| f(w * 32 + l)).fold(0u32, |bits, l| bits | 1 << l) as i32;
    let mut expected = Vec::new();
    expected.extend((0..64).map(|t| square(t / 32 * 32 + 5)));
    expected.extend((0..64).map(|t| square(if t % 32 >= 3 { t - 3 } else { t })));
    expected.extend((0..64).map(|t| square(if t % 32 < 30 { t + 2 } else { t })));
    expected.extend((0..64).map(|t| square(t / 32 * 32 + ((t % 32) ^ 7))));
    expected.extend((0..64).map(|t| ballot(t / 32, &|t| t % 3 == 0)));
    expected.extend((0..64).map(|t| if t % 32 < 4 { 15 } else { i32::from(t >= 32) * 2 + 1 }));
    lanes("out", body).gives(Args::new(), &expected);
}

#[test]
fn shuffles_stay_in_their_group() {
    let body = "
    t = tid(0)
    full = 0xffffffff
    v = t * t
    tl.store(out + t, le.__shfl_sync_i32(full, v, 13, 8))
    tl.store(out + 64 + t, le.__shfl_up_sync_i32(full, v, 3, 8))
    tl.store(out + 128 + t, le.__shfl_down_sync_i32(full, v, 2, 16))
    tl.store(out + 192 + t, le.__shfl_xor_sync_i32(full, v, 12, 8))
";
    let square = |t: i32| t * t;
    let mut expected = Vec::new();
    // Lane 13 of a group of 8 is its lane 5.
    expected.extend((0..64).map(|t| square(t / 8 * 8 + 5)));
    expected.extend((0..64).map(|t| square(if t % 8 >= 3 { t - 3 } else { t })));
    expected.extend((0..64).map(|t| square(if t % 16 < 14 { t + 2 } else { t })));
    // A lane reads from groups before its own, not from those behind.
    expected.extend((0..64).map(|t| square(if (t ^ 12) <= t / 8 * 8 + 7 { t ^ 12 } else { t })));
    lanes("out", body).gives(Args::new(), &expected);
}

#[test]
fn threads_take_and_put_elements_of_tiles() {
    let data = integers(256, 5);
    let body = "
    i = tl.arange(0, 16)
    j = tl.arange(0, 16)
    x = tl.load(src + i[:, None] * 16 + j[None, :])
    with dl.simt_exec_region() as (t, threads):
        for k in range(t, 128, threads):
            a = x[k // 16, k % 16]
            x[15 - k // 16, k % 16] = a + 1
        x[0, 0] += 5
    first = x[3, 4]
    y = dl.insert(x, first, (0, 1))
    tl.store(out + i[:, None] * 16 + j[None, :], y)
    tl.store(out + 256, dl.extract(x, (9, 9)))
";
    let mut x = data.clone();
    for k in 0..128usize {
        x[(15 - k / 16) * 16 + k % 16] = data[k].wrapping_add(1);
    }
    x[0] = x[0].wrapping_add(5);
    let mut expected = x.clone();
    expected[1] = x[3 * 16 + 4];
    expected.push(x[9 * 16 + 9]);
    lanes("src, out", body).gives(args!(&data[..]), &expected);
}

#[test]
fn threads_store_their_own_value_to_the_elements_of_a_short_tile() {
    let body = "    tl.store(out + tl.arange(0, 32), tid(0) * 3)\n    tl.store(out + 32 + tl.arange(0, 64), tid(0))\n";
    let expected: Vec<i32> = (0..32).map(|i| i * 3).chain(0..64).collect();
    lanes("out", body).gives(Args::new(), &expected);
}

#[test]
fn threads_write_elements_of_large_tiles() {
    // More places times threads than a tile has elements at most.
    let data = integers(128 * 256, 9);
    let body = "
    at = tl.arange(0, 128)[:, None] * 256 + tl.arange(0, 256)[None, :]
    x = tl.load(src + at)
    with dl.simt_exec_region() as (t, threads):
        x[50, 255 - t] = t
        if t >= 40:
            x[t // 8, 7] = t
    tl.store(out + at, x)
";
    let mut expected = data.clone();
    for thread in 0..64 {
        expected[50 * 256 + 255 - thread] = thread as i32;
    }
    for (row, last) in [(5, 47), (6, 55), (7, 63)] {
        expected[row * 256 + 7] = last;
    }
    lanes("src, out", body).gives(args!(&data[..]), &expected);
}

#[test]
fn vectors_are_loaded_combined_and_recast() {
    let data = integers(256, 8);
    let body = "
    t = tid(0)
    v = dl.ld_vector(src + t * 4, 4)
    w = v * 2 + dl.make_vector((1, 2, 3, t))
    w[1] = 7
    dl.st_vector(out + t * 4, w)
    halves = w.recast(tl.int16)
    back = halves.recast(tl.int32)
    st(out + 256 + t, back[0] - w[0] + halves[2])
    z = dl.zeros_vector(2, tl.float32) + 1.5
    st(out + 320 + t, z.to(tl.int32)[1])
    a, b, c, d = le.load_v4_s32(src + t * 4)
    le.st_v4_u32(out + 384 + t * 4, a, b, c, d)
";
    let mut expected = Vec::new();
    for t in 0..64 {
        let double = |k: usize, more: i32| data[t * 4 + k].wrapping_mul(2).wrapping_add(more);
        expected.extend([double(0, 1), 7, double(2, 3), double(3, t as i32)]);
    }
    expected.extend([7; 64]);
    expected.extend([1; 64]);
    expected.extend(&data);
    lanes("src, out", body).gives(args!(&data[..]), &expected);
}

#[test]
fn a_spin_of_lanes_lets_others_run() {
    // Program 0 waits with all its lanes for what the others write.
    let body = "
    t = tid(0)
    if tl.program_id(0) == 0:
        while ld(out + t, 'gpu', 'acquire') != t + 1:
            pass
        if t == 0:
            while ld(out + 64, 'gpu', 'acquire') != 3:
                pass
        __syncthreads()
        st(out + 65 + t, ld(out + t) * 2)
    else:
        p = tl.program_id(0) - 1
        if t % 3 == p:
            st(out + t, t + 1, 'gpu', 'release')
        if t == 0:
            atomic_add(out + 64, 1, 'gpu', 'release')
";
    let initial = vec![0i32; 129];
    let mut expected: Vec<i32> = (1..=64).collect();
    expected.push(3);
    expected.extend((1..=64).map(|v| v * 2));
    lanes("out", body).grid(4, 1, 1).updates(Args::new(), &initial, &expected);
}

#[test]
fn mistakes_with_lanes_are_told() {
    lanes("out", "    x = tl.arange(0, 16) + tid(0)\n").refused(Args::new(), &["differs between threads"]);
    let sixteen = "    le.multimem_st_b32(out, tl.load(out).to(tl.int16))\n";
    lanes("out", sixteen).refused(Args::new(), &["a value of 32 bits"]);
    let tile = "    dl.wait(out + tl.arange(0, 16), 1, 'sys', 'acquire')\n";
    lanes("out", tile).refused(Args::new(), &["takes one pointer"]);
    let width = "    tl.store(out, le.__shfl_sync_i32(-1, tid(0), 1, 12))\n";
    lanes("out", width).refused(Args::new(), &["a power of two of at most 32"]);
    lanes("out", "    with tid(0):\n        pass\n").refused(Args::new(), &["simt_exec_region"]);
    lanes("out", "    tl.store(out, 1)\n").refused(args!(num_warps = 3), &["power of two"]);
    lanes("out", "    tl.store(out, 1)\n").refused(args!(num_ctas = 3), &["`num_ctas` must be a power of two, not 3"]);
    lanes("out", "    tl.store(out, 1)\n").refused(args!(num_warps = "x"), &["small whole number"]);
    for index in ["-1", "4", "1 << 40"] {
        let body = format!("    x = tl.arange(0, 4)\n    tl.store(out, x[{index}])\n");
        lanes("out", &body).refused(Args::new(), &["out of range", "indices go from 0 to 3"]);
    }
}

#[test]
fn two_words_make_a_longer_one() {
    let body = "    tl.store(out, le.pack_b32_v2(7, 9).to(tl.int64))\n    \
                tl.store(out + 1, le.pack_b32_v2(tl.program_id(0) - 1, 2.0).to(tl.int64))";
    let float = i64::from(2.0f32.to_bits()) << 32;
    with(EXTRA, "out", body).gives(args!(), &[7 + (9i64 << 32), float | 0xffff_ffff]);
}

#[test]
fn constants_say_how_many_bits_they_have() {
    let body = "    N: tl.constexpr = 65\n    p = out.to(tl.pi32_t)\n    tl.store(p, N.bit_length())\n    \
                tl.store(p + 1, (-N).bit_count())\n    tl.store(p + 2, (0).bit_length())";
    case("out", body).gives(args!(), &[7, 2, 0]);
}

#[test]
fn a_loop_of_lanes_is_tried_again_with_conversions_in_it() {
    let body = "
    for n in range(tid(0), 100, ntid(0)):
        value, goal = ld(x + n), (n // 8).to(tl.float32)
        steps = 0
        while value > goal:
            value = (value.to(tl.int32) // 2).to(tl.float32)
            steps += 1
        tl.store(out + n, steps)
";
    let x: Vec<f32> = integers(100, 5).into_iter().map(|i| (i % 1000).abs() as f32).collect();
    let steps = |n: usize| {
        let (mut value, goal, mut steps) = (x[n], (n / 8) as f32, 0);
        while value > goal {
            value = (value as i32 / 2) as f32;
            steps += 1;
        }
        steps
    };
    let expected: Vec<i32> = (0..100).map(steps).collect();
    lanes("x, out", body).gives(args!(&x[..]), &expected);
}

#[test]
fn what_all_lanes_have_alike_meets_tiles() {
    let body = "
    lane = laneid()
    start = le.__shfl_sync_i32(0xffffffff, lane * 4, 3)
    votes = le.__ballot_sync(0xffffffff, lane < 5)
    at = start + tl.arange(0, 4)
    tl.store(out + tl.arange(0, 4), tl.load(x + at) + votes.to(tl.int32))
    desc = tl.make_tensor_descriptor(x, [64], [1], [16])
    tl.store(out + 4 + tl.arange(0, 16), desc.load([start]))
";
    let x = integers(64, 3);
    let mut expected: Vec<i32> = (12..16).map(|i| x[i].wrapping_add(31)).collect();
    expected.extend(&x[12..28]);
    lanes("x, out", body).gives(args!(&x[..]), &expected);
    let body = "
    tl.store(out + tl.arange(0, 4), tid(0) + tl.arange(0, 4))
";
    lanes("out", body).refused(Args::new(), &["a tile meets a value that differs between threads"]);
}

#[test]
fn loops_and_branches_that_all_lanes_take_alike_work_on_tiles() {
    // Pieces of a block that belong to different owners, from a number that lanes found by a vote.
    let body = "
    first = le.__shfl_sync_i32(0xffffffff, laneid(), 1)
    for owner in range(first, first + 3):
        low = max(owner * 6, 8)
        at = tl.arange(0, 32)
        tl.store(out + at, at * 10 + owner, mask=(at >= low) & (at < owner * 6 + 6))
        if owner == first + 1:
            for i in range(2):
                tl.store(out + 32 + i * 2 + tl.arange(0, 2), owner + i + tl.arange(0, 2))
    left = first * 3
    while left > 0:
        tl.store(out + 36 + left + tl.arange(0, 1), left + tl.zeros((1,), tl.int32))
        left -= 1
";
    let mut expected: Vec<i32> = (0..32).map(|at| if (8..24).contains(&at) { at * 10 + at / 6 } else { -1 }).collect();
    expected.extend([2, 3, 3, 4, -1, 1, 2, 3]);
    lanes("out", body).gives(Args::new(), &expected);
    let body = "
    for i in range(tid(0), 70, ntid(0)):
        tl.store(out + tl.arange(0, 4), i + tl.arange(0, 4))
";
    lanes("out", body).refused(Args::new(), &["a tile meets a value that differs between threads"]);
    // One lane alone agrees with itself, whichever it is.
    let body = "
    if tid(0) == 37:
        tl.store(out + tl.arange(0, 4), tid(0) + tl.arange(0, 4))
";
    lanes("out", body).gives(Args::new(), &[37i32, 38, 39, 40]);
}

#[test]
fn a_prefetch_changes_nothing() {
    let body = "
    t = tid(0)
    le.prefetch(out + tl.arange(0, 64))
    if t < 3:
        le.prefetch(out + t * 16)
    le.prefetch(out)
    tl.store(out + t, t)
";
    lanes("out", body).gives(Args::new(), &(0..64).collect::<Vec<i32>>());
}
