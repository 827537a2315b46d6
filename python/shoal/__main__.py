"""The command `shoal`: `python -m shoal` does the same."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from shoal import _native


def main() -> int:
    """Does what the command line says, and gives the exit status."""
    # Python would keep Ctrl-C until the command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    again = [sys.executable, "-m", "shoal"]
    # Beside this file in a wheel, beside the native module in a build.
    runtime = [Path(__file__).parent / "lib", Path(_native.__file__).resolve().parent]
    return _native.run_command(sys.argv[1:], again, [str(folder) for folder in runtime])


if __name__ == "__main__":
    sys.exit(main())
