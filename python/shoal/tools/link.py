"""`python -m triton.tools.link`: where Triton joins kernels that were compiled one by one."""

from __future__ import annotations

import sys

TEXT = (
    "there is nothing to link: shoal.tools.compile takes several signatures at once, each with its own --signature, "
    "and puts them behind one launch function"
)


class LinkerError(Exception):
    """Kernels do not fit together."""


def main() -> None:
    """Says what to do instead."""
    print(f"{sys.argv[0]}: {TEXT}", file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    main()
