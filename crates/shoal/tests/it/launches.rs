//! Launches through the facade: arguments of every kind, on both backends.

use std::sync::{Arc, Mutex};

use shoal::{
    Args, Backend, Bound, CompileOptions, DType, Device, DiskCache, Error, Kernel, LaunchOptions, Module, PrintSink,
    Tensor, TensorDescriptor, args,
};

/// The kernel of a text that has one, on a backend, without the user's cache.
pub(crate) fn kernel(text: &str, backend: Backend) -> Kernel {
    let text = format!("import shoal\nimport shoal.language as tl\n\n\n{text}");
    let module = Module::from_source("kernel.py", &text).unwrap();
    let name = module.kernels().last().cloned().unwrap();
    let options = CompileOptions { disk_cache: DiskCache::Off, ..CompileOptions::default() };
    module.kernel(&name).unwrap().with(options).on(Device::of(backend).unwrap())
}

const BACKENDS: [Backend; 2] = [Backend::Cpu, Backend::Interpreter];

const ADD: &str = "\
@shoal.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)
";

#[test]
fn slices_vectors_and_tensors() {
    for backend in BACKENDS {
        let add = kernel(ADD, backend);
        let x = vec![1.0f32, 2.0, 3.0];
        let y = Tensor::from_slice(&[10.0f32, 20.0, 30.0]).unwrap();
        let mut out = [f32::NAN; 4];
        add.launch(2, args!(&x, &y, &mut out[..], 3, BLOCK = 2)).unwrap();
        assert_eq!(out[..3], [11.0, 22.0, 33.0]);
        assert!(out[3].is_nan(), "what the mask excludes is not written");
    }
}

#[test]
fn a_grid_may_be_computed_from_the_arguments() {
    for backend in BACKENDS {
        let add = kernel(ADD, backend);
        let x: Vec<i32> = (0..1000).collect();
        let mut out = vec![-1; 1000];
        let grid = |bound: &Bound<'_>| {
            let (n, block) = (bound.int("n")?, bound.int("BLOCK")?);
            Ok::<_, Error>((n + block - 1) / block)
        };
        add.launch(grid, args!(&x, &x, &mut out, 1000, BLOCK = 64)).unwrap();
        assert!(out.iter().enumerate().all(|(at, v)| *v == 2 * at as i32));
    }
}

#[test]
fn the_same_tensor_may_be_input_and_output() {
    for backend in BACKENDS {
        let x = Tensor::from_slice(&[1i64, 2, 3, 4]).unwrap();
        kernel(ADD, backend).launch(1, args!(&x, &x, &x, 4, BLOCK = 4)).unwrap();
        assert_eq!(x.as_slice::<i64>().unwrap(), [2, 4, 6, 8]);
    }
}

#[test]
fn numbers_arrive_as_what_they_are() {
    let text = "\
@shoal.jit
def show(out, small, large, unsigned, negative, half, flag, wide: tl.float64, SCALE: tl.constexpr):
    tl.store(out, small.to(tl.float64) * SCALE)
    tl.store(out + 1, large.to(tl.float64))
    tl.store(out + 2, (unsigned >> 60).to(tl.float64))
    tl.store(out + 3, negative.to(tl.float64))
    tl.store(out + 4, half.to(tl.float64))
    tl.store(out + 5, flag.to(tl.float64))
    tl.store(out + 6, wide)
";
    for backend in BACKENDS {
        let mut out = [0.0f64; 7];
        let args = args!(&mut out[..], 7, 1i64 << 40, u64::MAX, -3, 0.5, true, 0.1, SCALE = 2);
        kernel(text, backend).launch(1, args).unwrap();
        assert_eq!(out, [14.0, (1i64 << 40) as f64, 15.0, -3.0, 0.5, 1.0, 0.1]);
    }
}

#[test]
fn none_tuples_texts_types_and_functions() {
    let text = "\
@shoal.jit
def twice(x):
    return x * 2


@shoal.jit
def mixed(out, bias, pair, KIND: tl.constexpr, DTYPE: tl.constexpr, F: tl.constexpr):
    value = tl.load(pair[0]) + pair[1]
    if bias is not None:
        value += tl.load(bias)
    if KIND == 'negate':
        value = -value
    tl.store(out, F(value).to(DTYPE).to(tl.float32))
";
    for backend in BACKENDS {
        let mixed = kernel(text, backend);
        let x = Tensor::from_slice(&[3.7f32]).unwrap();
        let mut out = [0.0f32];
        let run = |out: &mut [f32], bias: Option<&Tensor>, kind: &str| {
            let mut args = args!(out, bias, (&x, 1), KIND = kind, DTYPE = DType::I32);
            args.set("F", shoal::Arg::Function("twice".into()));
            mixed.launch(1, args).unwrap();
        };
        run(&mut out, None, "keep");
        assert_eq!(out, [9.0]);
        run(&mut out, Some(&x), "negate");
        assert_eq!(out, [-16.0]);
    }
}

#[test]
fn descriptors_made_on_the_host() {
    let text = "\
@shoal.jit
def copy(source, target):
    tl.store(target + tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :], source.load([2, 1]))
";
    for backend in BACKENDS {
        let values: Vec<f32> = (0..15).map(|v| v as f32).collect();
        let source = Tensor::from_slice(&values).unwrap().reshaped(&[3, 5]).unwrap();
        let view = TensorDescriptor::of(&source, &[4, 4]).unwrap();
        let mut out = [-1.0f32; 16];
        kernel(text, backend).launch(1, args!(&view, &mut out[..])).unwrap();
        assert_eq!(out[..4], [11.0, 12.0, 13.0, 14.0]);
        assert_eq!(out[4..], [0.0; 12], "beyond the last row there are zeros");
    }
}

#[test]
fn launch_options_for_gpus_are_accepted() {
    let mut out = [0.0f32; 2];
    let args = args!(&[1.0f32, 2.0][..], &[1.0f32, 1.0][..], &mut out[..], 2, BLOCK = 2, num_warps = 8, num_stages = 2);
    kernel(ADD, Backend::Cpu).launch((1,), args).unwrap();
    assert_eq!(out, [2.0, 3.0]);
    let mut args = args!(&[1.0f32, 2.0][..], &[1.0f32, 3.0][..], &mut out[..], 2, BLOCK = 2);
    args.set("launch_pdl", 1);
    let error = kernel(ADD, Backend::Cpu).launch((1,), args).unwrap_err().to_string();
    assert!(error.contains("`launch_pdl` must be true or false"), "{error}");
    let args = args!(&[1.0f32, 2.0][..], &[1.0f32, 3.0][..], &mut out[..], 2, BLOCK = 2, launch_pdl = true);
    kernel(ADD, Backend::Cpu).launch((1,), args).unwrap();
    assert_eq!(out, [2.0, 5.0]);
}

#[test]
fn a_failed_assertion_names_the_line() {
    let text = "\
@shoal.jit
def check(x):
    tl.device_assert(tl.load(x) > 0, 'must be positive')
";
    for backend in BACKENDS {
        let options = CompileOptions { debug: true, disk_cache: DiskCache::Off, ..CompileOptions::default() };
        let check = kernel(text, backend).with(options);
        check.launch(1, args!(&[1i32][..])).unwrap();
        let error = check.launch(1, args!(&[-1i32][..])).unwrap_err().to_string();
        assert!(error.contains("must be positive") && error.contains("kernel.py:7"), "{backend:?}: {error}");
    }
}

#[test]
fn an_empty_grid_runs_nothing() {
    for backend in BACKENDS {
        let mut out = [7.0f32];
        kernel(ADD, backend).launch(0, args!(&[1.0f32][..], &[1.0f32][..], &mut out[..], 1, BLOCK = 1)).unwrap();
        assert_eq!(out, [7.0]);
    }
}

#[test]
fn kernels_can_be_launched_from_many_threads() {
    let add = kernel(ADD, Backend::Cpu);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let add = &add;
            scope.spawn(move || {
                let n = 100 + thread;
                let x = vec![thread as f32; n];
                let mut out = vec![0.0f32; n];
                for _ in 0..20 {
                    add.launch(4, args!(&x, &x, &mut out, n, BLOCK = 32)).unwrap();
                }
                assert!(out.iter().all(|v| *v == 2.0 * thread as f32));
            });
        }
    });
}

#[test]
fn a_kernel_without_arguments() {
    kernel("@shoal.jit\ndef nothing():\n    pass\n", Backend::Cpu).launch((2, 3, 4), Args::new()).unwrap();
}

#[test]
fn both_backends_print_the_same() {
    let text = "\
@shoal.jit
def show(x):
    tl.device_print('x is', tl.load(x + tl.arange(0, 2)))
";
    let printed = BACKENDS.map(|backend| {
        let said = Arc::new(Mutex::new(String::new()));
        let sink = said.clone();
        let print = PrintSink::new(move |text| sink.lock().unwrap().push_str(text));
        let options = CompileOptions { disk_cache: DiskCache::Off, ..CompileOptions::default() };
        let launching = LaunchOptions { print, ..LaunchOptions::default() };
        kernel(text, backend).with(options).launching(launching).launch(1, args!(&[1.5f32, -2.0][..])).unwrap();
        let said = said.lock().unwrap();
        said.clone()
    });
    assert!(printed[0].contains("x is") && printed[0].contains("1.5"), "{}", printed[0]);
    assert_eq!(printed[0], printed[1]);
}

#[test]
fn a_kernel_may_take_any_number_of_arguments() {
    let text = "\
@shoal.jit
def total(out, *rest):
    sum = 0.0
    for i in tl.static_range(len(rest)):
        sum += tl.load(rest[i])
    tl.store(out, sum)
";
    for backend in BACKENDS {
        let parts: Vec<Tensor> = (1..=3).map(|v| Tensor::from_slice(&[v as f32]).unwrap()).collect();
        let mut out = [0.0f32];
        kernel(text, backend).launch(1, args!(&mut out[..], &parts[0], &parts[1], &parts[2])).unwrap();
        assert_eq!(out, [6.0]);
    }
}
