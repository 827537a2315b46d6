//! The public interface: what a program tells about its kernels.

use shoal_lang::{Annotation, Program, Specialization};
use shoal_source::SourceMap;

const TEXT: &str = r#"
import torch
import triton
import triton.language as tl
from math import sqrt

SCALE = tl.constexpr(3)
PLAIN = 7

@triton.jit
def helper(x):
    return x * SCALE

@triton.autotune(configs=[], key=["n"])
@triton.jit(do_not_specialize=["n"], noinline=False)
def scale(x: tl.const, out: "*fp32", n, seed: tl.int64, BLOCK: tl.constexpr = 64, eps=1e-6):
    """Scales."""
    i = tl.arange(0, BLOCK)
    tl.store(out + i, helper(tl.load(x + i)), i < n)

def host(x):
    return torch.empty_like(x)

if __name__ == "__main__":
    host(1)
"#;

fn program(text: &str) -> Program {
    let mut sources = SourceMap::default();
    Program::parse(&mut sources, "k.py", text).unwrap()
}

#[test]
fn kernels_are_described() {
    let kernels = program(TEXT).kernels();
    let names: Vec<&str> = kernels.iter().map(|k| k.name.as_str()).collect();
    assert_eq!(names, ["helper", "scale"]);
    let scale = &kernels[1];
    assert_eq!(scale.doc.as_deref(), Some("Scales."));
    let params: Vec<String> = scale
        .params
        .iter()
        .map(|p| format!("{} {:?} {}", p.name, p.default.as_ref().map(ToString::to_string), p.specialize))
        .collect();
    assert_eq!(
        params,
        [
            "x None true",
            "out None true",
            "n None false",
            "seed None true",
            "BLOCK Some(\"64\") true",
            "eps Some(\"1e-06\") true"
        ]
    );
    assert_eq!(scale.params[0].annotation, Annotation::ConstPointer);
    assert!(matches!(&scale.params[1].annotation, Annotation::Type(ty) if ty.to_string() == "*fp32"));
    assert!(matches!(&scale.params[3].annotation, Annotation::Type(ty) if ty.to_string() == "i64"));
    assert!(scale.params[4].is_constexpr());
}

#[test]
fn tuples_arrive_in_parts_and_descriptors_whole() {
    let text = "
import triton, triton.language as tl
@triton.jit
def k(pair, d, n, N: tl.constexpr):
    tl.store(pair[0] + n, pair[1])
    d.store([0, 0], d.load([0, 0]))
";
    let program = program(text);
    let args = program.signature("k", "(*fp32:16, fp32), tensordesc<fp16[16, 32]>, i32, 4").unwrap();
    let lowered = program.lower("k", &Specialization { args, ..Default::default() }).unwrap();
    let func = &lowered.module.funcs[0];
    let types: Vec<String> = func.params().iter().map(|&param| func.ty(param).to_string()).collect();
    assert_eq!(types, ["ptr<f32>", "f32", "desc<16x32xf16>", "i32"]);
}

#[test]
fn the_source_key_follows_what_a_kernel_uses() {
    let key = |text: &str| program(text).source_key("scale", &Specialization::default()).unwrap();
    let base = key(TEXT);
    assert_eq!(base, key(TEXT));
    assert_ne!(base, key(&TEXT.replace("constexpr(3)", "constexpr(4)")), "a used global");
    assert_ne!(base, key(&TEXT.replace("x * SCALE", "x + SCALE")), "a callee");
    assert_ne!(base, key(&TEXT.replace("i < n", "i <= n")), "the kernel itself");
    assert_eq!(base, key(&TEXT.replace("PLAIN = 7", "PLAIN = 8")), "an unused global");
    assert_eq!(base, key(&TEXT.replace("empty_like(x)", "zeros_like(x)")), "host code");
    assert!(program(TEXT).source_key("nothing", &Specialization::default()).is_none());
}

#[test]
fn wrong_requests_are_errors() {
    let program = program(TEXT);
    let message = |kernel: &str| program.lower(kernel, &Specialization::default()).unwrap_err().to_string();
    assert!(message("scal").contains("did you mean `scale`?"));
    assert!(message("host").contains("is not a kernel"));
    assert!(message("scale").contains("`x`, `out`, `n`, `seed`"));
    assert!(program.signature("scale", "*fp33").unwrap_err().to_string().contains("is not a type"));
    assert!(program.signature("scale", "1, 2, 3, 4, 5, 6, 7").unwrap_err().to_string().contains("6 parameters"));
    let args = program.signature("scale", "*fp32, *fp32, i32, i64, bogus=3").unwrap();
    let errors = program.lower("scale", &Specialization { args, ..Default::default() }).unwrap_err();
    assert!(errors.to_string().contains("no parameter `bogus`"));
}

#[test]
fn kernels_inside_functions_are_named() {
    let text = "\
import triton, triton.language as tl
def make(n):
    if n:
        @triton.jit
        def inner(x):
            tl.store(x, n)
    def plain(x):
        return x
    return inner
";
    let program = program(text);
    assert!(program.kernels().is_empty());
    for name in ["inner", "make.inner"] {
        let errors = program.lower(name, &Specialization::default()).unwrap_err();
        let shown = errors.render(&program.sources(), shoal_source::Style::Plain);
        assert!(
            shown.contains("the kernel `inner` is defined inside `make`") && shown.contains("k.py:5:13"),
            "{shown}"
        );
    }
    for name in ["plain", "other.inner", "make"] {
        assert!(program.nested_kernel(name).is_none(), "{name}");
    }
}

#[test]
fn all_syntax_errors_are_reported() {
    let mut sources = SourceMap::default();
    let errors = Program::parse(&mut sources, "k.py", "x = (1\ny = )\ndef f(:\n  pass\n").err().unwrap();
    assert!(errors.len() >= 2, "{errors}");
}

#[test]
fn programs_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Program>();
    shared::<Specialization>();
}
