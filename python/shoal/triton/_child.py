"""The drop-in in processes that a program of it starts.

Those of the same interpreter import `_startup/sitecustomize.py` when they start. A process that `multiprocessing`
starts anew runs the main module again, which it knows by name; so the main module of a script that
`python -m shoal.triton` runs goes by the name of this one.
"""

import io
import os
import runpy
from multiprocessing import spawn
from typing import Any

from shoal.triton._install import install

SCRIPT = "SHOAL_TRITON_SCRIPT"
MODULE = "SHOAL_TRITON_MODULE"
ASKED = "SHOAL_TRITON_OPTIONS"
OPTIONS = {"--cuda-as-cpu": "cuda_as_cpu", "--symmetric-memory": "symmetric_memory"}
"""What can be asked of the drop-in besides."""


def install_with(asked: list[str]) -> None:
    """Installs the drop-in with these options."""
    install(**{OPTIONS[option]: True for option in asked})


def follow(asked: list[str]) -> None:
    """Installs the drop-in with these options in the processes of this interpreter that this one starts."""
    os.environ[ASKED] = " ".join(asked)
    folder = os.path.join(os.path.dirname(__file__), "_startup")
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != folder]
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *paths])


def replace_main() -> None:
    """Takes the main module's place in processes that `multiprocessing` starts anew.

    It is run again there if it is a module that a child would run: that of a package, such as pytest's, is none.
    """
    prepared = spawn.get_preparation_data

    def prepare(name: str) -> dict[str, Any]:
        data = prepared(name)
        main = data.pop("init_main_from_name", None)
        data.pop("init_main_from_path", None)
        os.environ[MODULE] = "" if main is None or main.endswith("__main__") else main
        return {**data, "init_main_from_name": __name__}

    spawn.get_preparation_data = prepare


if __name__ == "__mp_main__":
    install_with(os.environ.get(ASKED, "").split())
    if SCRIPT in os.environ:
        __file__ = os.environ[SCRIPT]
        with io.open_code(__file__) as _script:
            _code = compile(_script.read(), __file__, "exec", dont_inherit=True)
        exec(_code, globals())
    elif os.environ.get(MODULE):
        globals().update(runpy.run_module(os.environ[MODULE], run_name=__name__, alter_sys=True))
