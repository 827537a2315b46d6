//! `tests/filetests/verify/*.tile`: modules that parse but break rules. `; error: part of the message` stands at the
//! end of the line the verifier complains about, or on lines of its own right after it. All that the verifier says is
//! expected somewhere, and all that is expected is said.

use std::path::Path;

use shoal_ir::{Builder, Func, FuncKind, Module, OpKind, Scalar, Type, parse, verify};
use shoal_source::{SourceMap, Span};

use crate::filetests;

const MARK: &str = "; error: ";

/// A line (from 1) and what is said about it.
type Said = (u32, String);

fn expected(text: &str) -> Vec<Said> {
    let mut all = Vec::new();
    let mut code_line = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let (code, message) = match line.split_once(MARK) {
            Some((code, message)) => (code, Some(message.trim_end().to_string())),
            None => (line, None),
        };
        if !code.trim().is_empty() && !code.trim().starts_with(';') {
            code_line = number;
        }
        all.extend(message.map(|message| (code_line, message)));
    }
    all
}

fn found(text: &str, file: &Path) -> Vec<Said> {
    let mut sources = SourceMap::default();
    let id = sources.add(filetests::name(file), text);
    let module = parse::module(text, id).unwrap_or_else(|e| panic!("{}: {}", file.display(), e.message));
    let errors = verify(&module).err().unwrap_or_default();
    let line = |span| sources.line_col(span).map_or(0, |(line, _)| line);
    errors.into_iter().map(|e| (line(e.span), e.message)).collect()
}

#[test]
fn every_broken_rule_is_said_where_it_is_broken() {
    let mut wrong = Vec::new();
    for file in filetests::tile_files("verify") {
        let text = filetests::read(&file);
        let mut open = expected(&text);
        assert!(!open.is_empty(), "{} expects errors", file.display());
        for (line, message) in found(&text, &file) {
            match open.iter().position(|(l, part)| *l == line && message.contains(part)) {
                Some(index) => {
                    open.remove(index);
                }
                None => wrong.push(format!("{}:{line}: not expected: {message}", file.display())),
            }
        }
        wrong.extend(open.iter().map(|(line, part)| format!("{}:{line}: not said: {part}", file.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A function `@f()` whose body `build` fills in.
fn device_function(build: impl FnOnce(&mut Builder<'_>)) -> Func {
    let mut func = Func::new("f", FuncKind::Device, Span::NONE);
    let body = func.body();
    build(&mut Builder::at_end(&mut func, body, Span::NONE));
    func
}

fn messages(func: Func) -> Vec<String> {
    let errors = verify(&Module { funcs: vec![func] }).expect_err("a rule is broken");
    errors.into_iter().map(|e| e.message).collect()
}

/// Text cannot name what is out of scope, so these modules are built.
#[test]
fn a_value_is_not_visible_before_its_operation() {
    let func = device_function(|b| {
        let x = b.int(1, Scalar::I32);
        let y = b.unary(shoal_ir::op::UnaryOp::Neg, x);
        let body = b.region();
        let define_x = b.func.def_op(x).expect("an operation");
        b.func.detach(define_x);
        b.func.insert(body, 1, define_x);
        assert!(b.func.def_op(y).is_some());
        b.op(OpKind::Return, [], [], []);
    });
    assert_eq!(messages(func), ["`neg` uses a value that is not visible here (0)"]);
}

#[test]
fn a_value_is_not_visible_outside_its_region() {
    let func = device_function(|b| {
        let condition = b.constant(shoal_ir::Const::bool(true), Type::scalar(Scalar::I1));
        let (then, otherwise, body) = (b.func.new_region(), b.func.new_region(), b.region());
        b.move_to_end(then);
        let inner = b.int(1, Scalar::I32);
        b.yield_(&[]);
        b.move_to_end(otherwise);
        b.yield_(&[]);
        b.move_to_end(body);
        b.op(OpKind::If, [condition], [], [then, otherwise]);
        b.unary(shoal_ir::op::UnaryOp::Neg, inner);
        b.op(OpKind::Return, [], [], []);
    });
    assert_eq!(messages(func), ["`neg` uses a value that is not visible here (1)"]);
}

/// Text gives a constant the type of its result, so it cannot write this.
#[test]
fn a_constant_has_the_type_of_its_result() {
    let func = device_function(|b| {
        b.value_as(OpKind::Const(shoal_ir::Const::bool(true)), &[], Type::scalar(Scalar::I32));
        b.op(OpKind::Return, [], [], []);
    });
    assert_eq!(messages(func), ["`const`: the constant is not of type `i32`"]);
}
