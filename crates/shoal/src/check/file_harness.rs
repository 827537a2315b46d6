//! Harnesses of kernel files: what their words mean.

use std::collections::HashMap;

use shoal_lang::{HarnessArgs, HarnessValue, HarnessWorld};
use shoal_source::Span;

use super::CheckOptions;
use super::recording::{Contents, HostBuffer, RankHost, Recording};
use super::streams::{HostEvent, HostGraph, HostPlace, HostStream};
use crate::error::Report;
use crate::{Arg, Args, DType, Error, Kernel, Module, dtype_from_name};

/// Runs a harness for every rank.
pub(super) fn record(module: &Module, harness: &str, options: &CheckOptions) -> Result<Recording, Error> {
    if !module.harnesses().iter().any(|known| known.name == harness) {
        let names: Vec<String> = module.harnesses().into_iter().map(|h| format!("`{}`", h.name)).collect();
        let has = if names.is_empty() { "it has none".into() } else { format!("it has {}", names.join(", ")) };
        return Err(Error::Text(format!("{} has no harness `{harness}`; {has}", module.name())));
    }
    let mut kernels = HashMap::new();
    Recording::new(options, |host| {
        host.told_with(module.program().sources());
        let mut world = FileWorld { module, kernels: &mut kernels, host, objects: Vec::new() };
        let ran = module.program().run_harness(harness, &options.params, &mut world);
        ran.map_err(|errors| Error::Compile(Report::new(errors, module.program().sources())))
    })
}

/// The world of a harness.
pub(super) struct FileWorld<'a, 'r> {
    module: &'a Module,
    kernels: &'a mut HashMap<String, Kernel>,
    pub(super) host: &'a mut RankHost<'r>,
    /// What the harness has made, by the numbers that it knows.
    pub(super) objects: Vec<Object>,
}

/// Something that a harness has made.
#[derive(Clone, Copy)]
pub(super) enum Object {
    Buffer(HostBuffer),
    Place(HostPlace),
    Stream(HostStream),
    Event(HostEvent),
    Graph(HostGraph),
}

pub(super) type Answer = Result<HarnessValue, String>;

impl HarnessWorld for FileWorld<'_, '_> {
    fn at(&mut self, span: Span) {
        self.host.span = span;
    }

    fn attribute(&mut self, name: &str) -> Answer {
        let number = match name {
            "rank" => self.host.rank(),
            "size" | "num_ranks" => self.host.size(),
            "launches" => self.host.launches(),
            _ => return Err(format!("a harness's world has no `{name}`; it has `rank`, `size` and `launches`")),
        };
        Ok(HarnessValue::Int(number as i128))
    }

    fn call(&mut self, method: &str, (args, named): HarnessArgs) -> Answer {
        let mut words = Words { method, args: args.into_iter(), named };
        match method {
            "symm" | "buffer" | "symm_empty" | "empty" => {
                let (count, dtype) = (words.count()?, words.dtype()?);
                let default = if method.ends_with("empty") { Contents::Fresh } else { Contents::Number(0.0) };
                let contents = words.contents("init", default)?;
                words.end()?;
                let made = match method {
                    "symm" | "symm_empty" => self.host.symm(count, dtype, &contents),
                    _ => self.host.buffer(count, dtype, &contents),
                };
                Ok(self.keep(Object::Buffer(made.map_err(|error| error.to_string())?)))
            }
            "pointers" => {
                let buffer = self.buffer(words.next("buffer")?)?;
                words.end()?;
                let table = self.host.pointers(buffer).map_err(|error| error.to_string())?;
                Ok(self.keep(Object::Buffer(table)))
            }
            "write" | "fill" => {
                let buffer = self.buffer(words.next("buffer")?)?;
                let contents = words.contents("value", Contents::Number(0.0))?;
                words.end()?;
                self.host.write(buffer, &contents).map_err(|error| error.to_string())?;
                Ok(HarnessValue::None)
            }
            "expect" => {
                let buffer = self.buffer(words.next("buffer")?)?;
                let contents = words.contents("value", Contents::Number(0.0))?;
                words.end()?;
                self.host.expect(buffer, &contents).map_err(|error| error.to_string())?;
                Ok(HarnessValue::None)
            }
            "read" | "output" => {
                let buffer = self.buffer(words.next("buffer")?)?;
                words.end()?;
                if method == "read" {
                    self.host.read(buffer).map_err(|error| error.to_string())?;
                } else {
                    self.host.output(buffer);
                }
                Ok(HarnessValue::None)
            }
            "ragged" => {
                let (most, case) = (words.integer("most")?, words.integer("case")?);
                words.end()?;
                Ok(HarnessValue::List(ragged(most, case, self.host.size())))
            }
            "at" => self.at(words),
            "hosts" | "mesh" | "team" => self.surroundings(words),
            "stream" | "barrier" | "synchronize" | "begin_graph" | "end_graph" => {
                words.end()?;
                self.plain_word(method).map_err(|error| error.to_string())
            }
            // Of the default stream.
            "copy" | "write_value" | "wait_value" | "record" | "wait" => self.on_stream(HostStream::DEFAULT, words),
            _ => Err(format!(
                "a harness's world has no `{method}`; it has `symm`, `symm_empty`, `buffer`, `empty`, `pointers`, `at`, \
                 `write`, `read`, `output`, `expect`, `ragged`, `barrier`, `stream`, `copy`, `write_value`, `wait_value`, \
                 `record`, `wait`, `synchronize`, `begin_graph`, `end_graph`, `hosts`, `mesh` and `team`"
            )),
        }
    }

    fn call_on(&mut self, object: usize, method: &str, args: HarnessArgs) -> Answer {
        self.method(object, method, args)
    }

    fn launch(&mut self, kernel: &str, grid: Vec<i128>, (args, named): HarnessArgs) -> Result<(), String> {
        let kernel = match self.kernels.get(kernel) {
            Some(kernel) => kernel.clone(),
            None => {
                let found = self.module.kernel(kernel).map_err(|error| message(&error))?;
                self.kernels.insert(kernel.to_owned(), found.clone());
                found
            }
        };
        let mut rest = Vec::new();
        let mut stream = None;
        for (name, value) in named {
            match name.as_str() {
                "stream" => stream = Some(value),
                _ => rest.push((name, self.arg(value)?)),
            }
        }
        let mut passed = Args::new();
        for value in args {
            passed.push(self.arg(value)?);
        }
        for (name, arg) in &rest {
            passed.set(name, arg.clone());
        }
        let extent = |at: usize| match grid.get(at) {
            Some(&n) => u32::try_from(n).map_err(|_| format!("{n} is no extent of a grid")),
            None => Ok(1),
        };
        if grid.is_empty() || grid.len() > 3 {
            return Err("a grid is one to three integers".into());
        }
        let grid = [extent(0)?, extent(1)?, extent(2)?];
        let stream = self.stream_of(stream)?;
        self.host.launch_on(stream, &kernel, grid, passed).map_err(|error| message(&error))
    }
}

impl FileWorld<'_, '_> {
    pub(super) fn keep(&mut self, object: Object) -> HarnessValue {
        self.objects.push(object);
        HarnessValue::Object(self.objects.len() - 1)
    }

    /// Words without arguments.
    fn plain_word(&mut self, method: &str) -> Result<HarnessValue, Error> {
        match method {
            "stream" => {
                let stream = self.host.stream();
                return Ok(self.keep(Object::Stream(stream)));
            }
            "end_graph" => {
                let graph = self.host.end_graph()?;
                return Ok(self.keep(Object::Graph(graph)));
            }
            "begin_graph" => self.host.begin_graph()?,
            "synchronize" => self.host.synchronize_all()?,
            _ => self.host.barrier()?,
        }
        Ok(HarnessValue::None)
    }

    pub(super) fn buffer(&self, value: HarnessValue) -> Result<HostBuffer, String> {
        match value {
            HarnessValue::Object(at) => match self.objects.get(at) {
                Some(Object::Buffer(buffer)) => Ok(*buffer),
                _ => Err("this is no buffer of the world".into()),
            },
            _ => Err("this is no buffer of the world".into()),
        }
    }

    fn arg(&self, value: HarnessValue) -> Result<Arg<'static>, String> {
        Ok(match value {
            HarnessValue::None => Arg::None,
            HarnessValue::Bool(b) => Arg::Bool(b),
            HarnessValue::Int(i) => Arg::Int(i),
            HarnessValue::Float(x) => Arg::Float(x),
            HarnessValue::Str(text) => match dtype_from_name(&text) {
                Some(dtype) => Arg::DType(dtype),
                None => Arg::Text(text.into()),
            },
            HarnessValue::List(items) => {
                Arg::Tuple(items.into_iter().map(|item| self.arg(item)).collect::<Result<_, _>>()?)
            }
            HarnessValue::Object(_) => self.host.arg(self.buffer(value)?),
        })
    }
}

/// An error as part of another one, which says itself that it is one.
fn message(error: &Error) -> String {
    let text = error.to_string();
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

/// A number that is not negative.
pub(super) fn int(value: &HarnessValue) -> Result<u64, String> {
    match value {
        HarnessValue::Int(n) => u64::try_from(*n).map_err(|_| format!("{n} is negative or too large")),
        _ => Err("this must be an integer".into()),
    }
}

/// A number for each rank, up to `most`. Case 0: all have `most`; then one rank after the other has none; then all have
/// none; further cases are random, with about a third of the ranks having none.
fn ragged(most: i128, case: i128, ranks: usize) -> Vec<HarnessValue> {
    let number = |rank: usize| {
        let mut mixed = (case as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(rank as u64 + 1);
        mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = i128::from((mixed ^ (mixed >> 29)) >> 16);
        match usize::try_from(case).unwrap_or(usize::MAX) {
            0 => most,
            empty if empty <= ranks => {
                if rank + 1 == empty {
                    0
                } else {
                    most
                }
            }
            empty if empty == ranks + 1 => 0,
            _ if mixed % 3 == 0 => 0,
            _ => mixed / 3 % most.max(1) + 1,
        }
    };
    (0..ranks).map(|rank| HarnessValue::Int(number(rank).min(most))).collect()
}

/// The arguments of a call, taken one by one.
pub(super) struct Words<'a> {
    pub(super) method: &'a str,
    pub(super) args: std::vec::IntoIter<HarnessValue>,
    pub(super) named: Vec<(String, HarnessValue)>,
}

impl Words<'_> {
    pub(super) fn optional(&mut self, name: &str) -> Option<HarnessValue> {
        let named = self.named.iter().position(|(known, _)| known == name);
        self.args.next().or_else(|| named.map(|at| self.named.remove(at).1))
    }

    pub(super) fn next(&mut self, name: &str) -> Answer {
        let method = self.method;
        self.optional(name).ok_or_else(|| format!("`{method}` needs `{name}`"))
    }

    fn integer(&mut self, name: &str) -> Result<i128, String> {
        match self.next(name)? {
            HarnessValue::Int(n) => Ok(n),
            _ => Err(format!("`{name}` of `{}` is an integer", self.method)),
        }
    }

    /// A number of elements, or a shape.
    fn count(&mut self) -> Result<u64, String> {
        let one = |value: &HarnessValue| match value {
            HarnessValue::Int(n) => u64::try_from(*n).map_err(|_| format!("{n} is no size")),
            _ => Err("a size is an integer or a tuple of integers".into()),
        };
        match self.next("shape")? {
            HarnessValue::List(items) => items.iter().map(one).try_fold(1u64, |product, n| {
                product.checked_mul(n?).ok_or_else(|| "this shape is too large".to_owned())
            }),
            value => one(&value),
        }
    }

    fn dtype(&mut self) -> Result<DType, String> {
        match self.optional("dtype") {
            None => Ok(DType::F32),
            Some(HarnessValue::Str(name)) => {
                dtype_from_name(&name).ok_or_else(|| format!("`{name}` is no element type"))
            }
            Some(_) => Err("an element type is a text such as \"fp32\"".into()),
        }
    }

    pub(super) fn contents(&mut self, name: &str, default: Contents) -> Result<Contents, String> {
        let number = |value: &HarnessValue| match value {
            HarnessValue::Int(n) => Ok(*n as f64),
            HarnessValue::Float(x) => Ok(*x),
            HarnessValue::Bool(b) => Ok(f64::from(u8::from(*b))),
            _ => Err("elements are numbers".to_owned()),
        };
        Ok(match self.optional(name) {
            None => default,
            Some(HarnessValue::None) => Contents::Fresh,
            Some(HarnessValue::Str(word)) => match word.as_str() {
                "arange" => Contents::Count,
                "rand" | "randn" | "random" => Contents::Random,
                "empty" | "fresh" => Contents::Fresh,
                _ => {
                    return Err(format!(
                        "`{word}` is no contents; use a number, a list, \"arange\", \"random\" or \"empty\""
                    ));
                }
            },
            Some(HarnessValue::List(items)) => Contents::Numbers(items.iter().map(number).collect::<Result<_, _>>()?),
            Some(value) => Contents::Number(number(&value)?),
        })
    }

    pub(super) fn end(mut self) -> Result<(), String> {
        match (self.args.next(), self.named.first()) {
            (None, None) => Ok(()),
            (Some(_), _) => Err(format!("`{}` takes no so many arguments", self.method)),
            (None, Some((name, _))) => Err(format!("`{}` has no argument `{name}`", self.method)),
        }
    }
}
