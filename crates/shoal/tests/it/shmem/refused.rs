//! What has no meaning is refused, in words.

use shoal::Error;
use shoal_interp::Order;

use super::harness::{has_multicast, interpreted, kernel, on_ranks};

fn compile_error(body: &str) -> String {
    let kernel = kernel(body);
    let specs = kernel.read_signature("*i32, *i32, *i64, i32").expect("a signature");
    kernel.compile_for(specs).expect_err(body).to_string()
}

fn run_errors(body: &str) -> [String; 2] {
    let kernel = kernel(body);
    [
        on_ranks(&kernel, 2, 1, |_| Ok::<_, Error>(5)).expect_err(body),
        interpreted(&kernel, 2, 1, 5, Order::RoundRobin, Vec::new()).expect_err(body),
    ]
}

#[test]
fn wrong_arguments_do_not_compile() {
    for (body, text) in [
        ("shm.putmem(y, 3, 4, peer)", "`source` of `putmem` must be a pointer"),
        ("shm.putmem(y + tl.arange(0, 4), x, 4, peer)", "`putmem` takes one of each argument, not"),
        ("shm.putmem(y, x, 1.5, peer)", "`bytes` of `putmem` must be an integer of type `i64`"),
        ("shm.putmem(y, x, 4)", "`putmem`"),
        ("shm.signal_op(x, 1, shm.NVSHMEM_SIGNAL_SET, peer)", "works on signals of `u64`, not `i32`"),
        ("shm.signal_op(flags, 1, 4, peer)", "`NVSHMEM_SIGNAL_SET` or `NVSHMEM_SIGNAL_ADD`"),
        ("shm.signal_op(flags, 1, number, peer)", "sig_op"),
        ("shm.signal_wait_until(flags, 17, 1)", "a comparison such as `NVSHMEM_CMP_EQ`"),
        ("shm.signal_wait_until(flags, shm.NVSHMEM_CMP_QE, 1)", "did you mean `NVSHMEM_CMP_"),
        ("shm.putmem_blok(y, x, 4, peer)", "did you mean `putmem_block`?"),
        ("shm.int_p(flags, 1, peer)", "`int_p` writes an `i32`, not `i64`"),
        ("shm.broadcast(0, flags, x, 1, 0)", "copies numbers of one type, not from `i32` to `i64`"),
        ("shm.remote_mc_ptr(number, x)", "all ranks are reached at once"),
        ("tl.store(y, shm.remote_mc_ptr(0, 3))", "ptr"),
        ("shm.my_pe(1)", "my_pe"),
    ] {
        let error = compile_error(body);
        assert!(error.contains(text), "{body}:\n{error}");
    }
}

#[test]
fn wrong_assembly_does_not_compile() {
    if !has_multicast() {
        return;
    }
    for (body, text) in [
        (
            "tl.inline_asm_elementwise('multimem.ld_reduce.add.b32 $0, [$1];', '=r,l', [x], tl.int32, False, 1)",
            "there is no such reduction on this type",
        ),
        (
            "tl.inline_asm_elementwise('multimem.cp.async.bulk [$1], [$1], 16;', '=r,l', [x], tl.int32, False, 1)",
            "this access to all ranks has no meaning outside of NVIDIA GPUs",
        ),
    ] {
        let error = compile_error(body);
        assert!(error.contains(text), "{body}:\n{error}");
    }
}

#[test]
fn places_and_teams_that_do_not_exist_fail_the_launch() {
    for (body, text) in [
        ("shm.putmem(y, x, 4, number)", "there is no rank 5; the world has 2"),
        ("shm.getmem(y, x, 4, -number)", "there is no rank -5; the world has 2"),
        ("shm.putmem(y, x, 1 << 30, peer)", "1073741824 bytes at"),
        ("shm.putmem(y, x, -number, peer)", "-5 bytes cannot be copied"),
        ("shm.signal_op(flags + (1 << 20), 1, shm.NVSHMEM_SIGNAL_SET, peer)", "not in the symmetric heap of rank"),
        ("shm.signal_wait_until(flags - (1 << 30), 0, 1)", "not in the symmetric heap of rank"),
        ("shm.team_my_pe(number)", "in no team with the handle 5"),
        ("shm.barrier_block(number + 20)", "in no team with the handle 25"),
        ("shm.barrier_block(-1)", "this is the invalid team"),
        ("shm.broadcast(0, y, x, 1, number)", "there is no member 5 of team 0, which has 2"),
    ] {
        let body = body.replace("team_my_pe(number)", "team_my_pe(number + 20)").to_owned();
        let text = text.replace("handle 5", "handle 25");
        for error in run_errors(&body) {
            assert!(error.contains(&text), "{body}:\n{error}");
        }
    }
}

/// What only one device library has.
#[test]
fn contexts_of_device_libraries_are_passed_over_with_a_warning() {
    let kernel = kernel("shm.set_rocshmem_ctx(x)\nshm.barrier_all()");
    let specs = kernel.read_signature("*i32, *i32, *i64, i32").expect("a signature");
    let notes: String = kernel.notes(&specs).expect("it compiles").iter().map(ToString::to_string).collect();
    assert!(notes.contains("`set_rocshmem_ctx` does nothing here"), "{notes}");
}
