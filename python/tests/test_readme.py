"""The Python code in the README and in the documentation runs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(path for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")] if "```python\n" in path.read_text())


def test_the_documents_that_show_python_are_found():
    assert {"README.md", "python.md"} <= {path.name for path in DOCUMENTS}


def program(document: str) -> str:
    """The blocks of a document, each at the line where it is there: an error names the line to look at."""
    lines, inside = [], False
    for line in document.splitlines():
        inside = inside and line != "```"
        lines.append(line if inside else "")
        inside = inside or line == "```python"
    return "\n".join(lines) + "\n"


def test_blocks_stay_at_their_lines():
    assert program("text\n```python\na\nb\n```\nc\n```python\nd\n```") == "\n\na\nb\n\n\n\nd\n\n"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_its_code_runs(document: Path, tmp_path: Path):
    """The blocks of a document are one program: later ones use what earlier ones define."""
    script = tmp_path / f"{document.stem}.py"
    script.write_text(program(document.read_text()))
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
