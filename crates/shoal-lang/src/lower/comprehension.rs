//! `[element for target in iter if cond]`: over tuples and ranges known at compile time; gives a tuple.

use super::Lower;
use crate::lower_error::LowerResult;
use crate::syntax::ast::{Expr, Generator};
use crate::value::Value;

impl Lower<'_> {
    pub(super) fn comprehension(&mut self, element: &Expr, generators: &[Generator]) -> LowerResult<Value> {
        self.frame_visited()?;
        let outer = self.frame.scope.clone();
        let mut items = Vec::new();
        let result = self.generate(element, generators, &mut items);
        // The loop variables end with the comprehension.
        self.frame.scope = outer;
        result?;
        self.bounded(Value::tuple(items))
    }

    fn generate(&mut self, element: &Expr, generators: &[Generator], items: &mut Vec<Value>) -> LowerResult<()> {
        let Some((generator, inner)) = generators.split_first() else {
            items.push(self.expr(element)?);
            return Ok(());
        };
        let source = self.expr(&generator.iter)?;
        'next: for item in self.items(&source, generator.iter.span)? {
            self.step(generator.iter.span)?;
            self.bind_target(&generator.target, &item)?;
            for condition in &generator.ifs {
                let value = self.expr(condition)?;
                if !self.truthy(&value)? {
                    continue 'next;
                }
            }
            self.generate(element, inner, items)?;
        }
        Ok(())
    }
}
