"""The book: its list is complete, its links lead somewhere, its generated pages are current, its tutorials run."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "examples/tutorials/kernels").glob("*.py"))


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_every_page_is_listed_and_every_link_leads_somewhere():
    book = script("book")
    assert book.check(book.pages()) == []


def test_broken_links_are_found(tmp_path):
    book = script("book")
    page = ROOT / "docs" / "python.md"
    assert book.links("[a](b.md#c) `[no](code.md)` [x](https://example.org)") == ["b.md#c", "https://example.org"]
    assert book.anchor("Kernels, `compiled` ahead of time") == "kernels-compiled-ahead-of-time"
    wrong = book.check([book.Page("none", ROOT / "docs" / "none.md", ""), book.Page("Python", page, "")])
    assert any("none.md" in line for line in wrong) and any("does not list launching.md" in line for line in wrong)


def test_pages_show_their_pictures(tmp_path, monkeypatch):
    book = script("book")
    monkeypatch.setattr(book, "OUT", tmp_path)
    (tmp_path / "plots").mkdir()
    for plot in ("01-add.png", "02-softmax.svg"):
        (tmp_path / "plots" / plot).touch()
    shown = {page.file: book.text_of(page) for page in book.pages()}
    assert "(plots/01-add.png)" in shown["kernels-01_vector_add.html"]
    assert "(plots/02-softmax.svg)" in shown["kernels-02_fused_softmax.html"]
    assert {"index.html", "ARCHITECTURE.html", "docs-python.html"} <= shown.keys()


def test_tutorials_say_how_they_are_run():
    book = script("book")
    shown = {page.file: book.text_of(page) for page in book.pages()}
    assert "`cargo run -p shoal --example from-rust` runs it" in shown["from-rust-main.html"]
    assert 'name = "from-rust"' in (ROOT / "crates/shoal/Cargo.toml").read_text()
    place = "examples/tutorials/kernels/01_vector_add.py"
    assert f"`target/python/bin/python3 {place}` runs it. A folder" in shown["kernels-01_vector_add.html"]


def test_the_book_needs_nothing_but_its_folder(tmp_path, monkeypatch):
    pytest.importorskip("markdown")
    book = script("book")
    monkeypatch.setattr(book, "OUT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["book.py"])
    book.main()
    sources = re.findall(r'src="([^"]+)"', "".join(page.read_text() for page in tmp_path.glob("*.html")))
    assert sources and all((tmp_path / source).is_file() and ".." not in source for source in sources)


def test_the_generated_pages_are_current():
    reference = script("reference")
    for page, text in {"language.md": reference.language(), "tile-ir.md": reference.operations()}.items():
        assert (ROOT / "docs" / page).read_text() == text, f"docs/{page}: run scripts/reference.py"
    assert "### `dot_scaled`" in reference.language() and "### `desc_load`" in reference.operations()


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_and_draws(tutorial, tmp_path):
    command = [sys.executable, str(tutorial), str(tmp_path), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    measures = "perf_report" in tutorial.read_text()
    assert bool(list(tmp_path.glob("*.csv"))) == measures
    assert bool([*tmp_path.glob("*.svg"), *tmp_path.glob("*.png")]) == measures
