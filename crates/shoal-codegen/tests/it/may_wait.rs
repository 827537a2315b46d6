//! Which kernels run on fibers.

use shoal_codegen::{Options, cpu};
use shoal_source::SourceMap;

fn may_wait(looped: &str) -> bool {
    let text = format!(
        "kernel @k(%p: ptr<i32>, %n: i32) {{
           %zero = const {{value = 0}} () : i32
           {looped}
           store (%p, %r)
           return ()
         }}"
    );
    let mut sources = SourceMap::default();
    let file = sources.add("test.tile", text.as_str());
    let module = shoal_ir::parse::module(&text, file).expect("the text parses");
    shoal_ir::verify(&module).expect("the text is valid");
    cpu::compile(&module, "k", &cpu::host(), &sources, &Options::default()).expect("it compiles").description.waits
        == shoal_abi::Waits::MayWait
}

/// A loop that goes on until what it loads is not zero.
fn until_loaded(address: &str) -> String {
    format!(
        "%r = while (%n) : i32 do (%v: i32) {{
           %c = cmp {{is = eq}} (%v, %zero) : i1
           condition (%c, %v)
         }} do (%w: i32) {{
           %q = ptr_add (%p, {address}) : ptr<i32>
           %x = load (%q) : i32
           yield (%x)
         }}"
    )
}

#[test]
fn kernels_that_watch_memory_may_wait() {
    assert!(may_wait(&until_loaded("%n")));
    assert!(may_wait(
        "%done = atomic_poll {sem = acquire, scope = gpu} (%p, %n) : i1
         %r = cast (%done) : i32"
    ));
}

#[test]
fn kernels_that_search_memory_do_not() {
    assert!(!may_wait(&until_loaded("%w")));
}
