//! The functions of this process that generated code may call, by name.
//!
//! * the [hooks](Hook);
//! * [functions of mathematics](shoal_abi::math);
//! * what a C compiler or LLVM may call on its own: `memcpy` and its like, the C math library's names, conversions of
//!   16-bit floats.

use super::{checks, hooks, rank_hooks, shmem_hooks};
use core::ffi::c_void;
use half::{bf16, f16};
use shoal_abi::math_symbol::{FloatWidth, symbol};
use shoal_abi::{Hook, math};
use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

/// The address of a function, if there is one of this name.
#[must_use]
pub fn address(name: &str) -> Option<usize> {
    TABLE.get(name).copied()
}

type Table = HashMap<Cow<'static, str>, usize>;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::new();
    insert_hooks(&mut table);
    insert_memory(&mut table);
    insert_math(&mut table);
    insert_c_names(&mut table);
    insert_conversions(&mut table);
    table
});

macro_rules! insert {
    ($table:ident: $($name:expr => $function:expr),* $(,)?) => {
        $( $table.insert($name.into(), ($function as *const ()).expose_provenance()); )*
    };
}

fn insert_hooks(table: &mut Table) {
    for &hook in Hook::ALL {
        table.insert(hook.name().into(), hook_address(hook).expose_provenance());
    }
}

fn hook_address(hook: Hook) -> *const () {
    match hook {
        Hook::Yield => hooks::shoal_yield as *const (),
        Hook::Wait => hooks::shoal_wait as *const (),
        Hook::CheckStop => hooks::shoal_check_stop as *const (),
        Hook::ClockNs => hooks::shoal_clock_ns as *const (),
        Hook::GridWords => hooks::shoal_grid_words as *const (),
        Hook::Fail => hooks::shoal_fail as *const (),
        Hook::PrintValue => hooks::shoal_print_value as *const (),
        Hook::PrintText => hooks::shoal_print_text as *const (),
        Hook::Rank => rank_hooks::shoal_rank as *const (),
        Hook::NumRanks => rank_hooks::shoal_num_ranks as *const (),
        Hook::SymmAt => rank_hooks::shoal_symm_at as *const (),
        Hook::TeamRank => shmem_hooks::shoal_team_rank as *const (),
        Hook::TeamSize => shmem_hooks::shoal_team_size as *const (),
        Hook::TeamTranslate => shmem_hooks::shoal_team_translate as *const (),
        Hook::Put => shmem_hooks::shoal_put as *const (),
        Hook::Get => shmem_hooks::shoal_get as *const (),
        Hook::Signal => shmem_hooks::shoal_signal as *const (),
        Hook::Notify => shmem_hooks::shoal_notify as *const (),
        Hook::SignalWait => shmem_hooks::shoal_signal_wait as *const (),
        Hook::Fence => shmem_hooks::shoal_fence as *const (),
        Hook::Quiet => shmem_hooks::shoal_quiet as *const (),
        Hook::TeamBarrier => shmem_hooks::shoal_team_barrier as *const (),
        Hook::Collect => shmem_hooks::shoal_collect as *const (),
        Hook::CheckRange => checks::shoal_check_range as *const (),
        Hook::CheckEach => checks::shoal_check_each as *const (),
    }
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

/// Functions of mathematics: C-callable `f32` and `f64` variants of functions on `f64`.
fn insert_math(table: &mut Table) {
    macro_rules! insert_all {
        ($($params:tt: $($name:ident)*;)*) => { $($(insert_all!(@one $name $params);)*)* };
        (@one $name:ident ($($x:ident),*)) => {{
            extern "C" fn wide($($x: f64),*) -> f64 {
                math::$name($($x),*)
            }
            extern "C" fn narrow($($x: f32),*) -> f32 {
                math::$name($(f64::from($x)),*) as f32
            }
            insert!(table:
                symbol(stringify!($name), FloatWidth::F64) => wide,
                symbol(stringify!($name), FloatWidth::F32) => narrow,
            );
        }};
    }
    shoal_abi::math_functions!(insert_all);
    // Neighbours and differences of `f32` are not those of `f64`.
    extern "C" fn nextafter32(x: f32, y: f32) -> f32 {
        math::nextafter_f32(x, y)
    }
    extern "C" fn fdim32(x: f32, y: f32) -> f32 {
        math::fdim_f32(x, y)
    }
    insert!(table:
        symbol("nextafter", FloatWidth::F32) => nextafter32,
        symbol("fdim", FloatWidth::F32) => fdim32,
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
        for (c_name, width) in [(wide, FloatWidth::F64), (narrow, FloatWidth::F32)] {
            if let Some(&address) = table.get(symbol(name, width).as_str()) {
                table.insert(c_name.into(), address);
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
    extern "C" fn fabs64(x: f64) -> f64 {
        libm::fabs(x)
    }
    extern "C" fn fabs32(x: f32) -> f32 {
        libm::fabsf(x)
    }
    extern "C" fn roundeven64(x: f64) -> f64 {
        libm::roundeven(x)
    }
    extern "C" fn roundeven32(x: f32) -> f32 {
        libm::roundevenf(x)
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
        "fabs" => fabs64, "fabsf" => fabs32, "roundeven" => roundeven64, "roundevenf" => roundeven32,
        "ldexp" => scalbn64, "ldexpf" => scalbn32, "scalbn" => scalbn64, "scalbnf" => scalbn32,
        "__powidf2" => powi64, "__powisf2" => powi32,
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
    use crate::cpu::context::ProgramContext;
    use shoal_abi::{CResult, CType, CheckedAccess, Site};

    fn call32(name: &str, x: f32) -> f32 {
        let pointer = core::ptr::with_exposed_provenance::<()>(address(name).expect(name));
        // SAFETY: the names used below are functions of this type.
        let function = unsafe { core::mem::transmute::<*const (), extern "C" fn(f32) -> f32>(pointer) };
        function(x)
    }

    /// The C type that a Rust type has.
    trait IsCType {
        const TYPE: CType;
    }

    macro_rules! c_types {
        ($($rust:ty => $c:ident;)*) => {
            $(impl IsCType for $rust { const TYPE: CType = CType::$c; })*
        };
    }
    c_types! {
        *mut ProgramContext => Context;
        *const Site => Site;
        *const CheckedAccess => CheckedAccess;
        *const u32 => U32s;
        *const u64 => U64s;
        i32 => I32;
        u32 => U32;
        i64 => I64;
        u64 => U64;
    }

    /// A byte pointer is a text where a length follows it, else bytes.
    impl IsCType for *const u8 {
        const TYPE: CType = CType::Bytes;
    }

    trait IsCResult {
        const RESULT: CResult;
    }

    impl IsCResult for () {
        const RESULT: CResult = CResult::Void;
    }

    impl<T: IsCType> IsCResult for T {
        const RESULT: CResult = CResult::Value(T::TYPE);
    }

    /// The C type of a function, which its Rust type says.
    trait HasSignature {
        fn signature(self) -> (Vec<CType>, CResult);
    }

    macro_rules! signatures {
        ($(($($param:ident)*))*) => {
            $(impl<R: IsCResult, $($param: IsCType),*> HasSignature for unsafe extern "C" fn($($param),*) -> R {
                fn signature(self) -> (Vec<CType>, CResult) {
                    (vec![$($param::TYPE),*], R::RESULT)
                }
            })*
        };
    }
    impl<A: IsCType, B: IsCType, C: IsCType, D: IsCType> HasSignature for unsafe extern "C" fn(A, B, C, D) -> ! {
        fn signature(self) -> (Vec<CType>, CResult) {
            (vec![A::TYPE, B::TYPE, C::TYPE, D::TYPE], CResult::Never)
        }
    }
    signatures! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G H I) }

    #[test]
    fn hooks_have_the_types_of_the_table() {
        type Two<A, B> = unsafe extern "C" fn(A, B);
        type Four<A, B, C, D> = unsafe extern "C" fn(A, B, C, D);
        for &hook in Hook::ALL {
            let (params, result) = match hook {
                Hook::Yield => (hooks::shoal_yield as Two<_, _>).signature(),
                Hook::Wait => (hooks::shoal_wait as unsafe extern "C" fn(_, _, _, _, _, _)).signature(),
                Hook::CheckStop => (hooks::shoal_check_stop as unsafe extern "C" fn(_) -> _).signature(),
                Hook::ClockNs => (hooks::shoal_clock_ns as unsafe extern "C" fn() -> _).signature(),
                Hook::GridWords => (hooks::shoal_grid_words as unsafe extern "C" fn(_) -> _).signature(),
                Hook::Fail => (hooks::shoal_fail as unsafe extern "C" fn(_, _, _, _) -> !).signature(),
                Hook::PrintValue => {
                    (hooks::shoal_print_value as unsafe extern "C" fn(_, _, _, _, _, _, _, _, _)).signature()
                }
                Hook::PrintText => (hooks::shoal_print_text as Four<_, _, _, _>).signature(),
                Hook::Rank => (rank_hooks::shoal_rank as unsafe extern "C" fn(_, _, _) -> _).signature(),
                Hook::NumRanks => (rank_hooks::shoal_num_ranks as unsafe extern "C" fn(_, _, _) -> _).signature(),
                Hook::SymmAt => (rank_hooks::shoal_symm_at as unsafe extern "C" fn(_, _, _, _, _) -> _).signature(),
                Hook::TeamRank => (shmem_hooks::shoal_team_rank as unsafe extern "C" fn(_, _, _) -> _).signature(),
                Hook::TeamSize => (shmem_hooks::shoal_team_size as unsafe extern "C" fn(_, _, _) -> _).signature(),
                Hook::TeamTranslate => {
                    (shmem_hooks::shoal_team_translate as unsafe extern "C" fn(_, _, _, _, _) -> _).signature()
                }
                Hook::Put => (shmem_hooks::shoal_put as unsafe extern "C" fn(_, _, _, _, _, _)).signature(),
                Hook::Get => (shmem_hooks::shoal_get as unsafe extern "C" fn(_, _, _, _, _, _)).signature(),
                Hook::Signal => (shmem_hooks::shoal_signal as unsafe extern "C" fn(_, _, _, _, _, _)).signature(),
                Hook::Notify => (shmem_hooks::shoal_notify as unsafe extern "C" fn(_, _, _, _, _, _)).signature(),
                Hook::SignalWait => (shmem_hooks::shoal_signal_wait as unsafe extern "C" fn(_, _, _, _, _)).signature(),
                Hook::Fence => (shmem_hooks::shoal_fence as unsafe extern "C" fn(_)).signature(),
                Hook::Quiet => (shmem_hooks::shoal_quiet as unsafe extern "C" fn(_)).signature(),
                Hook::TeamBarrier => (shmem_hooks::shoal_team_barrier as unsafe extern "C" fn(_, _, _)).signature(),
                Hook::Collect => (shmem_hooks::shoal_collect as unsafe extern "C" fn(_, _, _, _, _, _)).signature(),
                Hook::CheckRange => (checks::shoal_check_range as unsafe extern "C" fn(_, _, _, _, _)).signature(),
                Hook::CheckEach => (checks::shoal_check_each as Four<_, _, _, _>).signature(),
            };
            let bytes = |&ty: &CType| if ty == CType::Text { CType::Bytes } else { ty };
            let expected = hook.signature();
            assert_eq!(params, expected.params.iter().map(bytes).collect::<Vec<_>>(), "{hook:?}");
            assert_eq!(result, expected.result, "{hook:?}");
            assert_eq!(address(hook.name()), Some(hook_address(hook).addr()));
        }
    }

    #[test]
    fn every_function_of_mathematics_is_there() {
        for function in math::FUNCTIONS {
            for width in FloatWidth::ALL {
                let name = symbol(function.name, width);
                assert!(address(&name).is_some(), "{name}");
            }
        }
        for name in ["memcpy", "memset", "memmove", "expf", "fmod", "sincosf", "roundeven", "__truncsfhf2"] {
            assert!(address(name).is_some(), "{name}");
        }
        assert!(address("system").is_none());
    }

    #[test]
    fn narrow_functions_round_once() {
        assert_eq!(call32("shoal_exp_f32", 1.0), 1f64.exp() as f32);
        assert_eq!(call32("expf", 100.0), f32::INFINITY);
        assert_eq!(call32("roundevenf", 2.5), 2.0);
        assert_eq!(call32("shoal_round_f32", 2.5), 3.0);
        assert_eq!(call32("__truncsfhf2", 1.0).to_bits(), 0x3c00);
        assert_eq!(call32("__extendhfsf2", f32::from_bits(0x3c00)), 1.0);
    }
}
