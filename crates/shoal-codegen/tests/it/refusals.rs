//! What a CPU cannot run.

use shoal_codegen::{Options, cpu};
use shoal_source::SourceMap;

#[test]
fn conversions_of_layouts_are_refused() {
    let text = "kernel @k() {
        %a = iota {start = 0} () : tile<4xi32, #layout<lane=[[1],[2]], out=[4]>>
        %b = convert_layout (%a) : tile<4xi32, #layout<register=[[1],[2]], out=[4]>>
        print {prefix = \"b\"} (%b)
        return ()
    }";
    let mut sources = SourceMap::default();
    let file = sources.add("test.tile", text);
    let module = shoal_ir::parse::module(text, file).expect("the text parses");
    shoal_ir::verify(&module).expect("the text is valid");
    let refused = cpu::compile(&module, "k", &cpu::host(), &sources, &Options::default());
    let message = refused.expect_err("a CPU has no lanes").to_string();
    assert!(message.contains("no lanes or warps to lay tiles out over"), "{message}");
}
