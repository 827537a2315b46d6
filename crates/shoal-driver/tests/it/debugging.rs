//! Loaded code is known to native debuggers for as long as it is loaded.

use crate::objects::compile;
use shoal_driver::cpu::{Code, registered_objects};

#[test]
fn loaded_code_is_registered() {
    let object = compile("ENTRY(k) { ARG(double *, 0)[0] = 1; }", &["-g"]);
    let first = Code::load(&object).unwrap();
    let second = Code::load(&object).unwrap();
    let listed = registered_objects();
    assert!(listed.contains(&first.debug_object()) && listed.contains(&second.debug_object()));
    let gone = first.debug_object();
    drop(first);
    let listed = registered_objects();
    assert!(!listed.contains(&gone) && listed.contains(&second.debug_object()));
}
