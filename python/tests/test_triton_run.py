"""`python -m shoal.triton`: programs run as under plain Python."""

import os
import subprocess
import sys

import pytest


def run(*arguments, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "shoal.triton", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, **environment},
        check=False,
    )


def test_a_script_is_main_with_its_own_arguments_and_folder(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 7\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, os, beside, triton\n"
        "assert __name__ == '__main__' and sys.modules['__main__'].__dict__ is globals()\n"
        "assert os.path.samefile(__file__, sys.argv[0])\n"
        "print(beside.VALUE, sys.argv[1:], triton.__version__)\n"
    )
    done = run(script, "--flag", "a b")
    assert (done.returncode, done.stdout.strip()) == (0, "7 ['--flag', 'a b'] 3.9.0"), done.stderr


def test_what_needs_torch_says_so_in_one_line(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('there is none')\n")
    done = run("--cuda-as-cpu", "-c", "print('ran')", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2 and "ran" not in done.stdout
    assert done.stderr == "shoal.triton: CUDA cannot be played by the CPU without torch, whose CUDA it is\n"


def test_a_script_is_compiled_without_our_flags(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("def f(x: int): ...\nprint(f.__annotations__['x'] is int)\n")
    assert run(script).stdout.strip() == "True"


def test_an_error_ends_it_with_the_traceback_of_the_plain_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("def fail():\n    raise KeyError('oh')\n\n\nfail()\n")
    plain = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    done = run(script)
    assert done.returncode == plain.returncode == 1
    assert done.stderr == plain.stderr


MISTAKES = """
import numpy as np
import {package}
import {package}.language as tl


def helper(v):
    return v + 1


@{package}.jit
def kernel(x):
    def inner():
        pass

    helper(tl.load(x))
    tl.tanh(tl.load(x))


kernel[(1,)](np.zeros(1, np.float32))
"""


@pytest.mark.parametrize("package", ["triton", "shoal"])
def test_errors_call_the_package_what_the_script_does(tmp_path, package):
    script = tmp_path / "script.py"
    script.write_text(MISTAKES.replace("{package}", package))
    said = run(script).stderr
    for words in (
        "it outside of the kernel, with `@{}.jit`",
        "`helper` with `@{}.jit`",
        "`from {}.language.extra import",
    ):
        assert words.format(package) in said


CHILDREN = """
import multiprocessing
import sys

import numpy as np
import triton
import triton.language as tl


@triton.jit
def fill(x, BLOCK: tl.constexpr):
    tl.store(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 3.0)


def child(n):
    x = np.zeros(n, np.float32)
    fill[(n // 64,)](x, BLOCK=64)
    assert (x == 3).all()


if __name__ == "__main__":
    child(6400)
    process = multiprocessing.get_context(sys.argv[1]).Process(target=child, args=(12800,))
    process.start()
    process.join(60)
    print(process.exitcode)
    process.kill()
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_processes_that_a_script_starts_launch_kernels_too(tmp_path, method):
    script = tmp_path / "script.py"
    script.write_text(CHILDREN)
    done = run(script, method)
    assert done.stdout.strip() == "0", done.stderr


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_processes_that_a_module_starts_launch_kernels_too(tmp_path, method):
    (tmp_path / "tool.py").write_text(CHILDREN)
    done = run("-m", "tool", method, cwd=tmp_path)
    assert done.stdout.strip() == "0", done.stderr
    (tmp_path / "test_tool.py").write_text(
        "import multiprocessing\n\nimport tool\n\n\ndef test_child():\n"
        f"    process = multiprocessing.get_context({method!r}).Process(target=tool.child, args=(6400,))\n"
        "    process.start()\n    process.join(60)\n    assert process.exitcode == 0\n"
    )
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_tool.py", cwd=tmp_path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_syntax_errors_and_missing_files_are_reported(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("def\n")
    done = run(script)
    assert done.returncode == 1 and "SyntaxError" in done.stderr and "shoal/triton" not in done.stderr
    done = run(tmp_path / "absent.py")
    assert done.returncode == 2 and "can't open file" in done.stderr


@pytest.mark.parametrize(("code", "status"), [("raise SystemExit(3)", 3), ("raise SystemExit()", 0)])
def test_the_exit_status_is_the_programs(code, status):
    assert run("-c", code).returncode == status


def test_modules_and_code_run_too(tmp_path):
    (tmp_path / "tool.py").write_text("import sys, triton\nprint(__name__, sys.argv[1:], triton.__version__)\n")
    done = run("-m", "tool", "x", cwd=tmp_path)
    assert done.stdout.strip() == "__main__ ['x'] 3.9.0", done.stderr
    done = run("-c", "import sys, triton; print(sys.argv, triton.__version__)", "y")
    assert done.stdout.strip() == "['-c', 'y'] 3.9.0", done.stderr


def test_without_a_program_it_says_how_to_use_it():
    done = run()
    assert done.returncode == 2 and "usage:" in done.stderr
    assert "usage:" in run("--help").stdout


def test_programs_that_a_program_starts_follow_it(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("hidden = 'found'\n")
    script = tmp_path / "starts.py"
    script.write_text(
        "import subprocess, sys\n"
        "says = 'import sitecustomize, triton; print(triton.__name__, sitecustomize.hidden)'\n"
        "sys.exit(subprocess.run([sys.executable, '-c', says]).returncode)\n"
    )
    command = [sys.executable, "-m", "shoal.triton", str(script)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.stdout == "shoal.triton found\n", done.stdout + done.stderr
