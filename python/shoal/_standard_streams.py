"""Standard input, output and error are there, also where a process was started with one of them closed."""

from __future__ import annotations

import os


def keep_open() -> None:
    """Opens `/dev/null` where 0, 1 or 2 is closed: else a file or a socket that is opened next would have that number,
    and get what is printed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, and that is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
