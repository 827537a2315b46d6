//! Fibers: programs that can be suspended.
//!
//! A fiber owns [`FiberResources`]: a guarded stack, scratch and a context. They are pooled. A fiber that is dropped while
//! suspended is abandoned, not unwound: generated code has no destructors, and hooks leave nothing on the stack
//! that needs one.

use super::{
    context::{Course, ProgramContext},
    launch_state::{LaunchState, Role},
    scratch::Scratch,
    wait::Wait,
};
use crate::lock::lock;
use core::{mem::ManuallyDrop, ptr};
use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};
use std::{io, sync::Mutex};

/// Stack of a fiber. Tiles live in scratch, so frames of generated code are small.
const STACK_BYTES: usize = 256 << 10;
/// Resources of so many fibers are kept between launches, with so much scratch together.
const KEPT_FIBERS: usize = 256;
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
pub(crate) unsafe fn suspend(ctx: *mut ProgramContext, why: Suspend) -> bool {
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
pub(crate) unsafe fn on_thread_stack<R>(ctx: *mut ProgramContext, f: impl FnOnce() -> R) -> R {
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
pub(crate) struct FiberResources {
    stack: DefaultStack,
    memory: FiberMemory,
}

struct FiberMemory {
    scratch: Scratch,
    context: OwnedContext,
}

/// A context apart from everything else, because generated code holds its address while Rust code moves the fiber.
struct OwnedContext(*mut ProgramContext);

// SAFETY: the context is owned, and used by one thread at a time.
unsafe impl Send for OwnedContext {}

impl Drop for OwnedContext {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` in `FiberResources::new`, freed once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl FiberResources {
    fn new() -> io::Result<Self> {
        let context = OwnedContext(Box::into_raw(Box::new(ProgramContext::unused())));
        let stack = DefaultStack::new(STACK_BYTES)?;
        Ok(Self { stack, memory: FiberMemory { scratch: Scratch::default(), context } })
    }
}

/// Resources that wait for their next fiber.
#[derive(Default)]
pub(crate) struct FiberPool {
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    fibers: Vec<FiberResources>,
    scratch: usize,
}

impl FiberPool {
    fn take(&self) -> io::Result<FiberResources> {
        let mut free = lock(&self.free);
        let Some(resources) = free.fibers.pop() else {
            drop(free);
            return FiberResources::new();
        };
        free.scratch -= resources.memory.scratch.capacity();
        Ok(resources)
    }

    fn give(&self, resources: FiberResources) {
        let mut free = lock(&self.free);
        let scratch = free.scratch + resources.memory.scratch.capacity();
        if free.fibers.len() < KEPT_FIBERS && scratch <= KEPT_SCRATCH {
            free.scratch = scratch;
            free.fibers.push(resources);
        }
    }
}

/// A run of programs that can be suspended.
pub(crate) struct Fiber {
    coroutine: ManuallyDrop<Coroutine<(), Suspend, (), DefaultStack>>,
    memory: ManuallyDrop<FiberMemory>,
}

// SAFETY: what lives on the stack are frames of generated code, which know no threads, frames of the hooks, which
// keep nothing of their thread across a suspension, and `body`, which is `Send`.
unsafe impl Send for Fiber {}

impl Fiber {
    /// A fiber for programs of `launch`. When first resumed it calls `body` with its context.
    ///
    /// The fiber holds plain pointers: the caller keeps `launch`, and what `body` points at, alive as long as the
    /// fiber, and drops the fiber only once its programs need not go on.
    pub(crate) fn new(
        pool: &FiberPool,
        launch: &LaunchState<'_>,
        grid: [u32; 3],
        scratch_bytes: usize,
        body: impl FnOnce(*mut ProgramContext) + Send + 'static,
    ) -> io::Result<Self> {
        let FiberResources { stack, mut memory } = pool.take()?;
        let scratch = match memory.scratch.reserve(scratch_bytes) {
            Ok(scratch) => scratch,
            Err(error) => {
                pool.give(FiberResources { stack, memory });
                return Err(error);
            }
        };
        let context = OwnedPtr(memory.context.0);
        // SAFETY: the context is ours, and nothing else uses it before the fiber starts.
        unsafe { *context.0 = ProgramContext::new(launch, grid, scratch, Role::Helper) };
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yield, ()| {
            let context = context.address();
            // SAFETY: the context lives as long as the fiber.
            unsafe { (*context).yielder = ptr::from_ref(yielder).cast() };
            body(context);
        });
        Ok(Self { coroutine: ManuallyDrop::new(coroutine), memory: ManuallyDrop::new(memory) })
    }

    /// Runs the fiber on a thread in this role until it ends or suspends. A fiber that finished or failed must not be
    /// resumed.
    pub(crate) fn resume(&mut self, role: Role) -> Resumed {
        // SAFETY: the fiber is suspended, so nothing else uses its context now.
        unsafe { (*self.memory.context.0).role = role };
        match self.coroutine.resume(()) {
            CoroutineResult::Yield(Suspend::Wait) => Resumed::Waits,
            CoroutineResult::Yield(Suspend::Failed) => Resumed::Failed,
            CoroutineResult::Return(()) => Resumed::Finished,
        }
    }

    /// What the program of a suspended fiber has done since it was resumed.
    pub(crate) fn course(&self) -> Course {
        // SAFETY: the fiber is suspended, so nobody writes its context now.
        unsafe { (*self.memory.context.0).course }
    }

    /// The program a suspended fiber is in and what it waits for.
    pub(crate) fn position(&self) -> (u64, Wait) {
        let context = self.memory.context.0;
        // SAFETY: the fiber is suspended, so nobody writes its context now.
        unsafe { ((*context).shared.program, (*context).wait) }
    }

    /// Ends the fiber, abandoning its programs if they have not ended, and keeps its resources for the next one.
    pub(crate) fn recycle(self, pool: &FiberPool) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped again, so each part is taken once.
        pool.give(unsafe { this.dismantle() });
    }

    /// # Safety
    ///
    /// Called once, as the last use of `self`.
    unsafe fn dismantle(&mut self) -> FiberResources {
        // SAFETY: taken once by contract.
        let (mut coroutine, memory) =
            unsafe { (ManuallyDrop::take(&mut self.coroutine), ManuallyDrop::take(&mut self.memory)) };
        if !coroutine.done() {
            // SAFETY: no frame on the stack has anything to drop: generated code has no destructors, `suspend` and
            // its callers promise it, and `body` holds plain pointers. A fiber that never ran holds `body` only.
            unsafe { coroutine.force_reset() };
        }
        FiberResources { stack: coroutine.into_stack(), memory }
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        // SAFETY: the last use of `self`.
        drop(unsafe { self.dismantle() });
    }
}

/// The address of a context, to carry into a fiber.
struct OwnedPtr(*mut ProgramContext);

// SAFETY: only the fiber uses the context while it runs.
unsafe impl Send for OwnedPtr {}

impl OwnedPtr {
    fn address(&self) -> *mut ProgramContext {
        self.0
    }
}
