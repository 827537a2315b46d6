//! What kernels print: the lines that devices print, too, so a test may compare them.

use shoal_ir::abi::print::{PrintFlags, Printed, Radix, render_text};

use crate::machine::Machine;
use crate::program::{Program, Site};

pub(crate) fn print<'p>(program: &Program<'p>, machine: &mut Machine<'_>, site: Site<'p>, prefix: &str, radix: Radix) {
    if site.operand_count() == 0 {
        print_lines(machine, &render_text(program.id, prefix));
    }
    for (number, &operand) in (0..).zip(site.op.operands()) {
        let ty = site.ty(number as usize);
        let Some(elem) = ty.elem() else { continue };
        // Several operands share a prefix, so each says which it is.
        let operand_number = (site.operand_count() > 1).then_some(number);
        let flags = PrintFlags { radix, operand: operand_number };
        let printed = Printed { program: program.id, prefix, kind: elem.print_kind(), flags, shape: ty.shape() };
        print_lines(machine, &printed.render(program.val(operand).bits().iter().copied()));
    }
}

fn print_lines(machine: &mut Machine<'_>, text: &str) {
    for line in text.lines() {
        machine.host.print(line.to_owned());
    }
}
