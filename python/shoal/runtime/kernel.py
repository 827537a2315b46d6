"""Compiled kernels: what a launch returns and `warmup` makes."""

from __future__ import annotations

import ast
import hashlib
import html
import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from .computed_once import computed_once
from .machinery import compiling_for

if TYPE_CHECKING:
    from .. import _native
    from .jit import JITFunction

# What the forms of a kernel are called by people, and by the compiler. Those that Triton names differently have both.
_FORMS = {
    "tile": "tile",
    "ttir": "tile",
    "tile-opt": "tile-opt",
    "ttgir": "tile-opt",
    "llir": "llvm",
    "asm": "asm",
    "obj": "obj",
}

# Those of code for NVIDIA GPUs, in their words.
_GPU_FORMS = {form: _FORMS[form] for form in ("tile", "ttir", "tile-opt", "ttgir", "llir")} | {
    "ptx": "asm",
    "cubin": "obj",
}
_BINARY = ("obj", "cubin")

# What torch's AOTInductor packs of a kernel for CPUs.
_LIBRARIES = ("so", "launcher.so")

# Launch options that host code looks up, and what they are if a launch does not say.
_OPTIONS: dict[str, Any] = {
    "num_warps": 4,
    "num_stages": 3,
    "num_ctas": 1,
    "maxnreg": None,
    "cluster_dims": (1, 1, 1),
    "enable_fp_fusion": True,
    "launch_cooperative_grid": False,
    "launch_pdl": False,
    "sanitize_overflow": True,
    "extern_libs": (),
}


class Forms(Mapping[str, Any]):
    """The forms of a kernel on its way to code, each made when it is looked at.

    `source`, `tile` (tile IR), `tile-opt` (after all passes), `llir` (LLVM IR), `asm`, and `obj` (bytes); for an NVIDIA
    GPU `ptx` and `cubin` (bytes) instead of the last two. `ttir` and `ttgir` are other names of the tile IR. Where the
    CPU plays a GPU, a kernel has both: what runs, and `ptx` and `cubin` for the GPU that is played. `so` and
    `launcher.so` (bytes) are for torch's AOTInductor. A walk through all forms passes over those that need an
    assembler or a C compiler.
    """

    played_gpu: str | None = None
    """The GPU that the CPU plays in this process."""

    def __init__(self, name: str, source: str, native: _native.Compiled, options: Mapping[str, Any]) -> None:
        self._name = name
        self._options = dict(options)
        self._native = native
        on_gpu = native.target[0] == "cuda"
        self._forms = _GPU_FORMS if on_gpu else _FORMS if self.played_gpu is None else _FORMS | _GPU_FORMS
        self._made: dict[str, Any] = {"source": source}

    def __getitem__(self, form: str) -> Any:
        if form in _LIBRARIES and form in self:
            return self._libraries[form]
        if form not in self._made:
            on_gpu = self._native.target[0] == "cuda"
            of_played = form not in _FORMS and not on_gpu
            with compiling_for("cuda") if on_gpu else nullcontext():
                made = self._emitted(self._forms[form], self.played_gpu if of_played else None)
            self._made[form] = made if form in _BINARY else made.decode()
        return self._made[form]

    def _emitted(self, stage: str, played_gpu: str | None) -> bytes:
        if played_gpu is None:
            return self._native.emit(stage)
        return self._native.emit_for_gpu(stage, played_gpu, self._options)

    @computed_once
    def _libraries(self) -> dict[str, bytes]:
        from .._static_runtime import folders

        return dict(zip(_LIBRARIES, self._native.torch_libraries(self._name, folders())))

    def __contains__(self, form: object) -> bool:
        for_cpu = self._native.target[0] == "cpu"
        return form == "source" or form in self._forms or (for_cpu and form in _LIBRARIES)

    def __iter__(self) -> Iterator[str]:
        plays = self._native.target[0] != "cuda"
        return iter(["source", *(form for form in self._forms if not (plays and form == "cubin"))])

    def __len__(self) -> int:
        return sum(1 for _ in self)  # a list asks for the length first

    def __repr__(self) -> str:
        return f"<forms of a kernel: {', '.join(self)}>"


class LaunchMetadata:
    """What launch hooks get; `get()` gives a dictionary with `name`, `function`, `stream`, and what the kernel adds."""

    def __init__(self, kernel: CompiledKernel, grid: Sequence[int], args: Mapping[str, Any]) -> None:
        self._kernel, self._grid, self._args = kernel, tuple(grid), args
        self.name = kernel.name

    def get(self) -> dict[str, Any]:
        """The facts, worked out now."""
        facts: dict[str, Any] = {"name": self.name, "function": self._kernel.function, "stream": 0}
        extra = self._kernel.fn.launch_metadata
        if extra is not None:
            facts.update(extra(self._grid, self._kernel.metadata, dict(self._args)))
        return facts


class Specialization(NamedTuple):
    """What a kernel is compiled for: values and types by parameter."""

    constants: dict[str, Any]
    signature: dict[str, str]


def variant_hash(fn: JITFunction[Any], signature: Mapping[str, str], options: Mapping[str, Any]) -> str:
    """One word for everything that the code of a variant depends on."""
    facts = (fn.cache_key, sorted(signature.items()), sorted(map(str, options.items())))
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _value(text: str) -> Any:
    """A value that is compiled in; what is no number or text stays as it is written."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


class CompiledKernel:
    """A kernel, compiled for arguments of a kind.

    `asm` has its forms, `metadata` what it was compiled with and for, `signature` what is compiled in of each argument.
    It can be launched again without the rest of its launch's words: `compiled[(x, y, z)](*args)`, where arguments for
    `constexpr` parameters are passed by position like the others. What was compiled in stays, whatever is passed.
    """

    def __init__(self, fn: JITFunction[Any], native: _native.Compiled, options: Mapping[str, Any]) -> None:
        self.fn = fn
        self._native = native
        self._options = dict(options)
        self.signature: dict[str, str] = dict(native.signature)
        self.constants: tuple[str, ...] = tuple(native.constants)
        self.name: str = fn.repr(self._specialization()) if fn.has_own_repr else native.name
        self.asm = Forms(self.name, fn.src, native, self._options)
        self.module: Any = None
        self.function: Any = None

    def _specialization(self) -> Specialization:
        """What the decorator's `repr` makes a name of."""
        constants = {name: _value(self.signature[name]) for name in self.constants}
        return Specialization(constants, self._types())

    def _types(self) -> dict[str, str]:
        """The types of the arguments, without what is known of their values."""
        return {
            name: "constexpr" if name in self.constants else spec.split(":")[0] for name, spec in self.signature.items()
        }

    @computed_once
    def hash(self) -> str:
        """One word for everything that the code depends on."""
        return variant_hash(self.fn, self.signature, self._options)

    @computed_once
    def metadata(self) -> Any:
        """What the kernel was compiled with and for, as a named tuple.

        `shared` is the shared memory of a program in bytes; on a CPU one byte: it has none, but host code divides by
        it. On a GPU `num_warps` counts all warps of the block that runs a program: those of every block that `num_ctas`
        asks for, and those that feed a loop.
        """
        facts = {
            **_OPTIONS,
            **self._options,
            "num_warps": self._warps,
            "name": self.name,
            "hash": self.hash,
            "target": self._target(),
            "shared": self._shared,
            "tmem_size": 0,
            "global_scratch_size": 0,
            "global_scratch_align": 1,
            "profile_scratch_size": 0,
            "profile_scratch_align": 1,
            "warp_size": 32 if self._native.target[0] == "cuda" else 1,
            "backend_name": self._native.target[0],
        }
        return namedtuple("KernelMetadata", sorted(facts))(**facts)  # noqa: PYI024

    @computed_once
    def packed_metadata(self) -> tuple[Any, ...]:
        """A few facts that launchers of other devices take. No cluster is launched, whatever `num_ctas` asks for."""
        facts = self.metadata
        return (facts.num_warps, 1, facts.shared, 1, 1, 1)

    @computed_once
    def src(self) -> Any:
        """The kernel with the types of its arguments, as `shoal.compile` takes it."""
        from ..compiler.source import ASTSource

        constants = {name: self.signature[name] for name in self.constants}
        return ASTSource(self.fn, self._types(), constants)

    def _target(self) -> Any:
        """What it was compiled for, as host code knows it."""
        from ..backends.compiler import GPUTarget

        kind, name = self._native.target
        if kind != "cuda":
            return GPUTarget(kind, name, 1)
        return GPUTarget(kind, int(name.removeprefix("sm_").rstrip("a")), 32)

    @property
    def _shared(self) -> int:
        resources = self._native.gpu_resources
        if resources is not None:
            return resources[2]
        return 1 if self._native.loaded else self._described("shared")

    @property
    def _warps(self) -> int:
        if self._native.target[0] != "cuda":
            asked = self._options.get("num_warps")
            return _OPTIONS["num_warps"] if asked is None else asked
        resources = self._native.gpu_resources
        return (self._described("threads") if resources is None else resources[3]) // 32

    def _described(self, fact: str) -> int:
        """A number that the first line of the PTX states."""
        return int(re.search(rf" {fact}=(\d+)", self.asm["ptx"])[1])  # type: ignore[index]

    @property
    def n_regs(self) -> int:
        """Registers of a thread on a GPU; of a program on a CPU, all that it has for vectors."""
        self._must_be_here()
        resources = self._native.gpu_resources
        return 32 if resources is None else resources[0]

    @property
    def n_spills(self) -> int:
        """Registers of a thread that are kept in memory on a GPU."""
        self._must_be_here()
        resources = self._native.gpu_resources
        return 0 if resources is None else resources[1] // 4

    @property
    def n_max_threads(self) -> int:
        """The most threads that can run a program."""
        return 1024 if self._native.target[0] == "cuda" else 1

    def _init_handles(self) -> None:
        """Loads the code. It is loaded already; this is for host code that asks for it."""
        self._must_be_here()
        self.module = self.module or self._native
        self.function = self.function or self._native

    def _must_be_here(self) -> None:
        if not self._native.loaded:
            raise RuntimeError(f"`{self.name}` is code for {self._native.target[1]}, and there is no such machine here")

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        self._must_be_here()

        def launch(*args: Any, stream: Any = None) -> Any:
            names = self.fn.arg_names[: len(args)]
            # What was compiled in is what it was: host code passes anything there (Inductor: -1 for `None`).
            args = (*(self._values.get(name, arg) for name, arg in zip(names, args)), *args[len(names) :])
            # A parameter with the name of an option is both, if it is passed by name.
            first = next((at for at, name in enumerate(names) if name in self._options), len(args))
            named = dict(zip(names[first:], args[first:]))
            return self.fn.run(*args[:first], grid=grid, **{**self._options, **named})

        return launch

    @computed_once
    def _values(self) -> dict[str, Any]:
        """The numbers and texts that are compiled in, and `None`."""
        values = {name: _value(self.signature[name]) for name in self.constants}
        # What is no literal, such as a type or a function, is left as its text.
        return {name: value for name, value in values.items() if value != self.signature[name]}

    def run(self, x: int, y: int, z: int, stream: Any, function: Any, *rest: Any) -> Any:
        """Launches as launchers of other devices do: after the grid come a stream, the function, four words that only
        those need, and the arguments.
        """
        return self[(x, y, z)](*rest[4:])

    def launch_metadata(self, grid: Sequence[int], stream: Any, *args: Any) -> LaunchMetadata:
        """What launch hooks get for such a launch."""
        return self._launch_metadata(grid, args)

    def _launch_metadata(self, grid: Sequence[int], args: Sequence[Any]) -> LaunchMetadata:
        return LaunchMetadata(self, grid, dict(zip(self.fn.arg_names, args, strict=False)))

    def _facts(self) -> dict[str, str]:
        times = self._native.times
        total = 1000 * sum(times.values())
        steps = ", ".join(f"{step} {1000 * time:.1f}" for step, time in times.items() if time > 5e-5)
        cached = self._native.from_cache
        values = [f"{name}={self.signature[name]}" for name in self.constants]
        return {
            "arguments": ", ".join(f"{n}: {s}" for n, s in self.signature.items() if n not in self.constants) or "none",
            "compiled in": ", ".join(values) or "nothing",
            "target": str(self.metadata.target),
            "time": f"{'found in the cache' if cached else 'compiled'} in {total:.1f} ms ({steps})",
            "code": f"{self._native.object_bytes} bytes",
        }

    def __repr__(self) -> str:
        facts = "".join(f"\n  {name + ':':<12} {value}" for name, value in self._facts().items())
        return f"<compiled kernel {self.name}{facts}>"

    def _repr_html_(self) -> str:
        cell = '<td style="text-align:left">'
        rows = "".join(
            f"<tr>{cell}{html.escape(name)}</td>{cell}<code>{html.escape(value)}</code></td></tr>"
            for name, value in self._facts().items()
        )
        return f"<b>compiled kernel <code>{html.escape(self.name)}</code></b><table>{rows}</table>"
