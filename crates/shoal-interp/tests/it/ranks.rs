//! Several ranks, their heaps and their signals.

use shoal_interp::{Address, Arg, Awaited, Error, Heap, Memory, Options, Order, RankLaunch, run, run_ranks};
use shoal_ir::{Module, Span, parse, verify};

fn module(text: &str) -> Module {
    let module = parse::module(text, Span::NONE.file).unwrap_or_else(|e| panic!("{e:?}"));
    verify(&module).unwrap_or_else(|e| panic!("{e:?}"));
    module
}

/// Bytes of each rank's heap: a flag of 64 bits, then a number of 32.
const HEAP: usize = 16;

/// Runs the kernel with a pointer to the flag and one to the number; gives the heaps.
fn run_world(text: &str, ranks: usize, order: Order) -> (Vec<Vec<u8>>, Result<u64, Error>) {
    let module = module(text);
    let mut memory = Memory::new();
    let heaps: Vec<Address> = (0..ranks).map(|_| memory.alloc(HEAP)).collect();
    let args: Vec<[Arg; 2]> = heaps.iter().map(|&heap| [Arg::Pointer(heap), Arg::Pointer(heap.offset(8))]).collect();
    let launches: Vec<RankLaunch<'_>> = heaps
        .iter()
        .zip(&args)
        .map(|(&base, args)| RankLaunch {
            module: &module,
            kernel: "k",
            grid: [1, 1, 1],
            args,
            heap: Some(Heap { base, bytes: HEAP as u64 }),
            room: None,
        })
        .collect();
    let options = Options { order, ..Options::default() };
    let result = run_ranks(&launches, &mut memory, &options, &mut |_: String| {});
    (heaps.iter().map(|&heap| memory.bytes(heap).expect("a heap").to_vec()).collect(), result)
}

/// Each rank writes ten times its number to its neighbour, signals, waits for its own number and adds one.
const RING: &str = "kernel @k(%flag: ptr<i64>, %x: ptr<i32>) {
  %one = const {value = 1} () : i32
  %ten = const {value = 10} () : i32
  %signal = const {value = 1} () : i64
  %r = rank () : i32
  %n = num_ranks () : i32
  %next = add (%r, %one) : i32
  %peer = rem (%next, %n) : i32
  %there = symm_at (%x, %peer) : ptr<i32>
  %v = mul (%r, %ten) : i32
  store (%there, %v)
  notify {op = add, scope = inter_node} (%flag, %peer, %signal)
  %t = wait {sem = acquire, scope = sys} (%flag, %one, %signal) : token
  %y = consume_token (%x, %t) : ptr<i32>
  %w = load (%y) : i32
  %z = add (%w, %one) : i32
  store (%y, %z)
  return ()
}";

#[test]
fn ranks_reach_each_other_whatever_the_order() {
    for ranks in [1, 2, 3, 8] {
        for order in [Order::RoundRobin, Order::Random(7), Order::Random(8)] {
            let (heaps, result) = run_world(RING, ranks, order);
            result.expect("the ring goes round");
            for (rank, heap) in heaps.iter().enumerate() {
                let from = (rank + ranks - 1) % ranks;
                assert_eq!(heap[..8], 1u64.to_le_bytes());
                assert_eq!(heap[8..12], (from as u32 * 10 + 1).to_le_bytes());
            }
        }
    }
}

#[test]
fn ranks_that_wait_in_vain_are_all_named() {
    let text = RING.replace("notify {op = add, scope = inter_node} (%flag, %peer, %signal)", "");
    let (_, result) = run_world(&text, 3, Order::RoundRobin);
    let Err(Error::Deadlock { waiting, .. }) = result else { panic!("a deadlock: {result:?}") };
    assert_eq!(waiting.iter().map(|w| w.at.rank).collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
    assert!(waiting.iter().all(|w| matches!(w.awaited, Awaited::Value { expected: 1, found: 0, .. })), "{waiting:?}");
    assert!(waiting[1].to_string().starts_with("rank 1, program (0, 0, 0) waits for 1 at 0x"), "{}", waiting[1]);
}

#[test]
fn a_signal_sets_or_adds() {
    let text = "kernel @k(%flag: ptr<i64>, %x: ptr<i32>) {
      %zero = const {value = 0} () : i32
      %r = rank () : i32
      %two = const {value = 2} () : i64
      %nine = const {value = 9} () : i64
      notify {op = set, scope = gpu} (%flag, %r, %nine)
      notify {op = add, scope = intra_node} (%flag, %r, %two)
      return ()
    }";
    let (heaps, result) = run_world(text, 2, Order::RoundRobin);
    result.expect("signals to oneself");
    assert!(heaps.iter().all(|heap| heap[..8] == 11u64.to_le_bytes()));
}

#[test]
fn places_that_do_not_exist_are_errors() {
    let at = |line: &str| {
        let text = format!(
            "kernel @k(%flag: ptr<i64>, %x: ptr<i32>) {{
               %far = const {{value = 7}} () : i32
               %zero = const {{value = 0}} () : i32
               %signal = const {{value = 1}} () : i64
               {line}
               return ()
             }}"
        );
        run_world(&text, 2, Order::RoundRobin).1.expect_err("no such place").to_string()
    };
    assert_eq!(
        at("%p = symm_at (%x, %far) : ptr<i32>"),
        "rank 0, program (0, 0, 0): there is no rank 7; the world has 2"
    );
    let outside = at("%q = ptr_add (%x, %far) : ptr<i32>\n %p = symm_at (%q, %zero) : ptr<i32>");
    assert!(outside.contains("is not in the symmetric heap"), "{outside}");
    assert!(at("notify {op = set, scope = gpu} (%flag, %far, %signal)").contains("stays on its rank"));
    assert!(at("%a = rank {axis = 0} () : i32").contains("has no mesh"));
}

#[test]
fn a_launch_outside_of_a_world_has_no_ranks() {
    let module = module("kernel @k() {\n  %r = rank () : i32\n  print {prefix = \"r\"} (%r)\n  return ()\n}");
    let error = run(&module, "k", [1, 1, 1], &[], &mut Memory::new(), &Options::default()).expect_err("no world");
    assert!(error.to_string().contains("launched outside of a world"), "{error}");
}
