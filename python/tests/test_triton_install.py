"""`import triton` after `install()`, and what it leaves behind."""

import importlib
import os
import subprocess
import sys

import pytest

import shoal
import shoal.triton

# Names that host programs import, by module.
NAMES = {
    "triton": "jit JITFunction KernelInterface autotune heuristics Config compile CompilationError TritonError "
    "OutOfResources InterpreterError reinterpret TensorWrapper MockTensor constexpr_function must_use_result aggregate "
    "AsyncCompileMode FutureKernel cdiv next_power_of_2 set_allocator language runtime testing tools compiler knobs "
    "backends errors __version__",
    "triton_dist": "jit language",
    "triton_dist.language": "wait consume_token rank num_ranks symm_at notify",
    "triton.language": "load store constexpr float32 math extra core",
    "triton.language.core": "dtype tensor constexpr builtin is_builtin _aggregate _unwrap_if_constexpr",
    "triton.language.math": "exp rsqrt",
    "triton.language.random": "philox rand",
    "triton.language.standard": "sum cdiv",
    "triton.language.semantic": "constexpr",
    "triton.language.target_info": "is_cuda current_target",
    "triton.language.extra": "libdevice cuda hip",
    "triton.language.extra.libdevice": "tanh",
    "triton.language.extra.cuda": "libdevice globaltimer gdc_wait",
    "triton.language.extra.cuda.libdevice": "tanh",
    "triton.language.extra.hip.libdevice": "tanh",
    "triton.testing": "do_bench do_bench_cudagraph Benchmark perf_report assert_close Mark",
    "triton.errors": "TritonError",
    "triton.knobs": "runtime compilation autotuning cache language build nvidia amd HookChain base_knobs env",
    "triton.runtime": "driver JITFunction Autotuner Config autotune heuristics errors interpreter jit autotuner cache",
    "triton.runtime.jit": "JITFunction jit KernelInterface KernelParam MockTensor TensorWrapper reinterpret "
    "constexpr_function ConstexprFunction",
    "triton.runtime.autotuner": "Autotuner Config OutOfResources autotune",
    "triton.runtime.driver": "driver",
    "triton.runtime.cache": "get_cache_manager get_dump_manager FileCacheManager default_cache_dir triton_key",
    "triton.runtime.interpreter": "InterpretedFunction",
    "triton.runtime.errors": "OutOfResources InterpreterError PTXASError AutotunerError",
    "triton.runtime._allocation": "set_allocator",
    "triton.runtime._async_compile": "AsyncCompileMode FutureKernel active_mode",
    "triton.compiler": "compile ASTSource IRSource CompiledKernel CompilationError make_backend LazyDict get_cache_key "
    "max_shared_mem",
    "triton.compiler.compiler": "compile ASTSource CompiledKernel make_backend LazyDict AsmDict triton_key",
    "triton.compiler.errors": "CompilationError CompileTimeAssertionFailure UnsupportedLanguageConstruct",
    "triton.compiler.code_generator": "CompilationError",
    "triton.backends": "backends Backend BaseBackend DriverBase",
    "triton.backends.compiler": "GPUTarget BaseBackend Language",
    "triton.backends.driver": "DriverBase GPUDriver Benchmarker",
    "triton.tools": "tensor_descriptor",
    "triton.tools.tensor_descriptor": "TensorDescriptor",
    "triton.tools.compile": "compile_kernel CompileArgs main",
    "triton.tools.link": "main",
    "triton.tools.disasm": "get_sass",
    "triton._internal_testing": "is_cuda is_hip is_cpu is_interpreter numpy_random to_triton to_numpy dtypes",
    "triton._utils": "canonicalize_dtype type_canonicalisation_dict get_primitive_bitwidth",
    "triton._C.libtriton": "getenv_bool",
}


@pytest.fixture
def installed():
    shoal.triton.install()
    yield
    shoal.triton.uninstall()


@pytest.mark.parametrize("module", NAMES)
def test_modules_have_the_names_that_programs_import(installed, module):
    found = importlib.import_module(module)
    missing = [name for name in NAMES[module].split() if not hasattr(found, name)]
    assert missing == []


def test_the_modules_are_shoals_own(installed):
    import triton
    import triton.language
    import triton.runtime.driver

    assert triton is shoal.triton and triton.__version__ == "3.9.0"
    assert triton.language is shoal.language and triton.jit is shoal.jit
    # `triton.runtime.driver` is the driver, also when the module of this name was imported.
    assert triton.runtime.driver.active.get_current_target().backend == "cpu"
    assert triton.CompilationError is shoal.CompilationError and issubclass(triton.CompilationError, triton.TritonError)
    assert triton.knobs is shoal.knobs


def test_the_language_says_that_it_is_tritons(installed):
    # Inductor writes imports of what kernels name by these.
    from triton.language.extra.libdevice import fast_dividef

    functions = (shoal.language.load, shoal.language.softmax, fast_dividef)
    assert [fn.__module__ for fn in functions] == ["triton.language"] * 2 + ["triton.language.extra.libdevice"]
    assert shoal.language.dtype.__module__ == "triton.language.core"
    shoal.triton.uninstall()
    assert [fn.__module__ for fn in functions] == ["shoal.language"] * 2 + ["shoal.language.extra.libdevice"]


def test_programs_that_look_for_the_package_find_it(installed):
    from importlib import metadata, util

    assert metadata.version("triton") == "3.9.0" and util.find_spec("triton") is not None
    ours = metadata.distribution("triton")
    shoal.triton.uninstall()
    # What is left is the real one, if it is installed.
    assert all(type(found) is not type(ours) for found in metadata.distributions(name="triton"))


def test_what_is_not_there_says_so(installed):
    with pytest.raises(ModuleNotFoundError, match="No module named 'triton.nothing'"):
        importlib.import_module("triton.nothing")


def test_files_are_where_triton_keeps_them_while_it_is_installed(monkeypatch, tmp_path):
    monkeypatch.delenv("SHOAL_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shoal.triton.install()
    try:
        knobs = importlib.import_module("triton").knobs
        assert knobs.cache.dir == os.path.expanduser("~/.triton/cache")
        assert knobs.cache.dump_dir == os.path.expanduser("~/.triton/dump")
        monkeypatch.setenv("SHOAL_CACHE_DIR", str(tmp_path / "chosen"))
        assert knobs.cache.dir == str(tmp_path / "chosen" / "cache")
        monkeypatch.delenv("SHOAL_CACHE_DIR")
    finally:
        shoal.triton.uninstall()
    assert knobs.cache.dir == str(tmp_path / "shoal" / "cache")


def test_kernels_of_gluon_are_defined_and_refused_when_launched(installed):
    triton = importlib.import_module("triton")
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language import extra
    from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    layout = gl.BlockedLayout([1], [32], [4], [0])
    assert gl.constexpr is triton.language.constexpr and extra.libdevice.tanh is triton.language.extra.libdevice.tanh
    assert layout is not None and mbarrier.MBarrierLayout() and tma.store_wait
    assert not hasattr(gluon, "__wrapped__") and not hasattr(TensorDescriptor, "__wrapped__")

    @triton.autotune(configs=[triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=[])
    @gluon.jit(do_not_specialize=["n"])
    def kernel(x, n, BLOCK: gl.constexpr):
        gl.store(x + gl.arange(0, BLOCK, layout=layout), 1.0)

    assert kernel.fn.is_gluon() and kernel.fn.constexprs == [2]
    for launch in (kernel[(1,)], kernel.fn[(1,)], kernel.fn.warmup):
        with pytest.raises(NotImplementedError, match="`kernel` is written in Gluon"):
            launch(None, 8)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("triton.experimental.gluon.nothing")
    with pytest.raises(AttributeError, match="another IR"):
        importlib.import_module("triton._C.libtriton").nothing  # noqa: B018


def run(code, *options, **environment):
    """Runs a program in another Python, and gives what it printed."""
    command = [sys.executable, *options, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_the_drop_in_changes_nothing():
    code = """
import sys, shoal, shoal.triton
print(any(name == "triton" or name.startswith("triton.") for name in sys.modules), shoal.triton.is_installed())
"""
    assert run(code) == ["False", "False"]


def test_an_installed_triton_is_shadowed_only_when_asked(tmp_path):
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("__version__ = 'the real one'\n")
    code = """
import sys, shoal.triton
import triton; print(triton.__version__ == "the real one")
try: shoal.triton.install()
except RuntimeError as error: print("before" in str(error) and triton.__file__ in str(error))
del sys.modules["triton"], triton
shoal.triton.install(); shoal.triton.install()
import triton, triton.language; print(triton.__version__)
shoal.triton.uninstall(); shoal.triton.uninstall()
print(any(name.split(".")[0] == "triton" for name in sys.modules))
import triton; print(triton.__version__ == "the real one")
"""
    assert run(code, PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])) == [
        "True",
        "True",
        "3.9.0",
        "False",
        "True",
    ]


def test_the_cache_of_triton_is_where_kernels_are_kept(tmp_path):
    code = "import os, shoal.triton; shoal.triton.install(); print(os.environ['SHOAL_CACHE_DIR'])"
    assert run(code, TRITON_CACHE_DIR=str(tmp_path), SHOAL_CACHE_DIR="") == [str(tmp_path / "shoal")]


def test_what_triton_dist_has_beyond_us_comes_from_the_installed_one(tmp_path):
    package = tmp_path / "triton_dist"
    kernels = package / "kernels" / "nvidia"
    kernels.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('the drop-in stands for this')")
    (package / "utils.py").write_text("raise ImportError('the drop-in stands for this')")
    (kernels / "__init__.py").write_text("from .copies import twice")
    (kernels / "copies.py").write_text(
        "import triton_dist.language as dl\nfrom triton_dist import jit\n\ntwice = dl.constexpr(2)\nmade_with = jit\n"
    )
    folder = str(tmp_path)
    program = (
        "import shoal, shoal.triton\nshoal.triton.install()\n"
        "import triton_dist.kernels.nvidia as kernels\nfrom triton_dist.kernels.nvidia.copies import made_with\n"
        f"assert kernels.twice.value == 2 and made_with is shoal.jit and kernels.__file__.startswith({folder!r})\n"
        "import triton_dist\nassert triton_dist.jit is shoal.jit\n"
        "try:\n    import triton_dist.kernels.amd\nexcept ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "No module named 'triton_dist.kernels.amd'" in done.stdout
