//! The macro `shoal::kernel!`: a file of kernels as a module of typed launch functions. Its documentation is at
//! `shoal::kernel!`.
//!
//! | file | idea |
//! |---|---|
//! | `request` | what stands between the parentheses |
//! | `file` | the kernel file, read and checked |
//! | `function` | the launch function of one kernel |
//!
//! The file is read and checked by `shoal-lang`; no code is made, so no LLVM is needed to build programs with it.
#![forbid(unsafe_code)]

mod file;
mod function;
mod request;

use std::path::PathBuf;

use proc_macro::TokenStream;

/// See `shoal::kernel!`.
#[proc_macro]
pub fn kernel(input: TokenStream) -> TokenStream {
    let (request, span) = match request::Request::read(input) {
        Ok(read) => read,
        Err((message, span)) => return error(&message, span),
    };
    // Cargo sets it; without Cargo, paths start at the current folder.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let module = file::expand(&request, &package);
    let parsed = module.and_then(|text| text.parse().map_err(|why| format!("kernel! made a wrong module: {why}")));
    parsed.unwrap_or_else(|message| error(&message, span))
}

/// An error of the compiler at the place where the macro is called.
fn error(message: &str, span: proc_macro::Span) -> TokenStream {
    let text = format!("::core::compile_error!({message:?});");
    let tokens: TokenStream = text.parse().unwrap_or_default();
    tokens.into_iter().map(|token| respanned(token, span)).collect()
}

fn respanned(mut token: proc_macro::TokenTree, span: proc_macro::Span) -> proc_macro::TokenTree {
    token.set_span(span);
    token
}
