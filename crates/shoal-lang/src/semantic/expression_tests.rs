//! The types of many expressions, held against the answers Triton gave for them.

use shoal_source::SourceMap;

use crate::{Program, Specialization};

/// Triton's answers: an expression, and below it its type for each dtype of the head line.
const TABLE: &str = include_str!("../../../../tests/tables/expressions.txt");
/// The program that asked, which holds the kernel around the expressions.
const SCRIPT: &str = include_str!("../../../../tests/tables/expressions.py");

/// Where we differ on purpose.
const CHOICES: &[(&str, &str)] = &[
    // Sums in `bf16` lose too much, so scans and indexed extremes are done in `fp32`, as Triton did before 3.9.
    ("tl.cumprod(y, 1)", "bf16 in fp32"),
    ("tl.max(y, 0, return_indices=True, keep_dims=True)[0]", "bf16 in fp32"),
    // There is a meaning, so there is no error.
    ("x[0]", "an element, as in Triton-distributed"),
    ("tl.item(tl.sum(y, keep_dims=True))", "only a method in Triton"),
    ("tl.load(P + i, mask=i < n, other=0)", "constants convert to fp8"),
    ("tl.load(P + i, mask=True, other=0)", "constants convert to fp8"),
    ("tl.store(P, 1)", "constants convert to fp8"),
    ("tl.atomic_store(P, 1)", "constants convert to fp8"),
    ("tl.reshape(s, 1)", "scalars reshape"),
    ("tl.reshape(s, (1, 1))", "scalars reshape"),
    ("tl.cast(n, tl.pointer_type(tl.float32))", "narrow integers become addresses"),
    ("tl.atomic_cas(P, 0, 1)", "operands take the type of memory"),
    ("tl.atomic_cas(P + i, 0, 1)", "operands take the type and the shape of memory"),
    ("tl.full((4,), -1, tl.uint8)", "all bits set"),
    ("tl.sort(y, 0)", "every dimension can be sorted"),
    // The smallest products of NVIDIA's tensor cores are no limit here.
    ("tl.dot(tl.broadcast_to(x[None, :], (16, 16)), tl.broadcast_to(x[:, None], (16, 16)))", "small K"),
    (
        "tl.dot(tl.broadcast_to(x[None, :], (16, 16)), tl.broadcast_to(x[:, None], (16, 16)), out_dtype=tl.float16)",
        "small K",
    ),
    ("tl.dot(y, tl.trans(y))", "small K"),
    ("tl.dot(y, tl.trans(y), input_precision=\"ieee\")", "small K"),
    ("tl.dot(y, tl.trans(y), allow_tf32=True)", "small K"),
    ("tl.dot(y, tl.trans(y), out_dtype=tl.bfloat16)", "small K"),
    ("tl.dot(y[None], tl.trans(y)[None])", "small K"),
    ("tl.dot(y[None, None], tl.trans(y)[None, None])", "small K"),
    // What Triton lets pass here fails later, or computes nonsense.
    ("tl.atomic_and(P + i, x)", "bits of floats"),
    (
        "tl.dot(tl.broadcast_to(x[None, :], (16, 16)), tl.broadcast_to(x[:, None], (16, 16)), acc=tl.zeros((16, 16), tl.float32))",
        "small K, accumulator of another type",
    ),
    (
        "tl.dot(tl.broadcast_to(x[None, :], (16, 16)), tl.broadcast_to(x[:, None], (16, 16)), acc=tl.zeros((16, 16), tl.int32))",
        "small K, accumulator of another type",
    ),
    ("tl.dot(y, tl.trans(y), acc=tl.zeros((4, 4), tl.float16))", "accumulator of another type"),
    ("x.to(tl.float16, \"up\")", "an unknown rounding, even where none takes place"),
];

/// The type of an expression as the table writes it, or what is wrong with it.
fn ours(program: &Program, dtype: &str) -> Result<String, String> {
    let args = program.signature("kernel", &format!("*{dtype}, i32")).expect("a signature");
    let lowered = program
        .lower("kernel", &Specialization { args, ..Default::default() })
        .map_err(|problems| problems.iter().next().map_or(String::new(), |p| p.message.clone()))?;
    shoal_ir::verify::verify(&lowered.module).expect("valid IR");
    let said = lowered.notes.iter().find_map(|note| note.message.strip_prefix("RESULT").map(str::to_owned));
    Ok(shown(said.expect("the kernel prints the type").trim()))
}

/// `fp32[16]` for `<[16], fp32>`.
fn shown(text: &str) -> String {
    match text.strip_prefix("<[").and_then(|rest| rest.strip_suffix('>')).and_then(|rest| rest.split_once("], ")) {
        Some((shape, dtype)) => format!("{dtype}[{}]", shape.replace(' ', "")),
        None => text.to_owned(),
    }
}

#[test]
fn expressions_have_tritons_types() {
    let kernel =
        SCRIPT.split("KERNEL = \"\"\"").nth(1).and_then(|rest| rest.split("\"\"\"").next()).expect("the kernel");
    let mut lines = TABLE.lines().skip(1);
    let dtypes: Vec<&str> = lines.next().expect("the head").split(' ').collect();
    let mut different = Vec::new();
    let mut idle: Vec<&str> = CHOICES.iter().map(|(expression, _)| *expression).collect();
    while let (Some(expression), Some(answers)) = (lines.next(), lines.next()) {
        let mut sources = SourceMap::default();
        let program = Program::parse(&mut sources, "test.py", &kernel.replace("EXPRESSION", expression));
        let program = program.expect("every expression is valid Python");
        for (dtype, expected) in dtypes.iter().zip(answers.split_whitespace()) {
            let found = ours(&program, dtype);
            if found.as_deref().unwrap_or("-") == expected {
                continue;
            }
            idle.retain(|choice| *choice != expression);
            if !CHOICES.iter().any(|(choice, _)| *choice == expression) {
                different.push(format!("{expression} of {dtype}: Triton {expected}, here {found:?}"));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(idle.is_empty(), "these no longer differ: {idle:?}");
}
