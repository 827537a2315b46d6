//! Snippets that cannot be read are told in words.

use super::*;

#[test]
fn assembly_of_cpus_is_not_taken_for_ptx() {
    assert!(is_ptx("mov.u32 $0, %tid.x;"));
    assert!(is_ptx("{ .reg .u32 %r<1>; again: atom.global.sys.cas.b32 %r0, [$1], 0, 1; }"));
    assert!(is_ptx("@!%p0 bra.uni done;"));
    assert!(!is_ptx("mov $1, $0"));
    assert!(!is_ptx("vaddps $0, $1, $2; ret"));
    assert!(!is_ptx(".byte 0x90"));
}
