"""Children that a thread of ours forks: of a rank, or of a stream.

Such a thread is the only one of the child, but what called it is not Python. So the child ends where the function ends
that the thread runs, as a program ends where its main thread does.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn


def run(function: Callable[[], Any]) -> Any:
    """Calls what a thread of ours is for. In a child that is forked meanwhile this does not return."""
    process = os.getpid()
    try:
        result = function()
    except BaseException as error:
        if os.getpid() != process:
            _end(error)
        raise
    if os.getpid() != process:
        _end(None)
    return result


def _end(error: BaseException | None) -> NoReturn:
    """Ends this process as Python does when nothing handles an exception, or all is done."""
    status = 1
    try:
        status = _told(error)
        # What `multiprocessing` ends its children with.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _told(error: BaseException | None) -> int:
    """The status that an exception asks for, after all is printed that there is to say."""
    if error is None:
        return 0
    if not isinstance(error, SystemExit):
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def _be_main_thread() -> None:
    """Makes a thread that Python did not start a whole main thread of the child, which it is only from Python 3.13 on.

    Without this, the end of the child's threads fails, and `multiprocessing` makes status 1 of that.
    """
    thread: Any = threading.current_thread()
    if isinstance(thread, threading._DummyThread):
        thread._set_tstate_lock()


if sys.version_info < (3, 13):
    os.register_at_fork(after_in_child=_be_main_thread)
