"""Linear layouts: maps between indices that are linear over bits.

A layout has named inputs (such as register, lane, warp) and named outputs (such as the dimensions of a tile). It is
given by what it maps each power of two of each input to, its *bases*; all else is the exclusive or of those. Sizes are
powers of two. The compiler's own layouts are in `shoal-layout`; these have any names, for host code that computes with
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Bases = dict[str, list[tuple[int, ...]]]


def _log2(size: int, what: str) -> int:
    if size < 1 or size & (size - 1):
        raise ValueError(f"{what} must be a power of 2, not {size}")
    return size.bit_length() - 1


class LinearLayout:
    """A map from named indices to named indices, linear over bits."""

    def __init__(self, bases: Bases | None = None, out_dims: Mapping[str, int] | None = None) -> None:
        self._bases: Bases = bases or {}
        self._out: dict[str, int] = dict(out_dims or {})

    # Making layouts.

    @staticmethod
    def strided_1d(size: int, stride: int, in_dim: str, out_dim: str) -> LinearLayout:
        """Index `i` to `i * stride`."""
        bits, step = _log2(size, "a size"), _log2(stride, "a stride")
        return LinearLayout({in_dim: [(1 << (bit + step),) for bit in range(bits)]}, {out_dim: size << step})

    @staticmethod
    def identity_1d(size: int, in_dim: str, out_dim: str) -> LinearLayout:
        """Every index to itself."""
        return LinearLayout.strided_1d(size, 1, in_dim, out_dim)

    @staticmethod
    def zeros_1d(size: int, in_dim: str, out_dim: str, out_dim_size: int = 1) -> LinearLayout:
        """Every index to zero."""
        _log2(out_dim_size, "a size")
        return LinearLayout({in_dim: [(0,)] * _log2(size, "a size")}, {out_dim: out_dim_size})

    @staticmethod
    def from_bases(
        bases: Sequence[tuple[str, Sequence[Sequence[int]]]] | Mapping[str, Sequence[Sequence[int]]],
        out_dim_names: Sequence[str],
        out_dim_sizes: Sequence[int] | None = None,
        require_surjective: bool = True,
    ) -> LinearLayout:
        """A layout from what each power of two of each input becomes, one number for each output.

        Without sizes each output is as large as it has to be.
        """
        given = dict(bases.items() if isinstance(bases, Mapping) else bases)
        rows: Bases = {name: [tuple(int(v) for v in basis) for basis in images] for name, images in given.items()}
        every = [basis for images in rows.values() for basis in images]
        if any(len(basis) != len(out_dim_names) for basis in every):
            raise ValueError(f"each basis has one number for each of the outputs {list(out_dim_names)}")
        if any(value < 0 for basis in every for value in basis):
            raise ValueError("bases are not negative")
        if out_dim_sizes is None:
            greatest = [max((basis[at] for basis in every), default=0) for at in range(len(out_dim_names))]
            out_dim_sizes = [1 << value.bit_length() for value in greatest]
        out = dict(zip(out_dim_names, out_dim_sizes, strict=True))
        for at, (name, size) in enumerate(out.items()):
            _log2(size, f"the size of {name}")
            if any(basis[at] >= size for basis in every):
                raise ValueError(f"a basis is beyond the size {size} of {name}")
        layout = LinearLayout(rows, out)
        if require_surjective and not layout.is_surjective():
            raise ValueError("the layout does not reach every output; say require_surjective=False if it need not")
        return layout

    # What a layout is.

    @property
    def bases(self) -> list[tuple[str, list[list[int]]]]:
        """The bases of each input."""
        return [(name, [list(basis) for basis in images]) for name, images in self._bases.items()]

    @property
    def out_dims(self) -> list[tuple[str, int]]:
        """The outputs and their sizes."""
        return list(self._out.items())

    @property
    def in_dim_names(self) -> list[str]:
        """The names of the inputs."""
        return list(self._bases)

    @property
    def out_dim_names(self) -> list[str]:
        """The names of the outputs."""
        return list(self._out)

    @property
    def num_in_dims(self) -> int:
        """How many inputs there are."""
        return len(self._bases)

    @property
    def num_out_dims(self) -> int:
        """How many outputs there are."""
        return len(self._out)

    def get_in_dim_size(self, name: str) -> int:
        """The size of an input."""
        return 1 << len(self._bases[name])

    def get_out_dim_size(self, name: str) -> int:
        """The size of an output."""
        return self._out[name]

    def get_matrix_view(self) -> list[list[int]]:
        """The map as a matrix of bits: a row for each bit of the outputs, a column for each bit of the inputs."""
        columns = self._columns()
        return [[column >> row & 1 for column in columns] for row in range(self._out_bits())]

    def is_surjective(self) -> bool:
        """Whether every output is reached."""
        return _rank(self._columns()) == self._out_bits()

    def is_injective(self) -> bool:
        """Whether no two inputs have the same output."""
        return _rank(self._columns()) == len(self._columns())

    def is_invertible(self) -> bool:
        """Whether there is exactly one input for each output."""
        return self.is_surjective() and self.is_injective()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearLayout) and self.bases == other.bases and self.out_dims == other.out_dims

    def __hash__(self) -> int:
        return hash((tuple(self._out.items()), tuple((name, tuple(rows)) for name, rows in self._bases.items())))

    def __repr__(self) -> str:
        lines = [
            f"{name}={1 << bit} -> {basis}" for name, rows in self._bases.items() for bit, basis in enumerate(rows)
        ]
        return "\n".join([*lines, f"where out dims are: {self.out_dims}"])

    # Computing with layouts.

    def apply(self, inputs: Mapping[str, int]) -> dict[str, int]:
        """Where indices go."""
        if set(inputs) != set(self._bases):
            raise ValueError(f"the inputs are {self.in_dim_names}, not {list(inputs)}")
        found = [0] * len(self._out)
        for name, index in inputs.items():
            if not 0 <= index < self.get_in_dim_size(name):
                raise ValueError(f"{name} is from 0 to {self.get_in_dim_size(name) - 1}, not {index}")
            for bit, basis in enumerate(self._bases[name]):
                if index >> bit & 1:
                    found = [a ^ b for a, b in zip(found, basis)]
        return dict(zip(self._out, found))

    def compose(self, outer: LinearLayout) -> LinearLayout:
        """First this layout, then `outer`, whose inputs are this one's outputs."""
        if set(outer._bases) != set(self._out):
            raise ValueError(f"the outputs {self.out_dim_names} are not the inputs {outer.in_dim_names}")
        for name, size in self._out.items():
            if size > outer.get_in_dim_size(name):
                raise ValueError(f"{name} has {size} values, but the outer layout takes {outer.get_in_dim_size(name)}")
        through = {
            name: [tuple(outer.apply(dict(zip(self._out, basis))).values()) for basis in rows]
            for name, rows in self._bases.items()
        }
        return LinearLayout(through, outer._out)

    def invert_and_compose(self, outer: LinearLayout) -> LinearLayout:
        """For each input, the input of `outer` that has the same output; the least, if there are several."""
        if set(outer._out) != set(self._out):
            raise ValueError(f"the outputs {self.out_dim_names} and {outer.out_dim_names} differ")
        columns = outer._columns(list(self._out), self._out)
        sizes = [(name, len(rows)) for name, rows in outer._bases.items()]
        solved: Bases = {}
        for name, rows in self._bases.items():
            solved[name] = [_spread(_solve(columns, self._packed(basis)), sizes) for basis in rows]
        return LinearLayout(solved, {name: 1 << bits for name, bits in sizes})

    def invert(self) -> LinearLayout:
        """The layout from outputs to inputs."""
        if not self.is_invertible():
            raise ValueError("the layout is not invertible")
        identity: Bases = {}
        for at, (name, size) in enumerate(self._out.items()):
            identity[name] = [
                tuple(1 << bit if other == at else 0 for other in range(len(self._out)))
                for bit in range(size.bit_length() - 1)
            ]
        return LinearLayout(identity, self._out).invert_and_compose(self)

    def __mul__(self, outer: LinearLayout) -> LinearLayout:
        """Both side by side: where they share an input or an output, `outer` has the upper bits."""
        names = [*self._out, *(name for name in outer._out if name not in self._out)]
        sizes = {name: self._out.get(name, 1) * outer._out.get(name, 1) for name in names}

        def widened(layout: LinearLayout, basis: tuple[int, ...], shifted: bool) -> tuple[int, ...]:
            values = dict(zip(layout._out, basis))
            return tuple(values.get(name, 0) * (self._out.get(name, 1) if shifted else 1) for name in names)

        bases: Bases = {name: [widened(self, basis, False) for basis in rows] for name, rows in self._bases.items()}
        for name, rows in outer._bases.items():
            bases[name] = bases.get(name, []) + [widened(outer, basis, True) for basis in rows]
        return LinearLayout(bases, sizes)

    # Bits.

    def _out_bits(self) -> int:
        return sum(size.bit_length() - 1 for size in self._out.values())

    def _packed(self, basis: Sequence[int], order: Sequence[str] | None = None, sizes: Any = None) -> int:
        """A place as one number: the outputs' bits one after the other."""
        values, packed, shift = dict(zip(self._out, basis)), 0, 0
        for name in order or self._out:
            packed |= values[name] << shift
            shift += max((sizes or self._out)[name], self._out[name]).bit_length() - 1
        return packed

    def _columns(self, order: Sequence[str] | None = None, sizes: Any = None) -> list[int]:
        return [self._packed(basis, order, sizes) for rows in self._bases.values() for basis in rows]


def _rank(columns: Sequence[int]) -> int:
    """How many of the columns are independent."""
    kept: list[int] = []
    for column in columns:
        for pivot in kept:
            column = min(column, column ^ pivot)
        if column:
            kept.append(column)
    return len(kept)


def _solve(columns: Sequence[int], wanted: int) -> int:
    """The set of columns, as bits, whose exclusive or is `wanted`."""
    kept: list[tuple[int, int]] = []
    for at, column in enumerate(columns):
        chosen = 1 << at
        for pivot, parts in kept:
            if column ^ pivot < column:
                column, chosen = column ^ pivot, chosen ^ parts
        if column:
            kept.append((column, chosen))
    found = 0
    for pivot, parts in sorted(kept, reverse=True):
        if wanted ^ pivot < wanted:
            wanted, found = wanted ^ pivot, found ^ parts
    if wanted:
        raise ValueError("the outer layout does not reach everything that this one does")
    return found


def _spread(bits: int, sizes: Sequence[tuple[str, int]]) -> tuple[int, ...]:
    """Bits of all inputs, taken apart."""
    values = []
    for _, count in sizes:
        values.append(bits & (1 << count) - 1)
        bits >>= count
    return tuple(values)
