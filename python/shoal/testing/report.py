"""Reports of measurements: a table on the screen, a CSV file, a plot, and a page that shows the plots.

Nothing but the standard library is needed. With matplotlib the plots are PNG files and can be shown on the screen;
without it they are drawn here, as SVG.
"""

from __future__ import annotations

import csv
import html
import os
from collections.abc import Callable, Sequence
from typing import Any

from . import line_plot


class Benchmark:
    """What to measure: the function is called for each of `x_vals` and each of `line_vals`.

    `x_vals` are values for all arguments in `x_names`, or tuples with one for each; `line_vals` are values of
    `line_arg`, shown as the lines `line_names`; `args` stay as they are. `styles` has a colour and a line style for
    each line.
    """

    def __init__(
        self,
        x_names: Sequence[str],
        x_vals: Sequence[Any],
        line_arg: str,
        line_vals: Sequence[Any],
        line_names: Sequence[str],
        plot_name: str,
        args: dict[str, Any],
        xlabel: str = "",
        ylabel: str = "",
        x_log: bool = False,
        y_log: bool = False,
        styles: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        self.x_names = list(x_names)
        self.x_vals = x_vals
        self.line_arg = line_arg
        self.line_vals = line_vals
        self.line_names = line_names
        self.plot_name = plot_name
        self.args = args
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.x_log = x_log
        self.y_log = y_log
        self.styles = styles


class Measured:
    """The measurements of one benchmark: a value for each point and line, and how far it ranged if that is known."""

    def __init__(self, bench: Benchmark) -> None:
        self.bench = bench
        self.points: list[list[Any]] = []
        self.values: list[list[Any]] = []
        self.ranges: list[list[tuple[Any, Any]]] = []

    def columns(self, diff_col: bool) -> list[str]:
        """The heads of the table."""
        lines = [f"{name} ({self.bench.ylabel})" for name in self.bench.line_names]
        return [*self.bench.x_names, *lines, *(["Diff"] if self._has_diff(diff_col) else [])]

    def rows(self, diff_col: bool) -> list[list[Any]]:
        """The lines of the table."""
        rows = [[*point, *values] for point, values in zip(self.points, self.values)]
        return [[*row, row[-1] - row[-2]] for row in rows] if self._has_diff(diff_col) else rows

    def _has_diff(self, diff_col: bool) -> bool:
        return diff_col and len(self.bench.line_names) == 2


class Mark:
    """A function that measures, and what to measure it for."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | Sequence[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        diff_col: bool = False,
        save_precision: int = 6,
        **kwargs: Any,
    ) -> Any:
        """Measures everything. The table is printed, plots are shown, and everything is saved, as asked for.

        `return_df` gives pandas data frames: one, or a list if the function is marked with a list.
        """
        single = isinstance(self.benchmarks, Benchmark)
        benchmarks = [self.benchmarks] if single else list(self.benchmarks)
        if save_path:
            os.makedirs(save_path, exist_ok=True)
        pictures, frames = [], []
        try:
            for bench in benchmarks:
                measured = self._measure(bench, kwargs)
                columns, rows = measured.columns(diff_col), measured.rows(diff_col)
                if print_data:
                    print(f"{bench.plot_name}:")
                    print(_table(columns, rows))
                if save_path:
                    _write_csv(os.path.join(save_path, f"{bench.plot_name}.csv"), columns, rows, save_precision)
                if bench.plot_name and (save_path or show_plots):
                    pictures += line_plot.draw(measured, save_path, show_plots)
                if return_df:
                    frames.append(_data_frame(columns, rows))
        finally:
            if save_path:
                _write_page(os.path.join(save_path, "results.html"), pictures)
        if not return_df:
            return None
        return frames[0] if single else frames

    def _measure(self, bench: Benchmark, kwargs: dict[str, Any]) -> Measured:
        measured = Measured(bench)
        for x in bench.x_vals:
            point = list(x) if isinstance(x, (list, tuple)) else [x] * len(bench.x_names)
            if len(point) != len(bench.x_names):
                raise ValueError(f"Expected {len(bench.x_names)} values for {', '.join(bench.x_names)}, got {x}")
            values, ranges = [], []
            for line in bench.line_vals:
                at = {**dict(zip(bench.x_names, point)), bench.line_arg: line}
                result = self.fn(**at, **bench.args, **kwargs)
                value, *extent = result if isinstance(result, (list, tuple)) else (result,)
                values.append(value)
                ranges.append(tuple(extent) if len(extent) == 2 else (None, None))
            measured.points.append(point)
            measured.values.append(values)
            measured.ranges.append(ranges)
        return measured


def perf_report(benchmarks: Benchmark | Sequence[Benchmark]) -> Callable[[Callable[..., Any]], Mark]:
    """Marks a function that measures: `.run(print_data=True)` of what comes out calls it for all points and lines.

    The function gives a number, or three: the value and how far it ranged, down and up.
    """
    return lambda fn: Mark(fn, benchmarks)


def _table(columns: list[str], rows: list[list[Any]]) -> str:
    """Right-aligned columns, the rows numbered."""
    lines = [["", *columns], *([str(at), *map(_shown, row)] for at, row in enumerate(rows))]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines)


def _shown(value: Any) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def _write_csv(path: str, columns: list[str], rows: list[list[Any]], precision: int) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(
            [f"{value:.{precision}f}" if isinstance(value, float) else value for value in row] for row in rows
        )


def _write_page(path: str, pictures: list[str]) -> None:
    shown = "".join(f'<img src="{html.escape(os.path.basename(picture))}"/>\n' for picture in pictures)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"<html><body>\n{shown}</body></html>\n")


def _data_frame(columns: list[str], rows: list[list[Any]]) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "return_df gives a pandas data frame, but pandas is not installed: pip install pandas, or use save_path"
        ) from error
    return pandas.DataFrame(rows, columns=columns)
