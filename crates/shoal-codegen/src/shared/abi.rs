//! The binary interface in LLVM's terms: hooks are declared and constants laid out as [`shoal_abi`] says.

use inkwell::module::Linkage;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{FunctionValue, PointerValue};
use shoal_abi::{CResult, CType, Field, Hook, Signature};

use super::llvm::{Llvm, V};

impl<'ctx> Llvm<'ctx> {
    /// A function of the device.
    pub(crate) fn hook(&self, hook: Hook) -> FunctionValue<'ctx> {
        let Signature { params, result } = hook.signature();
        let params: Vec<_> = params.iter().map(|&ty| self.c_type(ty)).collect();
        let result = match result {
            CResult::Void | CResult::Never => None,
            CResult::Value(ty) => Some(self.c_type(ty)),
        };
        self.external(hook.name(), result, &params)
    }

    /// A type of the binary interface.
    fn c_type(&self, ty: CType) -> BasicTypeEnum<'ctx> {
        ty.integer_bits().map_or(self.ptr().into(), |bits| self.int_type(bits).into())
    }

    /// Constant data of the binary interface, in the object.
    pub(crate) fn constant_data(&self, name: &str, fields: &[Field], values: &[V<'ctx>]) -> PointerValue<'ctx> {
        let types: Vec<_> = fields.iter().map(|field| self.c_type(field.ty)).collect();
        let given: Vec<_> = values.iter().map(|value| value.get_type()).collect();
        assert_eq!(types, given, "`{name}` consists of other fields");
        self.private_constant(name, self.context.const_struct(values, false).into())
    }

    /// A constant that only this object knows.
    pub(crate) fn private_constant(&self, name: &str, value: V<'ctx>) -> PointerValue<'ctx> {
        let global = self.module.add_global(value.get_type(), None, name);
        global.set_initializer(&value);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        global.as_pointer_value()
    }
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::targets::TargetData;
    use inkwell::types::AnyTypeEnum;
    use shoal_abi::{CheckedAccess, Site};

    use super::*;

    #[test]
    fn hooks_are_declared_with_the_types_of_the_table() {
        let context = Context::create();
        let llvm = Llvm::new(&context, "hooks");
        for &hook in Hook::ALL {
            let declared = llvm.hook(hook);
            assert_eq!(declared.get_name().to_str(), Ok(hook.name()));
            let ty = declared.get_type();
            let Signature { params, result } = hook.signature();
            assert_eq!(ty.count_param_types() as usize, params.len(), "{hook:?}");
            for (&param, given) in params.iter().zip(declared.get_param_iter()) {
                assert_eq!(given.get_type(), llvm.c_type(param), "{hook:?}");
            }
            let expected = if let CResult::Value(ty) = result { Some(llvm.c_type(ty)) } else { None };
            assert_eq!(ty.get_return_type(), expected, "{hook:?}");
        }
    }

    #[test]
    fn constants_are_laid_out_as_the_driver_reads_them() {
        let context = Context::create();
        let llvm = Llvm::new(&context, "constants");
        let layout =
            TargetData::create("e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128");
        let access = [&Site::FIELDS[..], &CheckedAccess::FIELDS].concat();
        for (fields, size) in [(&Site::FIELDS[..], size_of::<Site>()), (&access, size_of::<CheckedAccess>())] {
            let zeros: Vec<V<'_>> = fields.iter().map(|field| llvm.c_type(field.ty).const_zero()).collect();
            let constant = llvm.constant_data("constant", fields, &zeros);
            let name = constant.get_name().to_str().expect("a name");
            let ty = llvm.module.get_global(name).expect("a global").get_value_type();
            let AnyTypeEnum::StructType(ty) = ty else { panic!("a struct") };
            for (index, field) in (0..).zip(fields) {
                assert_eq!(layout.offset_of_element(&ty, index), Some(field.offset as u64), "field {index}");
            }
            assert_eq!(layout.get_abi_size(&ty), size as u64);
        }
    }
}
