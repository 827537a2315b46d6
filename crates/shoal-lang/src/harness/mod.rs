//! Harnesses: small host programs in a kernel file that say how its kernels are launched.
//!
//! ```text
//! @shoal.harness
//! def check(world, n=1000):
//!     x = world.symm(n, "fp32", init=world.rank)
//!     flags = world.symm(world.size, "int64")
//!     kernel[(4,)](x, flags, n, BLOCK=256)
//! ```
//!
//! A harness runs once for each rank, as the host program would, and is evaluated without Python: numbers, texts, lists,
//! arithmetic, comparisons, `if`, `for`, `range` and a few functions. What its world offers and what a launch does is up
//! to whoever runs it ([`HarnessWorld`]).

mod evaluate;
mod operate;

use shoal_source::{Diagnostic, Diagnostics, Span};

use crate::module::{Function, Global};
use crate::program::Program;
use crate::syntax::ast::ExprKind;

/// A value of a harness.
#[derive(Debug, Clone, PartialEq)]
pub enum HarnessValue {
    /// `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
    /// A text.
    Str(String),
    /// A list or a tuple.
    List(Vec<HarnessValue>),
    /// Something of the world, by its number.
    Object(usize),
}

/// The arguments of a call in a harness: by position, then by name.
pub type HarnessArgs = (Vec<HarnessValue>, Vec<(String, HarnessValue)>);

/// What a harness may do.
pub trait HarnessWorld {
    /// The next call or launch stands here.
    fn at(&mut self, span: Span);

    /// An attribute of `world`.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn attribute(&mut self, name: &str) -> Result<HarnessValue, String>;

    /// A call of a method of `world`.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn call(&mut self, method: &str, args: HarnessArgs) -> Result<HarnessValue, String>;

    /// A call of a method of something of the world: `stream.copy(…)`.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn call_on(&mut self, object: usize, method: &str, args: HarnessArgs) -> Result<HarnessValue, String>;

    /// A launch: `kernel[grid](args)`.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn launch(&mut self, kernel: &str, grid: Vec<i128>, args: HarnessArgs) -> Result<(), String>;
}

/// A harness of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct HarnessDecl {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub span: Span,
    /// Its parameters after the world, all of which have defaults or are given.
    pub params: Vec<String>,
    /// The kernels that its text launches.
    pub kernels: Vec<String>,
}

impl Program {
    /// The harnesses of the file, in its order: functions with the decorator `harness`.
    #[must_use]
    pub fn harnesses(&self) -> Vec<HarnessDecl> {
        let mut found: Vec<Function> = self.main_functions().into_iter().filter(|f| self.is_harness(f)).collect();
        found.sort_by_key(|f| f.def.span.start);
        let kernels = self.kernels();
        let launches = |f: &Function, kernel: &str| evaluate::mentions(&f.def.body, kernel);
        found
            .iter()
            .map(|f| HarnessDecl {
                name: f.name().to_owned(),
                span: f.def.name.span,
                params: f.def.params.iter().skip(1).map(|param| param.name.name.to_string()).collect(),
                kernels: kernels.iter().map(|k| k.name.clone()).filter(|kernel| launches(f, kernel)).collect(),
            })
            .collect()
    }

    /// Runs a harness, with these values for its parameters after the world; others have their defaults.
    ///
    /// # Errors
    /// What is wrong, where the user wrote it.
    pub fn run_harness(
        &self,
        name: &str,
        given: &[(String, HarnessValue)],
        world: &mut dyn HarnessWorld,
    ) -> Result<(), Diagnostics> {
        let function = self.main_functions().into_iter().find(|f| f.name() == name && self.is_harness(f));
        let Some(function) = function else {
            return Err(Diagnostic::error(Span::NONE, format!("there is no harness `{name}`")).into());
        };
        Ok(evaluate::run(self, &function, given, world)?)
    }

    /// The defaults of a harness's parameters, as far as they have a value by themselves.
    #[must_use]
    pub fn harness_defaults(&self, name: &str) -> Vec<(String, HarnessValue)> {
        let function = self.main_functions().into_iter().find(|f| f.name() == name && self.is_harness(f));
        function.map_or_else(Vec::new, |function| evaluate::defaults(self, &function))
    }

    fn is_harness(&self, function: &Function) -> bool {
        function.def.decorators.iter().any(|decorator| {
            let target = match &decorator.kind {
                ExprKind::Call { func, .. } => func,
                _ => decorator,
            };
            self.language_name(function.module, target).as_deref() == Some("harness")
        })
    }

    fn main_functions(&self) -> Vec<Function> {
        let unit = self.module(self.main());
        let functions = unit.globals.values().filter_map(|global| match global {
            Global::Function(f) => Some(f.clone()),
            Global::Class(_) | Global::Assign(_) | Global::Import(_) => None,
        });
        functions.collect()
    }
}
