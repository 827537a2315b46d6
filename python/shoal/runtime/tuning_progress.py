"""One line on the terminal or in the notebook while many configurations are compiled and measured."""

import sys
import time

# Work that is done sooner shows nothing.
QUIET_SECONDS = 0.5


class Progress:
    """Shows `autotune NAME: DOING n/total` on the standard error, in place, and leaves nothing behind."""

    def __init__(self, name: str, total: int) -> None:
        self.name = name
        self.total = total
        self.shown = ""
        self.start = time.perf_counter()
        # A notebook's stream is no terminal, but knows how to go back to the beginning of a line.
        self.visible = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)

    def step(self, doing: str, done: int) -> None:
        """Says how far one kind of work is."""
        if self.visible and time.perf_counter() - self.start > QUIET_SECONDS:
            self._show(f"autotune {self.name}: {doing} {done}/{self.total}")

    def finish(self) -> None:
        """Takes the line away."""
        if self.shown:
            self._show("")

    def _show(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(len(self.shown)) + ("" if text else "\r"))
        sys.stderr.flush()
        self.shown = text
