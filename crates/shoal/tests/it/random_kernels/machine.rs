//! Running a case on the interpreter and as native code.

use std::sync::Arc;
use std::time::Duration;

use shoal_abi::{CpuTarget, Target};
use shoal_codegen::{Options, cpu};
use shoal_driver::cpu::{ArgMemory, Bounds, Code, CpuDevice, LaunchOptions, LoadedKernel};
use shoal_driver::cuda::{self, CudaBuffer, CudaDevice, CudaKernel, LaunchTables, StreamRef};
use shoal_driver::{ArgBlock, ArgWriter};
use shoal_interp::{Actors, Arg, ElementOrder, Memory};
use shoal_ir::{Module, Scalar};
use shoal_source::SourceMap;

use super::generate::Case;

/// The contents of each buffer.
pub(crate) type Buffers = Vec<Vec<u8>>;

/// What the interpreter makes of a case.
pub(crate) fn interpreted(case: &Case, module: &Module) -> Result<Buffers, String> {
    interpreted_in(case, module, ElementOrder::Forward, Actors::Meeting)
}

/// The same, if it matters neither in which order operations write elements of a tile nor which program comes first: GPUs
/// have no such orders.
pub(crate) fn interpreted_in_any_order(case: &Case, module: &Module) -> Option<Buffers> {
    let forward = interpreted(case, module).ok()?;
    let rotated = [2, 3, 7, 20, 42, 99].map(ElementOrder::From);
    let orders = [ElementOrder::Unordered, ElementOrder::Backward].into_iter().chain(rotated);
    let same =
        |order| Some(difference(case, &forward, &interpreted_in(case, module, order, Actors::All).ok()?).is_none());
    orders.into_iter().all(|order| same(order) == Some(true)).then_some(forward)
}

fn interpreted_in(case: &Case, module: &Module, elements: ElementOrder, actors: Actors) -> Result<Buffers, String> {
    let mut memory = Memory::new();
    let bases: Vec<_> = case.buffers.iter().map(|(_, contents)| memory.alloc_from(contents)).collect();
    let pointers = bases.iter().map(|&base| Arg::Pointer(base));
    let args: Vec<Arg> = pointers.chain(case.numbers.iter().map(|&n| Arg::Scalar(n))).collect();
    let options = shoal_interp::Options { max_steps: 1_000_000, elements, actors, ..shoal_interp::Options::default() };
    shoal_interp::run(module, "k", [case.programs, 1, 1], &args, &mut memory, &options).map_err(|e| e.to_string())?;
    Ok(bases.iter().map(|&base| memory.bytes(base).expect("mapped").to_vec()).collect())
}

/// What native code makes of a case, with or without checks of its accesses.
pub(crate) fn native(
    device: &CpuDevice,
    case: &Case,
    module: &Module,
    target: &CpuTarget,
    checks: bool,
) -> Result<Buffers, String> {
    let (sources, how) = (SourceMap::default(), Options { checks, ..Options::default() });
    let compiled = cpu::compile(module, "k", target, &sources, &how).map_err(|e| e.to_string())?;
    let code = Arc::new(Code::load(&compiled.object).map_err(|e| e.to_string())?);
    let kernel = LoadedKernel::new(code, compiled.description).map_err(|e| e.to_string())?;
    let mut buffers: Vec<Aligned> = case.buffers.iter().map(|(_, contents)| Aligned::from(contents)).collect();
    let mut block = ArgBlock::writer();
    let mut memory = Vec::new();
    for buffer in &mut buffers {
        let start = buffer.words.as_mut_ptr();
        block.push_ptr(start);
        memory.push(Some(ArgMemory { name: "x".into(), start: start.addr(), bytes: buffer.length }));
    }
    memory.extend(case.numbers.iter().map(|_| None));
    let options = LaunchOptions { bounds: Some(Arc::new(Bounds::new(memory))), ..LaunchOptions::default() };
    push_numbers(&mut block, case);
    // SAFETY: the interpreter has run the case, so its accesses stay inside the buffers, each of which is alive.
    unsafe { device.launch(&kernel, [case.programs, 1, 1], &block.finish(), &options) }.map_err(|e| e.to_string())?;
    Ok(buffers.iter().map(Aligned::bytes).collect())
}

/// What a GPU makes of a case.
pub(crate) fn on_gpu(
    device: CudaDevice,
    case: &Case,
    module: &Module,
    target: &Target,
    checks: bool,
) -> Result<Buffers, String> {
    let (sources, how) = (SourceMap::default(), Options { checks, ..Options::default() });
    let compiled = shoal_codegen::compile(module, "k", target, &sources, &how).map_err(|e| e.to_string())?;
    let cubin = cuda::assemble(device, "k", &compiled.object).map_err(|e| e.to_string())?;
    let kernel = CudaKernel::load(device, &cubin, compiled.description).map_err(|e| e.to_string())?;
    let stream = StreamRef::default_of(device);
    let copy = |(_, contents): &(Scalar, Vec<u8>)| CudaBuffer::from_slice(stream, contents).map_err(|e| e.to_string());
    let buffers = case.buffers.iter().map(copy).collect::<Result<Vec<_>, _>>()?;
    let mut block = ArgBlock::writer();
    let mut memory = Vec::new();
    for buffer in &buffers {
        block.push_u64(buffer.address());
        memory.push(Some(ArgMemory { name: "x".into(), start: buffer.address() as usize, bytes: buffer.len() }));
    }
    memory.extend(case.numbers.iter().map(|_| None));
    let bounds = Arc::new(Bounds::new(memory));
    let tables = LaunchTables { bounds: Some(&bounds), ..LaunchTables::default() };
    push_numbers(&mut block, case);
    // SAFETY: the interpreter has run the case, so its accesses stay inside the buffers, each of which is alive.
    unsafe { kernel.launch([case.programs, 1, 1], &block.finish(), tables, stream) }.map_err(|e| e.to_string())?;
    stream.synchronize_within(Some(Duration::from_secs(20)), None).map_err(|e| e.to_string())?;
    if checks && let Some(failed) = cuda::table_of(device).map_err(|e| e.to_string())?.take_report() {
        return Err(failed.to_string());
    }
    let read = |buffer: &CudaBuffer<u8>| {
        let mut contents = vec![0; buffer.len()];
        buffer.copy_to(stream, &mut contents).map_err(|e| e.to_string())?;
        Ok(contents)
    };
    buffers.iter().map(read).collect()
}

fn push_numbers(block: &mut ArgWriter, case: &Case) {
    for number in &case.numbers {
        match number.ty().bytes() {
            1 => block.push_u8(number.bits() as u8),
            2 => block.push_u16(number.bits() as u16),
            4 => block.push_u32(number.bits() as u32),
            _ => block.push_u64(number.bits()),
        };
    }
}

/// Bytes aligned to 16, as the kernels are promised.
struct Aligned {
    words: Vec<u128>,
    length: usize,
}

impl Aligned {
    fn from(bytes: &[u8]) -> Aligned {
        let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte));
        Aligned { words: bytes.chunks(16).map(word).collect(), length: bytes.len() }
    }

    fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|w| w.to_le_bytes()).take(self.length).collect()
    }
}

/// The first difference between two results, in words. NaNs are equal, whatever their sign and payload.
pub(crate) fn difference(case: &Case, expected: &Buffers, found: &Buffers) -> Option<String> {
    for (((ty, _), expected), found) in case.buffers.iter().zip(expected).zip(found) {
        let size = ty.bytes() as usize;
        let pairs = expected.chunks(size).zip(found.chunks(size)).enumerate();
        for (i, (e, f)) in pairs {
            if e != f && !(is_nan(*ty, e) && is_nan(*ty, f)) {
                let hex = |bytes: &[u8]| bytes.iter().rev().map(|b| format!("{b:02x}")).collect::<String>();
                return Some(format!("element {i} of the {ty} buffer is 0x{}, not 0x{}", hex(f), hex(e)));
            }
        }
    }
    None
}

fn is_nan(ty: Scalar, bytes: &[u8]) -> bool {
    let bits = bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b));
    ty.float_format().is_some_and(|f| shoal_ir::numeric::decode_float(f, bits).is_nan())
}
