"""What host code does beside launching: settings, caches, drivers, compiling in the background, ahead of time."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import shoal
import shoal.language as tl
from shoal import knobs
from shoal.backends.compiler import GPUTarget
from shoal.compiler import ASTSource, LazyDict, make_backend
from shoal.runtime import cache
from shoal.runtime.driver import driver
from shoal.tools import compile as tool
from shoal.triton import _internal_testing as testing

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
"""


@shoal.jit
def increment(x, n, BLOCK: tl.constexpr, BY: tl.constexpr = 1):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + BY, mask=at < n)


def test_compiled_kernels_keep_what_was_compiled_in():
    @shoal.jit
    def kernel(out, n, skip, ADD: tl.constexpr, DTYPE: tl.constexpr):
        if skip is None:
            tl.store(out, tl.full((), n + ADD, DTYPE))

    out = np.zeros(1, np.int32)
    compiled = kernel[(1,)](out, 7, None, 3, tl.int32)
    assert out[0] == 10
    # Launchers of GPUs pass over these arguments, so host code passes anything.
    compiled[(1, 1, 1)](out, 20, -1, 5, tl.int32)
    assert out[0] == 23


def test_parameters_that_a_source_calls_constexpr_are_none():
    @shoal.jit
    def kernel(out, skip):
        if skip is None:
            tl.store(out, 5.0)

    compiled = shoal.compile(ASTSource(kernel, {"out": "*fp32", "skip": "constexpr"}))
    out = np.zeros(1, np.float32)
    compiled[(1, 1, 1)](out, -1)
    assert out[0] == 5


class TestKnobs:
    def test_variables_are_read_when_they_are_asked_for(self, monkeypatch):
        monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
        assert knobs.compilation.always_compile is True
        monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "off")
        assert knobs.compilation.always_compile is False
        monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "perhaps")
        with pytest.raises(RuntimeError, match="TRITON_ALWAYS_COMPILE=perhaps"):
            knobs.compilation.always_compile  # noqa: B018
        monkeypatch.delenv("TRITON_ALWAYS_COMPILE")
        monkeypatch.setenv("SHOAL_ALWAYS_COMPILE", "perhaps")
        with pytest.raises(RuntimeError, match="SHOAL_ALWAYS_COMPILE=perhaps"):
            knobs.compilation.always_compile  # noqa: B018
        monkeypatch.setenv("TRITON_REDIS_PORT", "7000")
        assert knobs.redis.port == 7000 == knobs.cache.redis.port

    def test_settings_reach_child_processes_and_end_with_their_scope(self):
        assert "TRITON_F32_DEFAULT" not in os.environ
        with knobs.language.scope():
            knobs.language.fp32_default = "tf32"
            assert os.environ["TRITON_F32_DEFAULT"] == "tf32" and knobs.language.knobs["fp32_default"] == "tf32"
            copied = knobs.language.copy()
            del knobs.language.fp32_default
            assert copied.fp32_default == "tf32"
        assert knobs.language.fp32_default is None and "TRITON_F32_DEFAULT" not in os.environ

    def test_variables_stay_alone_if_they_are_to(self, monkeypatch):
        monkeypatch.setattr(knobs, "propagate_env", False)
        with knobs.amd.scope():
            knobs.amd.use_async_copy = True
            assert knobs.amd.use_async_copy is True and "TRITON_HIP_USE_ASYNC_COPY" not in os.environ

    def test_classes_are_named_by_module(self, monkeypatch):
        monkeypatch.setenv("TRITON_CACHE_MANAGER", "shoal.runtime.cache:FileCacheManager")
        assert knobs.cache.manager_class is cache.FileCacheManager
        monkeypatch.setenv("TRITON_CACHE_MANAGER", "shoal.runtime.cache:_base32")
        with pytest.raises((RuntimeError, AttributeError)):
            knobs.cache.manager_class  # noqa: B018

    def test_a_chain_calls_all_its_hooks(self):
        said = []
        first, second = (lambda word: said.append((1, word))), (lambda word: said.append((2, word)))
        forwards, backwards = knobs.HookChain(), knobs.HookChain(reversed=True)
        for chain in (forwards, backwards):
            for hook in (first, second, first):
                chain.add(hook)
            chain("x")
            chain.remove(first)
            chain("y")
        assert said == [(1, "x"), (2, "x"), (2, "y"), (2, "x"), (1, "x"), (2, "y")]

    def test_fresh_settings_are_the_defaults(self, monkeypatch):
        monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
        with testing.fresh_knobs() as fresh:
            assert fresh.autotuning.print is False
            fresh.autotuning.cache = True
        assert knobs.autotuning.print is True and knobs.autotuning.cache is False


class TestCache:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path / "dump"))

    def test_files_and_groups_are_found_again(self, tmp_path):
        files = cache.get_cache_manager("0123456789abcdef")
        path = files.put("text", "a.txt")
        again = cache.get_cache_manager("0123456789abcdef")
        assert again.get_file("a.txt") == path and path.startswith(str(tmp_path / "cache"))
        assert open(path).read() == "text" and again.get_file("b.txt") is None
        again.put_group("all.json", {"a.txt": path})
        assert files.get_group("all.json") == {"a.txt": path} and files.get_group("other.json") is None
        os.unlink(path)
        assert files.get_group("all.json") is None
        assert os.listdir(os.path.dirname(path)) == ["__grp__all.json"]
        assert cache.get_dump_manager("00").put(b"\0", "x.bin").startswith(str(tmp_path / "dump"))

    def test_a_damaged_group_is_as_good_as_none(self):
        files = cache.get_cache_manager("00ff")
        files.put("not json", "__grp__all.json")
        assert files.get_group("all.json") is None

    def test_files_may_come_from_a_store_that_machines_share(self, monkeypatch):
        monkeypatch.setenv("TRITON_CACHE_MANAGER", "shoal.runtime.cache:RemoteCacheManager")
        with pytest.raises(RuntimeError, match="TRITON_REMOTE_CACHE_BACKEND"):
            cache.get_cache_manager("00")
        monkeypatch.setenv("TRITON_REMOTE_CACHE_BACKEND", f"{__name__}:SharedStore")
        files = cache.get_cache_manager("00")
        path = files.put("text", "a.txt")
        files.put_group("all.json", {"a.txt": path})
        assert SharedStore.content["AA"]["a.txt"] == b"text"
        SharedStore.content["AA"]["a.txt"] = b"changed elsewhere"
        found = cache.get_cache_manager("00").get_group("all.json")
        assert open(found["a.txt"]).read() == "changed elsewhere"

    def test_keys_are_words(self):
        source = ASTSource(increment, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 4})
        backend = make_backend(driver.active.get_current_target())
        key = cache.get_cache_key(source, backend, backend.parse_options({}), {})
        assert source.hash() in key and cache.triton_key() in key
        assert key != cache.get_cache_key(source, backend, backend.parse_options({"num_warps": 8}), {})


class SharedStore(cache.RemoteCacheBackend):
    """A store in memory."""

    content: dict[str, dict[str, bytes]] = {}

    def get(self, filenames):
        files = self.content.get(self.key, {})
        return {name: files[name] for name in filenames if name in files}

    def put(self, filename, data):
        self.content.setdefault(self.key, {})[filename] = data


class TestCompiling:
    SIGNATURE = {"x": "*fp32", "n": "i32", "BLOCK": "constexpr", "BY": "constexpr"}

    def test_promises_are_compiled_in(self):
        source = ASTSource(increment, self.SIGNATURE, {"BLOCK": 16, (3,): 2}, {(1,): [["tt.divisibility", 16]]})
        kernel = shoal.compile(source)
        assert kernel.signature == {"x": "*fp32", "n": "i32:16", "BLOCK": "16", "BY": "2"}
        assert kernel.src.signature == self.SIGNATURE

    @pytest.mark.parametrize(
        "value",
        [3, -3, 2**40, 1e-5, float("inf"), float("-inf"), True, None, "a, b", "it's", "", (1, 2), (), tl.float16]
        + [tl.pointer_type(tl.int8), tl.constexpr(4)],
    )
    def test_values_are_what_the_kernel_sees(self, value, capsys, monkeypatch):
        # What is found in the cache is not compiled, and prints nothing.
        monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")

        @shoal.jit
        def show(VALUE: tl.constexpr):
            tl.static_print(VALUE)

        shoal.compile(ASTSource(show, {"VALUE": "constexpr"}, {"VALUE": value}))
        ahead = capsys.readouterr().out
        show.warmup(value, grid=(1,))
        assert ahead == capsys.readouterr().out != ""

    @pytest.mark.parametrize(
        ("signature", "constants", "error", "said"),
        [
            ({1: "i32"}, {}, TypeError, "Signature keys must be string"),
            ({"x": "*fp32", "n": "i32"}, {"BY": 1}, ValueError, "no type for `BLOCK`"),
            (SIGNATURE, {"BY": 1}, ValueError, "no value for it"),
            (SIGNATURE, {"BLOCK": object(), "BY": 1}, ValueError, "kernel.warmup"),
        ],
    )
    def test_a_source_must_be_complete(self, signature, constants, error, said):
        with pytest.raises(error, match=said):
            shoal.compile(ASTSource(increment, signature, constants))

    def test_targets_are_gpus_here_or_not_and_sources_are_kernels(self):
        source = ASTSource(increment, self.SIGNATURE, {"BLOCK": 4, "BY": 1})
        with pytest.raises(RuntimeError, match="0 compatible backends for target"):
            shoal.compile(source, target=GPUTarget("hip", "gfx942", 64))
        assert ".target sm_90" in shoal.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
        with pytest.raises(NotImplementedError, match="kernel.asm"):
            shoal.compile("kernel.ttir")

    def test_kernels_are_compiled_in_the_background(self):
        with ThreadPoolExecutor(2) as executor, shoal.AsyncCompileMode(executor) as mode:
            futures = [increment.warmup(np.float32, 100, BLOCK=2**size, grid=(1,)) for size in range(3, 6)]
            assert all(isinstance(future, shoal.FutureKernel) for future in futures)
            with pytest.raises(RuntimeError, match="already active"), shoal.AsyncCompileMode(executor):
                pass
            assert increment.warmup(np.float32, 100, BLOCK=8, grid=(1,)) is futures[0]
            assert len(mode.future_kernels) == 3
        assert [future.result().signature["BLOCK"] for future in futures] == ["8", "16", "32"]
        assert futures[0].metadata.num_warps == 4
        x = np.zeros(8, np.float32)
        futures[0][(1, 1, 1)](x, 8, 8, 1)
        assert (x == 1).all()

    def test_errors_of_the_background_are_raised_at_its_end(self):
        wrong = {"BLOCK": 3, "grid": (1,)}
        with (
            ThreadPoolExecutor(1) as executor,
            pytest.raises(shoal.CompilationError),
            shoal.AsyncCompileMode(executor),
        ):
            increment.warmup(np.float32, 100, **wrong)
        with ThreadPoolExecutor(1) as executor, shoal.AsyncCompileMode(executor, ignore_errors=True):
            future = increment.warmup(np.float32, 100, **wrong)
        assert future.result() is None

    def test_a_kernel_may_be_named_after_what_it_is_compiled_for(self):
        def name(specialization):
            assert specialization.signature == {"x": "*fp32", "BLOCK": "constexpr", "TEXT": "constexpr"}
            return f"fill_{specialization.constants['BLOCK']}_{specialization.constants['TEXT']}"

        @shoal.jit(repr=name)
        def fill(x, BLOCK: tl.constexpr, TEXT: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), 1.0)

        assert fill.warmup(np.float32, 8, "abc", grid=(1,)).name == "fill_8_abc"

    def test_what_is_compiled_can_be_forgotten(self):
        @shoal.jit
        def fill(x, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), 1.0)

        first = fill.warmup(np.float32, 8, grid=(1,))
        assert list(fill.device_caches[0][0].values()) == [first] == [fill.warmup(np.float32, 8, grid=(1,))]
        fill.device_caches[0][0].clear()
        assert len(fill.device_caches[0][0]) == 0
        assert fill.warmup(np.float32, 8, grid=(1,)) is not first

    def test_forms_are_written_down_where_that_is_asked_for(self, tmp_path, monkeypatch):
        monkeypatch.setenv("TRITON_KERNEL_DUMP", "1")
        monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path))
        kernel = increment.warmup(np.float64, 100, BLOCK=64, grid=(1,))
        (folder,) = os.listdir(tmp_path)
        files = sorted(os.listdir(tmp_path / folder))
        assert files == [f"increment.{form}" for form in ("asm", "llir", "source", "ttgir", "ttir")]
        assert (tmp_path / folder / "increment.llir").read_text() == kernel.asm["llir"]

    def test_settings_without_meaning_are_told(self, monkeypatch):
        monkeypatch.setenv("TRITON_ENABLE_ASAN", "1")
        with pytest.warns(UserWarning, match="TRITON_ENABLE_ASAN is set, but it has no meaning"):
            increment.warmup(np.float64, 100, BLOCK=128, grid=(1,))

    def test_lazy_facts_are_computed_once(self):
        facts, calls = LazyDict({"name": "a"}), []
        facts.add(lambda *args: calls.append(args) or {"more": len(calls)}, (1, 2))
        assert facts.get() == {"name": "a", "more": 1} == facts.get() and calls == [(1, 2)]


class TestAhead:
    def test_a_kernel_becomes_c_source(self, tmp_path):
        file = tmp_path / "kernel.py"
        file.write_text(KERNEL)
        command = [sys.executable, "-m", "shoal.tools.compile", str(file), "-n", "double", "-g", "1,1,1"]
        command += [
            "-s",
            "*fp32:16, i32, 64",
            "-s",
            "*fp32, i32, 64",
            "-on",
            "twice",
            "-o",
            str(tmp_path / "out" / "twice"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert sorted(os.listdir(tmp_path / "out")) == ["twice.c", "twice.h"]
        assert "twice" in (tmp_path / "out" / "twice.h").read_text()

    def test_there_is_only_one_target(self):
        with pytest.raises(ValueError, match="cuda:90:32"):
            tool.compile_kernel(tool.CompileArgs("kernel.py", "double", "*fp32, i32, 64", target="cuda:90:32"))

    def test_nothing_is_linked(self):
        done = subprocess.run(
            [sys.executable, "-m", "shoal.tools.link", "a.h"], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 2 and "--signature" in done.stderr


class TestDriver:
    def test_another_driver_can_be_used_for_a_while(self):
        class Other(type(driver.active)):
            def get_current_target(self):
                return GPUTarget("cpu", "other", 1)

        driver.set_active(Other())
        try:
            assert tl.target_info.current_target().arch == "other"
        finally:
            driver.reset_active()
        assert driver.active is driver.default

    def test_an_unknown_device_is_refused(self, monkeypatch):
        monkeypatch.setenv("TRITON_DEFAULT_BACKEND", "toaster")
        with pytest.raises(RuntimeError, match="Unknown backend device 'toaster'"):
            type(driver)().active  # noqa: B018

    def test_c_has_types_for_all_arguments(self):
        names = ["*fp32", "i32", "u64", "fp16", "fp8e5", "fp64", "u1"]
        types = [driver.active.map_python_to_cpp_type(name) for name in names]
        assert types == ["void*", "int32_t", "uint64_t", "uint16_t", "uint8_t", "double", "uint8_t"]

    def test_events_measure_time(self):
        interface = driver.active.get_device_interface()
        first, second = interface.Event(enable_timing=True), interface.Event()
        with pytest.raises(RuntimeError, match="recorded"):
            first.elapsed_time(second)
        with interface.device(0), interface.stream(interface.current_stream()):
            first.record()
            second.record()
        assert first.elapsed_time(second) >= 0 and interface.get_device_name()


class TestInternalTesting:
    @pytest.mark.parametrize("name", testing.dtypes_with_bfloat16)
    def test_data_goes_to_kernels_and_back(self, name):
        data = testing.numpy_random(32, name)
        argument = testing.to_triton(data, device="cpu", dst_type=name)
        increment[(1,)](argument, 32, BLOCK=32, BY=0)
        np.testing.assert_array_equal(testing.to_numpy(argument), data)

    def test_the_device_is_a_cpu(self):
        assert testing.is_cpu() and not testing.is_cuda() and not testing.is_hip() and not testing.is_interpreter()
        assert testing.get_current_target().backend == "cpu" and not testing.is_hopper()
        assert testing.str_to_triton_dtype("bfloat16") == tl.bfloat16
