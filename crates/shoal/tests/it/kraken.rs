//! Kernels in the manner of Kraken and Triton-distributed: signal pads, inline PTX, code for single threads.

use shoal::world::{World, WorldOptions};
use shoal::{Device, Error, Kernel, Module, args};

/// Kernels that a person would write for Triton on GPUs, with their PTX inside.
const TEXT: &str = r#"
import triton
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra.language_extra import tid, ld, st, atomic_cas, atomic_add, __syncthreads
from triton_dist.language.extra import libshmem_device
from shoal.language.extra import symm_mem_sync


@triton.jit
def thread_numbers():
    return tl.inline_asm_elementwise(
        "mov.u32 $0, %tid.x; mov.u32 $1, %tid.y; mov.u32 $2, %tid.z;", "=r,=r,=r", [],
        dtype=(tl.uint32, tl.uint32, tl.uint32), is_pure=True, pack=1)


@triton.jit
def send(addrs, sem: tl.constexpr):
    tl.inline_asm_elementwise(
        f"""
        {{
            .reg .u32   %old<1>;
            .reg .pred  %done<1>;
            again:
                atom.global.{sem}.sys.cas.b32 %old0, [$1], 0, 1;
                setp.eq.u32 %done0, %old0, 0;
                @!%done0 bra again;
        }}
        """, "=r, l", [addrs], dtype=addrs.dtype, is_pure=False, pack=1)


@triton.jit
def receive(addrs, sem: tl.constexpr):
    tl.inline_asm_elementwise(
        f"""
        {{
            .reg .u32   %old<1>;
            .reg .pred  %done<1>;
            again:
                atom.global.sys.{sem}.cas.b32 %old0, [$1], 1, 0;
                setp.eq.u32 %done0, %old0, 1;
                @!%done0 bra again;
        }}
        """, "=r, l", [addrs], dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def meet(pads, block, rank: tl.constexpr, world: tl.constexpr, before: tl.constexpr, after: tl.constexpr):
    x, y, z = thread_numbers()
    peers = tl.arange(0, world)
    theirs = tl.load(pads.to(tl.pointer_type(tl.uint64)) + peers).to(tl.pointer_type(tl.uint32))
    mine = tl.load(pads.to(tl.pointer_type(tl.uint64)) + rank).to(tl.pointer_type(tl.uint32))
    if before:
        tl.debug_barrier()
    if x < world:
        send(theirs + block * world + rank, "release" if before else "relaxed")
        receive(mine + block * world + peers, "acquire" if after else "relaxed")
    if after:
        tl.debug_barrier()


@triton.jit
def all_reduce_tiles(buffers, pads, out, n, rank: tl.constexpr, world: tl.constexpr, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    meet(pads, block, rank, world, False, True)
    start = block * BLOCK
    while start < n:
        i = start + tl.arange(0, BLOCK)
        acc = tl.zeros((BLOCK,), dtype=tl.float32)
        for peer in tl.static_range(world):
            buffer = tl.load(buffers + peer).to(tl.pointer_type(tl.float32))
            acc += tl.load(buffer + i, mask=i < n, other=0.0)
        tl.store(out + i, acc, mask=i < n)
        start += tl.num_programs(0) * BLOCK
    meet(pads, block, rank, world, True, False)


@triton.jit
def all_reduce_library(buffers, pads, out, n, rank: tl.constexpr, world: tl.constexpr, BLOCK: tl.constexpr):
    symm_mem_sync(pads, None, rank, world, hasSubsequentMemAccess=True)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    while tl.min(i, 0) < n:
        acc = tl.zeros((BLOCK,), dtype=tl.float32)
        for peer in tl.static_range(world):
            buffer = tl.load(buffers + peer).to(tl.pointer_type(tl.float32))
            acc += tl.load(buffer + i, mask=i < n, other=0.0)
        tl.store(out + i, acc, mask=i < n)
        i += tl.num_programs(0) * BLOCK
    symm_mem_sync(pads, None, rank, world, hasPreviousMemAccess=True)


@triton.jit
def barrier_by_lanes(rank, world, flags):
    with dl.simt_exec_region() as (thread, threads):
        if thread < world:
            theirs = dl.symm_at(flags + rank, thread)
            while atomic_cas(theirs, 0, 1, "sys", "release") != 0:
                pass
        if thread < world:
            while atomic_cas(flags + thread, 1, 0, "sys", "acquire") != 1:
                pass
        __syncthreads()


@triton.jit
def push_by_lanes(x, slots, flags, out, n, value):
    rank = dl.rank()
    world = dl.num_ranks()
    thread = tid(0)
    barrier_by_lanes(rank, world, flags)
    for i in range(thread, n, 128):
        v = ld(x + i)
        for peer in range(0, world):
            st(dl.symm_at(slots, peer) + rank * n + i, v, "sys", "relaxed")
    __syncthreads()
    if thread < world:
        st(dl.symm_at(flags, thread) + world + rank, value, "sys", "release")
        while ld(flags + world + thread, "sys", "acquire") != value:
            pass
    __syncthreads()
    for i in range(thread, n, 128):
        total = 0.0
        for peer in range(0, world):
            total += ld(slots + peer * n + i)
        st(out + i, total)
    barrier_by_lanes(rank, world, flags)


@triton.jit
def signal_by_lanes(flags, counts, out, n):
    rank = dl.rank()
    world = dl.num_ranks()
    thread = tid(0)
    if thread < world:
        libshmem_device.signal_op(flags + rank, thread + 1, libshmem_device.NVSHMEM_SIGNAL_SET, thread)
        libshmem_device.signal_wait_until(flags + thread, libshmem_device.NVSHMEM_CMP_EQ, rank + 1)
    __syncthreads()
    if thread < 5:
        libshmem_device.signal_op(counts, 1, libshmem_device.NVSHMEM_SIGNAL_ADD, (rank + 1) % world)
    if thread == 0:
        libshmem_device.signal_wait_until(counts, libshmem_device.NVSHMEM_CMP_GE, 5)
    __syncthreads()
    if thread < world:
        st(out + thread, ld(flags + thread).to(tl.int32))


@triton.jit
def put_by_symbol(dest, source, size, signal, value, op, peer):
    return tl.extern_elementwise(
        "", "", [dest, source, size, signal, value, op, peer],
        {(tl.int64, tl.int64, tl.int64, tl.int64, tl.uint64, tl.int32, tl.int32):
            ("nvshmemx_putmem_signal_block", tl.int32)}, is_pure=False)


@triton.jit
def rotate_by_symbols(inbox, outbox, signals, out, n):
    me = tl.extern_elementwise("", "", [], {(): ("nvshmem_my_pe", tl.int32)}, is_pure=True)
    world = tl.extern_elementwise("", "", [], {(): ("nvshmem_n_pes", tl.int32)}, is_pure=True)
    size = (n * 4).to(tl.int64)
    nothing = put_by_symbol(
        inbox.to(tl.int64), outbox.to(tl.int64), size, signals.to(tl.int64), tl.cast(5, tl.uint64), 10, (me + 1) % world)
    tl.extern_elementwise(
        "", "", [signals.to(tl.int64), 5, tl.cast(5, tl.uint64)],
        {(tl.int64, tl.int32, tl.uint64): ("nvshmem_signal_wait_until", tl.int32)}, is_pure=False)
    for i in range(n):
        tl.store(out + i, tl.load(inbox + i) + nothing)
"#;

const N: usize = 1000;

fn kernel(name: &str) -> Kernel {
    Module::from_source("kraken.py", TEXT).and_then(|module| module.kernel(name)).expect("a kernel").on(Device::cpu())
}

fn world(ranks: usize) -> World {
    let options = WorldOptions { heap_bytes: 1 << 20, ..WorldOptions::default() };
    World::threads_with(ranks, &options).expect("a world")
}

fn number(rank: usize, i: usize) -> f32 {
    ((i * 37 + rank * 11) % 97) as f32 - 31.0
}

fn expected(ranks: usize) -> Vec<f32> {
    // Sums of small whole numbers are exact in any order.
    (0..N).map(|i| (0..ranks).map(|rank| number(rank, i)).sum()).collect()
}

/// Each launch is repeated: the pads reset themselves.
fn reduces(name: &str, worlds: &[usize]) {
    let kernel = kernel(name);
    for &ranks in worlds {
        let results = world(ranks).run(|rank| -> Result<Vec<f32>, Error> {
            let x = rank.symm_empty::<f32>(N)?;
            x.write(&(0..N).map(|i| number(rank.rank(), i)).collect::<Vec<_>>())?;
            let pads = rank.symm_zeros::<u32>(4 * ranks)?;
            let address = |peer: usize| x.address_at(peer).map(|address| address as u64);
            let buffers = (0..ranks).map(address).collect::<Result<Vec<u64>, _>>()?;
            let slot = |peer: usize| pads.address_at(peer).map(|address| address as u64);
            let table = (0..ranks).map(slot).collect::<Result<Vec<u64>, _>>()?;
            rank.barrier()?;
            let kernel = kernel.clone().on_rank(rank)?;
            let mut out = vec![f32::NAN; N];
            for _ in 0..3 {
                out.fill(f32::NAN);
                let args = args!(
                    &buffers[..],
                    &table[..],
                    &mut out[..],
                    N as i32,
                    rank = rank.rank() as i32,
                    world = ranks as i32,
                    BLOCK = 256
                );
                kernel.launch(4, args)?;
            }
            assert!(pads.read()?.iter().all(|&slot| slot == 0), "the pads are at rest again");
            Ok(out)
        });
        for out in results.expect("no failure") {
            assert_eq!(out, expected(ranks), "{name} on {ranks} ranks");
        }
    }
}

#[test]
fn blocks_of_ranks_meet_by_ptx() {
    reduces("all_reduce_tiles", &[1, 2, 4]);
}

#[test]
fn blocks_of_ranks_meet_by_the_library() {
    reduces("all_reduce_library", &[1, 2, 3, 4]);
}

#[test]
fn lanes_push_to_all_ranks() {
    let kernel = kernel("push_by_lanes");
    for ranks in [1, 2, 3, 4] {
        let results = world(ranks).run(|rank| -> Result<Vec<f32>, Error> {
            let x = rank.symm_empty::<f32>(N)?;
            x.write(&(0..N).map(|i| number(rank.rank(), i)).collect::<Vec<_>>())?;
            let slots = rank.symm_zeros::<f32>(N * ranks)?;
            let flags = rank.symm_zeros::<i32>(2 * ranks)?;
            let kernel = kernel.clone().on_rank(rank)?;
            let mut out = vec![f32::NAN; N];
            for value in 1..3i32 {
                out.fill(f32::NAN);
                kernel.launch(1, args!(&x, &slots, &flags, &mut out[..], N as i32, value + 1))?;
            }
            Ok(out)
        });
        for out in results.expect("no failure") {
            assert_eq!(out, expected(ranks), "{ranks} ranks");
        }
    }
}

#[test]
fn lanes_signal_and_wait_with_shmem() {
    let kernel = kernel("signal_by_lanes");
    for ranks in [1, 2, 3, 4] {
        let results = world(ranks).run(|rank| -> Result<Vec<i32>, Error> {
            let flags = rank.symm_zeros::<u64>(ranks)?;
            let counts = rank.symm_zeros::<u64>(1)?;
            let mut out = vec![-1; ranks];
            let kernel = kernel.clone().on_rank(rank)?;
            kernel.launch(1, args!(&flags, &counts, &mut out[..], ranks as i32))?;
            assert_eq!(counts.read()?, [5]);
            Ok(out)
        });
        for (rank, out) in results.expect("no failure").into_iter().enumerate() {
            assert_eq!(out, vec![rank as i32 + 1; ranks]);
        }
    }
}

#[test]
fn functions_of_nvshmem_are_called_by_their_symbols() {
    let kernel = kernel("rotate_by_symbols");
    for ranks in [1, 2, 3] {
        let results = world(ranks).run(|rank| -> Result<Vec<i32>, Error> {
            let (inbox, outbox) = (rank.symm_zeros::<i32>(9)?, rank.symm_empty::<i32>(9)?);
            let signals = rank.symm_zeros::<u64>(1)?;
            outbox.write(&[rank.rank() as i32 * 100 + 7; 9])?;
            rank.barrier()?;
            let mut out = vec![-1; 9];
            kernel.clone().on_rank(rank)?.launch(1, args!(&inbox, &outbox, &signals, &mut out[..], 9))?;
            Ok(out)
        });
        for (rank, out) in results.expect("no failure").into_iter().enumerate() {
            let left = (rank + ranks - 1) % ranks;
            assert_eq!(out, vec![left as i32 * 100 + 7; 9], "rank {rank} of {ranks}");
        }
    }
}
