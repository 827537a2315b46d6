//! A kernel, its arguments and what it must give: run on every backend, on outputs that are poisoned first.
//!
//! The parameter `out` of a kernel, after those that are passed by position, is the memory that is looked at
//! afterwards. It is followed by a margin that must stay as it was.

use shoal::cuda::find_ptxas;
use shoal::{
    Args, Backend, CompileOptions, Device, DiskCache, Element, Error, Kernel, LaunchOptions, Module, Stage, Tensor,
};

use crate::assembled;

/// The ways to run a kernel on every machine, and on a GPU where there is one.
pub(crate) fn backends() -> impl Iterator<Item = Backend> {
    BACKENDS.into_iter().chain(Device::cuda(0).is_ok().then_some(Backend::Cuda))
}

/// The ways to run a kernel on every machine.
pub(crate) const BACKENDS: [Backend; 2] = [Backend::Cpu, Backend::Interpreter];

/// Elements after the output that nothing may write to.
const MARGIN: usize = 32;

/// A kernel with all that a launch needs besides its arguments.
#[derive(Clone)]
pub(crate) struct Case {
    source: String,
    grid: (u32, u32, u32),
    options: CompileOptions,
    launching: LaunchOptions,
    is_for_gpus: bool,
}

/// A kernel from its parameters and its body, which is indented by four and begins on line 9.
pub(crate) fn case(params: &str, body: &str) -> Case {
    with("", params, body)
}

/// A kernel that stands after other definitions in its file.
pub(crate) fn with(definitions: &str, params: &str, body: &str) -> Case {
    let head = "import math\nimport shoal\nimport shoal.language as tl\nfrom shoal.language.extra import libdevice\n";
    let body = body.trim_matches('\n').trim_end();
    let definitions = match definitions.trim() {
        "" => String::new(),
        some => format!("{some}\n\n\n"),
    };
    let source = format!("{head}\n\n{definitions}@shoal.jit\ndef kernel({params}):\n{body}\n");
    let options = CompileOptions { disk_cache: DiskCache::Off, ..CompileOptions::default() };
    Case { source, grid: (1, 1, 1), options, launching: LaunchOptions::default(), is_for_gpus: true }
}

impl Case {
    pub(crate) fn grid(mut self, x: u32, y: u32, z: u32) -> Case {
        self.grid = (x, y, z);
        self
    }

    pub(crate) fn options(mut self, change: impl FnOnce(&mut CompileOptions)) -> Case {
        change(&mut self.options);
        self
    }

    /// The GPUs that are tested cannot do it.
    pub(crate) fn only_on_hosts(mut self) -> Case {
        self.is_for_gpus = false;
        self
    }

    pub(crate) fn launching(mut self, options: LaunchOptions) -> Case {
        self.launching = options;
        self
    }

    /// The line (counted from 1) on which a text stands.
    pub(crate) fn line_of(&self, text: &str) -> usize {
        1 + self.source.lines().position(|line| line.contains(text)).expect("the text is in the kernel")
    }

    /// The kernel on a backend.
    pub(crate) fn kernel(&self, backend: Backend) -> Result<Kernel, Error> {
        let kernel = Module::from_source("kernel.py", &self.source)?.kernel("kernel")?;
        Ok(kernel.with(self.options.clone()).launching(self.launching.clone()).on(Device::of(backend).unwrap()))
    }

    /// One launch on memory that begins with `initial`; gives what is there afterwards.
    pub(crate) fn run<T: Element>(
        &self,
        backend: Backend,
        args: &Args<'_>,
        initial: &[T],
        len: usize,
    ) -> Result<Vec<T>, Error> {
        // Leaked, because all arguments have one lifetime and the others come from outside.
        let out = Box::leak(Box::new(Tensor::poisoned(T::DTYPE, &[len + MARGIN])?));
        out.as_mut_slice::<T>()?[..initial.len()].copy_from_slice(initial);
        let mut args = args.clone();
        args.set("out", &*out);
        let kernel = self.kernel(backend)?;
        kernel.launch(self.grid, args.clone())?;
        // Where there is an assembler, what runs somewhere is assembled for GPUs, too.
        if self.is_for_gpus && backend == Backend::Interpreter && find_ptxas().is_some() {
            let specs = kernel.specialise(&args)?;
            if let Some(why) = assembled::refused(|target| kernel.emit(&specs, Stage::Asm, target)) {
                panic!("{why}\n{}", self.source);
            }
        }
        let margin = &out.bytes()[len * size_of::<T>()..];
        assert!(margin.iter().all(|&byte| byte == 0xff), "{backend:?} wrote beyond the output of\n{}", self.source);
        Ok(out.as_slice::<T>()?[..len].to_vec())
    }

    /// The output is exactly this; one NaN is like another.
    pub(crate) fn gives<T: Element + PartialEq>(&self, args: Args<'_>, expected: &[T]) {
        self.updates(args, &[], expected);
    }

    /// The output is exactly this, and on a GPU, which sums in another order, up to a relative error.
    pub(crate) fn gives_in_order<T: Element + PartialEq + Into<f64>>(
        &self,
        args: Args<'_>,
        tolerance: f64,
        expected: &[T],
    ) {
        self.updates_on(BACKENDS.into_iter(), &args, &[], expected);
        let expected: Vec<f64> = expected.iter().map(|&number| number.into()).collect();
        self.near::<T>(args, tolerance, &expected);
    }

    /// The output, which begins as `initial`, becomes exactly this.
    pub(crate) fn updates<T: Element + PartialEq>(&self, args: Args<'_>, initial: &[T], expected: &[T]) {
        let backends = backends().filter(|backend| self.is_for_gpus || BACKENDS.contains(backend));
        self.updates_on(backends, &args, initial, expected);
    }

    fn updates_on<T: Element + PartialEq>(
        &self,
        backends: impl Iterator<Item = Backend>,
        args: &Args<'_>,
        initial: &[T],
        expected: &[T],
    ) {
        for backend in backends {
            let found =
                self.run(backend, args, initial, expected.len()).unwrap_or_else(|error| self.failed(backend, &error));
            #[expect(clippy::eq_op, reason = "only a NaN differs from itself")]
            let same = |(a, b): (&T, &T)| a == b || (a != a && b != b);
            let wrong: Vec<_> = (0..found.len()).filter(|&at| !same((&found[at], &expected[at]))).collect();
            assert!(
                wrong.is_empty(),
                "{backend:?} differs at {wrong:?}\n found {found:?}\nwanted {expected:?}\n{}",
                self.source
            );
        }
    }

    /// The output, of type `T`, is this up to a relative error (an absolute one below 1).
    pub(crate) fn near<T: Element + Into<f64>>(&self, args: Args<'_>, tolerance: f64, expected: &[f64]) {
        for backend in backends() {
            let found = self.run::<T>(backend, &args, &[], expected.len());
            let found = found.unwrap_or_else(|error| self.failed(backend, &error));
            for (at, (found, &wanted)) in found.iter().zip(expected).enumerate() {
                let found: f64 = (*found).into();
                let same = found == wanted || (found.is_nan() && wanted.is_nan());
                let close = (found - wanted).abs() <= tolerance * wanted.abs().max(1.0);
                assert!(same || close, "{backend:?}: element {at} is {found}, not {wanted}\n{}", self.source);
            }
        }
    }

    /// The launch fails on every backend with a message that has all of these words.
    pub(crate) fn refused(&self, args: Args<'_>, words: &[&str]) {
        for backend in backends() {
            self.refused_on(backend, &args, words);
        }
    }

    /// The launch fails on one backend with a message that has all of these words.
    pub(crate) fn refused_on(&self, backend: Backend, args: &Args<'_>, words: &[&str]) {
        match self.run::<i8>(backend, args, &[], 64) {
            Ok(_) => panic!("{backend:?} accepts\n{}", self.source),
            Err(error) => {
                let text = error.to_string();
                let missing: Vec<_> = words.iter().filter(|word| !text.contains(**word)).collect();
                assert!(missing.is_empty(), "{backend:?}: {missing:?} is missing in\n{text}");
            }
        }
    }

    fn failed(&self, backend: Backend, error: &Error) -> ! {
        panic!("{backend:?}: {error}\n{}", self.source)
    }
}

/// A table of expressions and their values, computed by one kernel.
pub(crate) fn every<T: Element + PartialEq>(table: &[(&str, T)]) {
    let body: String =
        table.iter().enumerate().map(|(at, (value, _))| format!("    tl.store(out + {at}, {value})\n")).collect();
    let expected: Vec<T> = table.iter().map(|(_, expected)| *expected).collect();
    case("out", &body).gives(Args::new(), &expected);
}

/// Statements that the compiler checks by itself: each is a `static_assert`.
pub(crate) fn holds(setup: &str, claims: &[&str]) {
    let setup: String = setup.lines().map(|line| format!("    {line}\n")).collect();
    let claims: String = claims
        .iter()
        .map(|claim| format!("    tl.static_assert({claim}, '{claim}')\n", claim = claim.replace('\'', "\"")))
        .collect();
    case("out", &format!("{setup}{claims}    tl.store(out, 1)\n")).gives(Args::new(), &[1i32]);
}

/// Floats between -4 and 4, the same in every run.
pub(crate) fn floats(count: usize, seed: u64) -> Vec<f32> {
    integers(count, seed).into_iter().map(|value| (value >> 8) as f32 / (1 << 21) as f32).collect()
}

/// Integers of all sizes, the same in every run.
pub(crate) fn integers(count: usize, seed: u64) -> Vec<i32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as i32
    };
    (0..count).map(|_| next()).collect()
}
