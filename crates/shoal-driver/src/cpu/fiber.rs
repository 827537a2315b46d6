//! Fibers: programs that can be suspended.
//!
//! A fiber owns a [`Seat`]: a guarded stack, scratch and a context. Seats are pooled. A fiber that is dropped while
//! suspended is abandoned, not unwound: generated code has no destructors, and hooks leave nothing on the stack
//! that needs one.

use super::{
    abi::{Context, Site},
    interrupt::Fuel,
    run::{Role, Run, lock},
    scratch::Scratch,
};
use core::{mem::ManuallyDrop, ptr};
use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};
use std::{io, sync::Mutex};

/// Stack of a fiber. Tiles live in scratch, so frames of generated code are small.
const STACK_BYTES: usize = 256 << 10;
/// Seats a pool keeps between launches, and the scratch they may hold together.
const KEPT_SEATS: usize = 256;
const KEPT_SCRATCH: usize = 64 << 20;

/// Why a fiber gave up control before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suspend {
    /// It waits for memory to change; resume it later.
    Wait,
    /// Its program has failed; never resume it.
    Failed,
}

/// What became of a fiber that was resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumed {
    /// Its programs have all ended.
    Finished,
    /// It waits.
    Waits,
    /// Its program has failed.
    Failed,
}

type Yield = Yielder<(), Suspend>;

/// Suspends the calling program if it runs on a fiber; says whether it does.
///
/// # Safety
///
/// `ctx` is the context the calling program was given, and no value on this stack above the generated code needs
/// dropping if the program is not to be resumed.
#[inline(never)]
pub(crate) unsafe fn suspend(ctx: *mut Context, why: Suspend) -> bool {
    // SAFETY: a non-null yielder is the one of the fiber that runs this program now.
    match unsafe { (*ctx).yielder.cast::<Yield>().as_ref() } {
        Some(yielder) => {
            yielder.suspend(why);
            true
        }
        None => false,
    }
}

/// Runs `f` on the stack of the thread under the fiber, which is a large one.
///
/// # Safety
///
/// `ctx` is the context the calling program was given; `f` does not suspend the program.
#[inline(never)]
pub(crate) unsafe fn on_thread_stack<R>(ctx: *mut Context, f: impl FnOnce() -> R) -> R {
    /// The same thread runs the closure, at once: only the stack differs.
    struct SameThread<T>(T);
    // SAFETY: see above.
    unsafe impl<T> Send for SameThread<T> {}
    impl<R, F: FnOnce() -> R> SameThread<F> {
        fn call(self) -> R {
            (self.0)()
        }
    }
    // SAFETY: a non-null yielder is the one of the fiber that runs this program now.
    match unsafe { (*ctx).yielder.cast::<Yield>().as_ref() } {
        Some(yielder) => {
            let f = SameThread(f);
            yielder.on_parent_stack(move || f.call())
        }
        None => f(),
    }
}

/// What a fiber needs besides its programs.
pub(crate) struct Seat {
    stack: DefaultStack,
    belongings: Belongings,
}

struct Belongings {
    scratch: Scratch,
    context: OwnedContext,
}

/// A context apart from everything else, because generated code holds its address while Rust code moves the fiber.
struct OwnedContext(*mut Context);

// SAFETY: the context is owned, and used by one thread at a time.
unsafe impl Send for OwnedContext {}

impl Drop for OwnedContext {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` in `Seat::new`, freed once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Seat {
    fn new() -> io::Result<Self> {
        let context = Context {
            scratch: ptr::null_mut(),
            grid: [0; 3],
            program: 0,
            fuel: 0,
            run: ptr::null(),
            yielder: ptr::null(),
            site: ptr::null(),
            waited: false,
            role: Role::Helper,
            refills: Fuel::FIRST,
        };
        let context = OwnedContext(Box::into_raw(Box::new(context)));
        let stack = DefaultStack::new(STACK_BYTES)?;
        Ok(Self { stack, belongings: Belongings { scratch: Scratch::default(), context } })
    }
}

/// Seats that wait for their next fiber.
#[derive(Default)]
pub(crate) struct SeatPool {
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    seats: Vec<Seat>,
    scratch: usize,
}

impl SeatPool {
    fn take(&self) -> io::Result<Seat> {
        let mut free = lock(&self.free);
        let Some(seat) = free.seats.pop() else {
            drop(free);
            return Seat::new();
        };
        free.scratch -= seat.belongings.scratch.capacity();
        Ok(seat)
    }

    fn give(&self, seat: Seat) {
        let mut free = lock(&self.free);
        let scratch = free.scratch + seat.belongings.scratch.capacity();
        if free.seats.len() < KEPT_SEATS && scratch <= KEPT_SCRATCH {
            free.scratch = scratch;
            free.seats.push(seat);
        }
    }
}

/// A run of programs that can be suspended.
pub(crate) struct Fiber {
    coroutine: ManuallyDrop<Coroutine<(), Suspend, (), DefaultStack>>,
    belongings: ManuallyDrop<Belongings>,
}

// SAFETY: what lives on the stack are frames of generated code, which know no threads, frames of the hooks, which
// keep nothing of their thread across a suspension, and `body`, which is `Send`.
unsafe impl Send for Fiber {}

impl Fiber {
    /// A fiber for programs of `run`. When first resumed it calls `body` with its context.
    ///
    /// The fiber holds plain pointers: the caller keeps `run`, and what `body` points at, alive as long as the
    /// fiber, and drops the fiber only once its programs need not go on.
    pub(crate) fn new(
        seats: &SeatPool,
        run: &Run<'_>,
        grid: [u32; 3],
        scratch_bytes: usize,
        body: impl FnOnce(*mut Context) + Send + 'static,
    ) -> io::Result<Self> {
        let Seat { stack, mut belongings } = seats.take()?;
        let scratch = match belongings.scratch.reserve(scratch_bytes) {
            Ok(scratch) => scratch,
            Err(error) => {
                seats.give(Seat { stack, belongings });
                return Err(error);
            }
        };
        let context = OwnedPtr(belongings.context.0);
        // SAFETY: the seat's context is ours, and nothing else uses it before the fiber starts.
        unsafe { *context.0 = run.context(grid, scratch, Role::Helper) };
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yield, ()| {
            let context = context.address();
            // SAFETY: the context lives as long as the fiber.
            unsafe { (*context).yielder = ptr::from_ref(yielder).cast() };
            body(context);
        });
        Ok(Self { coroutine: ManuallyDrop::new(coroutine), belongings: ManuallyDrop::new(belongings) })
    }

    /// Runs the fiber on a thread in this role until it ends or suspends. A fiber that finished or failed must not be
    /// resumed.
    pub(crate) fn resume(&mut self, role: Role) -> Resumed {
        // SAFETY: the fiber is suspended, so nothing else uses its context now.
        unsafe { (*self.belongings.context.0).role = role };
        match self.coroutine.resume(()) {
            CoroutineResult::Yield(Suspend::Wait) => Resumed::Waits,
            CoroutineResult::Yield(Suspend::Failed) => Resumed::Failed,
            CoroutineResult::Return(()) => Resumed::Finished,
        }
    }

    /// The program a suspended fiber is in and the site it waits at.
    pub(crate) fn position(&self) -> (u64, *const Site) {
        let context = self.belongings.context.0;
        // SAFETY: the fiber is suspended, so nobody writes its context now.
        unsafe { ((*context).program, (*context).site) }
    }

    /// Ends the fiber, abandoning its programs if they have not ended, and keeps its seat for the next one.
    pub(crate) fn retire(self, seats: &SeatPool) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped again, so each part is taken once.
        seats.give(unsafe { this.dismantle() });
    }

    /// # Safety
    ///
    /// Called once, as the last use of `self`.
    unsafe fn dismantle(&mut self) -> Seat {
        // SAFETY: taken once by contract.
        let (mut coroutine, belongings) =
            unsafe { (ManuallyDrop::take(&mut self.coroutine), ManuallyDrop::take(&mut self.belongings)) };
        if !coroutine.done() {
            // SAFETY: no frame on the stack has anything to drop: generated code has no destructors, `suspend` and
            // its callers promise it, and `body` holds plain pointers. A fiber that never ran holds `body` only.
            unsafe { coroutine.force_reset() };
        }
        Seat { stack: coroutine.into_stack(), belongings }
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        // SAFETY: the last use of `self`.
        drop(unsafe { self.dismantle() });
    }
}

/// The address of a context, to carry into a fiber.
struct OwnedPtr(*mut Context);

// SAFETY: only the fiber uses the context while it runs.
unsafe impl Send for OwnedPtr {}

impl OwnedPtr {
    fn address(&self) -> *mut Context {
        self.0
    }
}
