"""Forked children of ranks: they end as any process does, and take part in nothing."""

import distributed
import pytest
from thread_worlds import run_script

# Each way to end a child, and the status that its parent sees.
ENDINGS = """
import os, sys, numpy as np, shoal
import shoal.symm_mem as symm_mem

def die():
    raise ValueError("of the child")

ENDS = {
    7: lambda: sys.exit(7),
    0: lambda: sys.exit(),
    1: lambda: sys.exit("words of the child"),
    255: lambda: sys.exit(-1),
    9: lambda: os._exit(9),
}

def ended(end):
    child = os.fork()
    if child == 0:
        end()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def use(rank):
    tensor = symm_mem.empty(4, dtype=np.float32)
    handle = symm_mem.rendezvous(tensor)
    stream = rank.stream()
    rank.barrier()
    if rank.rank == 1:
        parent = os.getpid()
        for status, end in ENDS.items():
            assert ended(end) == status, status
        assert ended(die) == 1
        # What the child drops, the parent still holds.
        child = os.fork()
        if child == 0:
            del tensor, handle
            return None
        assert os.waitpid(child, 0)[1] == 0
        assert os.getpid() == parent
        assert list(rank._native.read(0, handle._meeting.places[0][0], 2)) == [1, 1]
        statuses = []
        stream.call(lambda: statuses.append(ended(ENDS[7])))
        stream.synchronize()
        assert statuses == [7]
    rank.barrier()
    handle.barrier()
    return rank.all_gather(rank.rank)
"""

OF_THREADS = f"""{ENDINGS}
assert shoal.World.threads(2, heap_bytes=1 << 20, timeout=60).run(use) == [[0, 1]] * 2
"""

OF_PROCESSES = f"""{ENDINGS}
world, me = shoal.World.from_env(heap_bytes=1 << 20), os.getpid()
done = world.run(use)
if os.getpid() != me:
    sys.exit(0)
assert done == [[0, 1]]
"""


def check_what_was_said(printed):
    assert printed.count("words of the child") == 1
    assert printed.count("ValueError: of the child") == 1
    assert "Fatal" not in printed
    assert "another exception" not in printed


def test_children_of_threads_end_as_they_ask_to(tmp_path):
    done = run_script(OF_THREADS, tmp_path)
    assert done.returncode == 0, done.stderr
    check_what_was_said(done.stderr)


@pytest.mark.parametrize(
    "launch", [distributed.shoal_launch, pytest.param(distributed.oshrun, marks=distributed.needs_oshrun)]
)
def test_children_of_processes_end_as_they_ask_to(launch, tmp_path):
    check_what_was_said(distributed.run(launch(2), OF_PROCESSES, tmp_path))


OPERATIONS = """
import os, sys, time, numpy as np, shoal
import shoal.symm_mem as symm_mem

def operations(rank):
    x, stream, tensor = rank.symm_zeros(1, np.int32), rank.stream(), symm_mem.empty(4, dtype=np.float32)
    event, handle = stream.record(), symm_mem.rendezvous(tensor)
    rank.barrier()

    def enter():
        with rank:
            pass

    return x, {
        "stream.call": lambda: stream.call(print),
        "stream.copy": lambda: stream.copy(x, x),
        "stream.write_value": lambda: stream.write_value(x, 1),
        "stream.wait_value": lambda: stream.wait_value(x, 1),
        "stream.record": stream.record,
        "stream.wait": lambda: stream.wait(event),
        "stream.query": stream.query,
        "stream.synchronize": stream.synchronize,
        "event.query": event.query,
        "event.wait": event.wait,
        "stream": rank.stream,
        "barrier": rank.barrier,
        "broadcast": lambda: rank.broadcast(1),
        "all_gather": lambda: rank.all_gather(1),
        "split": lambda: rank.world.split(0),
        "symm_empty": lambda: rank.symm_empty(1),
        "free": lambda: rank.free(x),
        "free_bytes": lambda: rank.free_bytes,
        "check": rank.check,
        "fail": lambda: rank.fail("by the child"),
        "enter": enter,
        "symm_mem.empty": lambda: symm_mem.empty(4, dtype=np.float32),
        "symm_mem.rendezvous": lambda: symm_mem.rendezvous(tensor),
        "symm_mem.workspace": lambda: symm_mem.get_symm_mem_workspace(None, 64),
        "handle.barrier": handle.barrier,
        "handle.put_signal": lambda: handle.put_signal(0),
    }

def refused(operations):
    for name, operation in operations.items():
        try:
            operation()
        except RuntimeError as error:
            if "is not a rank" in str(error):
                continue
            print(name, "raises", repr(error), file=sys.stderr)
        else:
            print(name, "is accepted", file=sys.stderr)
        return False
    return True

def use(rank, **more):
    x, all = operations(rank)
    if rank.rank == 1:
        child = os.fork()
        if child == 0:
            x[0] = 1                       # the memory is shared or its own copy, but there
            begin = time.monotonic()
            os._exit(0 if refused({**all, **more}) and time.monotonic() - begin < 5 else 3)
        assert os.waitpid(child, 0)[1] == 0
    rank.barrier()
"""

REFUSED_THREADS = f"""{OPERATIONS}
world = shoal.World.threads(2, heap_bytes=1 << 20, timeout=60)
world.run(use)
child = os.fork()
if child == 0:
    try:
        world.run(use)
    except RuntimeError as error:
        assert "forked child" in str(error)
        # A world of its own is none of the parent's.
        own = shoal.World.threads(2, heap_bytes=1 << 20)
        sys.exit(0 if own.run(lambda rank: rank.all_gather(rank.rank)) == [[0, 1]] * 2 else 3)
    sys.exit(4)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

REFUSED_PROCESSES = f"""{OPERATIONS}
shoal.World.from_env(heap_bytes=1 << 20).run(use, from_env=shoal.World.from_env)
"""


def test_a_forked_child_of_a_thread_is_no_rank(tmp_path):
    done = run_script(REFUSED_THREADS, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "launch", [distributed.shoal_launch, pytest.param(distributed.oshrun, marks=distributed.needs_oshrun)]
)
def test_a_forked_child_of_a_process_is_no_rank(launch, tmp_path):
    distributed.run(launch(2), REFUSED_PROCESSES, tmp_path)


MULTIPROCESSING = """
import multiprocessing, sys, threading, shoal

context = multiprocessing.get_context("fork")

def work(queue):
    threading.current_thread()
    queue.put(6 * 7)
    sys.exit(4)

def use(rank):
    threading.current_thread()             # as every message of `logging` does
    rank.barrier()
    if rank.rank == 0:
        queue = context.Queue()
        process = context.Process(target=work, args=(queue,))
        process.start()
        assert queue.get() == 42
        process.join()
        assert process.exitcode == 4, process.exitcode
        with context.Pool(2) as pool:
            assert pool.map(abs, range(-3, 0)) == [3, 2, 1]
    rank.barrier()

if __name__ == "__main__":
    world = shoal.World.from_env if shoal.World.is_launched() else lambda **options: shoal.World.threads(2, **options)
    world(heap_bytes=1 << 20, timeout=60).run(use)
"""


def test_ranks_use_multiprocessing(tmp_path):
    done = run_script(MULTIPROCESSING, tmp_path)
    assert done.returncode == 0, done.stderr
    distributed.run(distributed.shoal_launch(2), MULTIPROCESSING, tmp_path)
