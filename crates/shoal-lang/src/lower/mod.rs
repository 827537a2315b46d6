//! Lowering: a kernel and one specialisation of its parameters to tile IR.
//!
//! Kernel code is evaluated statement by statement. What is known at compile time is computed at once (Python's rules);
//! what lives on the device is written as IR. Control flow over device values becomes structured IR:
//! `branch` and `loops` carry the changed names across regions, `flow` turns early returns into nested branches.
//!
//! An error ends its statement, not the lowering: the names the statement would have assigned become
//! [`Value::Invalid`], whose uses are silent, and the next statement is looked at. So all errors of a kernel are
//! reported at once.

mod assign;
mod attribute;
mod branch;
mod budget;
mod builtin_context;
mod call;
mod class;
mod comprehension;
mod consteval;
mod diverge;
mod entry;
mod expr;
mod flow;
mod format;
mod frame;
mod globals;
mod host;
mod init;
mod jit;
mod lane_loops;
mod lookup;
mod loops;
mod nesting;
mod operator;
mod subscript;
mod type_of;
mod with_block;

use std::collections::{BTreeMap, HashMap};

use shoal_ir::Module;
use shoal_source::{Cancellation, Diagnostic, Diagnostics, Span};

use crate::emit::Emit;
use crate::host::HostObject;
use crate::lower_error::{LowerError, LowerResult};
use crate::module::ModuleId;
use crate::options::Options;
use crate::program::Program;
use crate::syntax::ast::Name;
use crate::value::{Class, Value};

use budget::Budget;
pub(crate) use entry::{constant_of, lower_kernel};
use frame::Frame;
use globals::GlobalState;
use jit::Callee;

/// After this many errors the rest is not looked at.
const MAX_ERRORS: usize = 40;
/// How deep calls may nest.
const MAX_CALLS: usize = 128;

/// The state of lowering one kernel.
pub(crate) struct Lower<'p> {
    /// Where IR is written.
    pub emit: Emit<'p>,
    pub(crate) program: &'p Program,
    frame: Frame,
    module: Module,
    callees: BTreeMap<String, Callee>,
    func_names: BTreeMap<String, u32>,
    globals: HashMap<(ModuleId, Name), GlobalState>,
    classes: HashMap<Span, Value>,
    live_classes: HashMap<HostObject, Class>,
    errors: Vec<Diagnostic>,
    calls: Vec<CallSite>,
    budget: Budget,
    /// Copies made of the code after early returns in the current function.
    copies: u32,
    /// Branches with a `return` inside that are being lowered.
    open_returns: u32,
    /// Whether an error ended the current function.
    ended: bool,
}

/// A call on the way to the code being lowered.
#[derive(Debug, Clone)]
struct CallSite {
    span: Span,
    function: String,
}

impl<'p> Lower<'p> {
    fn new(program: &'p Program, options: &'p Options, cancellation: &Cancellation, module: ModuleId) -> Lower<'p> {
        Lower {
            emit: Emit::new(options),
            program,
            frame: Frame::kernel(module),
            module: Module::default(),
            callees: BTreeMap::new(),
            func_names: BTreeMap::new(),
            globals: HashMap::new(),
            classes: HashMap::new(),
            live_classes: HashMap::new(),
            errors: Vec::new(),
            calls: Vec::new(),
            budget: Budget::new(cancellation),
            copies: 0,
            open_returns: 0,
            ended: false,
        }
    }

    /// Records an error, with the calls that led to it.
    fn report(&mut self, error: LowerError) {
        let Some(mut diagnostic) = error.into_diagnostic() else { return };
        for call in self.calls.iter().rev() {
            diagnostic = diagnostic.in_call(call.span, call.function.clone());
        }
        self.move_to_user_code(&mut diagnostic);
        if self.errors.len() < MAX_ERRORS && !self.errors.contains(&diagnostic) {
            self.errors.push(diagnostic);
        }
    }

    /// An error inside a library function is shown at the user's call of it.
    fn move_to_user_code(&self, diagnostic: &mut Diagnostic) {
        let library = self.program.module(self.program.standard()).file;
        if diagnostic.span.file != library {
            return;
        }
        let Some(at) = diagnostic.frames.iter().position(|frame| frame.span.file != library) else { return };
        let function = diagnostic.frames[at].function.clone();
        diagnostic.span = diagnostic.frames[at].span;
        diagnostic.frames.drain(..=at);
        diagnostic.labels.retain(|label| label.span.file != library);
        diagnostic.notes.push(format!("found inside the library function `{function}`"));
    }

    fn gave_up(&self) -> bool {
        self.ended || self.budget.is_spent() || self.errors.len() >= MAX_ERRORS
    }

    /// Runs `f` as the body of a call, so that errors inside name the call.
    fn in_call<T>(
        &mut self,
        span: Span,
        function: &str,
        f: impl FnOnce(&mut Self) -> LowerResult<T>,
    ) -> LowerResult<T> {
        if self.calls.len() >= MAX_CALLS {
            return Err(Diagnostic::error(span, format!("calls nest deeper than {MAX_CALLS} levels"))
                .label(format!("`{function}` is called again and again"))
                .help("end the recursion with an `if` on a `constexpr`, or use a loop")
                .into());
        }
        self.calls.push(CallSite { span, function: function.to_owned() });
        let result = stacker::maybe_grow(256 << 10, 4 << 20, || f(self));
        let result = result.map_err(|error| {
            self.report(error);
            LowerError::reported()
        });
        self.calls.pop();
        result
    }

    fn into_diagnostics(self) -> Diagnostics {
        let mut all: Diagnostics = self.errors.into_iter().collect();
        all.sort();
        all
    }
}
