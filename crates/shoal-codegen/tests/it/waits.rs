//! What generated code tells the runtime when it waits.

use std::time::Duration;

use shoal_codegen::cpu;
use shoal_driver::LaunchError;
use shoal_driver::cpu::LaunchOptions;

use crate::run::{Arg, launch};

const POLL: &str = r"
kernel @poll(%0: ptr<i32>) {
  %1 = const {value = 1} () : i32
  %2 = ptr_add (%0, %1) : ptr<i32>
  %3 = const {value = -5} () : i32
  %4 = atomic_poll {sem = acquire, scope = sys} (%2, %3) : i1
  return ()
}
";

#[test]
fn a_poll_in_vain_says_what_it_waits_for_and_what_is_there() {
    let mut flags = [0, 41];
    let address = flags.as_ptr().addr() + 4;
    let options = LaunchOptions { timeout: Some(Duration::from_millis(50)), ..LaunchOptions::default() };
    let error = launch(&cpu::host(), POLL, [1, 1, 1], &mut [Arg::I32(&mut flags)], &options).unwrap_err();
    let LaunchError::Stuck { waiting, .. } = &error else { panic!("{error}") };
    let told = waiting[0].to_string();
    assert!(told.ends_with(&format!("(atomic_poll) for -5 at {address:#x}, where 41 is")), "{told}");
}

#[test]
fn a_poll_that_finds_its_value_ends() {
    let mut flags = [0, -5];
    let options = LaunchOptions::default();
    launch(&cpu::host(), POLL, [3, 1, 1], &mut [Arg::I32(&mut flags)], &options).expect("the launch succeeds");
}
