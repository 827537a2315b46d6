//! Calls of every function of the language with arguments drawn at random: each is refused with a diagnostic, or gives
//! valid IR. Nothing panics.

use shoal_source::{SourceMap, Style, render};

use crate::builtin;
use crate::module::Global;
use crate::{Program, Specialization};

/// Names and values of every kind a kernel can hold.
const ARGUMENTS: &[&str] = &[
    "x",
    "y",
    "h",
    "i",
    "c",
    "s",
    "n",
    "P",
    "(P + i)",
    "(Q + i)",
    "desc",
    "block",
    "wide",
    "lane",
    "(lane < 5)",
    "(P + lane)",
    "vec",
    "x.to(tl.float8e5)",
    "0",
    "1",
    "2",
    "3",
    "-1",
    "16",
    "1.5",
    "True",
    "None",
    "''",
    "'zero'",
    "'.ca'",
    "'rtz'",
    "'acquire'",
    "'gpu'",
    "(1, 2)",
    "(4, 16)",
    "(1, 0)",
    "()",
    "[x, x]",
    "(x, i)",
    "[n, 1]",
    "tl.float32",
    "tl.int8",
    "tl.float16",
    "tl.pointer_type(tl.float32)",
    "tl.block_type(tl.float32, (16,))",
    "first",
    "second",
    "tl",
    "(1 << 40)",
    "(1 << 100)",
    "float('nan')",
    "y.shape",
    "x.dtype",
    "y.T",
    "x[None]",
    "i[:, None]",
    "tl.zeros((16, 16), tl.float16)",
    "tl.zeros((1, 1), tl.int8)",
    "tl.join(x, x)",
    "...",
    "tl.load",
];

const KERNEL: &str = "\
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import language_extra as le

@triton.jit
def first(a, b):
    return a

@triton.jit
def second(a, b, c, d):
    return c, d

@triton.jit
def kernel(P, Q, n):
    i = tl.arange(0, 16)
    c = i < n
    x = tl.load(P + i)
    s = tl.load(P)
    h = x.to(tl.float16)
    wide = tl.load(Q + i).to(tl.int64)
    y = tl.load(P + tl.arange(0, 4)[:, None] * 16 + i[None, :])
    desc = tl.make_tensor_descriptor(P, [n, n], [n, 1], [4, 16])
    block = tl.make_block_ptr(P, (n, n), (n, 1), (0, 0), (4, 16), (1, 0))
    lane = le.tid(0)
    vec = tl.make_vector((lane, 1))
    CALL
";

/// Numbers that look random and are always the same.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn argument(&mut self) -> &'static str {
        ARGUMENTS[self.below(ARGUMENTS.len())]
    }
}

/// How a kernel writes the function with this qualified name; `None` for those of Python.
fn spelled(name: &str) -> Option<String> {
    match name.split_once('.') {
        None => Some(format!("tl.{name}")),
        Some(("libdevice", _)) => Some(name.to_owned()),
        Some(("descriptor", method)) => Some(format!("desc.{method}")),
        Some(("language_extra", short)) => Some(format!("le.{short}")),
        Some(("vector", method)) => Some(format!("vec.{method}")),
        Some(("extra", short)) => Some(format!("tl.extra.cuda.{short}")),
        Some(_) => None,
    }
}

/// The functions that can be called, with the least number of arguments of each.
fn functions() -> Vec<(String, usize)> {
    let mut functions = Vec::new();
    for name in builtin::names() {
        if let (Some(call), Some(builtin)) = (spelled(name), builtin::find(name)) {
            let needed = builtin::params(builtin).iter().filter(|p| p.default.is_none()).count();
            functions.push((call, needed));
        }
    }
    let mut sources = SourceMap::default();
    let program = Program::parse(&mut sources, "test.py", "").expect("an empty file");
    for (name, global) in &program.module(program.standard()).globals {
        if let Global::Function(f) = global
            && !name.starts_with('_')
        {
            functions.push((format!("tl.{name}"), f.def.params.iter().filter(|p| p.default.is_none()).count()));
        }
    }
    functions
}

#[test]
fn calls_with_any_arguments_end_well() {
    let mut random = Random(0x5EED_CA11);
    let mut lowered_calls = 0;
    for (function, needed) in functions() {
        for _ in 0..5 {
            // Mostly as many arguments as are needed, now and then one more or one less.
            let count = (needed + [0, 0, 0, 1, 2][random.below(5)]).saturating_sub(usize::from(random.below(8) == 0));
            let arguments: Vec<&str> = (0..count).map(|_| random.argument()).collect();
            let call = format!("r = {function}({})", arguments.join(", "));
            let mut sources = SourceMap::default();
            let program =
                Program::parse(&mut sources, "test.py", &KERNEL.replace("CALL", &call)).expect("valid syntax");
            let args = program.signature("kernel", "*fp32, *i32, i32").expect("a signature");
            match program.lower("kernel", &Specialization { args, ..Default::default() }) {
                Ok(lowered) => {
                    lowered_calls += 1;
                    if let Err(problems) = shoal_ir::verify::verify(&lowered.module) {
                        panic!("{call}: {problems:?}");
                    }
                }
                Err(problems) => problems.iter().for_each(|problem| {
                    let text = render(&sources, problem, Style::Plain);
                    let leaks =
                        ["Scalar::", "Elem", "tile<", "IrValue"].iter().any(|name| problem.message.contains(name));
                    assert!(!leaks, "{call} speaks of the compiler's own types:\n{text}");
                }),
            }
        }
    }
    assert!(lowered_calls > 100, "only {lowered_calls} calls were accepted: the arguments do not fit the functions");
}
