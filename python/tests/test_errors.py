"""What goes wrong is an exception of its class, with the place in the user's file and a way out."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import shoal
import shoal.language as sl
from shoal import errors


def test_classes():
    for name in ("CompilationError", "OutOfResources", "InterpreterError", "KernelFault", "AutotunerError"):
        assert issubclass(getattr(shoal, name), shoal.ShoalError)
    assert issubclass(shoal.CompileTimeAssertionFailure, shoal.CompilationError)
    assert issubclass(shoal.UnsupportedLanguageConstruct, shoal.CompilationError)
    assert issubclass(shoal.KernelFault, RuntimeError)
    assert str(errors.OutOfResources(10, 5, "shared memory")).startswith("out of resource: shared memory, Required: 10")
    assert str(errors.AutotunerError("no configuration")) == "Autotuner error: no configuration"


def test_errors_point_into_the_users_file():
    @shoal.jit
    def kernel(x, n):
        y = sl.load(x) + undefined_name  # noqa: F821
        sl.store(x, y)

    line = kernel.def_file_line_number + 1
    with pytest.raises(shoal.CompilationError) as caught:
        kernel[(1,)](np.zeros(1, np.float32), 1)
    text = str(caught.value)
    assert f"{__file__}:{line}:" in text
    assert "undefined_name" in text and "y = sl.load(x) + undefined_name" in text and "^" in text
    assert "\x1b" not in text
    assert caught.value.error_message in text and caught.value.src is None


def test_errors_in_called_functions_show_the_way():
    @shoal.jit
    def inner(x):
        return x + sl.zeros((3,), sl.float32)

    @shoal.jit
    def kernel(x):
        sl.store(x, inner(sl.load(x)))

    with pytest.raises(shoal.CompilationError) as caught:
        kernel[(1,)](np.zeros(1, np.float32))
    assert "inner" in str(caught.value) and "power" in str(caught.value)


@pytest.mark.parametrize(("function", "instead"), [("sum", "tl.sum"), ("exp", "tl.exp"), ("maximum", "tl.maximum")])
def test_functions_of_numpy_have_names_and_the_language_has_its_own(function, instead):
    called = getattr(np, function)

    @shoal.jit
    def kernel(x):
        sl.store(x, called(sl.load(x + sl.arange(0, 16))))

    with pytest.raises(shoal.CompilationError) as caught:
        kernel[(1,)](np.zeros(16, np.float32))
    text = str(caught.value)
    assert f"`numpy.{function}` is called in the host program" in text
    assert f"in a kernel use `{instead}(...)`" in text


def test_syntax_that_kernels_have_not():
    @shoal.jit
    def kernel(x):
        with x:
            pass

    with pytest.raises(shoal.UnsupportedLanguageConstruct, match="kernels have no `with` statements"):
        kernel[(1,)](np.zeros(1, np.float32))


def test_assertions_at_compile_time():
    @shoal.jit
    def kernel(N: sl.constexpr):
        sl.static_assert(N == 4, "N must be four")

    kernel[(1,)](4)
    with pytest.raises(shoal.CompileTimeAssertionFailure, match="N must be four"):
        kernel[(1,)](5)


def test_exceptions_can_be_sent_to_other_processes():
    @shoal.jit
    def kernel(N: sl.constexpr):
        sl.static_assert(False, "never")

    with pytest.raises(shoal.CompilationError) as caught:
        kernel[(1,)](5)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is type(caught.value) and str(copy) == str(caught.value)


@shoal.jit(debug=True)
def asserting(x, limit):
    sl.device_assert(sl.program_id(0) < limit, "too many programs")
    sl.store(x + sl.program_id(0), 1)


def test_a_failed_assertion_names_program_and_line():
    x = np.zeros(8, np.int32)
    with pytest.raises(shoal.KernelFault, match="too many programs") as caught:
        asserting[(8,)](x, 7)
    fault = caught.value
    assert fault.program == (7, 0, 0) and fault.kernel == "asserting"
    assert fault.file == __file__ and fault.line == asserting.def_file_line_number + 1
    assert f"{__file__}:{fault.line}" in str(fault) and "(7, 0, 0)" in str(fault)


def test_assertions_are_checked_when_asked_for(monkeypatch):
    plain = shoal.jit(asserting.fn)
    x = np.zeros(8, np.int32)
    asserting[(8,)](x, 7, debug=False)
    plain[(8,)](x, 7)
    with pytest.raises(shoal.KernelFault):
        plain[(8,)](x, 7, debug=True)
    monkeypatch.setattr(shoal.knobs.runtime, "debug", True)
    with pytest.raises(shoal.KernelFault):
        plain[(8,)](x, 7)
    with pytest.raises(shoal.KernelFault):
        shoal.jit(debug=False)(asserting.fn)[(8,)](x, 7)


@shoal.jit
def beyond(x, BLOCK: sl.constexpr):
    sl.store(x + sl.arange(0, BLOCK), 1.0)


def test_accesses_are_checked_in_debug_mode():
    x = np.zeros(10, np.float32)
    with pytest.raises(shoal.KernelFault) as caught:
        beyond[(1,)](x, 16, debug=True)
    assert "(0, 0, 0)" in str(caught.value) and "`x`" in str(caught.value)
    assert f"{__file__}:{beyond.def_file_line_number + 1}" in str(caught.value)


def test_assertions_are_checked_without_the_accesses():
    room = np.zeros(16, np.float32)
    beyond[(1,)](room[:10], 16, debug=True, check_accesses=False)
    assert (room == 1).all()
    with pytest.raises(shoal.KernelFault, match="too many programs"):
        asserting[(8,)](np.zeros(8, np.int32), 7, check_accesses=False)


@shoal.jit
def small_sum(a, b):
    sl.device_assert(a + b < 1000, "the sum is large")
    return a + b


@shoal.jit
def small_pair(a, i, b, j):
    sl.device_assert(i != j, "one place twice")
    return sl.where(a >= b, a, b), sl.where(a >= b, i, j)


@shoal.jit(debug=True)
def asserting_sums(x, rows, columns, total, before, after, best, M: sl.constexpr, N: sl.constexpr):
    m, n = sl.arange(0, M), sl.arange(0, N)
    tile = sl.load(x + m[:, None] * N + n[None, :])
    sl.store(rows + m, sl.reduce(tile, 1, small_sum))
    sl.store(columns + n, sl.reduce(tile, 0, small_sum))
    sl.store(total, sl.reduce(tile, None, small_sum))
    sl.store(before + m[:, None] * N + n[None, :], sl.associative_scan(tile, 1, small_sum))
    sl.store(after + m[:, None] * N + n[None, :], sl.associative_scan(tile, 0, small_sum, reverse=True))
    line = sl.max(tile, 0)
    value, at = sl.reduce((line, n), 0, small_pair)
    sl.store(best, value)
    sl.store(best + 1, at)


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_combine_functions_assert(device):
    x = np.random.default_rng(0).integers(-9, 9, (4, 8)).astype(np.int32)
    rows, columns, total, best = (np.zeros(n, np.int32) for n in (4, 8, 1, 2))
    before, after = np.zeros_like(x), np.zeros_like(x)
    with shoal.device(device):
        asserting_sums[(1,)](x, rows, columns, total, before, after, best, 4, 8)
    np.testing.assert_array_equal(rows, x.sum(1))
    np.testing.assert_array_equal(columns, x.sum(0))
    assert total[0] == x.sum()
    np.testing.assert_array_equal(before, x.cumsum(1))
    np.testing.assert_array_equal(after, x[::-1].cumsum(0)[::-1])
    assert best.tolist() == [x.max(), x.max(0).argmax()]
    x[2, 3] = 2000
    with shoal.device(device), pytest.raises(shoal.KernelFault, match="the sum is large"):
        asserting_sums[(1,)](x, rows, columns, total, before, after, best, 4, 8)


def test_steps_of_loops_are_checked_in_debug_mode():
    @shoal.jit(debug=True)
    def kernel(out, n, step):
        rounds = 0
        for _ in range(0, n, step):
            rounds += 1
        sl.store(out, rounds)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out, 10, 3)
    assert out[0] == 4
    for step in (0, -1):
        with pytest.raises(shoal.KernelFault, match="the step of a loop must be positive"):
            kernel[(1,)](out, 10, step)


def test_overflow_is_checked_in_debug_mode():
    @shoal.jit(debug=True)
    def kernel(out, a, b):
        sl.store(out, a * b)

    out = np.zeros(1, np.int32)
    with pytest.raises(shoal.KernelFault, match="overflow"):
        kernel[(1,)](out, 1 << 20, 1 << 20)
    kernel[(1,)](out, 1 << 20, 1 << 20, sanitize_overflow=False)
    assert out[0] == 0


SCRIPT = """
import numpy as np, shoal, shoal.language as sl

@shoal.jit
def kernel(x, n, B: sl.constexpr):
    sl.store(x + sl.arange(0, B), n)

x = np.zeros(4, np.float32)
kernel[(1,)](x, 2.0, 4)
assert (x == 2).all()
print(type(kernel).__name__)
try:
    kernel[(1,)](x, 3.0, 8)
except shoal.InterpreterError as error:
    assert isinstance(error, shoal.KernelFault)
    assert error.program == (0, 0, 0) and error.line == 6 and error.file == __file__
    print(error)

class Bare:
    dtype = "float32"
    data_ptr = lambda self: x.ctypes.data

try:
    kernel[(1,)](Bare(), 1.0, 4)
except TypeError as error:
    assert "nobody knows how far it reaches" in str(error)
"""


@pytest.mark.parametrize("variable", ["TRITON_INTERPRET", "SHOAL_INTERPRET"])
def test_the_interpreter_checks_every_access(tmp_path, monkeypatch, variable):
    script = tmp_path / "interpreted.py"
    script.write_text(SCRIPT)
    monkeypatch.setenv(variable, "1")
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "InterpretedFunction" in ran.stdout
    assert "interpreted.py:6" in ran.stdout and "past the end of" in ran.stdout


LOOP = """
import numpy as np, os, shoal, shoal.language as sl, signal, threading, time

@shoal.jit
def forever(x, n):
    i = 0
    while sl.load(x) == 0:
        i += n
    sl.store(x + 1, i)

@shoal.jit
def one(x):
    sl.store(x, 1)

x = np.zeros(2, np.int32)
forever.warmup(x, 1, grid=(1,))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell would ignore it
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    forever[(4,)](x, 1)
except KeyboardInterrupt:
    one[(1,)](x)
    print("stopped", x[0])
"""


def test_ctrl_c_stops_a_launch(tmp_path):
    script = tmp_path / "loop.py"
    script.write_text(LOOP)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert ran.stdout == "stopped 1\n", ran.stderr


ADD = """
import numpy as np, shoal, shoal.language as sl

@shoal.jit
def one(x):
    sl.store(x, 1)

x = np.zeros(1, np.int32)
one[(1,)](x)
one[(1,)](x)
print("done", x[0])
"""

SETTINGS = {
    "SHOAL_DEVICE": ("quantum", "there is no device `quantum`", False),
    "SHOAL_DEBUG": ("perhaps", "it must be 1 or 0", False),
    "TRITON_DEBUG": ("perhaps", "it must be 1 or 0", False),
    "SHOAL_INTERPRET": ("perhaps", "it must be 1 or 0", False),
    "SHOAL_CPU_THREADS": ("0", "", False),
    "SHOAL_WAIT_TIMEOUT": ("soon", "", False),
    "SHOAL_CACHE": ("perhaps", "compiled kernels are not kept", True),
    "SHOAL_CACHE_LIMIT": ("much", "compiled kernels are not kept", True),
    "SHOAL_CACHE_DIR": ("/dev/null/there", "compiled kernels are not kept", True),
}


@pytest.mark.parametrize("variable", SETTINGS)
def test_a_setting_that_cannot_be_used_is_named(tmp_path, monkeypatch, variable):
    value, said, runs = SETTINGS[variable]
    script = tmp_path / "one.py"
    script.write_text(ADD)
    monkeypatch.setenv(variable, value)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert said in ran.stderr and value in ran.stderr, ran.stderr
    assert variable in ran.stderr or variable == "SHOAL_CACHE_DIR", ran.stderr
    assert (ran.returncode == 0, ran.stdout) == (runs, "done 1\n" if runs else ""), ran.stderr
    assert ran.stderr.count("are not kept") == runs


class Bare:
    """Memory of which nothing but the address is known."""

    dtype = "float32"

    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


@shoal.jit
def stored(x, n):
    sl.store(x, n)


@pytest.mark.parametrize(
    ("argument", "raised", "said"),
    [
        (Bare(0), TypeError, "has elements but no memory: its address is null"),
        (Bare(-8), OverflowError, "kernel `stored`, argument `x`"),
        (Bare(1 << 70), OverflowError, "kernel `stored`, argument `x`"),
        (Bare("there"), TypeError, "kernel `stored`, argument `x`"),
        (np.float32, TypeError, "argument `x`: failed to specialize argument of type: type"),
        (int, TypeError, "argument `x`: failed to specialize argument of type: type"),
        (np.void(b"ab"), TypeError, "argument `x`: failed to specialize argument of type: void"),
        (stored, shoal.CompilationError, "`store` takes a pointer, not the function `stored`"),
    ],
)
def test_arguments_that_are_no_memory(argument, raised, said):
    with pytest.raises(raised) as caught:
        stored[(1,)](argument, 1.0)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("num_warps", 3, "num_warps must be a power of 2, not 3"),
        ("num_warps", 1 << 40, "num_warps must be a power of 2, not 1099511627776"),
        ("num_warps", "four", "num_warps must be a power of 2, not 'four'"),
        ("num_ctas", 3, "num_ctas must be a power of 2, not 3"),
        ("num_ctas", 0, "num_ctas must be a power of 2, not 0"),
        ("num_cpu_threads", 1 << 30, "a device has at most 4096 threads, not 1073741824"),
        ("num_cpu_threads", "all", "`num_cpu_threads` must be a small whole number, not 'all'"),
        ("extern_libs", 5, "`extern_libs` is a dictionary of names and files of bitcode, not 5"),
    ],
)
def test_options_that_cannot_be_used_are_named(option, value, said):
    x = np.zeros(1, np.float32)
    with pytest.raises((AssertionError, TypeError, shoal.ShoalError)) as caught:
        stored[(1,)](x, 1.0, **{option: value})
    assert said in str(caught.value)
