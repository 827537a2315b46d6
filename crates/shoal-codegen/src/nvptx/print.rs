//! `device_print`: each element is printed by the thread that holds it, through CUDA's own `vprintf`.
//!
//! Lines look as everywhere (see [`shoal_abi::print`]), but floats have six digits after the point, and the lines of a
//! tile come in any order.

use inkwell::AddressSpace;
use inkwell::values::{InstructionOpcode as Op, IntValue, PointerValue};
use shoal_ir::{Elem, OpId, Scalar, Value};

use super::emitter::{Emitter, special_register};
use super::place::registers;
use crate::shared::convert;
use crate::shared::llvm::V;
use shoal_ir::op::Rounding;

impl<'ctx> Emitter<'_, 'ctx> {
    pub(super) fn print(&mut self, op: OpId, prefix: &str, hex: bool) {
        let func = self.func;
        let operands = func.op(op).operands();
        let text = prefix.trim();
        if operands.is_empty() {
            let format = format!("pid (%lld, %lld, %lld) {}\n", escaped(text));
            let one = self.is_thread_0();
            self.when(Some(one), |e| e.print_line(&format, &[]));
            return;
        }
        let label = text.trim_end_matches(':');
        let label = if label.is_empty() { ": ".to_owned() } else { format!(" {}: ", escaped(label)) };
        for (number, &operand) in operands.iter().enumerate() {
            let number = if operands.len() > 1 { format!("(operand {number}) ") } else { String::new() };
            self.print_operand(operand, &format!("{label}{number}"), hex);
        }
    }

    fn print_operand(&mut self, value: Value, label: &str, hex: bool) {
        let func = self.func;
        let elem = self.elem(value);
        let numbers = self.numbers(value);
        let shape = func.ty(value).shape();
        let index: Vec<String> = shape
            .iter()
            .map(|&size| format!("%{}lld", size.saturating_sub(1).checked_ilog10().unwrap_or(0) + 1))
            .collect();
        let format = format!("pid (%lld, %lld, %lld) idx ({}){label}{}\n", index.join(", "), conversion(elem, hex));
        let Some(layout) = func.ty(value).layout().cloned() else {
            let one = self.is_thread_0();
            self.when(Some(one), |e| {
                let number = e.printed(elem, numbers[0], hex);
                e.print_line(&format, &[number]);
            });
            return;
        };
        let coordinates: Vec<Vec<IntValue<'ctx>>> =
            (0..shape.len()).map(|dim| self.coordinates(&layout, dim)).collect();
        let copies = layout.free_variable_masks().register;
        let first = self.is_first_holder(&layout);
        self.when(first, |e| {
            for register in (0..registers(&layout)).filter(|register| register & copies == 0) {
                let at = coordinates
                    .iter()
                    .map(|list| e.llvm.cast(Op::SExt, list[register as usize].into(), e.llvm.i64().into()));
                let mut args: Vec<V<'ctx>> = at.collect();
                args.push(e.printed(elem, numbers[register as usize], hex));
                e.print_line(&format, &args);
            }
        });
    }

    /// A number as `vprintf` takes it: eight bytes.
    fn printed(&self, elem: Elem, value: V<'ctx>, hex: bool) -> V<'ctx> {
        let llvm = self.llvm;
        match elem {
            Elem::Ptr(_) => llvm.ptr_to_int(value.into_pointer_value()).into(),
            Elem::Scalar(number) if number.is_float() => {
                convert::cast(llvm, elem, Scalar::F64.into(), Rounding::Nearest, value)
            }
            Elem::Scalar(number) => {
                let op = if number.is_signed_int() && !hex { Op::SExt } else { Op::ZExt };
                llvm.cast(op, value, llvm.i64().into())
            }
        }
    }

    /// Prints a line; the program's place comes before the other arguments.
    fn print_line(&mut self, format: &str, args: &[V<'ctx>]) {
        let llvm = self.llvm;
        let place = ["ctaid.x", "ctaid.y", "ctaid.z"].map(|name| {
            let number = special_register(llvm, name);
            llvm.cast(Op::ZExt, number.into(), llvm.i64().into())
        });
        let all: Vec<V<'ctx>> = place.into_iter().chain(args.iter().copied()).collect();
        let buffer = self.print_buffer(all.len() as u32);
        for (at, &arg) in all.iter().enumerate() {
            llvm.store(arg, llvm.offset(buffer, llvm.const_i64(at as i64 * 8)), 8);
        }
        let text = self.format_text(format);
        let vprintf = llvm.external("vprintf", Some(llvm.i32().into()), &[llvm.ptr().into(), llvm.ptr().into()]);
        llvm.call(vprintf, &[text.into(), buffer.into()]);
    }

    /// Memory of this thread for the arguments, made once at the start of the kernel.
    fn print_buffer(&self, words: u32) -> PointerValue<'ctx> {
        let llvm = self.llvm;
        let entry = llvm.here().get_parent().and_then(|f| f.get_first_basic_block()).expect("the kernel has begun");
        let builder = llvm.context.create_builder();
        match entry.get_first_instruction() {
            Some(first) => builder.position_before(&first),
            None => builder.position_at_end(entry),
        }
        builder.build_alloca(llvm.i64().array_type(words), "printed").expect("memory of a thread")
    }

    fn format_text(&self, format: &str) -> PointerValue<'ctx> {
        let llvm = self.llvm;
        let text = llvm.context.const_string(format.as_bytes(), true);
        let global = llvm.module.add_global(text.get_type(), Some(AddressSpace::from(1)), "format");
        global.set_initializer(&text);
        global.set_constant(true);
        global.set_linkage(inkwell::module::Linkage::Private);
        let place = global.as_pointer_value();
        llvm.builder.build_address_space_cast(place, llvm.ptr(), "").expect("a pointer")
    }
}

fn escaped(text: &str) -> String {
    text.replace('%', "%%")
}

/// How `vprintf` writes a number.
fn conversion(elem: Elem, hex: bool) -> String {
    match elem {
        Elem::Ptr(_) => "0x%016llx".to_owned(),
        Elem::Scalar(number) if number.is_float() => "%f".to_owned(),
        Elem::Scalar(number) if hex => format!("0x%0{}llx", number.bytes() * 2),
        Elem::Scalar(number) if number.is_signed_int() => "%lld".to_owned(),
        Elem::Scalar(_) => "%llu".to_owned(),
    }
}
