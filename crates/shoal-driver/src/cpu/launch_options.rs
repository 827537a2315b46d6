//! How a kernel is launched.

use crate::bounds::Bounds;
use crate::{
    interrupt::{GiveUp, Interrupt},
    launch_group::GroupMember,
    print_sink::PrintSink,
    rank_view::RankView,
};
use core::time::Duration;
use std::sync::Arc;

/// When programs run as fibers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fibers {
    /// When the kernel may wait or fail.
    #[default]
    Auto,
    /// Always, for instance to test with.
    Always,
}

/// How to launch.
#[derive(Clone, Debug, Default)]
pub struct LaunchOptions {
    /// How long programs may wait for others without any of them moving before the launch is given up. By default the
    /// device's, which is 30 seconds or `SHOAL_WAIT_TIMEOUT`. A program that runs for that long without coming to a
    /// place where it would wait counts as not moving, if another waits. A launch in which nobody waits has no limit:
    /// see `interrupt`.
    pub timeout: Option<Duration>,
    /// On whose behalf, where programs may wait for others: then the launch is given up at once when nobody is left to end
    /// its waits, and when these last longer than the group allows. Without it, it is given up when none of its own
    /// programs moves.
    pub member: Option<GroupMember>,
    /// The world it belongs to, for kernels that reach other ranks.
    pub ranks: Option<Arc<RankView>>,
    /// Asked now and then whether to stop.
    pub interrupt: Option<Interrupt>,
    /// Asked now and then, while programs wait, whether they wait in vain: if so, the launch fails as one that is stuck,
    /// with what they wait for.
    pub give_up: Option<GiveUp>,
    /// The memory of the arguments, for kernels that check their accesses. Without it they check nothing.
    pub bounds: Option<Arc<Bounds>>,
    /// Where `device_print` goes.
    pub print: PrintSink,
    /// When programs run as fibers.
    pub fibers: Fibers,
}
