//! Launches that wait for each other: a slow peer is waited for, a deadlock of all is found.

use crate::objects::{info, kernel, options, pointers};
use shoal_abi::{KernelDescription, Waits};
use shoal_driver::{
    Buffer, GroupMember, LaunchError, LaunchGroup,
    cpu::{CpuDevice, LaunchOptions, LoadedKernel},
};
use std::{thread, time::Duration};

/// Sets a flag, then waits for another.
const MEET: &str = r#"
SITE(wait, 3, "atomic_poll");
ENTRY(k) {
    int32_t *mine = ARG(int32_t *, 0), *theirs = ARG(int32_t *, 8);
    EACH(p) {
        __atomic_store_n(mine, 1, __ATOMIC_RELEASE);
        while (!__atomic_load_n(theirs, __ATOMIC_ACQUIRE)) shoal_wait(ctx, &wait, theirs, 1, 3, 0);
    }
}"#;

fn meet() -> LoadedKernel {
    kernel(MEET, KernelDescription { waits: Waits::MayWait, ..info(2) })
}

/// A launch that may wait for a short time only, if it is alone.
fn launch(
    device: &CpuDevice,
    kernel: &LoadedKernel,
    member: Option<GroupMember>,
    mine: &Buffer,
    theirs: &Buffer,
) -> Result<(), LaunchError> {
    let timeout = if member.is_some() { LIMIT } else { SHORT };
    let options = LaunchOptions { timeout: Some(timeout), member, ..options() };
    let args = pointers(&[mine.as_ptr(), theirs.as_ptr()]);
    // SAFETY: the kernel uses the two flags, atomically.
    unsafe { device.launch(kernel, [3, 1, 1], &args, &options) }
}

/// Longer than tests take.
const LIMIT: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(60);

fn flags() -> [Buffer; 3] {
    [0; 3].map(|_| Buffer::zeroed(4).unwrap())
}

#[test]
fn a_rank_waits_for_a_peer_that_launches_late() {
    let kernel = meet();
    for threads in [1, 2] {
        let device = CpuDevice::new(threads).unwrap();
        let [a, b, never] = flags();
        let alone = launch(&device, &kernel, None, &a, &never);
        assert!(matches!(alone, Err(LaunchError::Stuck { .. })), "without a group nobody is waited for: {alone:?}");
        let group = LaunchGroup::new(LIMIT);
        let (first, second) = (group.join(0), group.join(1));
        thread::scope(|scope| {
            let early = scope.spawn(|| launch(&device, &kernel, Some(first), &a, &b));
            thread::sleep(SHORT * 5);
            assert_eq!(launch(&device, &kernel, Some(second), &b, &a), Ok(()));
            assert_eq!(early.join().unwrap(), Ok(()));
        });
    }
}

#[test]
fn a_rank_waits_for_a_peer_that_works_for_long() {
    let work = r#"
    ENTRY(k) {
        EACH(p) {
            uint64_t end = shoal_clock_ns() + 400000000;
            while (shoal_clock_ns() < end) CHECK_STOP();
            __atomic_store_n(ARG(int32_t *, 0), 1, __ATOMIC_RELEASE);
        }
    }"#;
    let (meet, work) = (meet(), kernel(work, info(2)));
    let device = CpuDevice::new(2).unwrap();
    let [a, b, _] = flags();
    let group = LaunchGroup::new(LIMIT);
    let (first, second) = (group.join(0), group.join(1));
    thread::scope(|scope| {
        let waits = scope.spawn(|| launch(&device, &meet, Some(first), &a, &b));
        assert_eq!(launch(&device, &work, Some(second), &b, &a), Ok(()));
        assert_eq!(waits.join().unwrap(), Ok(()));
    });
}

#[test]
fn ranks_that_all_wait_in_vain_are_all_told() {
    let kernel = meet();
    let device = CpuDevice::new(2).unwrap();
    let [a, b, never] = flags();
    let group = LaunchGroup::new(LIMIT);
    let (first, second) = (group.join(0), group.join(1));
    thread::scope(|scope| {
        let both = [(&a, first.clone()), (&b, second.clone())].map(|(mine, member)| {
            let (device, kernel, never) = (&device, &kernel, &never);
            scope.spawn(move || launch(device, kernel, Some(member), mine, never))
        });
        for result in both.map(|thread| thread.join().unwrap()) {
            let Err(LaunchError::Stuck { waiting, .. }) = result else { panic!("{result:?}") };
            assert_eq!(waiting.len(), 3);
        }
    });
    // The group can be used again.
    let (a, b) = (Buffer::zeroed(4).unwrap(), Buffer::zeroed(4).unwrap());
    thread::scope(|scope| {
        let early = scope.spawn(|| launch(&device, &kernel, Some(first), &a, &b));
        assert_eq!(launch(&device, &kernel, Some(second), &b, &a), Ok(()));
        assert_eq!(early.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_rank_that_has_left_is_not_waited_for() {
    let kernel = meet();
    let device = CpuDevice::new(2).unwrap();
    let [a, never, _] = flags();
    let group = LaunchGroup::new(LIMIT);
    let (stays, leaves) = (group.join(0), group.join(1));
    thread::scope(|scope| {
        let waits = scope.spawn(|| launch(&device, &kernel, Some(stays), &a, &never));
        thread::sleep(SHORT * 2);
        drop(leaves);
        let result = waits.join().unwrap();
        assert!(matches!(result, Err(LaunchError::Stuck { .. })), "{result:?}");
    });
}

#[test]
fn nobody_waits_longer_than_the_group_allows() {
    let kernel = meet();
    let device = CpuDevice::new(2).unwrap();
    let [a, never, _] = flags();
    let group = LaunchGroup::new(SHORT);
    let (waits, _computes) = (group.join(0), group.join(1));
    let result = launch(&device, &kernel, Some(waits), &a, &never);
    let Err(LaunchError::Stuck { waiting, .. }) = result else { panic!("{result:?}") };
    assert_eq!(waiting.len(), 3);
}

#[test]
fn a_program_that_gives_up_by_itself_is_not_stuck() {
    let patient = r#"
    SITE(wait, 3, "atomic_poll");
    ENTRY(k) {
        int32_t *never = ARG(int32_t *, 8);
        EACH(p) {
            uint64_t end = shoal_clock_ns() + 300000000;
            while (shoal_clock_ns() < end) shoal_wait(ctx, &wait, never, 1, 3, 256);
        }
    }"#;
    let kernel = kernel(patient, KernelDescription { waits: Waits::MayWait, ..info(2) });
    let device = CpuDevice::new(2).unwrap();
    let [a, never, _] = flags();
    let member = LaunchGroup::new(LIMIT).join(0);
    assert_eq!(launch(&device, &kernel, Some(member), &a, &never), Ok(()));
}
