#!/usr/bin/env python3
"""Builds the book: the pages that docs/SUMMARY.md lists, as HTML in target/book, with all links checked.

    python3 scripts/book.py [--check]

Pages are Markdown, or the tutorials' own programs: their opening text becomes the page's, the rest is shown as code.
With --check only the list and the links are checked, which needs nothing but Python; building needs the package
`markdown`. Pictures that tutorials drew (target/book/plots) are shown on their pages; those of the documentation are
copied into the book.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUMMARY = ROOT / "docs" / "SUMMARY.md"
PICTURES = ROOT / "docs" / "pictures"
OUT = ROOT / "target" / "book"

STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.6 system-ui, sans-serif; display: flex; }
nav { width: 17rem; min-height: 100vh; padding: 1.5rem 1rem; box-sizing: border-box; }
nav { background: #8881; font-size: 14px; }
nav h2 { font-size: 12px; text-transform: uppercase; letter-spacing: .05em; opacity: .7; margin: 1.2em 0 .3em; }
nav a { display: block; padding: .15em .4em; border-radius: 4px; color: inherit; text-decoration: none; }
nav a.here { background: #88f3; }
main { max-width: 52rem; padding: 1.5rem 2.5rem; min-width: 0; }
pre { background: #8882; padding: .8em 1em; overflow-x: auto; border-radius: 6px; font-size: 13px; line-height: 1.45; }
code { font-family: ui-monospace, monospace; font-size: .9em; }
table { border-collapse: collapse; } th, td { border: 1px solid #8886; padding: .3em .7em; text-align: left; }
img { max-width: 100%; }
@media (max-width: 60rem) { body { display: block; } nav { width: auto; min-height: 0; } }
"""


@dataclass
class Page:
    """A page of the book."""

    title: str
    source: Path
    part: str

    @property
    def file(self) -> str:
        """The name of its file in the book."""
        if self.source.name == "README.md":
            return "index.html"
        folder = "" if self.source.parent == ROOT else f"{self.source.parent.name}-"
        return f"{folder}{self.source.stem}.html"


def pages() -> list[Page]:
    """The pages in their order."""
    found, part = [], ""
    for line in SUMMARY.read_text().splitlines():
        if line.startswith("# "):
            part = line[2:]
        elif match := re.search(r"\[(.+?)\]\((.+?)\)", line):
            source = (SUMMARY.parent / match.group(2)).resolve()
            found.append(Page(match.group(1), source, "" if part == "Summary" else part))
    return found


def text_of(page: Page) -> str:
    """A page as Markdown: programs are their opening text, then their code."""
    text = page.source.read_text()
    if page.source.suffix == ".md":
        return text
    if page.source.suffix == ".rs":
        lines = text.splitlines()
        opening = [line[4:] for line in lines if line.startswith("//!")]
        code = "\n".join(line for line in lines if not line.startswith("//!")).strip()
        language = "rust"
        command = f"cargo run -p shoal --example {page.source.parent.name}"
    else:
        _, docstring, rest = text.split('"""', 2)
        opening, code, language = docstring.splitlines(), rest.strip(), "python"
        command = f"target/python/bin/python3 {page.source.relative_to(ROOT)}"
    title, *words = opening
    # A title may be underlined.
    words = words[1:] if words and set(words[0].strip()) == {"="} else words
    plots = f"{page.source.stem.partition('_')[0]}-*" if page.source.parent.name == "kernels" else ""
    pictures = sorted((OUT / "plots").glob(plots)) if plots else []
    shown = "".join(f"\n![{title}](plots/{picture.name})\n" for picture in pictures)
    kept = " A folder as its argument is where it keeps its table and its plot." if "perf_report" in code else ""
    return (
        f"# {title.strip()}\n"
        + "\n".join(words)
        + f"\n\nThe program is `{page.source.relative_to(ROOT)}`; `{command}` runs it.{kept}\n"
        + f"{shown}\n```{language}\n{code}\n```\n"
    )


def anchor(heading: str) -> str:
    """What a heading is linked by, as GitHub makes it."""
    words = re.sub(r"[`*]|\[|\]\(.*?\)", "", heading).strip().lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\- ]", "", words))


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def links(text: str) -> list[str]:
    """The targets of a page's links."""
    bare = re.sub(r"`[^`]*`", "", without_code(text))
    return re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", bare)


def check(all_pages: list[Page]) -> list[str]:
    """What is wrong with the list and the links."""
    wrong = [
        f"docs/SUMMARY.md lists {page.source}, which is not there" for page in all_pages if not page.source.is_file()
    ]
    listed = {page.source for page in all_pages}
    wrong += [
        f"docs/SUMMARY.md does not list {path.name}"
        for path in sorted((ROOT / "docs").glob("*.md"))
        if path != SUMMARY and path not in listed
    ]
    for page in all_pages:
        if page.source.suffix != ".md" or not page.source.is_file():
            continue
        for target in links(page.source.read_text()):
            if re.match(r"[a-z]+:", target):
                continue
            place, _, fragment = target.partition("#")
            path = (page.source.parent / place).resolve() if place else page.source
            here = page.source.relative_to(ROOT)
            if not path.exists():
                wrong.append(f"{here} links to {target}, which is not there")
            elif fragment and path.suffix == ".md":
                headings = re.findall(r"^#+ (.*)$", without_code(path.read_text()), re.MULTILINE)
                if fragment not in map(anchor, headings):
                    wrong.append(f"{here} links to {target}, but there is no such heading")
    return wrong


def rendered(page: Page, all_pages: list[Page]) -> str:
    """A page as HTML."""
    import markdown

    settings = {"toc": {"slugify": lambda value, _: anchor(value)}}
    extensions = ["tables", "fenced_code", "toc"]
    body = markdown.markdown(text_of(page), extensions=extensions, extension_configs=settings)
    places = {other.source: other.file for other in all_pages}

    def moved(match: re.Match[str]) -> str:
        target = html.unescape(match.group(2))
        if re.match(r"[a-z]+:|#|plots/", target):
            return match.group(0)
        place, hash_, fragment = target.partition("#")
        path = (page.source.parent / place).resolve()
        there = places.get(path) or os.path.relpath(path, OUT)
        if path.parent == PICTURES:
            there = f"{PICTURES.name}/{path.name}"
        return f'{match.group(1)}="{there}{hash_}{fragment}"'

    body = re.sub(r'(href|src)="([^"]*)"', moved, body)
    listed, part = [], None
    for other in all_pages:
        if other.part != part:
            part = other.part
            listed.append(f"<h2>{html.escape(part)}</h2>" if part else "")
        here = ' class="here"' if other is page else ""
        listed.append(f'<a href="{other.file}"{here}>{html.escape(other.title)}</a>')
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(page.title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>'
        f"<body><nav>{''.join(listed)}</nav><main>{body}</main></body></html>"
    )


def main() -> None:
    all_pages = pages()
    wrong = check(all_pages)
    if wrong:
        raise SystemExit("\n".join(wrong))
    if "--check" in sys.argv:
        return
    OUT.mkdir(parents=True, exist_ok=True)
    shutil.copytree(PICTURES, OUT / PICTURES.name, dirs_exist_ok=True)
    for page in all_pages:
        (OUT / page.file).write_text(rendered(page, all_pages))
    print(f"book: {len(all_pages)} pages, {OUT / 'index.html'}")


if __name__ == "__main__":
    main()
