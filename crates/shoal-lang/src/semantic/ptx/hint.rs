//! Instructions that change no value: hints about caches, and what lets launches overlap. An NVIDIA GPU gets them as they
//! are written; elsewhere they do nothing.

use shoal_ir::op::InlineAsm;
use shoal_ir::{OpKind, Scalar};

use super::machine::{Machine, Outcome};
use super::program::{Instruction, Operand};

impl Machine<'_, '_> {
    pub(super) fn hint(&mut self, i: &Instruction) -> Outcome<()> {
        let Some(arch) = self.e.options.target.nvptx() else { return Ok(()) };
        // Older GPUs run launches one after the other.
        if i.name == "griddepcontrol" && arch.capability() < (9, 0) {
            return Ok(());
        }
        let mask = self.mask(i)?;
        let wanted = match mask {
            Some(mask) => self.e.b().cast(mask, Scalar::I32),
            None => self.int(1, Scalar::I32),
        };
        let (mut operands, mut constraints, mut spelled) = (vec![wanted], "=r,r".to_owned(), Vec::new());
        for operand in &i.operands {
            spelled.push(match operand {
                Operand::Address(base, offset) => {
                    operands.push(self.read(base, Scalar::I64)?);
                    constraints.push_str(",l");
                    format!("[${}+{offset}]", operands.len())
                }
                Operand::Integer(number) => number.to_string(),
                _ => return Err(format!("`{}` takes addresses and numbers", i.spelled())),
            });
        }
        let guarded = match mask {
            Some(_) => ".reg .pred wanted; setp.ne.u32 wanted, $1, 0; @wanted ",
            None => "",
        };
        let asm = format!("{{ {guarded}{} {}; mov.u32 $0, $1; }}", i.spelled(), spelled.join(", "));
        constraints.push_str(",~{memory}");
        let code = InlineAsm { asm, constraints, pack: 1, pure: false };
        let ty = self.ty(Scalar::I32);
        self.e.b().value_as(OpKind::InlineAsm(Box::new(code)), &operands, ty);
        Ok(())
    }
}
