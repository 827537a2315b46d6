//! Kernels that random testing found to go wrong once, made small.

use shoal_ir::{Const, Elem, Scalar, Type};
use shoal_source::{SourceMap, Style};

use super::choices::Choices;
use super::generate::{Case, PART};
use super::{Form, TARGETS, data, wrong};

/// A kernel of a file: pointers get buffers of random numbers, numbers are random.
fn case(name: &str, text: &str) -> Case {
    let mut sources = SourceMap::default();
    let file = sources.add(name, text);
    let module = shoal_ir::parse::module(text, file);
    let module = module.unwrap_or_else(|d| panic!("{}", shoal_source::render(&sources, &d, Style::Plain)));
    shoal_ir::verify(&module).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    let mut choices = Choices::new(1);
    let (mut buffers, mut numbers) = (Vec::new(), Vec::new());
    let func = &module.funcs[0];
    for &param in func.params() {
        match func.ty(param) {
            Type::Elem(Elem::Ptr(pointer)) => {
                buffers.push((pointer.pointee, data::fill(&mut choices, pointer.pointee, PART as usize)));
            }
            Type::Elem(Elem::Scalar(Scalar::I1)) => numbers.push(Const::bool(true)),
            Type::Elem(Elem::Scalar(ty)) => numbers.push(Const::from_bits(*ty, data::number(&mut choices, *ty))),
            other => panic!("{name}: a parameter of type {other}"),
        }
    }
    Case { module, buffers, numbers, programs: 1 }
}

#[test]
fn kernels_that_once_went_wrong() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/random_kernels/found");
    let device = shoal_driver::cpu::CpuDevice::new(1).expect("a device");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of kernels") {
        let path = entry.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let case = case(&name, &std::fs::read_to_string(&path).expect("text"));
        super::machine::interpreted(&case, &case.module).unwrap_or_else(|e| panic!("{name}: {e}"));
        for form in [Form::Plain, Form::Optimised] {
            for target in TARGETS {
                if let Some(target) = target()
                    && let Some(why) = wrong(&device, &case, &case.module, form, &target)
                {
                    panic!("{name}, {form:?}, {}: {why}", target.name());
                }
            }
        }
        count += 1;
    }
    assert!(count > 0, "there are such kernels");
}
