//! The text format, read. [`mod@crate::print`] describes it.
//!
//! Each operation's span is its place in the text, so everything said about parsed IR points into the `.tile` file.

mod attrs;
mod kind;
mod lexer;

use std::collections::HashMap;

use shoal_source::{Diagnostic, FileId, Span};

use crate::func::{Facts, Func, FuncKind, Module, Region, Value};
use crate::print::is_name;
use crate::types::{DescType, Elem, Padding, Ptr, Scalar, Shape, Space, TileType, Type};
use attrs::Attrs;
use lexer::{Lexer, Token};

/// Reads a module. The result has the right form but may still break a rule of [`crate::verify()`].
pub fn module(text: &str, file: FileId) -> Result<Module, Diagnostic> {
    let mut parser = Parser { lexer: Lexer::new(text, file), names: HashMap::new(), depth: 0 };
    let mut module = Module::default();
    while !parser.lexer.at_end() {
        let func = parser.func()?;
        module.funcs.push(func);
    }
    Ok(module)
}

/// How deeply regions may nest.
const MAX_DEPTH: u32 = 256;

struct Parser<'t> {
    lexer: Lexer<'t>,
    names: HashMap<&'t str, Value>,
    depth: u32,
}

type Parsed<T> = Result<T, Diagnostic>;

impl<'t> Parser<'t> {
    fn func(&mut self) -> Parsed<Func> {
        let start = self.lexer.span();
        let kind = match self.lexer.word()? {
            "kernel" => FuncKind::Kernel,
            "func" => FuncKind::Device,
            other => return Err(Diagnostic::error(start, format!("expected `kernel` or `func`, found `{other}`"))),
        };
        self.lexer.expect('@')?;
        let name = self.lexer.word()?;
        let mut func = Func::new(name, kind, start);
        self.names.clear();
        let body = func.body();
        self.params(&mut func, body)?;
        if self.lexer.accept_arrow() {
            self.lexer.expect('(')?;
            while !self.lexer.accept(')') {
                func.results.push(self.ty()?);
                if !self.lexer.accept(',') {
                    self.lexer.expect(')')?;
                    break;
                }
            }
        }
        func.noinline = self.lexer.accept_word("noinline");
        if self.lexer.accept_word("num_warps") {
            func.gpu.num_warps = self.count()?;
        }
        if self.lexer.accept_word("num_stages") {
            func.gpu.num_stages = self.count()?;
        }
        if self.lexer.accept_word("maxnreg") {
            func.gpu.max_registers = Some(self.count()?);
        }
        func.gpu.fuse_products = !self.lexer.accept_word("separate_products");
        func.span = start.to(self.lexer.span());
        self.region(&mut func, body)?;
        Ok(func)
    }

    /// A number above zero.
    fn count(&mut self) -> Parsed<u32> {
        let span = self.lexer.span();
        let word = self.lexer.word()?;
        let number = word.parse().ok().filter(|&number| number > 0);
        number.ok_or_else(|| Diagnostic::error(span, format!("expected a number above zero, found `{word}`")))
    }

    fn params(&mut self, func: &mut Func, region: Region) -> Parsed<()> {
        self.lexer.expect('(')?;
        while !self.lexer.accept(')') {
            let (name, span) = self.lexer.value_name()?;
            self.lexer.expect(':')?;
            let ty = self.ty()?;
            let facts = self.facts()?;
            let value = func.add_param(region, ty);
            func.value_mut(value).facts = facts;
            self.define(func, name, span, value)?;
            if !self.lexer.accept(',') {
                self.lexer.expect(')')?;
                break;
            }
        }
        Ok(())
    }

    fn define(&mut self, func: &mut Func, name: &'t str, span: Span, value: Value) -> Parsed<()> {
        // Of `%x` and `%x.3` the user's name is `x`; numbers are no names.
        let given = name.trim_start_matches('%');
        let given = given.split_once('.').map_or(given, |(first, _)| first);
        func.value_mut(value).name = is_name(given).then(|| given.into());
        match self.names.insert(name, value) {
            None => Ok(()),
            Some(_) => Err(Diagnostic::error(span, format!("`{name}` is defined twice"))),
        }
    }

    fn region(&mut self, func: &mut Func, region: Region) -> Parsed<()> {
        if self.depth == MAX_DEPTH {
            return Err(Diagnostic::error(self.lexer.span(), "regions are nested too deeply"));
        }
        self.depth += 1;
        self.lexer.expect('{')?;
        while !self.lexer.accept('}') {
            if self.lexer.at_end() {
                return Err(self.lexer.unexpected("`}`"));
            }
            self.op(func, region)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn op(&mut self, func: &mut Func, region: Region) -> Parsed<()> {
        let start = self.lexer.span();
        let mut results = Vec::new();
        if self.lexer.peek_is('%') {
            loop {
                results.push(self.lexer.value_name()?);
                if !self.lexer.accept(',') {
                    break;
                }
            }
            self.lexer.expect('=')?;
        }
        let mnemonic_span = self.lexer.span();
        let mnemonic = self.lexer.word()?;
        let attrs = if self.lexer.peek_is('{') { Attrs::parse(&mut self.lexer)? } else { Attrs::none(mnemonic_span) };
        self.lexer.expect('(')?;
        let mut operands = Vec::new();
        while !self.lexer.accept(')') {
            let (name, span) = self.lexer.value_name()?;
            let value = self.names.get(name).copied();
            operands.push(value.ok_or_else(|| Diagnostic::error(span, format!("`{name}` is not defined here")))?);
            if !self.lexer.accept(',') {
                self.lexer.expect(')')?;
                break;
            }
        }
        let mut types = Vec::new();
        let mut facts = Vec::new();
        if self.lexer.accept(':') {
            loop {
                types.push(self.ty()?);
                facts.push(self.facts()?);
                if !self.lexer.accept(',') {
                    break;
                }
            }
        }
        let span = start.to(self.lexer.last_span());
        if types.len() != results.len() {
            let message = format!("{} results are named, but {} types are given", results.len(), types.len());
            return Err(Diagnostic::error(span, message));
        }
        let kind = kind::from_parts(mnemonic, mnemonic_span, attrs, types.first())?;
        let mut regions = Vec::new();
        while self.lexer.accept_word("do") {
            let inner = func.new_region();
            let outside = self.names.clone();
            if self.lexer.peek_is('(') {
                self.params(func, inner)?;
            }
            self.region(func, inner)?;
            self.names = outside;
            regions.push(inner);
        }
        let op = func.make_op(kind, operands, types, regions, span);
        func.append(region, op);
        for (index, ((name, span), facts)) in results.into_iter().zip(facts).enumerate() {
            let value = func.op(op).results()[index];
            func.value_mut(value).facts = facts;
            self.define(func, name, span, value)?;
        }
        Ok(())
    }

    fn facts(&mut self) -> Parsed<Facts> {
        let mut facts = Facts::default();
        if self.lexer.peek_is('{') {
            let mut attrs = Attrs::parse(&mut self.lexer)?;
            facts.divisible = attrs.list("divisible")?.unwrap_or_default().into();
            facts.contiguous = attrs.list("contiguous")?.unwrap_or_default().into();
            facts.constant = attrs.list("constant")?.unwrap_or_default().into();
            attrs.finish()?;
        }
        Ok(facts)
    }

    fn ty(&mut self) -> Parsed<Type> {
        let span = self.lexer.span();
        match self.lexer.word()? {
            "token" => Ok(Type::Token),
            "tile" => self.tile_type().map(Type::Tile),
            "desc" => self.desc_type().map(Type::Desc),
            "ptr" => self.ptr_type(span, 1).map(|p| Type::Elem(Elem::Ptr(p))),
            word => self.scalar(word, span).map(Type::scalar),
        }
    }

    fn scalar(&self, word: &str, span: Span) -> Parsed<Scalar> {
        Scalar::from_name(word).ok_or_else(|| Diagnostic::error(span, format!("`{word}` is not a type")))
    }

    /// An element, inside that many pointers.
    fn elem(&mut self, depth: u8) -> Parsed<Elem> {
        let span = self.lexer.span();
        match self.lexer.word()? {
            "ptr" => match depth.checked_add(1) {
                Some(depth) => self.ptr_type(span, depth).map(Elem::Ptr),
                None => Err(Diagnostic::error(span, "the pointer type is nested too deeply")),
            },
            word => self.scalar(word, span).map(Elem::Scalar),
        }
    }

    /// `<element, space>`, the `depth`-th pointer from outside.
    fn ptr_type(&mut self, span: Span, depth: u8) -> Parsed<Ptr> {
        self.lexer.expect('<')?;
        let element = self.elem(depth)?;
        let mut space = Space::Global;
        if self.lexer.accept(',') {
            let span = self.lexer.span();
            space = match self.lexer.word()? {
                "shared" => Space::Shared,
                other => return Err(Diagnostic::error(span, format!("`{other}` is not a space"))),
            };
        }
        self.lexer.expect('>')?;
        if element.ptr().is_some_and(|inner| inner.space != space) {
            return Err(Diagnostic::error(span, "a pointer and the pointers it leads to are in one space"));
        }
        Ok(Ptr { space, ..Ptr::to(element) })
    }

    fn dims(&mut self) -> Shape {
        let mut shape = Shape::new();
        while let Some(dim) = self.lexer.accept_dim() {
            shape.push(dim);
        }
        shape
    }

    fn tile_type(&mut self) -> Parsed<TileType> {
        self.lexer.expect('<')?;
        let shape = self.dims();
        let elem = self.elem(0)?;
        let mut layout = None;
        if self.lexer.accept(',') {
            let (text, span) = self.lexer.layout()?;
            let parsed = text.parse().map_err(|why| Diagnostic::error(span, format!("not a layout: {why}")))?;
            layout = Some(parsed);
        }
        self.lexer.expect('>')?;
        Ok(TileType { elem, shape, layout })
    }

    fn desc_type(&mut self) -> Parsed<DescType> {
        self.lexer.expect('<')?;
        let block = self.dims();
        let span = self.lexer.span();
        let word = self.lexer.word()?;
        let elem = self.scalar(word, span)?;
        let mut padding = Padding::Zero;
        if self.lexer.accept(',') {
            let span = self.lexer.span();
            padding = match self.lexer.word()? {
                "nan" => Padding::Nan,
                other => return Err(Diagnostic::error(span, format!("`{other}` is not a padding"))),
            };
        }
        self.lexer.expect('>')?;
        Ok(DescType { elem, block, padding })
    }
}

impl Token<'_> {
    fn describe(&self) -> String {
        match self {
            Token::Word(w) => format!("`{w}`"),
            Token::Punct(c) => format!("`{c}`"),
            Token::Text(_) => "a string".into(),
            Token::End => "the end of the text".into(),
        }
    }
}
