//! Programs from a live host: a stand-in for a Python process with functions, modules, classes and objects.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use shoal_lang::{
    ArgSpec, ConstValue, FunctionKind, HostAggregate, HostBridge, HostEnum, HostField, HostNamedTuple, HostObject,
    HostSource, HostValue, JitOptions, Program, Specialization,
};
use shoal_source::{SourceMap, Style};

type Call = fn(&[HostValue], &[(String, HostValue)]) -> Result<HostValue, String>;

/// A host program: what names each scope sees, what attributes objects have, what calling them does.
#[derive(Default)]
struct Host {
    names: Mutex<BTreeMap<(u64, String), HostValue>>,
    attributes: Mutex<BTreeMap<(u64, String), HostValue>>,
    calls: Mutex<BTreeMap<u64, Call>>,
    asked: AtomicU64,
    file: Mutex<String>,
}

impl HostBridge for Host {
    fn name(&self, function: HostObject, name: &str) -> Option<HostValue> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let names = self.names.lock().unwrap();
        // Scope 0 is the module's globals, which every function sees.
        names.get(&(function.0, name.to_owned())).or_else(|| names.get(&(0, name.to_owned()))).cloned()
    }

    fn file_text(&self, _function: HostObject) -> Option<String> {
        Some(self.file.lock().unwrap().clone())
    }

    fn attribute(&self, object: HostObject, name: &str) -> Option<HostValue> {
        self.attributes.lock().unwrap().get(&(object.0, name.to_owned())).cloned()
    }

    fn call(&self, object: HostObject, args: &[HostValue], named: &[(String, HostValue)]) -> Result<HostValue, String> {
        let call = self.calls.lock().unwrap().get(&object.0).copied();
        call.map_or_else(|| Err("TypeError: not callable".to_owned()), |call| call(args, named))
    }
}

impl Host {
    fn new() -> Host {
        let host = Host::default();
        host.global("tl", HostValue::Language("triton.language".into()));
        host.global("triton", HostValue::Language("triton".into()));
        for name in ["range", "len", "min", "max", "int", "isinstance", "getattr", "hasattr"] {
            host.global(name, HostValue::Language(format!("builtins.{name}")));
        }
        host
    }

    fn global(&self, name: &str, value: HostValue) {
        self.bind(0, name, value);
    }

    fn bind(&self, scope: u64, name: &str, value: HostValue) {
        self.names.lock().unwrap().insert((scope, name.to_owned()), value);
    }

    fn attribute(&self, object: u64, name: &str, value: HostValue) {
        self.attributes.lock().unwrap().insert((object, name.to_owned()), value);
    }

    fn callable(&self, object: u64, call: Call) {
        self.calls.lock().unwrap().insert(object, call);
    }
}

fn source(object: u64, text: &str) -> HostSource {
    let name = text.split(['(', ' ']).nth(1).unwrap().to_owned();
    HostSource {
        object: HostObject(object),
        name,
        file: "model.py".into(),
        first_line: 100 * u32::try_from(object).unwrap(),
        text: text.into(),
        kind: FunctionKind::Jit,
        options: JitOptions::default(),
    }
}

fn jit(object: u64, text: &str) -> HostValue {
    HostValue::Function(Arc::new(source(object, text)))
}

fn object(number: u64, shown: &str) -> HostValue {
    HostValue::Object { object: HostObject(number), shown: shown.into() }
}

fn constexpr(value: HostValue) -> HostValue {
    HostValue::Constexpr(Box::new(value))
}

fn program(host: &Arc<Host>, text: &str) -> Program {
    let mut sources = SourceMap::default();
    Program::from_host(&mut sources, source(1, text), host.clone())
        .unwrap_or_else(|errors| panic!("{}", errors.render(&sources, Style::Plain)))
}

fn spec(args: &[(&str, ArgSpec)]) -> Specialization {
    Specialization { args: args.iter().map(|(n, a)| ((*n).to_owned(), a.clone())).collect(), ..Default::default() }
}

fn pointer() -> (&'static str, ArgSpec) {
    ("out", ArgSpec::parse("*i32:16").unwrap())
}

fn with(name: &'static str, value: HostValue) -> Specialization {
    spec(&[pointer(), (name, ArgSpec::Constant(ConstValue::Host(value)))])
}

/// The IR of the kernel `k`, or the errors as text.
fn lowered(program: &Program, spec: &Specialization) -> Result<String, String> {
    match program.lower("k", spec) {
        Ok(lowered) => {
            shoal_ir::verify(&lowered.module).expect("verified");
            Ok(lowered.module.to_string())
        }
        Err(errors) => Err(errors.render(&program.sources(), Style::Plain)),
    }
}

/// Asserts that a kernel with this body stores the number `expected`.
#[track_caller]
fn stores(host: &Arc<Host>, text: &str, spec: &Specialization, expected: i64) {
    let program = program(host, text);
    let ir = lowered(&program, spec).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(ir.contains(&format!("value = {expected}}}")), "{ir}");
}

fn error(host: &Arc<Host>, text: &str, spec: &Specialization) -> String {
    lowered(&program(host, text), spec).expect_err("an error")
}

#[test]
fn plain_values_of_every_kind_are_compiled_in() {
    let host = Arc::new(Host::new());
    host.global("WIDTH", constexpr(HostValue::Int(41)));
    host.global("SCALE", constexpr(HostValue::Float(2.5)));
    host.global("NAME", constexpr(HostValue::Str("relu".into())));
    host.global("FLAG", constexpr(HostValue::Bool(true)));
    host.global("NOTHING", constexpr(HostValue::None));
    host.global("PAIR", constexpr(HostValue::Tuple(vec![HostValue::Int(3), HostValue::Int(4)])));
    host.global("TABLE", constexpr(HostValue::Dict(vec![(HostValue::Str("a".into()), HostValue::Int(7))])));
    host.global("i64", HostValue::Dtype("int64".into()));
    host.global("pointer", HostValue::Dtype("*fp32".into()));
    let cases = [
        ("WIDTH + 1", 42),
        ("int(SCALE * 2)", 5),
        ("11 if NAME == 'relu' else 12", 11),
        ("13 if FLAG and NOTHING is None else 14", 13),
        ("PAIR[0] * 10 + PAIR[1] + len(PAIR)", 36),
        ("TABLE['a'] + TABLE.get('b', 20)", 27),
        ("i64.primitive_bitwidth", 64),
        ("15 if pointer.is_ptr() else 16", 15),
        ("17 if pointer.element_ty == tl.float32 else 18", 17),
    ];
    for (expression, expected) in cases {
        stores(&host, &format!("def k(out):\n    tl.store(out, {expression})\n"), &spec(&[pointer()]), expected);
    }
}

#[test]
fn globals_that_may_change_are_refused_with_the_way_out() {
    let host = Arc::new(Host::new());
    host.global("N", HostValue::Int(5));
    let text = "def k(out):\n    tl.store(out, N)\n";
    let errors = error(&host, text, &spec(&[pointer()]));
    assert!(errors.contains("the global `N` is not a `constexpr`"), "{errors}");
    assert!(errors.contains("N = tl.constexpr(...)"), "{errors}");
    let mut allowed = spec(&[pointer()]);
    allowed.options.allow_plain_globals = true;
    stores(&host, text, &allowed, 5);
}

#[test]
fn errors_point_into_the_users_file() {
    let host = Arc::new(Host::new());
    host.global("helper", jit(2, "def helper(x):\n    y = x\n    return y + undefined\n"));
    let errors = error(&host, "def k(out):\n    tl.store(out, helper(1))\n", &spec(&[pointer()]));
    assert!(errors.contains("model.py:202:16"), "{errors}");
    assert!(errors.contains("`undefined` is not defined"), "{errors}");
    assert!(errors.contains("model.py:101:19"), "the call: {errors}");

    let mut sources = SourceMap::default();
    let broken = Program::from_host(&mut sources, source(1, "def k(out):\n    x = (\n"), Arc::new(Host::new()));
    let errors = broken.err().expect("a syntax error").render(&sources, Style::Plain);
    assert!(errors.contains("model.py:10"), "{errors}");

    host.global("bad", jit(3, "def bad(x):\n    return (x\n"));
    let errors = error(&host, "def k(out):\n    tl.store(out, bad(1))\n", &spec(&[pointer()]));
    assert!(errors.contains("model.py:30"), "a callee's own syntax error: {errors}");
}

#[test]
fn parameters_are_read_through_the_host() {
    let host = Arc::new(Host::new());
    host.global("f32", HostValue::Dtype("fp32".into()));
    host.global("DEFAULT", HostValue::Int(64));
    host.global("constexpr", HostValue::Language("triton.language.constexpr".into()));
    let text = "def k(out, s: f32, p: tl.const, B: constexpr = DEFAULT, C: 'tl.constexpr' = (1, 'a')):\n    pass\n";
    let mut kernel = source(1, text);
    kernel.options.do_not_specialize = vec!["s".into(), "0".into()];
    let program = Program::from_host(&mut SourceMap::default(), kernel, host).unwrap();
    let k = program.kernel("k").unwrap();
    let seen: Vec<String> = k.params.iter().map(|p| format!("{}: {:?}", p.name, p.annotation)).collect();
    assert_eq!(seen, ["out: None", "s: Type(Scalar(F32))", "p: ConstPointer", "B: Constexpr", "C: Constexpr"]);
    assert_eq!(k.params[3].default.as_ref().unwrap().to_string(), "64");
    assert_eq!(k.params[4].default.as_ref().unwrap().to_string(), "(1, \"a\")");
    let specialised: Vec<bool> = k.params.iter().map(|p| p.specialize).collect();
    assert_eq!(specialised, [false, false, true, true, true]);
}

#[test]
fn functions_see_their_own_closures() {
    let host = Arc::new(Host::new());
    // Two functions of one text, made by a factory: each closes over another number and another function.
    let text = "def scaled(x):\n    return inner(x) * FACTOR\n";
    let (double, triple) = (jit(2, text), jit(3, text));
    host.bind(2, "FACTOR", constexpr(HostValue::Int(2)));
    host.bind(3, "FACTOR", constexpr(HostValue::Int(3)));
    host.bind(2, "inner", jit(4, "def plus(x):\n    return x + 1000\n"));
    host.bind(3, "inner", jit(5, "def plus(x):\n    return x + 2000\n"));
    host.global("f", double);
    host.global("g", triple);
    let program = program(&host, "def k(out):\n    tl.store(out, f(tl.load(out)) + g(tl.load(out)))\n");
    let ir = lowered(&program, &spec(&[pointer()])).unwrap();
    for number in ["value = 2}", "value = 3}", "value = 1000}", "value = 2000}"] {
        assert!(ir.contains(number), "{number}: {ir}");
    }
}

#[test]
fn functions_are_arguments_alone_and_in_tuples() {
    let host = Arc::new(Host::new());
    let plus = jit(2, "def plus(a, b):\n    return a + b\n");
    let most = jit(3, "def most(a, b):\n    return tl.maximum(a, b)\n");
    let text = "def k(out, F: tl.constexpr):\n    i = tl.arange(0, 16)\n    tl.store(out, tl.reduce(i, 0, F))\n";
    let program_1 = program(&host, text);
    let sum = lowered(&program_1, &with("F", plus.clone())).unwrap();
    let maximum = lowered(&program_1, &with("F", most.clone())).unwrap();
    assert!(sum.contains("reduce") && maximum.contains("reduce") && sum != maximum, "{sum}\n{maximum}");
    let text = "def k(out, F):\n    i = tl.arange(0, 16)\n    tl.store(out + i, tl.associative_scan(i, 0, F[1]))\n";
    let scan = lowered(&program(&host, text), &with("F", HostValue::Tuple(vec![most, plus]))).unwrap();
    assert!(scan.contains("scan"), "{scan}");
}

#[test]
fn recursion_ends_or_is_an_error() {
    let host = Arc::new(Host::new());
    let power = "def power(x, n: tl.constexpr):\n    if n == 0:\n        return 1\n    return x * power(x, n - 1)\n";
    host.global("power", jit(2, power));
    let text = "def k(out):\n    tl.store(out, power(tl.load(out), 3))\n";
    assert!(lowered(&program(&host, text), &spec(&[pointer()])).is_ok());
    host.global("power", jit(3, "def power(x, n: tl.constexpr):\n    return x * power(x, n)\n"));
    let errors = error(&host, text, &spec(&[pointer()]));
    assert!(errors.contains("calls itself with the same types"), "{errors}");
}

#[test]
fn modules_and_objects_answer_for_their_attributes() {
    let host = Arc::new(Host::new());
    host.global("helpers", object(50, "<module 'helpers'>"));
    host.attribute(50, "config", object(51, "Config(...)"));
    host.attribute(51, "WIDTH", HostValue::Int(33));
    host.attribute(50, "LIMIT", constexpr(HostValue::Int(44)));
    host.attribute(50, "twice", jit(2, "def twice(x):\n    return x * 2\n"));
    host.attribute(50, "language", HostValue::Language("triton.language".into()));
    let store = |e: &str| format!("def k(out):\n    tl.store(out, {e})\n");
    let plain = spec(&[pointer()]);
    stores(&host, &store("helpers.config.WIDTH"), &plain, 33);
    stores(&host, &store("helpers.LIMIT + 1"), &plain, 45);
    stores(&host, &store("helpers.twice(tl.load(out))"), &plain, 2);
    stores(&host, &store("helpers.language.cdiv(7, 2)"), &plain, 4);
    stores(&host, &store("getattr(helpers.config, 'WIDTH') + getattr(helpers, 'none', 1)"), &plain, 34);
    stores(&host, &store("1 if hasattr(helpers, 'none') else 9"), &plain, 9);
    let errors = error(&host, &store("helpers.nothing"), &plain);
    assert!(errors.contains("has no attribute `nothing`") && errors.contains("model.py:101"), "{errors}");
}

#[test]
fn opaque_arguments_are_called_compared_and_shown() {
    let host = Arc::new(Host::new());
    let config = object(60, "Config(width=8)");
    host.global("other", object(61, "other"));
    host.attribute(60, "width", HostValue::Int(8));
    host.attribute(60, "scaled", object(62, "scaled"));
    host.callable(62, |args, named| match (args, named) {
        ([HostValue::Int(n)], []) => Ok(HostValue::Int(n * 8)),
        ([], [(name, HostValue::Int(n))]) if name == "by" => Ok(HostValue::Int(n * 80)),
        _ => Err("TypeError: wrong arguments".into()),
    });
    host.attribute(60, "__getitem__", object(63, "get"));
    host.callable(63, |args, _| match args {
        [HostValue::Str(s)] => Ok(HostValue::Int(s.len() as i128)),
        _ => Err("KeyError".into()),
    });
    host.attribute(61, "__bool__", object(64, "bool"));
    host.callable(64, |_, _| Ok(HostValue::Bool(false)));
    host.attribute(60, "__add__", object(65, "add"));
    host.callable(65, |args, _| match args {
        [HostValue::Int(n)] => Ok(HostValue::Int(500 + n)),
        _ => Err("TypeError".into()),
    });
    host.global("Config", object(66, "<class 'Config'>"));
    host.attribute(66, "__instancecheck__", object(67, "check"));
    host.callable(67, |args, _| {
        Ok(HostValue::Bool(matches!(args, [HostValue::Object { object: HostObject(60), .. }])))
    });
    let case = |expression: &str, expected| {
        let text = format!("def k(out, c: tl.constexpr):\n    tl.store(out, {expression})\n");
        stores(&host, &text, &with("c", config.clone()), expected);
    };
    case("c.width * 3", 24);
    case("c.scaled(4)", 32);
    case("c.scaled(by=2)", 160);
    case("c['abc'] + 60", 63);
    case("c + 5", 505);
    case("71 if c is c and c == c and c != other and c is not other else 72", 71);
    case("73 if c and not other else 74", 73);
    case("len(f'{c}')", 15);
    case("75 if isinstance(c, Config) and not isinstance(other, Config) else 76", 75);
    case("77 if c is not None else 78", 77);

    let printed = "def k(out, c: tl.constexpr):\n    tl.static_print('with', c)\n";
    let notes = program(&host, printed).lower("k", &with("c", config.clone())).unwrap().notes.to_string();
    assert!(notes.contains("with Config(width=8)"), "{notes}");
    let on_device = "def k(out, c: tl.constexpr):\n    tl.store(out, c.scaled(tl.load(out)))\n";
    let errors = error(&host, on_device, &with("c", config.clone()));
    assert!(errors.contains("is called in the host program") && errors.contains("model.py:101:28"), "{errors}");
    let raising = "def k(out, c: tl.constexpr):\n    tl.store(out, c.scaled('x'))\n";
    let errors = error(&host, raising, &with("c", config));
    assert!(errors.contains("TypeError: wrong arguments"), "{errors}");
}

#[test]
fn functions_that_are_not_compiled_run_in_the_host() {
    let host = Arc::new(Host::new());
    let mut log2 = source(70, "def log2(n, *, plus=0):\n    return made_of_anything(n)\n");
    log2.kind = FunctionKind::CompileTime;
    host.callable(70, |args, named| match (args, named) {
        ([HostValue::Int(n)], []) => Ok(constexpr(HostValue::Int(n.ilog2().into()))),
        ([HostValue::Dtype(d)], []) => Ok(HostValue::Str(d.clone())),
        ([HostValue::Int(n)], [(_, HostValue::Int(m))]) => Ok(HostValue::Int(i128::from(n.ilog2()) + m)),
        _ => Err(format!("ValueError: {args:?}")),
    });
    host.global("log2", HostValue::Function(Arc::new(log2)));
    let store = |e: &str| format!("def k(out):\n    tl.store(out, {e})\n");
    let plain = spec(&[pointer()]);
    stores(&host, &store("log2(1 << 20)"), &plain, 20);
    stores(&host, &store("log2(1 << 20, plus=5)"), &plain, 25);
    stores(&host, &store("21 if log2(tl.load(out).dtype) == 'int32' else 22"), &plain, 21);
    let errors = error(&host, &store("log2('a')"), &plain);
    assert!(errors.contains("`log2` failed at compile time") && errors.contains("ValueError"), "{errors}");

    let mut plain_function = source(71, "def plain(x):\n    return x\n");
    plain_function.kind = FunctionKind::Plain;
    host.global("plain", HostValue::Function(Arc::new(plain_function)));
    let errors = error(&host, &store("plain(tl.load(out))"), &plain);
    assert!(errors.contains("`plain` is a host function") && errors.contains("model.py:7100:5"), "{errors}");
}

#[test]
fn messages_call_the_package_what_the_file_does() {
    let host = Arc::new(Host::new());
    for (file, package) in [
        ("import triton\nimport triton.language as tl\n", "triton"),
        ("import shoal.triton\nshoal.triton.install()\nfrom triton import jit\n", "triton"),
        ("from shoal import triton\n\n@triton.jit\n", "triton"),
        ("import shoal\nimport shoal.language as tl\n", "shoal"),
        ("import triton\nimport shoal\n\n@shoal.jit\n", "shoal"),
        ("", "shoal"),
    ] {
        file.clone_into(&mut host.file.lock().unwrap());
        let errors = error(&host, "def k(out):\n    tl.store(out, tl.tanh(1.0))\n", &spec(&[pointer()]));
        let help = format!("`from {package}.language.extra import libdevice`");
        assert!(errors.contains(&help), "{file:?}: {errors}");
    }
}

fn point_class() -> Arc<HostNamedTuple> {
    let fields = vec![("x".into(), None), ("y".into(), Some(HostValue::Int(9)))];
    Arc::new(HostNamedTuple { object: HostObject(80), name: "Point".into(), fields })
}

#[test]
fn named_tuples_and_enumerations() {
    let host = Arc::new(Host::new());
    let point = point_class();
    host.global("Point", HostValue::NamedTupleClass(point.clone()));
    host.global("ORIGIN", HostValue::NamedTuple(point, vec![HostValue::Int(5), HostValue::Int(6)]));
    let mode = Arc::new(HostEnum {
        object: HostObject(81),
        name: "Mode".into(),
        members: vec![("FAST".into(), HostValue::Int(3)), ("SLOW".into(), HostValue::Str("slow".into()))],
    });
    host.global("Mode", HostValue::EnumClass(mode.clone()));
    host.global("describe", object(82, "describe"));
    host.callable(82, |args, _| match args {
        [HostValue::NamedTuple(class, items)] => Ok(HostValue::Int((class.name.len() + items.len()) as i128)),
        [HostValue::Member(class, name)] => Ok(HostValue::Str(format!("{}:{name}", class.name))),
        [HostValue::NamedTupleClass(_)] => Ok(HostValue::Int(1)),
        _ => Err(format!("{args:?}")),
    });
    let case = |expression: &str, expected| {
        let text = format!("def k(out, m: tl.constexpr):\n    tl.store(out, {expression})\n");
        stores(&host, &text, &with("m", HostValue::Member(mode.clone(), "SLOW".into())), expected);
    };
    case("Point(1).y + Point(y=2, x=30).x", 39);
    case("ORIGIN.x * 10 + ORIGIN.y", 56);
    case("11 if isinstance(ORIGIN, Point) and isinstance(Point(1), Point) else 12", 11);
    case("13 if m == Mode.SLOW and m is not Mode.FAST and m.value == 'slow' else 14", 13);
    case("Mode.FAST + 20", 23);
    case("describe(ORIGIN) + describe(Point)", 8);
    case("15 if describe(m) == 'Mode:SLOW' else 16", 15);
}

#[test]
fn named_tuples_of_device_values_are_arguments() {
    let host = Arc::new(Host::new());
    let point = point_class();
    host.global("Point", HostValue::NamedTupleClass(point.clone()));
    let text = "\
def k(out, p):
    tl.static_assert(isinstance(p, Point))
    moved = Point(p.x + 300, p.y)
    tl.store(out, moved.x * moved[1])
";
    let parts = vec![ArgSpec::parse("i32").unwrap(), ArgSpec::int(600)];
    let spec = spec(&[pointer(), ("p", ArgSpec::NamedTuple(point, parts))]);
    stores(&host, text, &spec, 300);
    stores(&host, text, &spec, 600);
    assert!(key(&host, text, &spec).is_some());
}

#[test]
fn objects_are_held_by_names_and_passed_on() {
    let host = Arc::new(Host::new());
    host.attribute(60, "width", HostValue::Int(888));
    host.global("take", jit(2, "def take(c: tl.constexpr, n: tl.constexpr = 1):\n    return c.width + n\n"));
    let text =
        "def k(out, c: tl.constexpr):\n    d = c\n    pair = (d, 4)\n    tl.store(out, take(pair[0]) + take(d, n=2))\n";
    stores(&host, text, &with("c", object(60, "c")), 889 + 890);
}

#[test]
fn aggregates_have_methods_with_scopes_of_their_own() {
    let host = Arc::new(Host::new());
    let mut init =
        source(91, "def __init__(self, value, width):\n    self.value = value + OFFSET\n    self.width = width\n");
    init.kind = FunctionKind::Plain;
    host.bind(91, "OFFSET", constexpr(HostValue::Int(700)));
    host.bind(92, "OFFSET", constexpr(HostValue::Int(800)));
    let get = source(92, "def get(self):\n    return self.value * OFFSET + self.width\n");
    let mut wide = source(93, "def wide(self):\n    return self.width > 4\n");
    wide.kind = FunctionKind::CompileTime;
    let methods: Vec<(String, Arc<HostSource>)> =
        [init, get, wide].into_iter().map(|s| (s.name.clone(), Arc::new(s))).collect();
    let field = |name: &str, constexpr| HostField { name: name.into(), constexpr, default: None };
    let class = HostAggregate {
        object: HostObject(90),
        name: "Cell".into(),
        fields: vec![field("value", false), field("width", true)],
        methods,
        statics: Vec::new(),
    };
    host.global("Cell", HostValue::AggregateClass(Arc::new(class)));
    let text = "def k(out):\n    c = Cell(tl.load(out), 55)\n    if c.wide():\n        tl.store(out, c.get())\n";
    let ir = lowered(&program(&host, text), &spec(&[pointer()])).unwrap();
    for number in ["value = 700}", "value = 800}", "value = 55}"] {
        assert!(ir.contains(number), "{number}: {ir}");
    }
}

#[test]
fn a_name_that_a_function_assigns_is_never_a_global() {
    let host = Arc::new(Host::new());
    host.global("acc", constexpr(HostValue::Int(1)));
    let text = "def k(out, C: tl.constexpr):\n    if C:\n        acc = 2\n    tl.store(out, acc)\n";
    stores(&host, text, &with("C", HostValue::Bool(true)), 2);
    let errors = error(&host, text, &with("C", HostValue::Bool(false)));
    assert!(errors.contains("`acc` has no value here"), "{errors}");
}

fn key(host: &Arc<Host>, text: &str, spec: &Specialization) -> Option<Vec<u8>> {
    program(host, text).source_key("k", spec)
}

#[test]
fn keys_follow_everything_that_is_reached() {
    let text = "def k(out):\n    tl.store(out, f(mod.WIDTH + N) + Mode.A)\n";
    let build = |change: &dyn Fn(&Host)| {
        let host = Host::new();
        host.global("N", constexpr(HostValue::Int(1)));
        host.global("UNUSED", constexpr(HostValue::Int(1)));
        host.global("mod", object(50, "mod"));
        host.attribute(50, "WIDTH", HostValue::Int(2));
        host.attribute(50, "OTHER", HostValue::Int(2));
        host.global("f", jit(2, "def f(x):\n    return g(x)\n"));
        host.global("g", jit(3, "def g(x):\n    return x * DEEP\n"));
        host.bind(3, "DEEP", constexpr(HostValue::Int(5)));
        let members = vec![("A".into(), HostValue::Int(1))];
        let mode = HostEnum { object: HostObject(81), name: "Mode".into(), members };
        host.global("Mode", HostValue::EnumClass(Arc::new(mode)));
        // Locals and parameters hide these.
        host.global("out", object(99, "a tensor"));
        change(&host);
        key(&Arc::new(host), text, &spec(&[pointer()])).expect("a key")
    };
    let base = build(&|_| {});
    assert_eq!(base, build(&|_| {}));
    assert_eq!(base, build(&|h| h.global("UNUSED", constexpr(HostValue::Int(2)))));
    assert_eq!(base, build(&|h| h.attribute(50, "OTHER", HostValue::Int(3))));
    assert_ne!(base, build(&|h| h.global("N", constexpr(HostValue::Int(2)))), "a global");
    assert_ne!(base, build(&|h| h.global("N", HostValue::Int(1))), "a global that is not constexpr");
    assert_ne!(base, build(&|h| h.attribute(50, "WIDTH", HostValue::Int(3))), "an attribute");
    assert_ne!(base, build(&|h| h.global("g", jit(3, "def g(x):\n    return x + DEEP\n"))), "a callee's callee");
    assert_ne!(base, build(&|h| h.bind(3, "DEEP", constexpr(HostValue::Int(6)))), "a closure further down");
}

#[test]
fn equal_texts_with_swapped_closures_have_different_keys() {
    let made = "def made(x):\n    return x * FACTOR\n";
    let build = |first: i128, second: i128| {
        let host = Host::new();
        host.global("f", jit(2, made));
        host.global("g", jit(3, made));
        host.bind(2, "FACTOR", constexpr(HostValue::Int(first)));
        host.bind(3, "FACTOR", constexpr(HostValue::Int(second)));
        let mut spec = spec(&[pointer()]);
        spec.args.clear();
        key(&Arc::new(host), "def k(out):\n    tl.store(out, f(1) - g(1))\n", &spec).unwrap()
    };
    assert_eq!(build(1, 2), build(1, 2));
    assert_ne!(build(1, 2), build(2, 1));
}

#[test]
fn what_cannot_be_written_down_has_no_key() {
    let host = Arc::new(Host::new());
    host.global("config", object(60, "config"));
    host.attribute(60, "width", HostValue::Int(8));
    let plain = spec(&[pointer()]);
    assert!(key(&host, "def k(out):\n    tl.store(out, config.width)\n", &plain).is_some());
    host.attribute(60, "method", object(61, "method"));
    assert!(key(&host, "def k(out):\n    tl.store(out, config.method(1))\n", &plain).is_none());
    assert!(key(&host, "def k(out):\n    tl.store(out, f(config))\n", &plain).is_none());
    let argument = with("c", object(60, "config"));
    let taken = "def k(out, c: tl.constexpr):\n    tl.store(out, c.width)\n";
    let before = key(&host, taken, &argument).expect("only its width matters");
    host.attribute(60, "width", HostValue::Int(9));
    assert_ne!(before, key(&host, taken, &argument).unwrap());
    let passed = "def k(out, c: tl.constexpr):\n    tl.store(out, tl.cdiv(c, 2))\n";
    assert!(key(&host, passed, &argument).is_none());
    // A function as an argument counts by its text.
    let called = "def k(out, F: tl.constexpr):\n    tl.store(out, F(1))\n";
    let with_text = |text: &str| key(&host, called, &with("F", jit(2, text))).unwrap();
    assert_eq!(with_text("def f(x):\n    return x\n"), with_text("def f(x):\n    return x\n"));
    assert_ne!(with_text("def f(x):\n    return x\n"), with_text("def f(x):\n    return -x\n"));
}

#[test]
fn names_keep_their_first_answer_and_defaults_their_own() {
    let host = Arc::new(Host::new());
    host.global("N", constexpr(HostValue::Int(111)));
    let program = program(&host, "def k(out, B: tl.constexpr = N):\n    tl.store(out, B)\n    tl.store(out, N)\n");
    assert_eq!(program.kernel("k").unwrap().params[1].default.as_ref().unwrap().to_string(), "111");
    // The body sees what the name stands for when it is compiled; the default was computed before.
    host.global("N", constexpr(HostValue::Int(222)));
    let one = || lowered(&program, &spec(&[pointer()])).unwrap();
    let ir = one();
    assert!(ir.contains("value = 111}") && ir.contains("value = 222}"), "{ir}");
    // All kernels compiled from a program agree.
    host.global("N", constexpr(HostValue::Int(333)));
    assert_eq!(one(), ir);
}

#[test]
fn many_threads_lower_one_program() {
    let host = Arc::new(Host::new());
    for i in 0..20u64 {
        let next = i + 1;
        let text = format!("def f{i}(x, n: tl.constexpr):\n    return f{next}(x + n, n) + {i}\n");
        host.global(&format!("f{i}"), jit(10 + i, &text));
    }
    host.global("f20", jit(30, "def f20(x, n: tl.constexpr):\n    return x\n"));
    let program = program(&host, "def k(out, n: tl.constexpr):\n    tl.store(out, f0(tl.load(out), n))\n");
    let one = |n: i128| lowered(&program, &spec(&[pointer(), ("n", ArgSpec::int(n))])).unwrap();
    let texts: Vec<Vec<String>> = std::thread::scope(|threads| {
        let workers: Vec<_> = (0..8).map(|_| threads.spawn(|| (2..6).map(one).collect())).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    assert!(texts.iter().all(|text| *text == texts[0]));
    let asked = host.asked.load(Ordering::Relaxed);
    (2..6).for_each(|n| drop(one(n)));
    assert_eq!(host.asked.load(Ordering::Relaxed), asked, "what is known is not asked again");
}
