"""The command `shoal`: `python -m shoal` does the same."""

from __future__ import annotations

import signal
import sys

from shoal import _native, _standard_streams, _static_runtime


def main() -> int:
    """Does what the command line says, and gives the exit status."""
    _standard_streams.keep_open()
    # Python would keep Ctrl-C until the command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    again = [sys.executable, "-m", "shoal"]
    return _native.run_command(sys.argv[1:], again, _static_runtime.folders())


if __name__ == "__main__":
    sys.exit(main())
