"""Where Triton turns Python's syntax tree into its IR. Shoal's front end does this in the compiler; only names that host
code catches errors by are here."""

from shoal.errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = ["CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct"]


def __getattr__(name: str) -> object:
    raise AttributeError(
        f"{__name__} has no {name!r}: Shoal's front end is part of its compiler. `kernel.asm` has what a kernel became."
    )
