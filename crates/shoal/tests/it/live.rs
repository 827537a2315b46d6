//! Kernels that live in a host program: launched, cached and reported like those of files.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use shoal::{
    Arg, Args, CompileOptions, Device, DiskCache, Error, FunctionKind, HostBridge, HostObject, HostSource, HostValue,
    JitOptions, Module, args,
};

/// A host with a helper function, a number in its closure, and a configuration object.
struct Host {
    offset: AtomicI64,
}

const HELPER: &str = "def scaled(x, n: tl.constexpr):\n    return x * n + OFFSET\n";

fn function(object: u64, name: &str, first_line: u32, text: &str) -> HostSource {
    HostSource {
        object: HostObject(object),
        name: name.into(),
        file: "notebook.py".into(),
        first_line,
        text: text.into(),
        kind: FunctionKind::Jit,
        options: JitOptions::default(),
    }
}

impl HostBridge for Host {
    fn name(&self, function_object: HostObject, name: &str) -> Option<HostValue> {
        Some(match (function_object.0, name) {
            (_, "tl") => HostValue::Language("triton.language".into()),
            (1, "scaled") => HostValue::Function(Arc::new(function(2, "scaled", 30, HELPER))),
            (2, "OFFSET") => HostValue::Constexpr(Box::new(HostValue::Int(self.offset.load(Ordering::Relaxed).into()))),
            _ => return None,
        })
    }

    fn attribute(&self, object: HostObject, name: &str) -> Option<HostValue> {
        (object.0 >= 100 && name == "factor").then(|| HostValue::Int((object.0 - 100).into()))
    }

    fn call(&self, _: HostObject, _: &[HostValue], _: &[(String, HostValue)]) -> Result<HostValue, String> {
        Err("TypeError: not callable".into())
    }
}

const KERNEL: &str = "\
def k(x, n, config: tl.constexpr, BLOCK: tl.constexpr = 8):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, scaled(tl.load(x + at, mask=at < n), config.factor), mask=at < n)
";

fn config(factor: u64) -> Arg<'static> {
    Arg::Host(HostValue::Object { object: HostObject(100 + factor), shown: format!("Config({factor})") })
}

#[test]
fn a_live_kernel_runs_and_is_specialised_for_host_values() -> Result<(), Error> {
    let host = Arc::new(Host { offset: AtomicI64::new(1) });
    let module = Module::from_host(function(1, "k", 10, KERNEL), host)?;
    assert_eq!((module.name(), module.kernels()), ("notebook.py", vec!["k".to_owned()]));
    for device in [Device::cpu()?, Device::Interpreter] {
        let options = CompileOptions { disk_cache: DiskCache::Off, ..CompileOptions::default() };
        let kernel = module.kernel("k")?.with(options).on(device);
        let before = kernel.reports().len();
        for factor in [2, 3, 2] {
            let mut x = [1i32, 2, 3];
            kernel.launch(1, args!(&mut x[..], 3, config(factor)))?;
            let factor = i32::try_from(factor).expect("small");
            assert_eq!(x, [factor + 1, 2 * factor + 1, 3 * factor + 1]);
        }
        assert_eq!(kernel.reports().len() - before, 2, "one variant for each configuration");
    }
    Ok(())
}

#[test]
fn errors_show_the_lines_of_the_host() -> Result<(), Error> {
    let host = Arc::new(Host { offset: AtomicI64::new(1) });
    let text = KERNEL.replace("scaled(tl.load(x + at, mask=at < n)", "scaled(missing");
    let module = Module::from_host(function(1, "k", 10, &text), host.clone())?;
    let mut x = [1i32];
    let error = module.launch("k", 1, args!(&mut x[..], 1, config(2))).expect_err("an unknown name").to_string();
    assert!(error.contains("notebook.py:12:29"), "{error}");
    let module = Module::from_host(function(1, "k", 10, KERNEL), host)?;
    let mut args = Args::new();
    args.push(3).push(3).push(config(2));
    let error = module.launch("k", 1, args).expect_err("no pointer").to_string();
    assert!(error.contains("notebook.py:12"), "{error}");
    Ok(())
}

#[test]
fn threads_compile_one_live_kernel_at_once() -> Result<(), Error> {
    let host = Arc::new(Host { offset: AtomicI64::new(5) });
    let module = Module::from_host(function(1, "k", 10, KERNEL), host)?;
    std::thread::scope(|threads| {
        for factor in 0..8 {
            let module = &module;
            threads.spawn(move || {
                let mut x = [10i32];
                module.launch("k", 1, args!(&mut x[..], 1, config(factor))).expect("it runs");
                assert_eq!(x[0], 10 * i32::try_from(factor).expect("small") + 5);
            });
        }
    });
    assert_eq!(module.kernel("k")?.reports().len(), 8);
    Ok(())
}
