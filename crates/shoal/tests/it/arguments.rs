//! What arguments a launch takes, and refuses.

use shoal::{Access, Arg, Args, Backend, CompileOptions, DType, Device, DiskCache, Kernel, Memory, Module, args};

const COPY: &str = "
import shoal
import shoal.language as tl

@shoal.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)

@shoal.jit
def first(pair, out):
    tl.store(out, pair[0])

@shoal.jit
def through(desc):
    desc.store([0], desc.load([0]) + 1)
";

const BACKENDS: [Backend; 2] = [Backend::Cpu, Backend::Interpreter];

fn kernel(name: &str, backend: Backend) -> Kernel {
    let options = CompileOptions { disk_cache: DiskCache::Off, ..CompileOptions::default() };
    Module::from_source("copy.py", COPY).unwrap().kernel(name).unwrap().with(options).on(Device::of(backend).unwrap())
}

#[test]
fn shared_references_are_read_only_to_the_kernel() {
    for backend in BACKENDS {
        let copy = kernel("copy", backend);
        let (x, y, mut out) = (vec![1.0f32, 2.0], [3.0f32, 4.0], [0.0f32; 2]);
        copy.launch(1, args!(&x, &mut out[..], 2, BLOCK = 2)).unwrap();
        assert_eq!(out, [1.0, 2.0]);
        for wrong in [args!(&x, &y[..], 2, BLOCK = 2), args!(&y[..], &x, 2, BLOCK = 2)] {
            let said = copy.launch(1, wrong).unwrap_err().to_string();
            assert!(said.contains("`tl.const`") && said.contains("copy.py:8"), "{said}");
            assert!(
                said.contains("was passed as a shared reference, which counts as `tl.const`: pass `&mut`"),
                "{said}"
            );
        }
        assert_eq!((x, y), (vec![1.0, 2.0], [3.0, 4.0]));
    }
}

#[test]
fn descriptors_of_shared_references_are_read_only_too() {
    let x = [1.0f32; 16];
    let Arg::Memory(memory) = Arg::from(&x[..]) else { panic!("a slice is memory") };
    let descriptor = shoal::TensorDescriptor::over(memory, &[16], &[1], &[16]).unwrap();
    for backend in BACKENDS {
        let said = kernel("through", backend).launch(1, args!(&descriptor)).unwrap_err().to_string();
        assert!(said.contains("this descriptor is of memory that is `tl.const`"), "{said}");
    }
    assert_eq!(x, [1.0; 16]);
}

#[test]
#[expect(unsafe_code, reason = "memory that is not there cannot be made otherwise")]
fn memory_without_an_address_is_refused() {
    // SAFETY: the launches below refuse it.
    let (freed, empty) = unsafe {
        (Memory::from_raw(0, 8, DType::F32, Access::ReadWrite), Memory::from_raw(0, 0, DType::F32, Access::ReadWrite))
    };
    for backend in BACKENDS {
        let (copy, mut out) = (kernel("copy", backend), [5.0f32; 2]);
        let mut args = Args::new();
        args.push(Arg::Memory(freed)).push(&mut out[..]).push(2).set("BLOCK", 2);
        let said = copy.launch(1, args).unwrap_err().to_string();
        assert!(said.contains("the tensor passed for `x` has elements but no memory"), "{said}");
        let mut args = Args::new();
        args.push(Arg::Memory(empty)).push(&mut out[..]).push(0).set("BLOCK", 2);
        copy.launch(1, args).unwrap();
        assert_eq!(out, [5.0; 2]);
    }
}

#[test]
#[expect(unsafe_code, reason = "memory of unknown size cannot be made otherwise")]
fn the_interpreter_wants_to_know_how_large_memory_is() {
    let x = [1.0f32, 2.0];
    // SAFETY: the kernel reads two elements.
    let unmeasured =
        unsafe { Memory::from_raw(x.as_ptr().expose_provenance(), Memory::UNMEASURED, DType::F32, Access::ReadOnly) };
    let mut out = [0.0f32; 2];
    kernel("copy", Backend::Cpu).launch(1, args!(Arg::Memory(unmeasured), &mut out[..], 2, BLOCK = 2)).unwrap();
    assert_eq!(out, x);
    let copy = kernel("copy", Backend::Interpreter);
    let said = copy.launch(1, args!(Arg::Memory(unmeasured), &mut out[..], 2, BLOCK = 2)).unwrap_err().to_string();
    assert!(said.contains("nobody knows how large the memory passed for `x` is"), "{said}");
}

#[test]
fn tuples_nest_so_deep_and_no_deeper() {
    let nested = |depth: usize| (0..depth).fold(Arg::Int(7), |inner, _| Arg::Tuple(vec![inner]));
    for backend in BACKENDS {
        let (first, mut out) = (kernel("first", backend), [0]);
        let said = first.launch(1, args!(nested(100), &mut out[..])).unwrap_err().to_string();
        assert!(said.contains("the tuple passed for `pair` is nested more than 64 deep"), "{said}");
        first.launch(1, args!(nested(1), &mut out[..])).unwrap();
        assert_eq!(out, [7]);
        let copy = kernel("copy", backend);
        let said = copy.launch(1, args!(&[1][..], &mut out[..], 1, BLOCK = nested(100))).unwrap_err().to_string();
        assert!(said.contains("the tuple passed for `BLOCK` is nested more than 64 deep"), "{said}");
    }
}
