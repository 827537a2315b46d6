//! Nesting, recursion and unrolling without end are errors, never a stack overflow or a hang.

use shoal_lang::{Program, Specialization};
use shoal_source::{Cancellation, Kind, SourceMap};

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
fn long_sums_are_fine() {
    for terms in [150, 1_000, 10_000, 100_000] {
        assert_eq!(kernel(&format!("    x = 1{}", " + 1".repeat(terms))), "", "{terms}");
        assert_eq!(kernel(&format!("    x = {}1{}", "(".repeat(terms), " * 1)".repeat(terms))), "", "{terms}");
        let on_device = format!("    n = tl.program_id(0)\n    x = n{}", " + n - 1".repeat(terms / 2));
        assert_eq!(kernel(&on_device), "", "{terms}");
    }
    // In a chain, the place of an error is the part up to the wrong operand.
    let text = format!("{HEAD}@triton.jit\ndef k():\n    x = 1 + 2 + 'a' + 3\n");
    let mut sources = SourceMap::default();
    let program = Program::parse(&mut sources, "k.py", &text).unwrap();
    let errors = program.lower("k", &Specialization::default()).unwrap_err();
    let first = errors.iter().next().unwrap();
    assert_eq!(&text[first.span.start as usize..first.span.end as usize], "1 + 2 + 'a'");
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
    let nested = kernel("    t = (1, 2)\n    for i in tl.static_range(60000):\n        t = (t, i)");
    assert!(nested.contains("nests deeper than 100 levels"), "{nested}");
    for step in ["s = s + s", "s = f'{s}{s}'", "s = s.replace('a', s)", "s = s * 100"] {
        let found = kernel(&format!("    s = 'aa'\n    for i in tl.static_range(60):\n        {step}"));
        assert!(found.contains("too long"), "{step}: {found}");
    }
}

/// Work on long values costs as many steps as it takes time.
#[test]
fn long_values_used_again_and_again_are_given_up() {
    let uses = ["t[5] = i", "b = t == u", "b = str(t)", "b = s + 'b'", "b = s.upper()"];
    for step in uses {
        let text = format!(
            "{HEAD}def f():\n    t = [0] * 20000\n    u = [0] * 20000\n    s = 'a' * 65000\n    \
             for i in range(60000):\n        for j in range(60):\n            {step}\n    return 1\n@triton.jit\ndef k():\n    f()\n"
        );
        let found = messages(&text);
        assert!(found.contains("too many steps") || found.contains("parts"), "{step}: {found:.300}");
    }
    for huge in ["'a' * 10**9", "2 ** 10**9", "[0] * 10**9", "(1, 2) * 10**30", "1 << 10**9", "10**9 * 'ab'"] {
        let found = kernel(&format!("    x = {huge}"));
        assert!(found.contains("too long") || found.contains("127 bits"), "{huge}: {found}");
    }
}

#[test]
fn names_and_long_tuples_in_scope_cost_steps_at_each_branch() {
    let names: String = (0..2000).map(|i| format!("    a{i} = {i}\n")).collect();
    let body = "    n = tl.program_id(0)\n    for i in tl.static_range(60000):\n        if n == i:\n            pass";
    let found = kernel(&format!("{names}{body}"));
    assert!(found.contains("too many steps") || found.contains("too large"), "{found:.300}");
}

#[test]
fn kernels_without_end_are_given_up() {
    let sum = " + n".repeat(100);
    let loops = "    n = tl.program_id(0)\n    for i in tl.static_range(60000):\n        x = n";
    let found = kernel(&format!("{loops}{sum}"));
    assert!(found.contains("more than 65536 instructions"), "{found:.300}");
}

/// What counts is what is compiled, not what is written.
#[test]
fn code_is_weighed_as_it_is_inlined_and_generated() {
    let unrolled = |times: u32, body: &str| {
        kernel(&format!(
            "    v = tl.full([16, 16], 1.0, tl.float32)\n    for i in tl.static_range({times}):\n        {body}"
        ))
    };
    let too_large = "this kernel is too large to compile";
    assert_eq!(unrolled(200, "v = tl.dot(v, v)"), "");
    assert!(unrolled(2_000, "v = tl.dot(v, v)").contains(too_large));
    assert_eq!(unrolled(900, "v = tl.exp(v)"), "");
    assert!(unrolled(20_000, "v = tl.exp(v)").contains(too_large));
    // The operator of a chain, the element of a comprehension and `sum` count as the statement does.
    assert!(unrolled(1_000, "v = sum([tl.exp(v) for j in range(10)])").contains(too_large));

    let twice = |depth: u32, call: &str| {
        messages(&format!(
            "{HEAD}@triton.jit\ndef f(v, n: tl.constexpr, m: tl.constexpr):\n    if n == 0:\n        return v + m\n    \
             return {call}\n@triton.jit\ndef k():\n    f(tl.program_id(0), {depth}, 0)\n"
        ))
    };
    // One specialisation for each level, called twice.
    assert_eq!(twice(12, "f(v, n - 1, m) * f(v, n - 1, m)"), "");
    assert!(twice(40, "f(v, n - 1, m) * f(v, n - 1, m)").contains(too_large));
    // A specialisation of its own for each call.
    assert_eq!(twice(8, "f(v, n - 1, 2 * m) * f(v, n - 1, 2 * m + 1)"), "");
    assert!(twice(100, "f(v, n - 1, 2 * m) * f(v, n - 1, 2 * m + 1)").contains(too_large));
}

#[test]
fn globals_that_use_each_other_twice_are_looked_at_once() {
    let chain: String = (1..60).map(|i| format!("A{i} = A{} - A{}\n", i - 1, i - 1)).collect();
    let text = format!("{HEAD}A0 = 1\n{chain}@triton.jit\ndef k():\n    x = A59\n");
    assert!(messages(&text).contains("`A59` is not a `constexpr`"));
}

#[test]
fn deep_host_code_is_no_error() {
    let text = format!("{HEAD}table = 1{}\n@triton.jit\ndef k():\n    pass\n", " + 1".repeat(20_000));
    assert_eq!(messages(&text), "");
}

#[test]
fn compilation_ends_when_the_host_says_so() {
    let text = format!("{HEAD}@triton.jit\ndef k():\n    for i in tl.static_range(60000):\n        pass\n");
    let mut sources = SourceMap::default();
    let program = Program::parse(&mut sources, "k.py", &text).unwrap();
    let cancellation = Cancellation::new(|| true);
    let errors = program.lower("k", &Specialization { cancellation, ..Default::default() }).unwrap_err();
    assert_eq!(errors.iter().map(|e| e.kind).collect::<Vec<_>>(), [Kind::Cancelled]);
    let cancellation = Cancellation::new(|| false);
    program.lower("k", &Specialization { cancellation, ..Default::default() }).unwrap();
}
