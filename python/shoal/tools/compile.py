"""`python -m shoal.tools.compile`: a kernel as C source, with Triton's command line.

    python -m shoal.tools.compile add.py -n add -s "*fp32:16, *fp32:16, *fp32:16, i32, 1024" -o out/add

writes `out/add.c` and `out/add.h`; `shoal compile` has more forms. Several `-s` give one launch function that takes the
variant that its arguments fit.
"""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass, field
from pathlib import Path

from shoal import _native


@dataclass
class CompileArgs:
    """What to compile, and where to write it."""

    path: str = ""
    kernel_name: str = ""
    signature: str | list[str] = field(default_factory=list)
    grid: str = ""
    target: str | None = None
    num_warps: int = 1
    num_stages: int = 3
    out_name: str | None = None
    out_path: Path | None = None


def compile_kernel(args: CompileArgs) -> tuple[str, list[Path]]:
    """Compiles a kernel of a file; gives the name of its functions and the files that were written."""
    backend = (args.target or "cpu").split(":")[0]
    if backend != "cpu":
        raise ValueError(f"there is no compiler for {args.target!r} here: the target is `cpu`")
    name = args.out_name or args.kernel_name
    out = Path(args.out_path) if args.out_path else Path(name)
    signatures = [args.signature] if isinstance(args.signature, str) else list(args.signature)
    files = _native.compile_ahead(args.path, args.kernel_name, signatures, name, str(out.parent))
    return name, [Path(file) for file in files]


def main() -> None:
    """The command line."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("path", help="the file with the kernel; it is read, not run")
    parser.add_argument("--kernel-name", "-n", required=True, help="the kernel")
    parser.add_argument("--signature", "-s", action="append", required=True, help='such as "*fp32:16, i32, 1024"')
    parser.add_argument("--grid", "-g", default="", help="ignored: the launch function takes the grid")
    parser.add_argument("--target", "-t", default=None, help="`cpu`, which is the default")
    parser.add_argument("--num-warps", "-w", type=int, default=1, help="ignored: it means nothing on a CPU")
    parser.add_argument("--num-stages", "-ns", type=int, default=3, help="ignored: it means nothing on a CPU")
    parser.add_argument("--out-name", "-on", default=None, help="what functions and files are named after")
    parser.add_argument("--out-path", "-o", type=Path, default=None, help="where to write")
    name, files = compile_kernel(CompileArgs(**vars(parser.parse_args())))
    print(f"{name}: wrote {', '.join(map(str, files))}")


if __name__ == "__main__":
    main()
