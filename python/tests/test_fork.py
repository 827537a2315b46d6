"""Forked children compile and launch, whatever other threads of the parent were doing."""

import os
import signal
import threading

import numpy as np
import pytest

import shoal
import shoal.language as tl

FORKS = 200


@shoal.jit
def scaled(x, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * FACTOR, mask=at < n)


def run(factor: int, n: int = 5000) -> bool:
    x = np.ones(n, np.float32)
    scaled[(shoal.cdiv(n, 64),)](x, n, factor, 64)
    return bool((x == factor).all())


def in_child(check) -> int:
    """The status of a forked child, which a signal ends if it hangs."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)
            status = 0 if check() else 1
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_children_compile_and_launch_while_the_parent_does():
    threads = int(os.environ.get("SHOAL_CPU_THREADS", len(os.sched_getaffinity(0))))
    assert run(1)
    done = threading.Event()
    failed: list[int] = []

    def work(first: int) -> None:
        factor = first
        while not done.is_set():
            # A new constant each time: a new specialisation.
            if not run(factor):
                failed.append(factor)
            factor += 2

    def child(number: int) -> bool:
        return run(1) and run(-number) and len(os.listdir("/proc/self/task")) >= threads

    workers = [threading.Thread(target=work, args=(first,)) for first in (2, 3)]
    for worker in workers:
        worker.start()
    try:
        statuses = [in_child(lambda number=number: child(number)) for number in range(1, FORKS + 1)]
    finally:
        done.set()
        for worker in workers:
            worker.join()
    assert statuses == [0] * FORKS
    assert not failed
