//! What the verifier accepts, the interpreter runs to an end or to an error, never to a panic: kernels with tokens
//! changed at random, as long as they still verify.

use proptest::prelude::*;
use shoal_interp::{Arg, Memory, Options, Order, run};
use shoal_ir::{Const, Elem, Func, Span, Type};

use crate::{descriptor, kernels, schedule};

/// Small kernels that together use every operation that can be mutated into something else.
const MIXED: &str = "func @mix(%a: i32, %b: i32) -> (i32, i32) {
    %c = mulhi (%a, %b) : i32
    %d = shr (%a, %b) : i32
    return (%c, %d)
}
kernel @k(%p: ptr<i32>, %q: ptr<f16>, %n: i32, %t: ptr<i64>) {
    %i = iota {start = -3} () : tile<16xi32>
    %m = reshape (%i) : tile<4x4xi32>
    %u = transpose {perm = [1, 0]} (%m) : tile<4x4xi32>
    %three = const {value = 3} () : tile<4x4xi32>
    %j = and (%u, %three) : tile<4x4xi32>
    %g = gather {axis = 1} (%m, %j) : tile<4x4xi32>
    %s = reduce {axis = 0} (%g) : tile<4xi32> do (%a: i32, %b: i32) {
        %x, %y = call {callee = \"mix\"} (%a, %b) : i32, i32
        %z = xor (%x, %y) : i32
        yield (%z)
    }
    %h = histogram (%i) : tile<8xi32>
    %w = scan {axis = 0, reverse} (%s) : tile<4xi32> do (%c: i32, %d: i32) {
        %neg = cmp {is = lt} (%c, %d) : i1
        %v = if (%neg) : i32 do {
            yield (%d)
        } do {
            %e = rem (%c, %n) : i32
            yield (%e)
        }
        yield (%v)
    }
    %jn = join (%w, %s) : tile<4x2xi32>
    %l, %r = split (%jn) : tile<4xi32>, tile<4xi32>
    %f = cast {round = rtz} (%l) : tile<4xf16>
    %fm = math {fn = tanh} (%f) : tile<4xf16>
    %f2 = fma (%f, %fm, %f) : tile<4xf16>
    %mp = map_elementwise {pack = 2} (%f2) : tile<4xf16> do (%e0: f16, %e1: f16) {
        %mx = max_nan (%e0, %e1) : f16
        yield (%mx, %e0)
    }
    %o = iota {start = 0} () : tile<4xi32>
    %qs = splat (%q) : tile<4xptr<f16>>
    %qp = ptr_add (%qs, %o) : tile<4xptr<f16>>
    %ok = cmp {is = ge} (%r, %l) : tile<4xi1>
    store (%qp, %mp, %ok)
    %ps = splat (%p) : tile<4xptr<i32>>
    %pp = ptr_add (%ps, %o) : tile<4xptr<i32>>
    %old = atomic_rmw {op = max, sem = acq_rel, scope = gpu} (%pp, %l, %ok) : tile<4xi32>
    %cas = atomic_cas {sem = acq_rel, scope = gpu} (%pp, %old, %r) : tile<4xi32>
    %ld = load (%pp, %ok, %cas) : tile<4xi32>
    %bytes = cast {round = rtne} (%ld) : tile<4xi8>
    %b0 = reshape (%bytes) : tile<2x2xi8>
    %acc = const {value = 7} () : tile<2x2xi32>
    %dt = dot {precision = ieee} (%b0, %b0, %acc) : tile<2x2xi32>
    %bits = bitcast (%dt) : tile<2x2xf32>
    print {prefix = \"d\"} (%bits, %n)
    %time = load (%t) : i64
    %first = atomic_poll {sem = acquire, scope = gpu} (%p, %n, %time) : i1
    assert {message = \"a\"} (%ok, %ok)
    barrier ()
    return ()
}";

/// What a token may become.
const WORDS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "8",
    "16",
    "-1",
    "i1",
    "i8",
    "i32",
    "i64",
    "u8",
    "u32",
    "u64",
    "f8e4m3",
    "f8e5m2fnuz",
    "f16",
    "bf16",
    "f32",
    "f64",
    "add",
    "sub",
    "mul",
    "div",
    "rem",
    "and",
    "or",
    "xor",
    "shl",
    "shr",
    "min",
    "max",
    "mulhi",
    "eq",
    "lt",
    "ge",
    "rtz",
    "rtne",
    "true",
    "false",
];

/// The text as words, numbers and the signs between them; the `x` of a shape is such a sign.
fn tokens(text: &str) -> Vec<String> {
    let kind = |c: char| c.is_alphanumeric() || matches!(c, '%' | '_' | '-' | '.');
    let number = |token: &String| token.chars().all(|c| c.is_ascii_digit());
    let mut tokens: Vec<String> = Vec::new();
    for c in text.chars() {
        let ends = match tokens.as_slice() {
            [] => true,
            [.., size, x] if x == "x" && number(size) => true,
            [.., last] => (c == 'x' && number(last)) || c == '%' || !kind(c) || !last.chars().all(kind),
        };
        match tokens.last_mut() {
            Some(last) if !ends => last.push(c),
            _ => tokens.push(c.to_string()),
        }
    }
    tokens
}

/// Changes a value into another value of the text, or a word into another word: at one place, or (which types survive
/// more often) at every place.
fn mutate(tokens: &mut [String], place: usize, choice: usize) {
    let candidates: Vec<usize> =
        (0..tokens.len()).filter(|&i| tokens[i].chars().all(|c| c.is_alphanumeric() || "%_-.".contains(c))).collect();
    let target = candidates[place % candidates.len()];
    let old = tokens[target].clone();
    if old.starts_with('%') {
        let values: Vec<&String> = tokens.iter().filter(|t| t.starts_with('%')).collect();
        tokens[target] = values[choice % values.len()].clone();
        return;
    }
    let everywhere = choice.is_multiple_of(2);
    let new = WORDS[choice / 2 % WORDS.len()];
    for (i, token) in tokens.iter_mut().enumerate() {
        if i == target || (everywhere && *token == old) {
            *token = new.to_string();
        }
    }
}

/// An argument for each parameter: small memory, small numbers.
fn arguments(kernel: &Func, memory: &mut Memory) -> Vec<Arg> {
    let argument = |&param| match kernel.ty(param) {
        Type::Elem(Elem::Ptr(_)) => Arg::Pointer(memory.alloc(1 << 17)),
        Type::Elem(Elem::Scalar(ty)) => Arg::Scalar(Const::from_i64(*ty, 3)),
        Type::Desc(desc) => {
            let rank = desc.block.len();
            Arg::Desc { base: memory.alloc(1 << 10), shape: vec![3; rank], strides: vec![1; rank] }
        }
        Type::Tile(_) | Type::Token => unreachable!("the verifier refuses such parameters"),
    };
    kernel.params().iter().map(argument).collect()
}

/// Runs the text's kernel if it is one; whether it was.
fn attempt(text: &str, seed: u64) -> bool {
    let Ok(module) = shoal_ir::parse::module(text, Span::NONE.file) else { return false };
    if shoal_ir::verify(&module).is_err() {
        return false;
    }
    let Some(kernel) = module.kernels().next() else { return false };
    let mut memory = Memory::new();
    let args = arguments(kernel, &mut memory);
    let options = Options { order: Order::Random(seed), max_steps: 3000, resident: 2, ..Options::default() };
    // An error is as good as an end: only a panic would be wrong.
    let _ = run(&module, &kernel.name, [2, 2, 1], &args, &mut memory, &options);
    true
}

const SOURCES: [&str; 5] = [MIXED, kernels::MATMUL, kernels::SOFTMAX, schedule::SPIN_LOCK, descriptor::COPY];

#[test]
fn the_unchanged_kernels_run() {
    for source in SOURCES {
        assert!(attempt(source, 0), "{source}");
        assert_eq!(tokens(source).concat(), source);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn verified_kernels_never_panic(
        source in 0..SOURCES.len(),
        changes in prop::collection::vec((any::<usize>(), any::<usize>()), 1..3),
        seed: u64,
    ) {
        let mut tokens = tokens(SOURCES[source]);
        for (place, choice) in changes {
            mutate(&mut tokens, place, choice);
        }
        attempt(&tokens.concat(), seed);
    }
}
