//! Accesses to all ranks at once, and signals and waits of single lanes.

use half::f16;

use super::harness::{check, has_multicast};

fn float(number: usize) -> i32 {
    (number as f32).to_bits() as i32
}

/// The sum of a function over all ranks.
fn sum(ranks: usize, of: impl Fn(usize) -> usize) -> usize {
    (0..ranks).map(of).sum()
}

#[test]
fn sums_of_all_ranks_are_loaded_and_written_to_all() {
    let body = "f = x.to(tl.pointer_type(tl.float32))
at = tl.arange(0, 4)
tl.store(f + at, (me * 10 + at).to(tl.float32))
shm.barrier_all_block()
a, b, c, d = multimem_ld_reduce_v4(shm.remote_mc_ptr(shm.NVSHMEMX_TEAM_NODE, f))
tl.store(y, a.to(tl.int32))
tl.store(y + 1, d.to(tl.int32))
shm.barrier_all_block()
everywhere = shm.remote_mc_ptr(shm.NVSHMEM_TEAM_WORLD, y)
if me == n - 1:
    multimem_st_b32(everywhere + 2, 77 + n)
    multimem_st_v4(everywhere + 4, a, b, c, d)
shm.barrier_all_block()";
    check(body, |rank, ranks, buffers| {
        let total = |i: usize| sum(ranks, |rank| rank * 10 + i);
        for i in 0..4 {
            buffers.x[i] = float(rank * 10 + i);
            buffers.y[4 + i] = float(total(i));
        }
        (buffers.y[0], buffers.y[1]) = (total(0) as i32, total(3) as i32);
        buffers.y[2] = 77 + ranks as i32;
    });
}

#[test]
fn narrow_elements_are_added_in_pairs() {
    let body = "h = x.to(tl.pointer_type(tl.bfloat16))
at = tl.arange(0, 8)
tl.store(h + at, (me + at).to(tl.bfloat16))
shm.barrier_all_block()
a, b, c, d = multimem_ld_reduce_v4(h, tl.float32)
tl.store(y, a.to(tl.int32))
tl.store(y + 1, d.to(tl.int32))
shm.barrier_all_block()";
    // The bits of two numbers that bfloat16 has exactly.
    let pair = |low: usize, high: usize| {
        let half = |number: usize| (float(number) as u32) >> 16;
        (half(low) | half(high) << 16) as i32
    };
    check(body, |rank, ranks, buffers| {
        let total = |i: usize| sum(ranks, |rank| rank + i);
        for i in 0..4 {
            buffers.x[i] = pair(rank + 2 * i, rank + 2 * i + 1);
        }
        (buffers.y[0], buffers.y[1]) = (pair(total(0), total(1)), pair(total(6), total(7)));
    });
}

#[test]
fn lanes_notify_and_wait_for_themselves() {
    let body = "tl.store(y, me)
t = tid(0)
if t < n:
    dl.notify(flags + me, t, signal=me + 5)
    dl.notify(flags + 6, t, signal=1, sig_op='add')
    token = dl.wait(flags + t, 1, 'sys', 'acquire', waitValue=t + 5)
dl.wait(flags + 6 + t * 0, 1, 'sys', 'acquire', waitValue=n)
peer_of = dl.symm_at(y, peer)
tl.store(y + 1, tl.load(peer_of))";
    check(body, |rank, ranks, buffers| {
        for source in 0..ranks {
            buffers.signals[source] = source as i64 + 5;
        }
        buffers.signals[6] = ranks as i64;
        (buffers.y[0], buffers.y[1]) = (rank as i32, ((rank + 1) % ranks) as i32);
    });
}

#[test]
fn assembly_reaches_all_ranks() {
    if !has_multicast() {
        return;
    }
    let body = "f = x.to(tl.pointer_type(tl.float32))
at = tl.arange(0, 4)
tl.store(f + at, (me * 10 + at).to(tl.float32))
shm.barrier_all_block()
a, b, c, d = tl.inline_asm_elementwise(
    'multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {$0, $1, $2, $3}, [$4];',
    '=f,=f,=f,=f,l', [f], dtype=(tl.float32, tl.float32, tl.float32, tl.float32), is_pure=False, pack=1)
tl.store(y, a.to(tl.int32))
tl.store(y + 1, d.to(tl.int32))
greatest = tl.inline_asm_elementwise(
    'multimem.ld_reduce.relaxed.sys.global.max.s32 $0, [$1];', '=r,l', [x + 8], dtype=tl.int32, is_pure=False, pack=1)
tl.store(y + 2, greatest)
one = (number - 2).to(tl.int64)
if tid(0) == 0:
    tl.inline_asm_elementwise(
        'multimem.red.release.sys.global.add.u64 [$1], $2; mov.u32 $0, 0;', '=r,l,l', [flags, one], dtype=tl.int32,
        is_pure=False, pack=1)
shm.barrier_all_block()
if me == 0:
    tl.inline_asm_elementwise(
        'multimem.st.relaxed.sys.global.b32 [$1], $2; mov.u32 $0, 0;', '=r,l,r', [y + 3, n + 40], dtype=tl.int32,
        is_pure=False, pack=1)
shm.barrier_all_block()";
    check(body, |rank, ranks, buffers| {
        let total = |i: usize| sum(ranks, |rank| rank * 10 + i) as i32;
        let greatest = (0..ranks).map(|rank| super::harness::Buffers::of_rank(rank).x[8]).max().unwrap_or_default();
        for i in 0..4 {
            buffers.x[i] = float(rank * 10 + i);
        }
        buffers.y[..4].copy_from_slice(&[total(0), total(3), greatest, ranks as i32 + 40]);
        buffers.signals[0] = ranks as i64;
    });
}

/// The bits of two numbers of 16 bits in one word.
fn halves(low: f16, high: f16) -> i32 {
    (u32::from(low.to_bits()) | u32::from(high.to_bits()) << 16) as i32
}

#[test]
fn assembly_adds_narrow_numbers_in_pairs() {
    if !has_multicast() {
        return;
    }
    let body = "h = x.to(tl.pointer_type(tl.bfloat16))
at = tl.arange(0, 8)
tl.store(h + at, (me + at).to(tl.bfloat16))
g = (x + 4).to(tl.pointer_type(tl.float16))
tl.store(g + tl.arange(0, 2), (me * 2 - tl.arange(0, 2)).to(tl.float16))
shm.barrier_all_block()
a, b, c, d = tl.inline_asm_elementwise(
    'multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {$0, $1, $2, $3}, [$4];',
    '=r,=r,=r,=r,l', [h], dtype=(tl.uint32, tl.uint32, tl.uint32, tl.uint32), is_pure=True, pack=1)
tl.store(y, a.to(tl.int32))
tl.store(y + 1, d.to(tl.int32))
least = tl.inline_asm_elementwise(
    'multimem.ld_reduce.global.min.f16x2 $0, [$1];', '=r,l', [g], dtype=tl.int32, is_pure=False, pack=1)
tl.store(y + 2, least)
shm.barrier_all_block()";
    let pair = |low: usize, high: usize| {
        let half = |number: usize| (float(number) as u32) >> 16;
        (half(low) | half(high) << 16) as i32
    };
    check(body, |rank, ranks, buffers| {
        let total = |i: usize| sum(ranks, |rank| rank + i);
        for i in 0..4 {
            buffers.x[i] = pair(rank + 2 * i, rank + 2 * i + 1);
        }
        let doubled = 2.0 * rank as f32;
        buffers.x[4] = halves(f16::from_f32(doubled), f16::from_f32(doubled - 1.0));
        (buffers.y[0], buffers.y[1]) = (pair(total(0), total(1)), pair(total(6), total(7)));
        buffers.y[2] = halves(f16::ZERO, f16::NEG_ONE);
    });
}

#[test]
fn assembly_adds_vectors_at_all_ranks() {
    if !has_multicast() {
        return;
    }
    let body = "f = y.to(tl.pointer_type(tl.float32))
tl.store(y + tl.arange(0, 8), tl.zeros([8], tl.int32))
shm.barrier_all_block()
one = (me + 1).to(tl.float32)
if tid(0) == 0:
    tl.inline_asm_elementwise(
        'multimem.red.relaxed.sys.global.add.v4.f32 [$1], {$2, $3, $3, $2}; mov.u32 $0, 0;', '=r,l,f,f',
        [f, one, one * 2], dtype=tl.int32, is_pure=False, pack=1)
    tl.inline_asm_elementwise(
        'multimem.red.release.sys.global.add.f16x2 [$1], $2; mov.u32 $0, 0;', '=r,l,r',
        [y + 4, me * 0 + 0x3C004000], dtype=tl.int32, is_pure=False, pack=1)
shm.barrier_all_block()";
    check(body, |_, ranks, buffers| {
        let total = sum(ranks, |rank| rank + 1);
        let added = [total, 2 * total, 2 * total, total].map(float);
        buffers.y[..8].fill(0);
        buffers.y[..4].copy_from_slice(&added);
        buffers.y[4] = halves(f16::from_f32(2.0 * ranks as f32), f16::from_f32(ranks as f32));
    });
}

#[test]
fn assembly_stores_tiles_at_all_ranks_under_a_predicate() {
    if !has_multicast() {
        return;
    }
    let body = "at = tl.arange(0, 2)
shm.barrier_all_block()
if me == 0:
    tl.inline_asm_elementwise(
        '''{
            .reg .pred %p0;
            setp.ne.s32 %p0, $4, 1;
            @%p0 bra end;
            multimem.st.relaxed.sys.global.v4.f32 [$1], {$2, $3, $3, $2};
            end:
        }''', '=r,l,r,r,r', [y + 8 + at * 4, at + 100, at + 200, at], dtype=tl.uint32, is_pure=False, pack=1)
shm.barrier_all_block()";
    check(body, |_, _, buffers| buffers.y[12..16].copy_from_slice(&[101, 201, 201, 101]));
}

#[test]
fn assembly_for_all_ranks_stays_assembly_on_gpus() {
    if !has_multicast() {
        return;
    }
    let body = "tl.inline_asm_elementwise(
    'multimem.st.relaxed.sys.global.b32 [$1], $2; mov.u32 $0, 0;', '=r,l,r', [y, number], dtype=tl.int32,
    is_pure=False, pack=1)";
    let kernel = super::harness::kernel(body);
    let specs = kernel.read_signature("*i32, *i32, *i64, i32").expect("a signature");
    let target = shoal::target_named("sm_90a").expect("a target");
    let text = kernel.emit(&specs, shoal::Stage::Asm, &target).expect("it compiles");
    let text = String::from_utf8(text).expect("text");
    assert!(text.contains("multimem.st.relaxed.sys.global.b32"), "{text}");
}

#[test]
fn lanes_ask_for_more_ranks_than_there_are_and_leave_them_out() {
    let body = "t = tid(0)
place = dl.symm_at(y, t)
if t < n:
    st(place + me, me + 100)
shm.barrier_all_block()";
    check(body, |_, ranks, buffers| {
        for source in 0..ranks {
            buffers.y[source] = source as i32 + 100;
        }
    });
}
