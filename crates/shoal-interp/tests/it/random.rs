//! Random programs with nested control flow, against an evaluator that is plain recursion.

use proptest::prelude::*;
use shoal_interp::{Arg, Memory, Options, run};
use shoal_ir::op::{BinaryOp, CmpOp, Evict, ForAttrs, StoreCache};
use shoal_ir::{Builder, Func, FuncKind, Module, OpKind, Ptr, Region, Scalar, Span, Type, Value};

use crate::support::{alloc_i32, read_i32};

/// Each node gives one number. Numbers name earlier ones, counted from the start and wrapped to how many there are.
#[derive(Clone, Debug)]
enum Node {
    Const(i32),
    Add(usize, usize),
    Mul(usize, usize),
    Xor(usize, usize),
    /// Chooses by the lowest bit.
    If(usize, Vec<Node>, Vec<Node>),
    /// So many trips; the body sees the counter and the carried number last.
    For(u8, usize, Vec<Node>),
    /// The same, counting down to zero.
    While(u8, usize, Vec<Node>),
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let earlier = 0..64usize;
    let leaf = prop_oneof![
        any::<i32>().prop_map(Node::Const),
        (earlier.clone(), earlier.clone()).prop_map(|(a, b)| Node::Add(a, b)),
        (earlier.clone(), earlier.clone()).prop_map(|(a, b)| Node::Mul(a, b)),
        (earlier.clone(), earlier.clone()).prop_map(|(a, b)| Node::Xor(a, b)),
    ];
    let node = leaf.prop_recursive(3, 40, 5, move |inner| {
        let block = prop::collection::vec(inner, 1..5);
        prop_oneof![
            (earlier.clone(), block.clone(), block.clone()).prop_map(|(c, a, b)| Node::If(c, a, b)),
            (0..4u8, earlier.clone(), block.clone()).prop_map(|(n, init, body)| Node::For(n, init, body)),
            (0..4u8, earlier.clone(), block).prop_map(|(n, init, body)| Node::While(n, init, body)),
        ]
    });
    prop::collection::vec(node, 1..12)
}

/// The last number of a block.
fn evaluate(block: &[Node], outer: &[i32]) -> i32 {
    let mut env = outer.to_vec();
    for node in block {
        let at = |i: &usize| env[i % env.len()];
        let value = match node {
            Node::Const(c) => *c,
            Node::Add(a, b) => at(a).wrapping_add(at(b)),
            Node::Mul(a, b) => at(a).wrapping_mul(at(b)),
            Node::Xor(a, b) => at(a) ^ at(b),
            Node::If(c, yes, no) => evaluate(if at(c) & 1 == 1 { yes } else { no }, &env),
            Node::For(trips, init, body) => {
                (0..i32::from(*trips)).fold(at(init), |carried, i| evaluate(body, &[&env[..], &[i, carried]].concat()))
            }
            Node::While(trips, init, body) => (1..=i32::from(*trips))
                .rev()
                .fold(at(init), |carried, n| evaluate(body, &[&env[..], &[n, carried]].concat())),
        };
        env.push(value);
    }
    *env.last().unwrap()
}

/// The same block as operations at the builder's place; gives its last value.
fn emit(b: &mut Builder<'_>, block: &[Node], outer: &[Value]) -> Value {
    let mut env = outer.to_vec();
    for node in block {
        let at = |i: &usize| env[i % env.len()];
        let value = match node {
            Node::Const(c) => b.int(i64::from(*c), Scalar::I32),
            Node::Add(x, y) => b.binary(BinaryOp::Add, at(x), at(y)),
            Node::Mul(x, y) => b.binary(BinaryOp::Mul, at(x), at(y)),
            Node::Xor(x, y) => b.binary(BinaryOp::Xor, at(x), at(y)),
            Node::If(c, yes, no) => {
                let one = b.int(1, Scalar::I32);
                let bit = b.binary(BinaryOp::And, at(c), one);
                let condition = b.cmp(CmpOp::Eq, bit, one);
                let regions = [yes, no].map(|branch| emit_region(b, &[], |b, _| vec![emit(b, branch, &env)]));
                let op = b.op(OpKind::If, [condition], [Type::scalar(Scalar::I32)], regions);
                b.func.op(op).result()
            }
            Node::For(trips, init, body) => {
                let bounds = [0, i64::from(*trips), 1].map(|n| b.int(n, Scalar::I32));
                let region =
                    emit_region(b, &[Scalar::I32; 2], |b, params| vec![emit(b, body, &[&env[..], params].concat())]);
                let op = b.inferred(OpKind::For(ForAttrs::default()), &[&bounds[..], &[at(init)]].concat(), &[region]);
                b.func.op(op).result()
            }
            Node::While(trips, init, body) => emit_while(b, *trips, at(init), body, &env),
        };
        env.push(value);
    }
    *env.last().unwrap()
}

fn emit_while(b: &mut Builder<'_>, trips: u8, init: Value, body: &[Node], env: &[Value]) -> Value {
    let count = b.int(i64::from(trips), Scalar::I32);
    let zero = b.int(0, Scalar::I32);
    let before = b.func.new_region();
    let params = [0, 1].map(|_| b.func.add_param(before, Scalar::I32.into()));
    let place = b.region();
    b.move_to_end(before);
    let goes_on = b.cmp(CmpOp::Gt, params[0], zero);
    b.inferred(OpKind::Condition, &[goes_on, params[0], params[1]], &[]);
    b.move_to_end(place);
    let region = emit_region(b, &[Scalar::I32; 2], |b, params| {
        let last = emit(b, body, &[env, params].concat());
        let one = b.int(1, Scalar::I32);
        vec![b.binary(BinaryOp::Sub, params[0], one), last]
    });
    let types = [Type::scalar(Scalar::I32), Type::scalar(Scalar::I32)];
    let op = b.op(OpKind::While { disable_licm: false }, [count, init], types, [before, region]);
    b.func.op(op).results()[1]
}

fn emit_region(
    b: &mut Builder<'_>,
    params: &[Scalar],
    fill: impl FnOnce(&mut Builder<'_>, &[Value]) -> Vec<Value>,
) -> Region {
    let place = b.region();
    let region = b.func.new_region();
    let params: Vec<Value> = params.iter().map(|&ty| b.func.add_param(region, ty.into())).collect();
    b.move_to_end(region);
    let values = fill(b, &params);
    b.yield_(&values);
    b.move_to_end(place);
    region
}

fn kernel(block: &[Node]) -> Module {
    let mut func = Func::new("k", FuncKind::Kernel, Span::NONE);
    let body = func.body();
    let out = func.add_param(body, Type::Elem(Ptr::global(Scalar::I32).into()));
    let x = func.add_param(body, Scalar::I32.into());
    let mut b = Builder::at_end(&mut func, body, Span::NONE);
    let pid = b.value(OpKind::ProgramId { axis: 0 }, &[]);
    let result = emit(&mut b, block, &[x, pid]);
    let place = b.value(OpKind::PtrAdd, &[out, pid]);
    b.inferred(OpKind::Store { cache: StoreCache::Default, evict: Evict::Normal }, &[place, result], &[]);
    b.inferred(OpKind::Return, &[], &[]);
    Module { funcs: vec![func] }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nested_control_flow_is_recursion(block in nodes(), x: i32) {
        let module = kernel(&block);
        prop_assert!(shoal_ir::verify(&module).is_ok(), "{}", module);
        let text = module.to_string();
        let read_back = shoal_ir::parse::module(&text, Span::NONE.file).unwrap();
        let expected: Vec<i32> = (0..3).map(|pid| evaluate(&block, &[x, pid])).collect();
        for module in [&module, &read_back] {
            let mut memory = Memory::new();
            let out = alloc_i32(&mut memory, &[0; 3]);
            let args = [Arg::Pointer(out), crate::support::int(i64::from(x))];
            run(module, "k", [3, 1, 1], &args, &mut memory, &Options::default()).unwrap();
            prop_assert_eq!(read_i32(&memory, out), expected.clone(), "{}", text);
        }
    }
}
