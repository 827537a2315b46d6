//! What users read when a launch is wrong: the whole text is held.

use shoal::{Args, Backend, Error, LaunchError, Module, Tensor, TensorDescriptor, args};

use crate::launches::kernel;

const SCALE: &str = "\
@shoal.jit
def scale(x: '*fp32', out, n: tl.int32, factor, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)
";

fn refused(args: Args<'_>) -> String {
    kernel(SCALE, Backend::Cpu).launch(1, args).unwrap_err().to_string()
}

#[test]
fn wrong_launches() {
    let x = Tensor::from_slice(&[0.0f32; 16]).unwrap();
    let half = Tensor::zeros(shoal::DType::F16, &[16]).unwrap();
    let mut texts = Vec::new();
    let mut add = |name: &str, text: String| texts.push(format!("## {name}\n\n{text}\n"));
    add("too few arguments", refused(args!(&x, &x)));
    add("missing constexpr", refused(args!(&x, &x, 16, 2.0)));
    add("too many arguments", refused(args!(&x, &x, 16, 2.0, 16, 1)));
    add("unknown keyword", refused(args!(&x, &x, 16, 2.0, BLOK = 16)));
    add("keyword in another case", refused(args!(&x, &x, 16, 2.0, Block = 16)));
    add("passed twice", refused(args!(&x, &x, 16, 2.0, 16, n = 3)));
    add("wrong dtype", refused(args!(&half, &x, 16, 2.0, BLOCK = 16)));
    add("a number for a pointer", refused(args!(1, &x, 16, 2.0, BLOCK = 16)));
    add("a float for an integer", refused(args!(&x, &x, 1.5, 2.0, BLOCK = 16)));
    add("an integer out of range", refused(args!(&x, &x, 1i64 << 40, 2.0, BLOCK = 16)));
    add("an integer of more than 64 bits", refused(args!(&x, &x, 16, 1i128 << 70, BLOCK = 16)));
    add("a text at run time", refused(args!(&x, &x, 16, "two", BLOCK = 16)));
    add("a pointer for a constexpr", refused(args!(&x, &x, 16, 2.0, BLOCK = &x)));
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn wrong_modules_and_tensors() {
    let module = Module::from_source("k.py", "import shoal\n\n\n@shoal.jit\ndef one():\n    pass\n").unwrap();
    let none = Module::from_source("empty.py", "").unwrap();
    let x = Tensor::from_slice(&[0.0f32; 16]).unwrap();
    let add = kernel(SCALE, Backend::Cpu);
    let negative = |grid: i64| add.launch(grid, args!(&x, &x, 16, 2.0, BLOCK = 16)).unwrap_err();
    let texts = [
        Module::from_file("does/not/exist.py").unwrap_err(),
        Module::from_source("k.py", "def broken(:\n    pass\n").unwrap_err(),
        module.kernel("two").unwrap_err(),
        none.kernel("two").unwrap_err(),
        negative(-1),
        negative(1 << 40),
        x.as_slice::<i32>().unwrap_err(),
        Tensor::zeros(shoal::DType::F32, &[usize::MAX, 2]).unwrap_err(),
        Tensor::from_slice(&[1i8]).unwrap().reshaped(&[2]).unwrap_err(),
        TensorDescriptor::of(&x, &[3]).unwrap_err(),
        TensorDescriptor::of(&x, &[4, 4]).unwrap_err(),
        TensorDescriptor::new(&x, &[4, 8], &[8, 1], &[4, 4]).unwrap_err(),
    ];
    let texts: Vec<String> = texts.iter().map(Error::to_string).collect();
    insta::assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn an_error_in_the_kernel_shows_the_line() {
    let text = "@shoal.jit\ndef k(x, BLOCK: tl.constexpr):\n    tl.store(x + tl.arange(0, BLOCK), undefined_name)\n";
    let x = Tensor::from_slice(&[0.0f32; 16]).unwrap();
    for backend in [Backend::Cpu, Backend::Interpreter] {
        let error = kernel(text, backend).launch(1, args!(&x, BLOCK = 16)).unwrap_err();
        assert!(matches!(error, Error::Compile(_)));
        let text = error.to_string();
        assert!(text.contains("undefined_name") && text.contains("kernel.py:7"), "{text}");
    }
}

#[test]
fn the_interpreter_catches_what_native_code_cannot() {
    let text = "@shoal.jit\ndef k(x):\n    tl.store(x + tl.arange(0, 16), 1.0)\n";
    let mut small = [0.0f32; 8];
    let error = kernel(text, Backend::Interpreter).launch(1, args!(&mut small[..])).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("element [8]") && text.contains("kernel.py:7"), "{text}");
}

#[test]
fn a_failed_program_is_one_error_on_both_backends() {
    let text = "@shoal.jit(debug=True)\ndef k(n):\n    tl.device_assert(tl.program_id(0) < n, \"too many\")\n";
    for backend in [Backend::Cpu, Backend::Interpreter] {
        let error = kernel(text, backend).launch(8, args!(7)).unwrap_err();
        let Error::Launch(LaunchError::Failed { kernel, failure }) = &error else { panic!("{error}") };
        let line = failure.site.as_ref().map(|site| site.line);
        assert_eq!((kernel.as_str(), failure.program, line), ("k", [7, 0, 0], Some(7)), "{backend:?}");
        assert!(failure.message.contains("too many") && error.to_string().contains("too many"), "{error}");
    }
}
