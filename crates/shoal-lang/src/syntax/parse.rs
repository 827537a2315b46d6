//! Text to [the syntax tree](super::ast): the only file that knows the Python parser's types.
//!
//! Every syntax error of a file is reported. Nesting is bounded: what lies deeper than [`MAX_DEPTH`] is cut off and an
//! error where a kernel uses it, so that nothing after this file can run out of stack.

use std::sync::Arc;

use ruff_python_ast as py;
use ruff_python_parser::{ParseOptions, parse_unchecked};
use ruff_text_size::{Ranged, TextRange};
use shoal_source::{Diagnostic, FileId, Span};

use super::ast::{
    Alias, Arg, ArgKind, BinOp, BinaryLink, BoolOp, ClassDef, CmpOp, Expr, ExprKind, FStringPart, FunctionDef,
    Generator, Ident, Module, Name, Param, ParamKind, Stmt, StmtKind, UnaryOp, Unsupported,
};

/// How deep statements and expressions may nest, counted together.
pub(crate) const MAX_DEPTH: usize = 200;

/// The longest chain of operators whose tree is dropped; longer ones are left to the end of the process.
const MAX_DROPPED_CHAIN: usize = 1 << 15;
/// More stack than dropping one link takes.
const STACK_PER_LINK: usize = 1 << 10;

/// Parses the text of one file.
///
/// # Errors
/// All syntax errors of the file.
pub(crate) fn parse_file(file: FileId, text: &str) -> Result<Module, Vec<Diagnostic>> {
    if u32::try_from(text.len()).is_err() {
        let span = Span::new(file, 0, 0);
        return Err(vec![Diagnostic::error(span, "the file is larger than 4 GiB")]);
    }
    let parsed = parse_unchecked(text, ParseOptions::from(ruff_python_parser::Mode::Module));
    let mut convert =
        Convert { file, depth: 0, depth_reached: Depth::Fine, chained: 0, deepest_chain: 0, errors: Vec::new() };
    for error in parsed.errors() {
        convert.syntax_error(error);
    }
    if !convert.errors.is_empty() {
        // A broken tree may still be very deep, and dropping it would recurse as deep.
        std::mem::forget(parsed);
        return Err(convert.errors);
    }
    let Some(parsed) = parsed.try_into_module() else {
        return Err(vec![Diagnostic::error(Span::new(file, 0, 0), "the file is not a Python module")]);
    };
    let body = convert.stmts(parsed.suite());
    match convert.depth_reached {
        Depth::Fine if convert.deepest_chain <= MAX_DEPTH => drop(parsed),
        // Dropping the parser's tree recurses as deep as its longest chain of operators.
        Depth::Fine if convert.deepest_chain <= MAX_DROPPED_CHAIN => {
            stacker::grow(convert.deepest_chain * STACK_PER_LINK, || drop(parsed));
        }
        Depth::Fine | Depth::TooDeep => std::mem::forget(parsed),
    }
    Ok(Module { body })
}

/// Whether all of the tree could be kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Fine,
    TooDeep,
}

/// What stands in place of code that nests too deep: an error for a kernel that uses it, nothing to host code.
const TOO_DEEP: Unsupported =
    Unsupported { what: "code that nests deeper than 200 levels", help: "name an inner part and use the name" };

struct Convert {
    file: FileId,
    depth: usize,
    depth_reached: Depth,
    /// Links of the chains of operators around the expression at hand.
    chained: usize,
    deepest_chain: usize,
    errors: Vec<Diagnostic>,
}

const IN_HELPER: &str = "do this in host code and pass the result as an argument";

impl Convert {
    fn span(&self, range: TextRange) -> Span {
        Span::new(self.file, range.start().to_u32(), range.end().to_u32())
    }

    fn syntax_error(&mut self, error: &ruff_python_parser::ParseError) {
        let span = self.span(error.location);
        let text = error.error.to_string();
        let mut message = String::from("invalid syntax: ");
        let mut chars = text.chars();
        message.extend(chars.next().map(|c| c.to_ascii_lowercase()));
        message.push_str(chars.as_str());
        self.errors.push(Diagnostic::error(span, message));
    }

    /// Runs `f` one level deeper; `None` when that is too deep.
    fn nest<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.depth_reached = Depth::TooDeep;
            return None;
        }
        self.depth += 1;
        let value = f(self);
        self.depth -= 1;
        Some(value)
    }

    fn ident(&self, id: &py::Identifier) -> Ident {
        Ident { name: Name::from(id.id.as_str()), span: self.span(id.range) }
    }

    fn stmts(&mut self, body: &[py::Stmt]) -> Vec<Stmt> {
        body.iter().map(|s| self.stmt(s)).collect()
    }

    fn stmt(&mut self, stmt: &py::Stmt) -> Stmt {
        let span = self.span(stmt.range());
        let kind = self.nest(|c| c.stmt_kind(stmt)).unwrap_or(StmtKind::Unsupported(TOO_DEEP));
        Stmt { kind, span }
    }

    fn stmt_kind(&mut self, stmt: &py::Stmt) -> StmtKind {
        match stmt {
            py::Stmt::FunctionDef(f) if f.is_async => {
                unsupported_stmt("`async` functions", "write an ordinary `def` function")
            }
            py::Stmt::FunctionDef(f) => StmtKind::FunctionDef(Arc::new(self.function(f))),
            py::Stmt::ClassDef(c) => StmtKind::ClassDef(Arc::new(self.class(c))),
            py::Stmt::Return(r) => StmtKind::Return(r.value.as_deref().map(|e| self.expr(e))),
            py::Stmt::Assign(a) => StmtKind::Assign { targets: self.exprs(&a.targets), value: self.expr(&a.value) },
            py::Stmt::AugAssign(a) => {
                StmtKind::AugAssign { target: self.expr(&a.target), op: bin_op(a.op), value: self.expr(&a.value) }
            }
            py::Stmt::AnnAssign(a) => StmtKind::AnnAssign {
                target: self.expr(&a.target),
                annotation: self.expr(&a.annotation),
                value: a.value.as_deref().map(|e| self.expr(e)),
            },
            py::Stmt::For(f) if f.is_async => unsupported_stmt("`async for` loops", "use a plain `for` loop"),
            py::Stmt::For(f) => StmtKind::For {
                target: self.expr(&f.target),
                iter: self.expr(&f.iter),
                body: self.stmts(&f.body),
                orelse: self.stmts(&f.orelse),
            },
            py::Stmt::While(w) => {
                StmtKind::While { test: self.expr(&w.test), body: self.stmts(&w.body), orelse: self.stmts(&w.orelse) }
            }
            py::Stmt::If(i) => self.if_stmt(i),
            py::Stmt::Assert(a) => {
                StmtKind::Assert { test: self.expr(&a.test), msg: a.msg.as_deref().map(|e| self.expr(e)) }
            }
            py::Stmt::Raise(r) => StmtKind::Raise(r.exc.as_deref().map(|e| self.expr(e))),
            py::Stmt::Import(i) => StmtKind::Import(self.aliases(&i.names)),
            py::Stmt::ImportFrom(i) => StmtKind::ImportFrom {
                module: i.module.as_ref().map(|m| Name::from(m.id.as_str())),
                level: i.level,
                names: self.aliases(&i.names),
            },
            py::Stmt::Expr(e) => StmtKind::Expr(self.expr(&e.value)),
            py::Stmt::Pass(_) => StmtKind::Pass,
            py::Stmt::Break(_) => StmtKind::Break,
            py::Stmt::Continue(_) => StmtKind::Continue,
            py::Stmt::Try(t) => StmtKind::Try(self.stmts(&t.body)),
            py::Stmt::With(w) => match w.items.as_slice() {
                [item] if !w.is_async => StmtKind::With {
                    context: self.expr(&item.context_expr),
                    target: item.optional_vars.as_deref().map(|e| self.expr(e)),
                    body: self.stmts(&w.body),
                },
                _ => unsupported_stmt("`with` statements of several parts", "write one inside the other"),
            },
            py::Stmt::Match(_) => unsupported_stmt("`match` statements", "use `if` and `elif`"),
            py::Stmt::Delete(_) => unsupported_stmt("`del` statements", "remove it: names end with their scope"),
            py::Stmt::TypeAlias(_) => unsupported_stmt("`type` statements", IN_HELPER),
            py::Stmt::Global(_) => unsupported_stmt(
                "`global` statements",
                "pass the value as an argument, or make it a `constexpr` of the module",
            ),
            py::Stmt::Nonlocal(_) => unsupported_stmt("`nonlocal` statements", "return the value instead"),
            py::Stmt::IpyEscapeCommand(_) => unsupported_stmt("notebook commands", IN_HELPER),
        }
    }

    fn if_stmt(&mut self, node: &py::StmtIf) -> StmtKind {
        let test = self.expr(&node.test);
        let body = self.stmts(&node.body);
        let mut orelse = Vec::new();
        for clause in node.elif_else_clauses.iter().rev() {
            let clause_body = self.stmts(&clause.body);
            orelse = match &clause.test {
                None => clause_body,
                Some(test) => {
                    let test = self.expr(test);
                    let span = self.span(clause.range);
                    vec![Stmt { kind: StmtKind::If { test, body: clause_body, orelse }, span }]
                }
            };
        }
        if node.elif_else_clauses.len() > MAX_DEPTH {
            self.depth_reached = Depth::TooDeep;
            return StmtKind::Unsupported(TOO_DEEP);
        }
        StmtKind::If { test, body, orelse }
    }

    fn aliases(&self, names: &[py::Alias]) -> Vec<Alias> {
        names
            .iter()
            .map(|a| Alias {
                name: Name::from(a.name.id.as_str()),
                asname: a.asname.as_ref().map(|n| Name::from(n.id.as_str())),
                span: self.span(a.range),
            })
            .collect()
    }

    fn function(&mut self, f: &py::StmtFunctionDef) -> FunctionDef {
        let p = &f.parameters;
        let mut params = Vec::new();
        for a in &p.posonlyargs {
            params.push(self.param(&a.parameter, ParamKind::PositionalOnly, a.default.as_deref()));
        }
        for a in &p.args {
            params.push(self.param(&a.parameter, ParamKind::Normal, a.default.as_deref()));
        }
        if let Some(a) = &p.vararg {
            params.push(self.param(a, ParamKind::VarPositional, None));
        }
        for a in &p.kwonlyargs {
            params.push(self.param(&a.parameter, ParamKind::KeywordOnly, a.default.as_deref()));
        }
        if let Some(a) = &p.kwarg {
            params.push(self.param(a, ParamKind::VarKeyword, None));
        }
        let body = self.stmts(&f.body);
        let doc = match body.first().map(|s| &s.kind) {
            Some(StmtKind::Expr(Expr { kind: ExprKind::Str(s), .. })) => Some(s.clone()),
            _ => None,
        };
        FunctionDef {
            name: self.ident(&f.name),
            decorators: f.decorator_list.iter().map(|d| self.expr(&d.expression)).collect(),
            params,
            body,
            doc,
            span: self.span(f.range),
        }
    }

    fn param(&mut self, p: &py::Parameter, kind: ParamKind, default: Option<&py::Expr>) -> Param {
        Param {
            name: self.ident(&p.name),
            kind,
            annotation: p.annotation.as_deref().map(|e| self.expr(e)),
            default: default.map(|e| self.expr(e)),
        }
    }

    fn class(&mut self, c: &py::StmtClassDef) -> ClassDef {
        ClassDef {
            name: self.ident(&c.name),
            decorators: c.decorator_list.iter().map(|d| self.expr(&d.expression)).collect(),
            bases: c.bases().iter().map(|e| self.expr(e)).collect(),
            body: self.stmts(&c.body),
            span: self.span(c.range),
        }
    }

    fn exprs(&mut self, list: &[py::Expr]) -> Vec<Expr> {
        list.iter().map(|e| self.expr(e)).collect()
    }

    fn boxed(&mut self, e: &py::Expr) -> Box<Expr> {
        Box::new(self.expr(e))
    }

    fn expr(&mut self, e: &py::Expr) -> Expr {
        let span = self.span(e.range());
        let kind = self.nest(|c| c.expr_kind(e)).unwrap_or(ExprKind::Unsupported(TOO_DEEP));
        Expr { kind, span }
    }

    fn expr_kind(&mut self, e: &py::Expr) -> ExprKind {
        match e {
            py::Expr::Name(n) => ExprKind::Name(Name::from(n.id.as_str())),
            py::Expr::NoneLiteral(_) => ExprKind::None,
            py::Expr::BooleanLiteral(b) => ExprKind::Bool(b.value),
            py::Expr::NumberLiteral(n) => number(&n.value),
            py::Expr::StringLiteral(s) => ExprKind::Str(Name::from(s.value.to_str())),
            py::Expr::EllipsisLiteral(_) => ExprKind::Ellipsis,
            py::Expr::FString(f) => ExprKind::FString(self.fstring(f)),
            py::Expr::BinOp(b) => self.binary(b),
            py::Expr::UnaryOp(u) => ExprKind::Unary { op: unary_op(u.op), operand: self.boxed(&u.operand) },
            py::Expr::BoolOp(b) => ExprKind::Bools {
                op: match b.op {
                    py::BoolOp::And => BoolOp::And,
                    py::BoolOp::Or => BoolOp::Or,
                },
                values: self.exprs(&b.values),
            },
            py::Expr::Compare(c) => ExprKind::Compare {
                left: self.boxed(&c.left),
                rest: c.ops.iter().zip(&c.comparators).map(|(op, e)| (cmp_op(*op), self.expr(e))).collect(),
            },
            py::Expr::Call(c) => ExprKind::Call { func: self.boxed(&c.func), args: self.args(&c.arguments) },
            py::Expr::Attribute(a) => ExprKind::Attribute { value: self.boxed(&a.value), attr: self.ident(&a.attr) },
            py::Expr::Subscript(s) => ExprKind::Subscript { value: self.boxed(&s.value), index: self.boxed(&s.slice) },
            py::Expr::Slice(s) => {
                let mut part = |e: &Option<Box<py::Expr>>| e.as_deref().map(|e| self.boxed(e));
                ExprKind::Slice { lower: part(&s.lower), upper: part(&s.upper), step: part(&s.step) }
            }
            py::Expr::If(i) => {
                ExprKind::IfElse { test: self.boxed(&i.test), body: self.boxed(&i.body), orelse: self.boxed(&i.orelse) }
            }
            py::Expr::Tuple(t) => ExprKind::Tuple(self.exprs(&t.elts)),
            py::Expr::List(l) => ExprKind::List(self.exprs(&l.elts)),
            py::Expr::Dict(d) => ExprKind::Dict(
                d.items.iter().map(|i| (i.key.as_ref().map(|k| self.expr(k)), self.expr(&i.value))).collect(),
            ),
            py::Expr::ListComp(c) => self.comprehension(&c.elt, &c.generators),
            py::Expr::Generator(c) => self.comprehension(&c.elt, &c.generators),
            py::Expr::Named(n) => self.walrus(n),
            py::Expr::Starred(s) => ExprKind::Starred(self.boxed(&s.value)),
            py::Expr::Lambda(_) => unsupported_expr("`lambda`", "write a module-level `@jit` function"),
            py::Expr::Set(_) | py::Expr::SetComp(_) => unsupported_expr("sets", "use a tuple"),
            py::Expr::DictComp(_) => unsupported_expr("dictionary comprehensions", "use tuples"),
            py::Expr::Await(_) => unsupported_expr("`await`", "remove it: kernels are not asynchronous"),
            py::Expr::Yield(_) | py::Expr::YieldFrom(_) => {
                unsupported_expr("`yield`", "return a tuple of the values instead")
            }
            py::Expr::TString(_) => unsupported_expr("template strings", "use an f-string"),
            py::Expr::BytesLiteral(_) => unsupported_expr("byte strings", "use a string"),
            py::Expr::IpyEscapeCommand(_) => unsupported_expr("notebook commands", IN_HELPER),
        }
    }

    /// Operators nest to the left in the parser's tree: `((a + b) + c) + d`.
    fn binary(&mut self, outermost: &py::ExprBinOp) -> ExprKind {
        let mut links = vec![outermost];
        let mut first = &*outermost.left;
        while let py::Expr::BinOp(inner) = first {
            links.push(inner);
            first = &inner.left;
        }
        self.chained += links.len();
        self.deepest_chain = self.deepest_chain.max(self.chained);
        let kind = ExprKind::Binary {
            first: self.boxed(first),
            rest: links
                .iter()
                .rev()
                .map(|link| BinaryLink {
                    op: bin_op(link.op),
                    right: self.expr(&link.right),
                    span: self.span(link.range),
                })
                .collect(),
        };
        self.chained -= links.len();
        kind
    }

    fn walrus(&mut self, n: &py::ExprNamed) -> ExprKind {
        match &*n.target {
            py::Expr::Name(name) => ExprKind::Walrus {
                target: Ident { name: Name::from(name.id.as_str()), span: self.span(name.range) },
                value: self.boxed(&n.value),
            },
            _ => unsupported_expr("`:=` with a target that is not a name", "assign in a statement of its own"),
        }
    }

    fn args(&mut self, a: &py::Arguments) -> Vec<Arg> {
        let mut args = Vec::with_capacity(a.args.len() + a.keywords.len());
        for e in &a.args {
            args.push(match e {
                py::Expr::Starred(s) => Arg { kind: ArgKind::Star, value: self.expr(&s.value) },
                _ => Arg { kind: ArgKind::Positional, value: self.expr(e) },
            });
        }
        for k in &a.keywords {
            let kind = match &k.arg {
                Some(name) => ArgKind::Keyword(self.ident(name)),
                None => ArgKind::StarStar,
            };
            args.push(Arg { kind, value: self.expr(&k.value) });
        }
        args
    }

    fn comprehension(&mut self, element: &py::Expr, generators: &[py::Comprehension]) -> ExprKind {
        ExprKind::Comprehension {
            element: self.boxed(element),
            generators: generators
                .iter()
                .map(|g| Generator { target: self.expr(&g.target), iter: self.expr(&g.iter), ifs: self.exprs(&g.ifs) })
                .collect(),
        }
    }

    fn fstring(&mut self, f: &py::ExprFString) -> Vec<FStringPart> {
        let mut parts = Vec::new();
        for part in f.value.iter() {
            match part {
                py::FStringPart::Literal(s) => parts.push(FStringPart::Text(Name::from(&*s.value))),
                py::FStringPart::FString(f) => self.fstring_elements(&f.elements, &mut parts),
            }
        }
        parts
    }

    fn fstring_elements(&mut self, elements: &py::InterpolatedStringElements, out: &mut Vec<FStringPart>) {
        for element in elements {
            match element {
                py::InterpolatedStringElement::Literal(l) => out.push(FStringPart::Text(Name::from(&*l.value))),
                py::InterpolatedStringElement::Interpolation(i) => {
                    let mut spec = Vec::new();
                    if let Some(s) = &i.format_spec {
                        self.nest(|c| c.fstring_elements(&s.elements, &mut spec));
                    }
                    out.push(FStringPart::Field {
                        value: self.expr(&i.expression),
                        conversion: i.conversion.to_char(),
                        spec,
                        debug: i.debug_text.as_ref().map(|d| Name::from(d.as_str())),
                    });
                }
            }
        }
    }
}

fn unsupported_stmt(what: &'static str, help: &'static str) -> StmtKind {
    StmtKind::Unsupported(Unsupported { what, help })
}

fn unsupported_expr(what: &'static str, help: &'static str) -> ExprKind {
    ExprKind::Unsupported(Unsupported { what, help })
}

fn number(n: &py::Number) -> ExprKind {
    match n {
        py::Number::Int(i) => match i.as_u64() {
            Some(v) => ExprKind::Int(i128::from(v)),
            None => big_int(&i.to_string()),
        },
        py::Number::Float(f) => ExprKind::Float(*f),
        py::Number::Complex { .. } => unsupported_expr("complex numbers", "keep real and imaginary parts apart"),
    }
}

fn big_int(text: &str) -> ExprKind {
    let digits = text.replace('_', "").to_ascii_lowercase();
    let parsed = match digits.get(..2) {
        Some("0x") => i128::from_str_radix(&digits[2..], 16),
        Some("0o") => i128::from_str_radix(&digits[2..], 8),
        Some("0b") => i128::from_str_radix(&digits[2..], 2),
        _ => digits.parse(),
    };
    match parsed {
        Ok(v) => ExprKind::Int(v),
        Err(_) => unsupported_expr("integers of more than 127 bits", "use a smaller number"),
    }
}

fn bin_op(op: py::Operator) -> BinOp {
    match op {
        py::Operator::Add => BinOp::Add,
        py::Operator::Sub => BinOp::Sub,
        py::Operator::Mult => BinOp::Mul,
        py::Operator::MatMult => BinOp::MatMul,
        py::Operator::Div => BinOp::Div,
        py::Operator::Mod => BinOp::Mod,
        py::Operator::Pow => BinOp::Pow,
        py::Operator::LShift => BinOp::Shl,
        py::Operator::RShift => BinOp::Shr,
        py::Operator::BitOr => BinOp::Or,
        py::Operator::BitXor => BinOp::Xor,
        py::Operator::BitAnd => BinOp::And,
        py::Operator::FloorDiv => BinOp::FloorDiv,
    }
}

fn unary_op(op: py::UnaryOp) -> UnaryOp {
    match op {
        py::UnaryOp::Invert => UnaryOp::Invert,
        py::UnaryOp::Not => UnaryOp::Not,
        py::UnaryOp::UAdd => UnaryOp::Pos,
        py::UnaryOp::USub => UnaryOp::Neg,
    }
}

fn cmp_op(op: py::CmpOp) -> CmpOp {
    match op {
        py::CmpOp::Eq => CmpOp::Eq,
        py::CmpOp::NotEq => CmpOp::Ne,
        py::CmpOp::Lt => CmpOp::Lt,
        py::CmpOp::LtE => CmpOp::Le,
        py::CmpOp::Gt => CmpOp::Gt,
        py::CmpOp::GtE => CmpOp::Ge,
        py::CmpOp::Is => CmpOp::Is,
        py::CmpOp::IsNot => CmpOp::IsNot,
        py::CmpOp::In => CmpOp::In,
        py::CmpOp::NotIn => CmpOp::NotIn,
    }
}
