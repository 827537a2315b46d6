//! Kernels of several ranks, as programs launch them.

use std::time::Duration;

use shoal::half::f16;
use shoal::world::{Compare, Place, Rank, Value, World, WorldError, WorldOptions};
use shoal::{CompileOptions, Device, Element, Error, Kernel, Module, Stage, args, host_target};
use shoal_interp::{Arg, Heap, Memory, Options, Order, RankLaunch, run_ranks};
use shoal_ir::Const;

const TEXT: &str = "
import shoal
import shoal.language as tl
import triton_dist.language as dl

@shoal.jit
def ring(x, flags, n, BLOCK: tl.constexpr):
    rank = dl.rank()
    peer = (rank + 1) % dl.num_ranks()
    at = tl.arange(0, BLOCK)
    tl.store(dl.symm_at(x, peer) + at, rank * 100 + at, mask=at < n)
    dl.notify(flags, peer, sig_op=\"add\", comm_scope=\"intra_node\")
    token = dl.wait(flags, 1, \"sys\", \"acquire\")
    mine = dl.consume_token(x + at, token)
    tl.store(x + at, tl.load(mine, mask=at < n) + 1, mask=at < n)

@shoal.jit
def forget(flags):
    dl.wait(flags, 2, \"sys\", \"acquire\", waitValue=5)

@shoal.jit
def late(x, flags, trips):
    total = tl.load(x)
    i = 0
    while i < trips:
        total = total * 3 + i
        i += 1
    tl.store(x, total)
    dl.notify(flags, (dl.rank() + 1) % dl.num_ranks(), comm_scope=\"intra_node\")
    dl.wait(flags, 1, \"sys\", \"acquire\")

@shoal.jit
def astray(x, rank):
    tl.store(dl.symm_at(x, rank), 1)

@shoal.jit
def carried(x, flags, n):
    token = dl.wait(flags, 1, \"sys\", \"acquire\", waitValue=0)
    for i in range(n):
        if i > 1:
            token = dl.wait(flags, 1, \"gpu\", \"relaxed\", waitValue=0)
    tl.store(x, tl.load(dl.consume_token(x, token)) + 1)
";

fn kernel(name: &str) -> Kernel {
    Module::from_source("ranks.py", TEXT).and_then(|module| module.kernel(name)).expect("a kernel").on(Device::cpu())
}

fn world(ranks: usize) -> World {
    with_timeout(ranks, HOUR)
}

const HOUR: Duration = Duration::from_secs(3600);

fn with_timeout(ranks: usize, timeout: Duration) -> World {
    let options = WorldOptions { heap_bytes: 1 << 20, timeout, ..WorldOptions::default() };
    World::threads_with(ranks, &options).expect("a world")
}

#[test]
fn ranks_write_to_their_neighbours() {
    let checking = CompileOptions { debug: true, ..CompileOptions::default() };
    let ways = [
        (CompileOptions::default(), Device::cpu()),
        (checking, Device::cpu()),
        (CompileOptions::default(), Device::Interpreter),
    ];
    for (options, device) in ways {
        let ring = kernel("ring").with(options).on(device);
        for ranks in [1, 2, 3, 8] {
            let results = world(ranks).run(|rank| -> Result<Vec<i32>, Error> {
                let x = rank.symm_zeros::<i32>(5)?;
                let flags = rank.symm_zeros::<i64>(1)?;
                ring.clone().on_rank(rank)?.launch(1, args!(&x, &flags, 5, BLOCK = 8))?;
                Ok(x.read()?)
            });
            for (rank, x) in results.expect("the ring goes round").iter().enumerate() {
                let from = ((rank + ranks - 1) % ranks) as i32;
                assert_eq!(*x, [1, 2, 3, 4, 5].map(|i| from * 100 + i), "rank {rank} of {ranks}");
            }
        }
    }
}

#[test]
fn a_deadlock_tells_what_every_rank_waits_for() {
    a_deadlock_is_told(&kernel("forget"));
    a_deadlock_is_told(&kernel("forget").on(Device::Interpreter));
}

/// Rank 0 runs machine code, the others are interpreted.
fn on_mixed(kernel: &Kernel, rank: usize) -> Kernel {
    kernel.clone().on(if rank == 0 { Device::cpu() } else { Device::Interpreter })
}

#[test]
fn ranks_that_run_and_ranks_that_are_interpreted_wait_for_each_other() {
    let (ring, late) = (kernel("ring"), kernel("late"));
    for ranks in [2, 3] {
        let results = world(ranks).run(|rank| -> Result<Vec<i32>, Error> {
            let x = rank.symm_zeros::<i32>(5)?;
            let flags = rank.symm_zeros::<i64>(2)?;
            // The one that runs comes long after the others wait, and that is no deadlock.
            let trips = if rank.rank() == 0 { 300_000_000 } else { 10 };
            on_mixed(&late, rank.rank()).on_rank(rank)?.launch(1, args!(&x, &flags, trips))?;
            rank.barrier()?;
            x.fill(0)?;
            flags.fill(0)?;
            rank.barrier()?;
            on_mixed(&ring, rank.rank()).on_rank(rank)?.launch(1, args!(&x, &flags, 5, BLOCK = 8))?;
            Ok(x.read()?)
        });
        for (rank, x) in results.expect("no deadlock").iter().enumerate() {
            let from = ((rank + ranks - 1) % ranks) as i32;
            assert_eq!(*x, [1, 2, 3, 4, 5].map(|i| from * 100 + i), "rank {rank} of {ranks}");
        }
    }
}

#[test]
fn a_deadlock_of_both_kinds_of_ranks_is_found() {
    let forget = kernel("forget");
    let error = world(3).run(|rank| -> Result<(), Error> {
        let flags = rank.symm_zeros::<i64>(2)?;
        on_mixed(&forget, rank.rank()).on_rank(rank)?.launch(1, args!(&flags))
    });
    let text = match error.expect_err("nobody signals") {
        WorldError::Rank { source, .. } => source.to_string(),
        other => panic!("{other}"),
    };
    for rank in 0..3 {
        assert!(text.contains(&format!("rank {rank}: in kernel `forget`: 1 program waits")), "{text}");
    }
}

fn a_deadlock_is_told(forget: &Kernel) {
    let error = world(3).run(|rank| -> Result<(), Error> {
        let flags = rank.symm_zeros::<i64>(2)?;
        flags.write(&[5, rank.rank() as i64])?;
        forget.clone().on_rank(rank)?.launch(1, args!(&flags))
    });
    let text = match error.expect_err("nobody signals") {
        WorldError::Rank { source, .. } => source.to_string(),
        other => panic!("{other}"),
    };
    for rank in 0..3 {
        assert!(text.contains(&format!("rank {rank}: in kernel `forget`: 1 program waits")), "{text}");
        assert!(text.contains(&format!("of the symmetric heap of rank {rank}), where {rank} is")), "{text}");
    }
    assert!(text.contains("program (0, 0, 0) waits at ranks.py:19:5"), "{text}");
    assert!(text.contains("for 5 at 0x"), "{text}");
}

/// What the world says when the middle rank does this instead of launching, while all others wait.
fn said_without_the_middle_one(
    ranks: usize,
    timeout: Duration,
    device: &Device,
    instead: impl Fn(&Rank) -> Result<(), Error> + Sync,
) -> (usize, String) {
    let forget = kernel("forget").on(device.clone());
    let middle = ranks / 2;
    let ended = with_timeout(ranks, timeout).run(|rank| -> Result<(), Error> {
        let flags = rank.symm_zeros::<i64>(2)?;
        flags.write(&[5, 100 + rank.rank() as i64])?;
        if rank.rank() == middle {
            return instead(rank);
        }
        forget.clone().on_rank(rank)?.launch(1, args!(&flags))
    });
    let said = ended.expect_err("nobody signals").to_string();
    for rank in (0..ranks).filter(|&rank| rank != middle) {
        let waits = format!("rank {rank}: in kernel `forget`: 1 program waits\n");
        assert_eq!(said.matches(&waits).count(), 1, "{said}");
        let place = format!("of the symmetric heap of rank {rank}), where {} is", 100 + rank);
        assert!(said.contains(&place), "{said}");
    }
    (middle, said)
}

#[test]
fn a_rank_that_has_returned_is_named_with_what_all_others_wait_for() {
    for device in [Device::cpu(), Device::Interpreter] {
        for ranks in [3, 7] {
            let (middle, said) = said_without_the_middle_one(ranks, HOUR, &device, |_| Ok(()));
            assert!(said.contains(&format!("\nrank {middle}: it has left the world\n")), "{said}");
            assert_eq!(said.matches("`shoal check` tells it always").count(), 1, "{said}");
        }
    }
}

#[test]
fn a_rank_that_fails_is_named_with_what_all_others_wait_for() {
    for ranks in [3, 7] {
        let (middle, said) = said_without_the_middle_one(ranks, HOUR, &Device::cpu(), |_| {
            // The others have come to their waits by then.
            std::thread::sleep(Duration::from_millis(500));
            Err(WorldError::Argument("out of order".into()).into())
        });
        assert!(said.starts_with(&format!("rank {middle}: out of order\nrank 0: in kernel `forget`: ")), "{said}");
    }
}

#[test]
fn a_barrier_and_kernels_that_wait_for_each_other_are_a_deadlock() {
    for device in [Device::cpu(), Device::Interpreter] {
        for ranks in [2, 3, 7] {
            let (middle, said) =
                said_without_the_middle_one(ranks, HOUR, &device, |rank| rank.barrier().map_err(Error::from));
            let barrier = format!("\nrank {middle}: in barrier of the world, waiting for rank 0");
            assert!(said.contains(&barrier), "{said}");
            assert!(said.contains(": ranks wait in vain:\nrank 0: in kernel `forget`: "), "{said}");
        }
    }
}

#[test]
fn a_stream_and_kernels_that_wait_for_each_other_are_a_deadlock() {
    for ranks in [2, 3, 7] {
        let (middle, said) = said_without_the_middle_one(ranks, HOUR, &Device::cpu(), |rank| {
            let stream = rank.stream()?;
            stream.wait_value(Place::segment(rank, 0, 0, 4)?, Compare::Equal, Value::U32(5))?;
            Ok(stream.synchronize()?)
        });
        assert!(said.contains(&format!("\nrank {middle}: waiting for the word at ")), "{said}");
        assert!(said.contains("\n  and waiting for the work of a stream\n"), "{said}");
        assert!(said.contains(" == 5 (it is 0)"), "{said}");
    }
}

#[test]
fn a_rank_that_computes_for_too_long_is_named_first() {
    for device in [Device::cpu(), Device::Interpreter] {
        for ranks in [2, 3, 7] {
            let timeout = Duration::from_millis(600);
            let (middle, said) = said_without_the_middle_one(ranks, timeout, &device, |rank| {
                while rank.check().is_ok() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Ok(rank.check()?)
            });
            let (first, _) = said.split_once('\n').expect("lines");
            let blamed = format!("rank {middle} runs code of the host, while rank ");
            assert!(first.contains(&blamed), "{said}");
            assert!(said.contains(" waited 600 ms in kernel `forget`: 1 program waits"), "{said}");
        }
    }
}

#[test]
fn places_that_do_not_exist_fail_the_launch_in_words() {
    let astray = kernel("astray");
    let world = world(1);
    let fails = |symmetric: bool, number: i32| {
        let texts = world.run(|rank| -> Result<String, Error> {
            let (x, mut own) = (rank.symm_zeros::<i32>(1)?, [0i32]);
            let astray = astray.clone().on_rank(rank)?;
            let args = if symmetric { args!(&x, number) } else { args!(&mut own[..], number) };
            Ok(astray.launch(1, args).expect_err("no such place").to_string())
        });
        texts.expect("no failure of the world").remove(0)
    };
    assert!(fails(true, 3).contains("there is no rank 3; the world has 1"));
    assert!(fails(true, -1).contains("there is no rank -1; the world has 1"));
    let outside = fails(false, 0);
    let how = "is not in the symmetric heap of rank 0; allocate it on all ranks together, as `symm_zeros` does";
    assert!(outside.contains(how), "{outside}");
}

#[test]
fn tokens_go_through_branches_and_loops() {
    let results = world(1).run(|rank| -> Result<Vec<i32>, Error> {
        let x = rank.symm_zeros::<i32>(1)?;
        let flags = rank.symm_zeros::<i64>(1)?;
        kernel("carried").on_rank(rank)?.launch(1, args!(&x, &flags, 4))?;
        Ok(x.read()?)
    });
    assert_eq!(results.expect("no failure"), [[1]]);
}

#[test]
fn a_kernel_of_ranks_needs_a_world() {
    let mut x = vec![0i32; 1];
    let error = kernel("astray").launch(1, args!(&mut x, 0)).expect_err("no world");
    assert!(
        error.to_string().contains("launched outside of a world; launch it on a rank: in a function that"),
        "{error}"
    );
}

/// Sums what a table of addresses points to, and leaves the sum at the first of them.
const TABLE: &str = "
import shoal
import shoal.language as tl

@shoal.jit
def through(table, out, n):
    total = 0
    for i in range(n):
        p = tl.load(table + i).to(tl.pointer_type(tl.int32))
        total += tl.load(p)
    tl.store(out, total)
";

#[test]
fn addresses_in_memory_point_to_the_heaps() {
    let through = Module::from_source("table.py", TABLE).and_then(|module| module.kernel("through")).expect("a kernel");
    for device in [Device::cpu(), Device::Interpreter] {
        let through = through.clone().on(device);
        let sums = world(3).run(|rank| -> Result<i32, Error> {
            let x = rank.symm_zeros::<i32>(1)?;
            x.write(&[10 + rank.rank() as i32])?;
            rank.barrier()?;
            let table = (0..3).map(|peer| Ok(x.address_at(peer)? as i64)).collect::<Result<Vec<_>, WorldError>>()?;
            let mut out = [0i32];
            through.clone().on_rank(rank)?.launch(1, args!(&table[..], &mut out[..], 3))?;
            rank.barrier()?;
            Ok(out[0])
        });
        assert_eq!(sums.expect("no failure"), [33, 33, 33]);
    }
}

#[test]
fn a_rank_that_fails_ends_the_waits_of_the_others() {
    for device in [Device::cpu(), Device::Interpreter] {
        let forget = kernel("forget").on(device);
        a_failure_ends_waits(&forget);
    }
}

fn a_failure_ends_waits(forget: &Kernel) {
    let error = world(2).run(|rank| -> Result<(), Error> {
        let flags = rank.symm_zeros::<i64>(2)?;
        if rank.rank() == 1 {
            return Err(WorldError::Argument("out of order".into()).into());
        }
        forget.clone().on_rank(rank)?.launch(1, args!(&flags))
    });
    let text = error.expect_err("a rank fails").to_string();
    assert!(text.contains("rank 1") && text.contains("out of order"), "{text}");
}

/// Elements of each rank, of a tile, and programs: some tiles are not full, and programs have several.
const N: usize = 77;
const BLOCK: usize = 16;
const PROGRAMS: usize = 2;

/// What each rank's all-reduce gives on the CPU.
fn reduced<T: Element + shoal::world::Element>(
    kernel: &Kernel,
    ranks: usize,
    data: fn(usize, usize) -> T,
) -> Vec<Vec<T>> {
    let results = world(ranks).run(|rank| -> Result<Vec<T>, Error> {
        let x = rank.symm_zeros::<T>(N)?;
        let flags = rank.symm_zeros::<i64>(2 * PROGRAMS * ranks)?;
        x.write(&(0..N).map(|i| data(rank.rank(), i)).collect::<Vec<T>>())?;
        let mut out = vec![data(0, 0); N];
        kernel.clone().on_rank(rank)?.launch(PROGRAMS, args!(&x, &mut out, &flags, 3, N, BLOCK = BLOCK))?;
        Ok(out)
    });
    results.expect("no failure")
}

/// The same on the interpreter, as bytes.
fn interpreted(
    module: &shoal_ir::Module,
    ranks: usize,
    order: Order,
    data: impl Fn(usize, usize) -> Vec<u8>,
) -> Vec<Vec<u8>> {
    let mut memory = Memory::new();
    let mut launches = Vec::new();
    let (size, flags) = (data(0, 0).len() * N, (data(0, 0).len() * N).next_multiple_of(64));
    let bytes = flags + 8 * 2 * PROGRAMS * ranks;
    for rank in 0..ranks {
        let mut heap: Vec<u8> = (0..N).flat_map(|i| data(rank, i)).collect();
        heap.resize(bytes, 0);
        let (base, out) = (memory.alloc_from(&heap), memory.alloc(size));
        let number = |n: i64| Arg::Scalar(Const::from_bits(shoal_ir::Scalar::I32, n as u64));
        let flags = Arg::Pointer(base.offset(flags as u64));
        launches.push((base, out, [Arg::Pointer(base), Arg::Pointer(out), flags, number(3), number(N as i64)]));
    }
    let grid = [PROGRAMS as u32, 1, 1];
    let launched: Vec<RankLaunch<'_>> = launches
        .iter()
        .map(|(base, _, args)| {
            let heap = Some(Heap { base: *base, bytes: bytes as u64 });
            RankLaunch { module, kernel: "one_shot_all_reduce", grid, args, heap, room: None }
        })
        .collect();
    let options = Options { order, ..Options::default() };
    run_ranks(&launched, &mut memory, &options, &mut |_: String| {}).expect("no failure");
    launches.iter().map(|&(_, out, _)| memory.bytes(out).expect("a result").to_vec()).collect()
}

fn the_interpreter_agrees<T: Element + shoal::world::Element>(
    signature: &str,
    data: fn(usize, usize) -> T,
    bytes: fn(T) -> Vec<u8>,
) {
    let text = include_str!("../kernels/flags_all_reduce.py");
    let module = Module::from_source("flags_all_reduce.py", text).expect("it parses");
    let kernel = module.kernel("one_shot_all_reduce").expect("a kernel").on(Device::cpu());
    let specs = kernel.read_signature(&format!("{signature}, *i64, i32, i32, BLOCK={BLOCK}")).expect("a signature");
    let tile = kernel.emit(&specs, Stage::Tile, host_target()).expect("it compiles");
    let text = String::from_utf8(tile).expect("text");
    let module = shoal_ir::parse::module(&text, shoal_ir::Span::NONE.file).expect("the text parses");
    for ranks in [1, 2, 3, 4, 8] {
        let native = reduced(&kernel, ranks, data);
        let native: Vec<Vec<u8>> = native.into_iter().map(|out| out.into_iter().flat_map(bytes).collect()).collect();
        assert!(native.iter().all(|out| *out == native[0]), "all ranks have the same bits");
        for order in [Order::RoundRobin, Order::Random(5)] {
            let result = interpreted(&module, ranks, order, |rank, i| bytes(data(rank, i)));
            assert_eq!(result, native, "{ranks} ranks, {signature}");
        }
    }
}

#[test]
fn the_interpreter_and_the_cpu_reduce_to_the_same_bits() {
    fn number(rank: usize, i: usize) -> f32 {
        ((i * 31 + rank * 7) % 101) as f32 * 0.37 - 11.0
    }
    the_interpreter_agrees::<f32>("*fp32, *fp32", number, |x| x.to_le_bytes().to_vec());
    the_interpreter_agrees::<f16>(
        "*fp16, *fp16",
        |rank, i| f16::from_f32(number(rank, i)),
        |x| x.to_le_bytes().to_vec(),
    );
}
