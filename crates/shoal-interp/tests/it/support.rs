//! Running kernels written as text.

use shoal_interp::{Address, Arg, Error, Memory, Options, Order, Report, run};
use shoal_ir::{Const, Module, Scalar};
use shoal_source::FileId;

/// Parses and verifies.
pub(crate) fn module(text: &str) -> Module {
    let module = shoal_ir::parse::module(text, FileId::from_index(0)).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    shoal_ir::verify(&module).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    module
}

/// Runs kernel `k`.
pub(crate) fn launch(text: &str, grid: [u32; 3], args: &[Arg], memory: &mut Memory) -> Result<Report, Error> {
    run(&module(text), "k", grid, args, memory, &Options::default())
}

/// Runs kernel `k` in many orders, each on fresh memory made by `setup`; `check` sees the end of each.
pub(crate) fn in_many_orders(
    text: &str,
    grid: [u32; 3],
    setup: impl Fn(&mut Memory) -> Vec<Arg>,
    check: impl Fn(&Memory, &[Arg], Result<Report, Error>),
) {
    let module = module(text);
    let orders = std::iter::once(Order::RoundRobin).chain((0..20).map(Order::Random));
    for (index, order) in orders.enumerate() {
        let mut memory = Memory::new();
        let args = setup(&mut memory);
        let options = Options { order, max_steps: 100_000, resident: [64, 1, 3][index % 3], ..Options::default() };
        let result = run(&module, "k", grid, &args, &mut memory, &options);
        check(&memory, &args, result);
    }
}

/// The elements of value `%r` that `body` computes, as bits.
pub(crate) fn eval(body: &str, elem: &str, count: usize) -> Vec<u64> {
    try_eval(body, elem, count).unwrap_or_else(|e| panic!("{e}\n{body}"))
}

pub(crate) fn try_eval(body: &str, elem: &str, count: usize) -> Result<Vec<u64>, Error> {
    try_eval_with("", body, elem, count)
}

/// The same, with further functions.
pub(crate) fn try_eval_with(functions: &str, body: &str, elem: &str, count: usize) -> Result<Vec<u64>, Error> {
    let text = format!(
        "{functions}
        kernel @k(%out: ptr<{elem}>) {{
            {body}
            %o_index = iota {{start = 0}} () : tile<{count}xi32>
            %o_flat = reshape (%r) : tile<{count}x{elem}>
            %o_base = splat (%out) : tile<{count}xptr<{elem}>>
            %o_ptr = ptr_add (%o_base, %o_index) : tile<{count}xptr<{elem}>>
            store (%o_ptr, %o_flat)
            return ()
        }}"
    );
    let size = Scalar::from_name(elem).expect("a scalar").bytes() as usize;
    let mut memory = Memory::new();
    let out = memory.alloc(count * size);
    launch(&text, [1, 1, 1], &[Arg::Pointer(out)], &mut memory)?;
    Ok(elements(&memory, out, size))
}

/// Little-endian numbers of that many bytes.
pub(crate) fn elements(memory: &Memory, at: Address, size: usize) -> Vec<u64> {
    let bytes = memory.bytes(at).expect("mapped");
    bytes.chunks_exact(size).map(|c| c.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))).collect()
}

pub(crate) fn i32s(bits: &[u64]) -> Vec<i32> {
    bits.iter().map(|&b| (b as u32).cast_signed()).collect()
}

pub(crate) fn f32s(bits: &[u64]) -> Vec<f32> {
    bits.iter().map(|&b| f32::from_bits(b as u32)).collect()
}

pub(crate) fn alloc_i32(memory: &mut Memory, values: &[i32]) -> Address {
    memory.alloc_from(&values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

pub(crate) fn alloc_f32(memory: &mut Memory, values: &[f32]) -> Address {
    memory.alloc_from(&values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

pub(crate) fn read_i32(memory: &Memory, at: Address) -> Vec<i32> {
    i32s(&elements(memory, at, 4))
}

pub(crate) fn read_f32(memory: &Memory, at: Address) -> Vec<f32> {
    f32s(&elements(memory, at, 4))
}

pub(crate) fn int(value: i64) -> Arg {
    Arg::Scalar(Const::from_i64(Scalar::I32, value))
}
