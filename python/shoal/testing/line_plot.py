"""Plots of measurements, by matplotlib if it is installed, else as SVG drawn here."""

from __future__ import annotations

import html
import math
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .report import Measured

WIDTH, HEIGHT = 640, 480
LEFT, RIGHT, TOP, BOTTOM = 80, 620, 20, 430
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
DASHES = {"--": "6 4", "-.": "6 3 2 3", ":": "2 3"}
# The one-letter colours that styles are often written with.
LETTERS = {"b": "blue", "g": "green", "r": "red", "c": "cyan", "m": "magenta", "y": "gold", "k": "black"}


def draw(measured: Measured, save_path: str, show: bool) -> list[str]:
    """Draws the lines; gives the files that were written."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        if show:
            print(
                "perf_report: plots are shown by matplotlib, which is not installed: pip install matplotlib",
                file=sys.stderr,
            )
        return [_write_svg(measured, save_path)] if save_path else []
    return _with_matplotlib(plt, measured, save_path, show)


def _with_matplotlib(plt: Any, measured: Measured, save_path: str, show: bool) -> list[str]:
    bench = measured.bench
    figure, axes = plt.subplots()
    x = [point[0] for point in measured.points]
    for at, name in enumerate(bench.line_names):
        colour, dashes = bench.styles[at] if bench.styles else (None, None)
        (line,) = axes.plot(
            x, [row[at] for row in measured.values], label=_label(measured, name), color=colour, ls=dashes
        )
        low, high = zip(*(row[at] for row in measured.ranges))
        if None not in low and None not in high:
            axes.fill_between(x, low, high, alpha=0.15, color=line.get_color())
    axes.legend()
    axes.set_xlabel(bench.xlabel or bench.x_names[0])
    axes.set_ylabel(bench.ylabel)
    axes.set_xscale("log" if bench.x_log else "linear")
    axes.set_yscale("log" if bench.y_log else "linear")
    path = os.path.join(save_path, f"{bench.plot_name}.png")
    if save_path:
        figure.savefig(path)
    if show:
        plt.show()
    plt.close(figure)
    return [path] if save_path else []


def _label(measured: Measured, name: str) -> str:
    return f"{name} ({measured.bench.ylabel})"


class _Axis:
    """Places of numbers along one axis."""

    def __init__(self, values: list[float], start: float, end: float, logarithmic: bool) -> None:
        # Only positive numbers have a place on a logarithmic axis.
        self.logarithmic = logarithmic and min(values) > 0
        self.start, self.end = start, end
        low, high = min(values), max(values)
        if not self.logarithmic:
            low = min(low, 0.0)
        self.low, self.high = self._scaled(low), self._scaled(high)
        if self.high == self.low:
            self.high = self.low + 1

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value

    def place(self, value: float) -> float:
        part = (self._scaled(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[float]:
        steps = [self.low + (self.high - self.low) * at / 5 for at in range(6)]
        return [10**step if self.logarithmic else step for step in steps]


def _write_svg(measured: Measured, save_path: str) -> str:
    bench = measured.bench
    path = os.path.join(save_path, f"{bench.plot_name}.svg")
    with open(path, "w", encoding="utf-8") as file:
        file.write(svg(measured))
    return path


def svg(measured: Measured) -> str:
    """The lines as a picture. Points on the x axis that are no numbers stand at equal distances."""
    bench = measured.bench
    names = [point[0] for point in measured.points]
    numeric = all(isinstance(name, (int, float)) for name in names)
    x = [float(name) for name in names] if numeric else [float(at) for at in range(len(names))]
    across = _Axis(x, LEFT, RIGHT, bench.x_log and numeric)
    up = _Axis([float(value) for row in measured.values for value in row], BOTTOM, TOP, bench.y_log)
    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    parts += _frame(bench, names, x, numeric, across, up)
    for at, name in enumerate(bench.line_names):
        colour, dashes = bench.styles[at] if bench.styles else (COLOURS[at % len(COLOURS)], "-")
        stroke = f'stroke="{html.escape(LETTERS.get(colour, colour))}" stroke-dasharray="{DASHES.get(dashes, "none")}"'
        points = " ".join(f"{across.place(p):.1f},{up.place(float(row[at])):.1f}" for p, row in zip(x, measured.values))
        parts.append(f'<polyline points="{points}" fill="none" {stroke} stroke-width="2"/>')
        y = TOP + 18 * (at + 1)
        parts.append(f'<line x1="{LEFT + 10}" y1="{y}" x2="{LEFT + 40}" y2="{y}" {stroke} stroke-width="2"/>')
        parts.append(_text(LEFT + 46, y + 4, _label(measured, name), "start"))
    size = f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([head, *parts, "</svg>\n"])


def _frame(bench: Any, names: list[Any], x: list[float], numeric: bool, across: _Axis, up: _Axis) -> list[str]:
    parts = [f'<path d="M{LEFT},{TOP} V{BOTTOM} H{RIGHT}" fill="none" stroke="black"/>']
    marks = [(tick, f"{tick:.4g}") for tick in across.ticks()] if numeric else list(zip(x, map(str, names)))
    parts += [_text(across.place(tick), BOTTOM + 18, label, "middle") for tick, label in marks]
    for tick in up.ticks():
        y = up.place(tick)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(_text(LEFT - 6, y + 4, f"{tick:.4g}", "end"))
    parts.append(_text((LEFT + RIGHT) / 2, HEIGHT - 12, bench.xlabel or bench.x_names[0], "middle"))
    parts.append(_text(LEFT, TOP - 6, bench.ylabel, "start"))
    return parts


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(str(text))}</text>'
