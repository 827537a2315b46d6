//! Nesting, recursion and unrolling without end are errors, never a stack overflow or a hang.

use shoal_lang::{Program, Specialization};
use shoal_source::SourceMap;

const HEAD: &str = "import triton\nimport triton.language as tl\n";

fn messages(text: &str) -> String {
    let mut sources = SourceMap::default();
    let program = match Program::parse(&mut sources, "k.py", text) {
        Ok(program) => program,
        Err(errors) => return errors.to_string(),
    };
    match program.lower("k", &Specialization::default()) {
        Ok(_) => String::new(),
        Err(errors) => errors.to_string(),
    }
}

fn kernel(body: &str) -> String {
    messages(&format!("{HEAD}@triton.jit\ndef k():\n{body}\n"))
}

#[test]
fn deep_expressions_are_an_error() {
    for (open, close) in [("-", ""), ("not ", ""), ("[", "]"), ("abs(", ")"), ("1 if 0 else ", ""), ("2 ** ", "")] {
        let body = format!("    x = {}1{}", open.repeat(20_000), close.repeat(20_000));
        let found = kernel(&body);
        assert!(found.contains("nests deeper"), "{open}: {found:.200}");
    }
    assert_eq!(kernel(&format!("    x = {}1{}", "(".repeat(20_000), ")".repeat(20_000))), "", "parentheses are free");
    let found = kernel(&format!("    x = 1{}", " + 1".repeat(20_000)));
    assert!(found.contains("nests deeper"), "{found:.200}");
    let found = kernel(&format!("    x = a{}", ".b".repeat(20_000)));
    assert!(found.contains("nests deeper"), "{found:.200}");
}

#[test]
fn deep_statements_are_an_error() {
    let mut body = String::new();
    for i in 0..300 {
        body.push_str(&format!("{}if True:\n", "  ".repeat(i + 1)));
    }
    body.push_str(&format!("{}pass", "  ".repeat(301)));
    assert!(!kernel(&body).is_empty());
    let elifs: String = (0..3000).map(|i| format!("    elif {i} == 1:\n        pass\n")).collect();
    let found = kernel(&format!("    if False:\n        pass\n{elifs}"));
    assert!(found.contains("nests deeper"), "{found:.200}");
}

#[test]
fn a_long_sum_is_fine() {
    assert_eq!(kernel(&format!("    x = 1{}", " + 1".repeat(150))), "");
}

#[test]
fn many_early_returns_are_fine() {
    let ifs: String = (0..60).map(|i| format!("    if tl.program_id(0) == {i}:\n        return\n")).collect();
    assert_eq!(kernel(&ifs), "");
}

#[test]
fn branches_that_may_return_do_not_explode() {
    let ifs: String = (0..40)
        .map(|i| format!("    if tl.program_id(0) == {i}:\n        if tl.program_id(1) == {i}:\n            return\n"))
        .collect();
    let found = kernel(&ifs);
    assert!(found.contains("may or may not return"), "{found:.300}");
}

#[test]
fn recursion_ends() {
    let same = format!("{HEAD}@triton.jit\ndef f(x):\n    return f(x)\n@triton.jit\ndef k():\n    f(1)\n");
    assert!(messages(&same).contains("calls itself with the same types"));
    let deeper =
        format!("{HEAD}@triton.jit\ndef f(x: tl.constexpr):\n    return f(x + 1)\n@triton.jit\ndef k():\n    f(1)\n");
    assert!(messages(&deeper).contains("calls nest deeper"));
    let ends = format!(
        "{HEAD}@triton.jit\ndef f(x: tl.constexpr):\n    if x == 0:\n        return 0\n    return f(x - 1) + 1\n\
         @triton.jit\ndef k():\n    tl.static_assert(f(20) == 20)\n"
    );
    assert_eq!(messages(&ends), "");
    let helper = format!("{HEAD}def f(x):\n    return f(x + 1)\n@triton.jit\ndef k():\n    f(1)\n");
    assert!(messages(&helper).contains("calls nest deeper"));
}

#[test]
fn endless_compile_time_loops_are_given_up() {
    let text = format!("{HEAD}def f():\n    while True:\n        pass\n@triton.jit\ndef k():\n    f()\n");
    assert!(messages(&text).contains("too many steps"));
    assert!(kernel("    for i in tl.static_range(1000000000):\n        pass").contains("more than"));
    let nested = "    for i in tl.static_range(60000):\n        for j in tl.static_range(60000):\n            pass";
    assert!(kernel(nested).contains("too many steps"));
}

#[test]
fn circular_globals_are_an_error() {
    let text = format!("{HEAD}A = tl.constexpr(1) + B\nB = A + tl.constexpr(1)\n@triton.jit\ndef k():\n    x = A\n");
    assert!(messages(&text).contains("depends on itself"));
}

#[test]
fn values_that_double_are_given_up() {
    for step in ["t = (t, t)", "t = t + t", "t = [t, t]", "t = (t,) * 100"] {
        let text = format!(
            "{HEAD}def f():\n    t = (1, 2)\n    for i in range(60):\n        {step}\n    return 1\n\
             @triton.jit\ndef k():\n    f()\n"
        );
        assert!(messages(&text).contains("parts"), "{step}: {}", messages(&text));
        let found = kernel(&format!("    t = (1, 2)\n    for i in tl.static_range(60):\n        {step}"));
        assert!(found.contains("parts"), "{step}: {found}");
    }
    for step in ["s = s + s", "s = f'{s}{s}'", "s = s.replace('a', s)", "s = s * 100"] {
        let found = kernel(&format!("    s = 'aa'\n    for i in tl.static_range(60):\n        {step}"));
        assert!(found.contains("too long"), "{step}: {found}");
    }
}

#[test]
fn kernels_without_end_are_given_up() {
    let sum = " + n".repeat(100);
    let loops = "    n = tl.program_id(0)\n    for i in tl.static_range(60000):\n        x = n";
    let found = kernel(&format!("{loops}{sum}"));
    assert!(found.contains("more than 262144 operations"), "{found:.300}");
}

#[test]
fn deep_host_code_is_no_error() {
    let text = format!("{HEAD}table = 1{}\n@triton.jit\ndef k():\n    pass\n", " + 1".repeat(20_000));
    assert_eq!(messages(&text), "");
}
