"""Compiling kernels ahead of their first launch."""

from shoal.compiler import errors
from shoal.compiler.asynchronous import AsyncCompileMode, FutureKernel
from shoal.compiler.compiler import (
    AsmDict,
    ASTSource,
    CompiledKernel,
    IRSource,
    LazyDict,
    compile,
    get_cache_key,
    make_backend,
    max_shared_mem,
)
from shoal.errors import CompilationError

__all__ = [
    "ASTSource",
    "AsmDict",
    "AsyncCompileMode",
    "CompilationError",
    "CompiledKernel",
    "FutureKernel",
    "IRSource",
    "LazyDict",
    "compile",
    "errors",
    "get_cache_key",
    "make_backend",
    "max_shared_mem",
]
