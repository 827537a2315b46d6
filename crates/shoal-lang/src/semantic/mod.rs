//! The meaning of operations on device values: promotion, casts, broadcasting, memory, reductions, mathematics.
//!
//! Everything here works on [`Value`](crate::value::Value)s through an [`Emit`](crate::emit::Emit) and knows nothing of
//! names, statements or calls. Each file ends in a table `BUILTINS` of the functions it offers to kernels; their
//! arguments arrive bound and named as [`Args`](crate::builtin::Args). [`TABLES`] lists them all.
//!
//! The IR has no implicit broadcast and no implicit conversion: whatever the language does silently is written out
//! here, and what it refuses is refused here, in the user's words.

pub(crate) mod atomic;
pub(crate) mod attribute;
pub(crate) mod binary;
pub(crate) mod block_ptr;
pub(crate) mod broadcast;
pub(crate) mod cast;
pub(crate) mod create;
pub(crate) mod debug;
pub(crate) mod descriptor;
pub(crate) mod descriptor_elements;
pub(crate) mod distributed;
pub(crate) mod dot;
pub(crate) mod dot_scaled;
pub(crate) mod e2m1;
pub(crate) mod element;
pub(crate) mod extern_fn;
pub(crate) mod extra;
pub(crate) mod gather;
pub(crate) mod hint;
pub(crate) mod histogram;
pub(crate) mod in_halves;
pub(crate) mod language_extra;
pub(crate) mod libdevice;
pub(crate) mod libshmem;
pub(crate) mod map;
pub(crate) mod math;
pub(crate) mod memory;
pub(crate) mod operand;
pub(crate) mod promote;
pub(crate) mod ptx;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod shape;
pub(crate) mod target_info;
pub(crate) mod unary;
pub(crate) mod vector;
pub(crate) mod words;

#[cfg(test)]
mod expression_tests;
#[cfg(test)]
mod library_tests;
#[cfg(test)]
mod random_call_tests;
#[cfg(test)]
mod testing;

use crate::builtin::Builtin;

/// The functions of the language that this module implements.
pub(crate) static TABLES: &[&[Builtin]] = &[
    atomic::BUILTINS,
    binary::BUILTINS,
    block_ptr::BUILTINS,
    broadcast::BUILTINS,
    cast::BUILTINS,
    create::BUILTINS,
    debug::BUILTINS,
    descriptor::BUILTINS,
    descriptor_elements::BUILTINS,
    distributed::BUILTINS,
    dot::BUILTINS,
    dot_scaled::BUILTINS,
    element::BUILTINS,
    extern_fn::BUILTINS,
    extra::BUILTINS,
    gather::BUILTINS,
    hint::BUILTINS,
    histogram::BUILTINS,
    language_extra::access::BUILTINS,
    language_extra::multimem::BUILTINS,
    language_extra::order::BUILTINS,
    language_extra::signal::BUILTINS,
    language_extra::thread::BUILTINS,
    language_extra::vector_access::BUILTINS,
    language_extra::warp::BUILTINS,
    libdevice::BUILTINS,
    libshmem::BUILTINS,
    map::BUILTINS,
    math::BUILTINS,
    memory::BUILTINS,
    reduce::BUILTINS,
    scan::BUILTINS,
    shape::BUILTINS,
    target_info::BUILTINS,
    vector::BUILTINS,
];
