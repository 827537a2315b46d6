//! The functions of this process that generated code may call, by name.
//!
//! * the hooks that [`abi`](super::abi) specifies;
//! * math as `shoal_<name>_f32` and `shoal_<name>_f64`; [`names`] lists them. Integer parameters and results are
//!   32-bit: `ilogb` returns one, `ldexp` and `scalbn` take one second; `jn` and `yn` take their order
//!   first, as a float;
//! * what a C compiler or LLVM may call on its own: `memcpy` and its like, the C math library's names, conversions of
//!   16-bit floats.

use super::{checks, hooks, math};
use core::ffi::c_void;
use half::{bf16, f16};
use std::{collections::HashMap, sync::LazyLock};

/// The address of a function, if there is one of this name.
#[must_use]
pub fn address(name: &str) -> Option<usize> {
    TABLE.get(name).copied()
}

/// All names, in no order.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

type Table = HashMap<&'static str, usize>;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::new();
    insert_hooks(&mut table);
    insert_memory(&mut table);
    insert_unary(&mut table);
    insert_binary(&mut table);
    insert_mixed(&mut table);
    insert_c_names(&mut table);
    insert_conversions(&mut table);
    table
});

macro_rules! insert {
    ($table:ident: $($name:expr => $function:expr),* $(,)?) => {
        $( $table.insert($name, ($function as *const ()).expose_provenance()); )*
    };
}

fn insert_hooks(table: &mut Table) {
    insert!(table:
        "shoal_yield" => hooks::shoal_yield,
        "shoal_poll_wait" => hooks::shoal_poll_wait,
        "shoal_poll" => hooks::shoal_poll,
        "shoal_clock_ns" => hooks::shoal_clock_ns,
        "shoal_fail" => hooks::shoal_fail,
        "shoal_check_range" => checks::shoal_check_range,
        "shoal_check_each" => checks::shoal_check_each,
        "shoal_print_value" => hooks::shoal_print_value,
        "shoal_print_text" => hooks::shoal_print_text,
    );
}

fn insert_memory(table: &mut Table) {
    // The C library's own, which every Rust program on this system links.
    unsafe extern "C" {
        fn memcpy(target: *mut c_void, source: *const c_void, bytes: usize) -> *mut c_void;
        fn memmove(target: *mut c_void, source: *const c_void, bytes: usize) -> *mut c_void;
        fn memset(target: *mut c_void, value: i32, bytes: usize) -> *mut c_void;
        fn memcmp(a: *const c_void, b: *const c_void, bytes: usize) -> i32;
    }
    insert!(table: "memcpy" => memcpy, "memmove" => memmove, "memset" => memset, "memcmp" => memcmp, "bcmp" => memcmp);
}

/// Defines the C-callable `f32` and `f64` variants of functions on `f64`, and inserts them.
macro_rules! math {
    ($table:ident, $parameters:tt: $($name:ident = $function:path;)*) => {
        $( math!(@one $table, $name, $function, $parameters); )*
    };
    (@one $table:ident, $name:ident, $function:path, ($($x:ident),*)) => {{
        extern "C" fn wide($($x: f64),*) -> f64 {
            $function($($x),*)
        }
        extern "C" fn narrow($($x: f32),*) -> f32 {
            $function($(f64::from($x)),*) as f32
        }
        insert!($table:
            concat!("shoal_", stringify!($name), "_f64") => wide,
            concat!("shoal_", stringify!($name), "_f32") => narrow,
        );
    }};
}

/// Functions of one number.
fn insert_unary(table: &mut Table) {
    math!(table, (x):
        acos = libm::acos;
        acosh = libm::acosh;
        asin = libm::asin;
        asinh = libm::asinh;
        atan = libm::atan;
        atanh = libm::atanh;
        cbrt = libm::cbrt;
        ceil = libm::ceil;
        cos = libm::cos;
        cosh = libm::cosh;
        cospi = math::cospi;
        cyl_bessel_i0 = math::bessel::i0;
        cyl_bessel_i1 = math::bessel::i1;
        erf = libm::erf;
        erfc = libm::erfc;
        erfcinv = math::error_function::erfcinv;
        erfcx = math::error_function::erfcx;
        erfinv = math::error_function::erfinv;
        exp = libm::exp;
        exp10 = libm::exp10;
        exp2 = libm::exp2;
        expm1 = libm::expm1;
        fabs = libm::fabs;
        floor = libm::floor;
        j0 = libm::j0;
        j1 = libm::j1;
        lgamma = libm::lgamma;
        log = libm::log;
        log10 = libm::log10;
        log1p = libm::log1p;
        log2 = libm::log2;
        logb = math::logb;
        normcdf = math::error_function::normcdf;
        normcdfinv = math::error_function::normcdfinv;
        rcbrt = math::rcbrt;
        rint = libm::rint;
        round = libm::round;
        roundeven = libm::roundeven;
        rsqrt = math::rsqrt;
        sin = libm::sin;
        sinh = libm::sinh;
        sinpi = math::sinpi;
        sqrt = libm::sqrt;
        tan = libm::tan;
        tanh = libm::tanh;
        tgamma = libm::tgamma;
        trunc = libm::trunc;
        y0 = libm::y0;
        y1 = libm::y1;
    );
}

/// Functions of several numbers.
fn insert_binary(table: &mut Table) {
    math!(table, (x, y):
        atan2 = libm::atan2;
        copysign = libm::copysign;
        fdim = math::fdim;
        fmod = libm::fmod;
        hypot = libm::hypot;
        jn = math::bessel::jn;
        nextafter = libm::nextafter;
        pow = libm::pow;
        remainder = libm::remainder;
        rhypot = math::rhypot;
        yn = math::bessel::yn;
    );
    math!(table, (a, b, c): norm3d = math::norm3d;);
    math!(table, (a, b, c, d): norm4d = math::norm4d;);
    // Neighbours and differences of `f32` are not those of `f64`.
    extern "C" fn nextafter32(x: f32, y: f32) -> f32 {
        libm::nextafterf(x, y)
    }
    extern "C" fn fdim32(x: f32, y: f32) -> f32 {
        math::fdim32(x, y)
    }
    insert!(table: "shoal_nextafter_f32" => nextafter32, "shoal_fdim_f32" => fdim32);
}

/// Functions of numbers and integers.
fn insert_mixed(table: &mut Table) {
    extern "C" fn ilogb64(x: f64) -> i32 {
        libm::ilogb(x)
    }
    extern "C" fn ilogb32(x: f32) -> i32 {
        libm::ilogb(f64::from(x))
    }
    extern "C" fn scalbn64(x: f64, n: i32) -> f64 {
        libm::scalbn(x, n)
    }
    extern "C" fn scalbn32(x: f32, n: i32) -> f32 {
        libm::scalbn(f64::from(x), n) as f32
    }
    extern "C" fn powi64(x: f64, n: i32) -> f64 {
        libm::pow(x, f64::from(n))
    }
    extern "C" fn powi32(x: f32, n: i32) -> f32 {
        libm::pow(f64::from(x), f64::from(n)) as f32
    }
    insert!(table:
        "shoal_ilogb_f64" => ilogb64, "shoal_ilogb_f32" => ilogb32,
        "shoal_scalbn_f64" => scalbn64, "shoal_scalbn_f32" => scalbn32,
        "shoal_ldexp_f64" => scalbn64, "shoal_ldexp_f32" => scalbn32,
        "ldexp" => scalbn64, "ldexpf" => scalbn32, "scalbn" => scalbn64, "scalbnf" => scalbn32,
        "__powidf2" => powi64, "__powisf2" => powi32,
    );
}

/// Names under which LLVM calls math it could not inline.
const C_NAMES: &[(&str, &str, &str)] = &[
    ("acos", "acosf", "acos"),
    ("acosh", "acoshf", "acosh"),
    ("asin", "asinf", "asin"),
    ("asinh", "asinhf", "asinh"),
    ("atan", "atanf", "atan"),
    ("atan2", "atan2f", "atan2"),
    ("atanh", "atanhf", "atanh"),
    ("cbrt", "cbrtf", "cbrt"),
    ("ceil", "ceilf", "ceil"),
    ("copysign", "copysignf", "copysign"),
    ("cos", "cosf", "cos"),
    ("cosh", "coshf", "cosh"),
    ("erf", "erff", "erf"),
    ("erfc", "erfcf", "erfc"),
    ("exp", "expf", "exp"),
    ("exp10", "exp10f", "exp10"),
    ("exp2", "exp2f", "exp2"),
    ("expm1", "expm1f", "expm1"),
    ("fabs", "fabsf", "fabs"),
    ("fdim", "fdimf", "fdim"),
    ("floor", "floorf", "floor"),
    ("fmod", "fmodf", "fmod"),
    ("hypot", "hypotf", "hypot"),
    ("lgamma", "lgammaf", "lgamma"),
    ("log", "logf", "log"),
    ("log10", "log10f", "log10"),
    ("log1p", "log1pf", "log1p"),
    ("log2", "log2f", "log2"),
    ("nextafter", "nextafterf", "nextafter"),
    ("pow", "powf", "pow"),
    ("remainder", "remainderf", "remainder"),
    ("rint", "rintf", "rint"),
    ("round", "roundf", "round"),
    ("roundeven", "roundevenf", "roundeven"),
    ("sin", "sinf", "sin"),
    ("sinh", "sinhf", "sinh"),
    ("sqrt", "sqrtf", "sqrt"),
    ("tan", "tanf", "tan"),
    ("tanh", "tanhf", "tanh"),
    ("tgamma", "tgammaf", "tgamma"),
    ("trunc", "truncf", "trunc"),
    ("nearbyint", "nearbyintf", "rint"),
];

fn insert_c_names(table: &mut Table) {
    for &(wide, narrow, name) in C_NAMES {
        for (c_name, suffix) in [(wide, "f64"), (narrow, "f32")] {
            if let Some(&address) = table.get(format!("shoal_{name}_{suffix}").as_str()) {
                table.insert(c_name, address);
            }
        }
    }
    /// # Safety
    ///
    /// As in C: both pointers are writable.
    unsafe extern "C" fn sincos64(x: f64, sin: *mut f64, cos: *mut f64) {
        // SAFETY: by contract.
        unsafe { (*sin, *cos) = libm::sincos(x) }
    }
    /// # Safety
    ///
    /// As in C: both pointers are writable.
    unsafe extern "C" fn sincos32(x: f32, sin: *mut f32, cos: *mut f32) {
        let (s, c) = libm::sincos(f64::from(x));
        // SAFETY: by contract.
        unsafe { (*sin, *cos) = (s as f32, c as f32) }
    }
    extern "C" fn fma64(x: f64, y: f64, z: f64) -> f64 {
        libm::fma(x, y, z)
    }
    extern "C" fn fma32(x: f32, y: f32, z: f32) -> f32 {
        libm::fmaf(x, y, z)
    }
    extern "C" fn fmin64(x: f64, y: f64) -> f64 {
        libm::fmin(x, y)
    }
    extern "C" fn fmin32(x: f32, y: f32) -> f32 {
        libm::fminf(x, y)
    }
    extern "C" fn fmax64(x: f64, y: f64) -> f64 {
        libm::fmax(x, y)
    }
    extern "C" fn fmax32(x: f32, y: f32) -> f32 {
        libm::fmaxf(x, y)
    }
    insert!(table:
        "sincos" => sincos64, "sincosf" => sincos32, "fma" => fma64, "fmaf" => fma32,
        "fmin" => fmin64, "fminf" => fmin32, "fmax" => fmax64, "fmaxf" => fmax32,
    );
}

/// Conversions of 16-bit floats, which compilers call on CPUs without instructions for them. Such a float travels in
/// the low bits of a vector register, as an `f32` with these bits does.
fn insert_conversions(table: &mut Table) {
    fn half_of(register: f32) -> u16 {
        register.to_bits() as u16
    }
    fn register_of(half: u16) -> f32 {
        f32::from_bits(u32::from(half))
    }
    extern "C" fn f16_to_f32(x: f32) -> f32 {
        f16::from_bits(half_of(x)).to_f32()
    }
    extern "C" fn f16_to_f64(x: f32) -> f64 {
        f16::from_bits(half_of(x)).to_f64()
    }
    extern "C" fn f32_to_f16(x: f32) -> f32 {
        register_of(f16::from_f32(x).to_bits())
    }
    extern "C" fn f64_to_f16(x: f64) -> f32 {
        register_of(f16::from_f64(x).to_bits())
    }
    extern "C" fn f32_to_bf16(x: f32) -> f32 {
        register_of(bf16::from_f32(x).to_bits())
    }
    extern "C" fn f64_to_bf16(x: f64) -> f32 {
        register_of(bf16::from_f64(x).to_bits())
    }
    insert!(table:
        "__extendhfsf2" => f16_to_f32, "__extendhfdf2" => f16_to_f64,
        "__truncsfhf2" => f32_to_f16, "__truncdfhf2" => f64_to_f16,
        "__truncsfbf2" => f32_to_bf16, "__truncdfbf2" => f64_to_bf16,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call32(name: &str, x: f32) -> f32 {
        let pointer = core::ptr::with_exposed_provenance::<()>(address(name).expect(name));
        // SAFETY: the names used below are functions of this type.
        let function = unsafe { core::mem::transmute::<*const (), extern "C" fn(f32) -> f32>(pointer) };
        function(x)
    }

    #[test]
    fn every_name_of_the_contract_is_there() {
        let names = "acos acosh asin asinh atan atanh cbrt cos cosh cospi erf erfc erfcx erfinv erfcinv exp exp10 exp2 \
            expm1 ilogb j0 j1 lgamma log log10 log1p log2 logb normcdf normcdfinv rcbrt rint round roundeven sin sinh \
            sinpi tan tanh tgamma trunc y0 y1 cyl_bessel_i0 cyl_bessel_i1 atan2 copysign fdim fmod hypot nextafter pow \
            remainder jn yn ldexp scalbn norm3d norm4d rhypot";
        for name in names.split_whitespace() {
            for suffix in ["f32", "f64"] {
                assert!(address(&format!("shoal_{name}_{suffix}")).is_some(), "{name}_{suffix}");
            }
        }
        for name in ["memcpy", "memset", "memmove", "expf", "fmod", "sincosf", "__truncsfhf2", "shoal_fail"] {
            assert!(address(name).is_some(), "{name}");
        }
        assert!(address("system").is_none());
    }

    #[test]
    fn narrow_functions_round_once() {
        assert_eq!(call32("shoal_exp_f32", 1.0), 1f64.exp() as f32);
        assert_eq!(call32("expf", 100.0), f32::INFINITY);
        assert_eq!(call32("shoal_roundeven_f32", 2.5), 2.0);
        assert_eq!(call32("shoal_round_f32", 2.5), 3.0);
        assert_eq!(call32("__truncsfhf2", 1.0).to_bits(), 0x3c00);
        assert_eq!(call32("__extendhfsf2", f32::from_bits(0x3c00)), 1.0);
    }
}
