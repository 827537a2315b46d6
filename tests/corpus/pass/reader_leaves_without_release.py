"""Readers leave a lock by a decrement that releases, and the next writer comes after what they read."""
# expect: clean
# ranks: 1
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def readers_and_a_writer(lock, x, out):
    """The lock holds the number of readers, or -1 for a writer."""
    pid = tl.program_id(0)
    if pid == 0:
        while tl.atomic_cas(lock, 0, -1, sem="acquire", scope="gpu") != 0:
            pass
        tl.store(x, 5)
        tl.atomic_xchg(lock, 0, sem="release", scope="gpu")
    else:
        inside = False
        while not inside:
            readers = tl.atomic_add(lock, 0, sem="relaxed", scope="gpu")
            if readers >= 0:
                inside = tl.atomic_cas(lock, readers, readers + 1, sem="acquire", scope="gpu") == readers
        tl.store(out + pid, tl.load(x))
        tl.atomic_add(lock, -1, sem="release", scope="gpu")


@shoal.harness
def once(world):
    readers_and_a_writer[(3,)](world.buffer(1, "int32"), world.buffer(1, "int32"), world.buffer(3, "int32"))
