"""Names by which host code catches errors of the compiler's front end, which is not written in Python here."""

from shoal.errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = ["CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct"]


def __getattr__(name: str) -> object:
    raise AttributeError(
        f"{__name__} has no {name!r}: Shoal's front end is part of its compiler. `kernel.asm` has what a kernel became."
    )
