//! The functions of mathematics as GPUs call them: the same code as on CPUs and in the interpreter. `build.rs` compiles this
//! file to LLVM bitcode, which `nvptx/math_library.rs` links.
#![no_std]

#[path = "../../shoal-abi/src/math/mod.rs"]
pub mod math;

macro_rules! export {
    ($($params:tt: $($name:ident)*;)*) => { $($(export!(@one $name $params);)*)* };
    // Neighbours and differences of `f32` are not those of `f64`.
    (@one nextafter $params:tt) => { export!(@both nextafter $params nextafter_f32 as f32); };
    (@one fdim $params:tt) => { export!(@both fdim $params fdim_f32 as f32); };
    (@one $name:ident $params:tt) => { export!(@both $name $params $name as f64); };
    (@both $name:ident ($($x:ident),*) $narrow:ident as $inner:ident) => {
        pub mod $name {
            use crate::math;

            #[unsafe(export_name = concat!("shoal_", stringify!($name), "_f64"))]
            pub extern "C" fn wide($($x: f64),*) -> f64 {
                math::$name($($x),*)
            }

            #[unsafe(export_name = concat!("shoal_", stringify!($name), "_f32"))]
            pub extern "C" fn narrow($($x: f32),*) -> f32 {
                math::$narrow($($inner::from($x)),*) as f32
            }
        }
    };
}

math_functions!(export);
