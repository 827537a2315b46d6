//! The syntax tree of a kernel file.
//!
//! A small tree with spans everywhere. It can hold any Python file: what kernels can never use is kept as
//! [`Unsupported`] with the words for the error, and reported only when a kernel reaches it, so host code may stand
//! next to kernels.

use std::sync::Arc;

use shoal_source::Span;

/// An identifier or attribute name.
pub(crate) type Name = Arc<str>;

/// A parsed file.
#[derive(Debug, Clone)]
pub(crate) struct Module {
    /// The statements of the file, in order.
    pub body: Vec<Stmt>,
}

/// A name with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Ident {
    /// The name.
    pub name: Name,
    /// Where it stands.
    pub span: Span,
}

/// A construct the kernel language does not have.
#[derive(Debug, Clone, PartialEq)]
pub struct Unsupported {
    /// What it is, as the user would call it: "`try` statements".
    pub what: &'static str,
    /// The way out.
    pub help: &'static str,
}

/// One statement.
#[derive(Debug, Clone)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Debug, Clone)]
pub enum StmtKind {
    /// `def f(...): ...`
    FunctionDef(Arc<FunctionDef>),
    /// `class C(...): ...`
    ClassDef(Arc<ClassDef>),
    /// `return x`
    Return(Option<Expr>),
    /// `a = b = value`
    Assign {
        /// The targets, left to right.
        targets: Vec<Expr>,
        /// The value.
        value: Expr,
    },
    /// `target op= value`
    AugAssign {
        /// The target.
        target: Expr,
        /// The operator.
        op: BinOp,
        /// The right-hand side.
        value: Expr,
    },
    /// `target: annotation = value`
    AnnAssign {
        /// The target.
        target: Expr,
        /// The annotation.
        annotation: Expr,
        /// The value, when there is one.
        value: Option<Expr>,
    },
    /// `for target in iter: body`
    For {
        /// The loop variable.
        target: Expr,
        /// What is iterated.
        iter: Expr,
        /// The body.
        body: Vec<Stmt>,
        /// The `else` part.
        orelse: Vec<Stmt>,
    },
    /// `while test: body`
    While {
        /// The condition.
        test: Expr,
        /// The body.
        body: Vec<Stmt>,
        /// The `else` part.
        orelse: Vec<Stmt>,
    },
    /// `with context as target: body`
    With {
        /// What is entered.
        context: Expr,
        /// What gets its value.
        target: Option<Expr>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `if test: body else: orelse`; `elif` is an `If` inside `orelse`.
    If {
        /// The condition.
        test: Expr,
        /// The body.
        body: Vec<Stmt>,
        /// The `else` part.
        orelse: Vec<Stmt>,
    },
    /// `assert test, msg`
    Assert {
        /// The condition.
        test: Expr,
        /// The message.
        msg: Option<Expr>,
    },
    /// `raise error`
    Raise(Option<Expr>),
    /// `import a.b as c`
    Import(Vec<Alias>),
    /// `from module import names`
    ImportFrom {
        /// The module, missing in `from . import x`.
        module: Option<Name>,
        /// The number of leading dots.
        level: u32,
        /// The imported names; `*` stands for all.
        names: Vec<Alias>,
    },
    /// An expression for its effect.
    Expr(Expr),
    /// `pass`
    Pass,
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `try: body …`; only its body is kept, for module-level imports.
    Try(Vec<Stmt>),
    /// A statement kernels cannot use.
    Unsupported(Unsupported),
}

/// One name in an import.
#[derive(Debug, Clone)]
pub struct Alias {
    /// The imported name, possibly dotted.
    pub name: Name,
    /// The name it is bound to, when given.
    pub asname: Option<Name>,
    /// Where it stands.
    pub span: Span,
}

/// A function definition.
#[derive(Debug, Clone)]
pub struct FunctionDef {
    /// The function's name.
    pub name: Ident,
    /// The decorators, outermost first.
    pub decorators: Vec<Expr>,
    /// The parameters, in order.
    pub params: Vec<Param>,
    /// The body.
    pub body: Vec<Stmt>,
    /// The docstring.
    pub doc: Option<Name>,
    /// The whole definition, decorators included.
    pub span: Span,
}

/// A parameter of a function.
#[derive(Debug, Clone)]
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// How it is passed.
    pub kind: ParamKind,
    /// Its annotation.
    pub annotation: Option<Expr>,
    /// Its default value.
    pub default: Option<Expr>,
}

/// How an argument reaches a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// By position only.
    PositionalOnly,
    /// By position or name.
    Normal,
    /// `*args`.
    VarPositional,
    /// By name only.
    KeywordOnly,
    /// `**kwargs`.
    VarKeyword,
}

/// A class definition.
#[derive(Debug, Clone)]
pub struct ClassDef {
    /// The class's name.
    pub name: Ident,
    /// The decorators.
    pub decorators: Vec<Expr>,
    /// The base classes.
    pub bases: Vec<Expr>,
    /// The body.
    pub body: Vec<Stmt>,
    /// The whole definition.
    pub span: Span,
}

/// One expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// One operator of a chain, with its right operand.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryLink {
    /// The operator.
    pub op: BinOp,
    /// The right operand.
    pub right: Expr,
    /// From the beginning of the chain to the end of the operand.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// A name.
    Name(Name),
    /// `None`
    None,
    /// `True`, `False`
    Bool(bool),
    /// An integer literal.
    Int(i128),
    /// A floating-point literal.
    Float(f64),
    /// A string literal.
    Str(Name),
    /// `...`
    Ellipsis,
    /// An f-string.
    FString(Vec<FStringPart>),
    /// `first op right op right …`, from left to right: a long sum is long, not deep.
    Binary {
        /// The leftmost operand.
        first: Box<Expr>,
        /// The operators and their right operands; at least one.
        rest: Vec<BinaryLink>,
    },
    /// `op operand`
    Unary {
        /// The operator.
        op: UnaryOp,
        /// The operand.
        operand: Box<Expr>,
    },
    /// `a and b and c`, `a or b or c`
    Bools {
        /// The operator.
        op: BoolOp,
        /// The operands, at least two.
        values: Vec<Expr>,
    },
    /// `left op a op b …`
    Compare {
        /// The first operand.
        left: Box<Expr>,
        /// Each operator with the operand to its right.
        rest: Vec<(CmpOp, Expr)>,
    },
    /// `func(args)`
    Call {
        /// What is called.
        func: Box<Expr>,
        /// The arguments, in order.
        args: Vec<Arg>,
    },
    /// `value.attr`
    Attribute {
        /// The object.
        value: Box<Expr>,
        /// The attribute.
        attr: Ident,
    },
    /// `value[index]`
    Subscript {
        /// The object.
        value: Box<Expr>,
        /// The index; several indices are a tuple.
        index: Box<Expr>,
    },
    /// `lower:upper:step`, only inside a subscript.
    Slice {
        /// The first index.
        lower: Option<Box<Expr>>,
        /// The end.
        upper: Option<Box<Expr>>,
        /// The step.
        step: Option<Box<Expr>>,
    },
    /// `body if test else orelse`
    IfElse {
        /// The condition.
        test: Box<Expr>,
        /// The value when it holds.
        body: Box<Expr>,
        /// The value when it does not.
        orelse: Box<Expr>,
    },
    /// `(a, b)`
    Tuple(Vec<Expr>),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{k: v}`; a missing key is `**v`.
    Dict(Vec<(Option<Expr>, Expr)>),
    /// `[element for target in iter if cond]`, also a generator expression.
    Comprehension {
        /// The element.
        element: Box<Expr>,
        /// The generators, outermost first.
        generators: Vec<Generator>,
    },
    /// `target := value`
    Walrus {
        /// The name.
        target: Ident,
        /// The value.
        value: Box<Expr>,
    },
    /// `*value`
    Starred(Box<Expr>),
    /// An expression kernels cannot use.
    Unsupported(Unsupported),
}

/// One `for … in … if …` of a comprehension.
#[derive(Debug, Clone, PartialEq)]
pub struct Generator {
    /// The loop variable.
    pub target: Expr,
    /// What is iterated.
    pub iter: Expr,
    /// The filters.
    pub ifs: Vec<Expr>,
}

/// One argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Arg {
    /// How it is passed.
    pub kind: ArgKind,
    /// Its value.
    pub value: Expr,
}

/// How an argument is passed.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgKind {
    /// By position.
    Positional,
    /// `*value`
    Star,
    /// `name=value`
    Keyword(Ident),
    /// `**value`
    StarStar,
}

/// A piece of an f-string.
#[derive(Debug, Clone, PartialEq)]
pub enum FStringPart {
    /// Text.
    Text(Name),
    /// `{value!conversion:spec}`
    Field {
        /// What is shown.
        value: Expr,
        /// `r`, `s` or `a`.
        conversion: Option<char>,
        /// The format after the colon, itself made of parts.
        spec: Vec<FStringPart>,
        /// The text before the value for `{value=}`.
        debug: Option<Name>,
    },
}

/// Binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `@`
    MatMul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Mod,
    /// `**`
    Pow,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
}

impl BinOp {
    /// The operator as written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::MatMul => "@",
            BinOp::Div => "/",
            BinOp::FloorDiv => "//",
            BinOp::Mod => "%",
            BinOp::Pow => "**",
            BinOp::Shl => "<<",
            BinOp::Shr => ">>",
            BinOp::And => "&",
            BinOp::Or => "|",
            BinOp::Xor => "^",
        }
    }
}

/// Unary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `+`
    Pos,
    /// `~`
    Invert,
    /// `not`
    Not,
}

impl UnaryOp {
    /// The operator as written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Pos => "+",
            UnaryOp::Invert => "~",
            UnaryOp::Not => "not",
        }
    }
}

/// `and`, `or`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BoolOp {
    /// `and`
    And,
    /// `or`
    Or,
}

/// Comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CmpOp {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `is`
    Is,
    /// `is not`
    IsNot,
    /// `in`
    In,
    /// `not in`
    NotIn,
}

impl CmpOp {
    /// The operator as written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            CmpOp::Eq => "==",
            CmpOp::Ne => "!=",
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Gt => ">",
            CmpOp::Ge => ">=",
            CmpOp::Is => "is",
            CmpOp::IsNot => "is not",
            CmpOp::In => "in",
            CmpOp::NotIn => "not in",
        }
    }
}
