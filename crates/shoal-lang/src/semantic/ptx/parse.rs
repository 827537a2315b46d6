//! PTX text as instructions.
//!
//! Names of registers and labels belong to the braces they are declared in, as in PTX, and are numbers afterwards. What
//! cannot be read is told in words; nothing here knows what instructions mean.

use super::lex::{Token, tokens};
use super::program::{Guard, Instruction, Names, Operand, Program, Source};

/// How many instructions a snippet may have.
const MAX_INSTRUCTIONS: usize = 4096;
/// How many registers a snippet may have.
const MAX_REGISTERS: usize = 4096;
/// How deep braces may nest.
const MAX_DEPTH: usize = 64;

/// Reads a snippet.
pub(super) fn parse(text: &str) -> Result<Program, String> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, at: 0, program: Program::default(), scopes: vec![Names::default()] };
    parser.find_labels(0)?;
    while parser.at < tokens.len() {
        parser.statement()?;
    }
    if parser.scopes.len() > 1 {
        return Err("a `{` has no `}`".into());
    }
    Ok(parser.program)
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    program: Program,
    scopes: Vec<Names>,
}

/// The width of a type of registers.
fn register_width(ty: &str) -> Option<u32> {
    Some(match ty {
        "pred" => 1,
        "b8" | "u8" | "s8" => 8,
        "b16" | "u16" | "s16" | "f16" | "bf16" => 16,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => 32,
        "b64" | "u64" | "s64" | "f64" => 64,
        "b128" => 128,
        _ => return None,
    })
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn eat(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        match self.eat(sign) {
            true => Ok(()),
            false => Err(format!("expected `{sign}`, found {}", shown(self.peek()))),
        }
    }

    /// Declares the labels of the braces that begin here: a branch may come before its label.
    fn find_labels(&mut self, from: usize) -> Result<(), String> {
        let (mut depth, mut inside) = (0usize, false);
        for (i, token) in self.tokens.iter().enumerate().skip(from) {
            match token {
                // Braces inside an instruction make vectors.
                Token::Sign('{') if !inside => depth += 1,
                Token::Sign('}') if !inside => match depth.checked_sub(1) {
                    Some(less) => depth = less,
                    None => break,
                },
                Token::Sign(';') => inside = false,
                Token::Word(name) => {
                    let label = !inside && self.tokens.get(i + 1) == Some(&Token::Sign(':'));
                    if label && depth == 0 {
                        let number = self.program.labels.len();
                        self.program.labels.push(usize::MAX);
                        let names = self.scopes.last_mut().expect("a scope");
                        if names.labels.insert(name.clone(), number).is_some() {
                            return Err(format!("the label `{name}` is there twice"));
                        }
                    }
                    inside = !label;
                }
                Token::Sign(':') => {}
                _ => inside = true,
            }
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<(), String> {
        if self.eat(';') {
            return Ok(());
        }
        if self.eat('{') {
            if self.scopes.len() >= MAX_DEPTH {
                return Err("braces nest too deep".into());
            }
            self.scopes.push(Names::default());
            return self.find_labels(self.at);
        }
        if self.eat('}') {
            self.scopes.pop();
            return if self.scopes.is_empty() { Err("a `}` has no `{`".into()) } else { Ok(()) };
        }
        if let (Some(Token::Word(name)), Some(Token::Sign(':'))) = (self.peek(), self.tokens.get(self.at + 1)) {
            let label = self.label(name).ok_or_else(|| format!("the label `{name}` cannot stand here"))?;
            self.program.labels[label] = self.program.instructions.len();
            self.at += 2;
            return Ok(());
        }
        if let Some(Token::Word(word)) = self.peek()
            && word.starts_with('.')
        {
            return self.directive();
        }
        self.instruction()
    }

    fn label(&self, name: &str) -> Option<usize> {
        self.scopes.iter().rev().find_map(|names| names.labels.get(name).copied())
    }

    /// `.reg .u32 %r<4>, a, b;`, `.reg .v4 .b32 %v;` and directives that say nothing about the meaning.
    fn directive(&mut self) -> Result<(), String> {
        let Some(Token::Word(word)) = self.next() else { return Ok(()) };
        if matches!(word.as_str(), ".pragma" | ".loc") {
            while self.peek().is_some() && !self.eat(';') {
                self.at += 1;
            }
            return Ok(());
        }
        if word != ".reg" {
            return Err(format!("the directive `{word}` is not supported"));
        }
        let elements = match self.peek() {
            Some(Token::Word(word)) if word == ".v2" => 2,
            Some(Token::Word(word)) if word == ".v4" => 4,
            _ => 1,
        };
        self.at += usize::from(elements > 1);
        let width = match self.next() {
            Some(Token::Word(ty)) => register_width(ty.trim_start_matches('.')),
            _ => None,
        };
        let width = width.ok_or("`.reg` needs a type such as `.u32`")?;
        loop {
            let Some(Token::Word(name)) = self.next() else { return Err("`.reg` needs a name".into()) };
            if self.eat('<') {
                let count = match self.next() {
                    Some(Token::Number(n)) => n.parse::<usize>().ok(),
                    _ => None,
                };
                let count = count.filter(|&n| n <= MAX_REGISTERS).ok_or("a number of registers cannot be read")?;
                self.expect('>')?;
                for i in 0..count {
                    self.declare_elements(format!("{name}{i}"), width, elements)?;
                }
            } else {
                self.declare_elements(name, width, elements)?;
            }
            if !self.eat(',') {
                return self.expect(';');
            }
        }
    }

    /// Declares a register, or a vector of them with the names of its elements.
    fn declare_elements(&mut self, name: String, width: u32, elements: usize) -> Result<(), String> {
        if elements == 1 {
            return self.declare(name, width);
        }
        let first = self.program.registers.len();
        for element in ["x", "y", "z", "w"].iter().take(elements) {
            self.declare(format!("{name}.{element}"), width)?;
        }
        let registers = (first..first + elements).collect();
        self.scopes.last_mut().expect("a scope").vectors.insert(name, registers);
        Ok(())
    }

    fn declare(&mut self, name: String, width: u32) -> Result<(), String> {
        if self.program.registers.len() >= MAX_REGISTERS {
            return Err("too many registers".into());
        }
        let number = self.program.registers.len();
        self.program.registers.push(width);
        self.scopes.last_mut().expect("a scope").registers.insert(name, number);
        Ok(())
    }

    fn instruction(&mut self) -> Result<(), String> {
        if self.program.instructions.len() >= MAX_INSTRUCTIONS {
            return Err(format!("more than {MAX_INSTRUCTIONS} instructions"));
        }
        let guard = if self.eat('@') {
            let negated = self.eat('!');
            let register = match self.operand()? {
                Operand::Source(source) => source,
                _ => return Err("`@` needs a predicate".into()),
            };
            Some(Guard { register, negated })
        } else {
            None
        };
        let Some(Token::Word(word)) = self.peek().cloned() else {
            return Err(format!("expected an instruction, found {}", shown(self.peek())));
        };
        self.at += 1;
        let mut words = word.split('.').map(str::to_owned);
        let name = words.next().unwrap_or_default();
        let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        let mut operands = Vec::new();
        if self.peek().is_some() && self.peek() != Some(&Token::Sign(';')) {
            operands.push(if name == "bra" { self.target()? } else { self.operand()? });
            while self.eat(',') {
                operands.push(self.operand()?);
            }
        }
        // The last instruction may stand without one, at the end of the text or of its braces.
        if self.peek().is_some() && self.peek() != Some(&Token::Sign('}')) {
            self.expect(';')?;
        }
        self.program.instructions.push(Instruction { guard, name, words, operands });
        Ok(())
    }

    fn target(&mut self) -> Result<Operand, String> {
        match self.next() {
            Some(Token::Word(name)) => {
                self.label(&name).map(Operand::Label).ok_or_else(|| format!("there is no label `{name}`"))
            }
            other => Err(format!("a branch needs a label, found {}", shown(other.as_ref()))),
        }
    }

    fn operand(&mut self) -> Result<Operand, String> {
        let first = self.simple()?;
        if !self.eat('|') {
            return Ok(first);
        }
        Ok(Operand::Pair(Box::new(first), Box::new(self.simple()?)))
    }

    fn simple(&mut self) -> Result<Operand, String> {
        match self.next() {
            Some(Token::Argument(number)) => Ok(Operand::Source(Source::Argument(number))),
            Some(Token::Number(text)) => number(&text),
            Some(Token::Word(name)) => self.named(&name),
            Some(Token::Sign('-')) => match self.next() {
                Some(Token::Number(text)) => Ok(match number(&text)? {
                    Operand::Integer(bits) => Operand::Integer(bits.wrapping_neg()),
                    Operand::Float(f) => Operand::Float(-f),
                    _ => return Err(format!("`-{text}` is not a number")),
                }),
                _ => Err("`-` stands only before a number".into()),
            },
            Some(Token::Sign('!')) => match self.next() {
                Some(Token::Argument(number)) => Ok(Operand::Negated(Source::Argument(number))),
                Some(Token::Word(name)) => match self.named(&name)? {
                    Operand::Source(source) => Ok(Operand::Negated(source)),
                    _ => Err("`!` stands only before a predicate".into()),
                },
                _ => Err("`!` stands only before a predicate".into()),
            },
            Some(Token::Sign('[')) => self.address(),
            Some(Token::Sign('{')) => {
                let mut parts = vec![self.part()?];
                while self.eat(',') {
                    parts.push(self.part()?);
                }
                self.expect('}')?;
                Ok(Operand::Vector(parts))
            }
            other => Err(format!("expected an operand, found {}", shown(other.as_ref()))),
        }
    }

    /// `base]`, `base + offset]`
    fn address(&mut self) -> Result<Operand, String> {
        let base = self.part()?;
        let mut offset = 0i64;
        if self.eat('+') || self.peek() == Some(&Token::Sign('-')) {
            match self.part()? {
                Operand::Integer(bits) => offset = bits as i64,
                _ => return Err("the offset of an address is a number".into()),
            }
        }
        self.expect(']')?;
        Ok(Operand::Address(Box::new(base), offset))
    }

    /// An element of a vector or the base of an address, which is neither itself.
    fn part(&mut self) -> Result<Operand, String> {
        match self.peek() {
            Some(Token::Sign('{' | '[')) => Err("vectors and addresses are made of registers and numbers".into()),
            _ => self.simple(),
        }
    }

    fn named(&self, name: &str) -> Result<Operand, String> {
        if let Some(&register) = self.scopes.iter().rev().find_map(|names| names.registers.get(name)) {
            return Ok(Operand::Source(Source::Register(register)));
        }
        if let Some(registers) = self.scopes.iter().rev().find_map(|names| names.vectors.get(name)) {
            let parts = registers.iter().map(|&register| Operand::Source(Source::Register(register)));
            return Ok(Operand::Vector(parts.collect()));
        }
        if name == "_" {
            return Ok(Operand::Sink);
        }
        if name == "WARP_SZ" {
            return Ok(Operand::Integer(32));
        }
        if name.starts_with('%') {
            return Ok(Operand::Special(name.to_owned()));
        }
        Err(format!("the register `{name}` is not declared"))
    }
}

/// A number of PTX.
fn number(text: &str) -> Result<Operand, String> {
    let wrong = || format!("`{text}` is not a number");
    let lower = text.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        let hex = hex.trim_end_matches('u');
        return u64::from_str_radix(hex, 16).map(Operand::Integer).map_err(|_| wrong());
    }
    if let Some(bits) = lower.strip_prefix("0f") {
        return u32::from_str_radix(bits, 16).map(Operand::FloatBits).map_err(|_| wrong());
    }
    if let Some(bits) = lower.strip_prefix("0d") {
        return u64::from_str_radix(bits, 16).map(|b| Operand::Float(f64::from_bits(b))).map_err(|_| wrong());
    }
    if let Some(bits) = lower.strip_prefix("0b") {
        return u64::from_str_radix(bits.trim_end_matches('u'), 2).map(Operand::Integer).map_err(|_| wrong());
    }
    if lower.contains(['.', 'e']) {
        return lower.parse().map(Operand::Float).map_err(|_| wrong());
    }
    let digits = lower.trim_end_matches('u');
    if digits.len() > 1 && digits.starts_with('0') {
        return u64::from_str_radix(digits, 8).map(Operand::Integer).map_err(|_| wrong());
    }
    digits.parse::<u64>().map(Operand::Integer).map_err(|_| wrong())
}

fn shown(token: Option<&Token>) -> String {
    match token {
        None => "the end".into(),
        Some(Token::Word(word)) => format!("`{word}`"),
        Some(Token::Argument(number)) => format!("`${number}`"),
        Some(Token::Number(text)) => format!("`{text}`"),
        Some(Token::Sign(sign)) => format!("`{sign}`"),
    }
}
