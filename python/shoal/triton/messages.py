"""The words that Triton has for errors, for programs and tests that look for them.

A diagnostic says the same in Shoal's words. Where the drop-in is installed, Triton's words are added as a note, and as
the exception's cause, which has the class that Triton's has.
"""

from __future__ import annotations

import linecache
import re
from typing import NamedTuple

from shoal.errors import CompilationError
from shoal.language._signature import DTYPES


class Rule(NamedTuple):
    """What a diagnostic says, and what Triton says: `{0}`, `{1}`, … are the groups of the pattern."""

    pattern: str
    cause: type[Exception]
    text: str


# Constructs of Python by what diagnostics call them: how Python's syntax tree calls them.
_NODES = {
    "`break`": "Break",
    "`continue`": "Continue",
    "`lambda`": "Lambda",
    "dictionary comprehensions": "DictComp",
    "dictionaries": "Dict",
    "sets": "Set",
    "`try` statements": "Try",
    "`raise`": "Raise",
    "`del` statements": "Delete",
    "`with` statements": "With",
    "imports": "Import",
    "`global` statements": "Global",
    "`nonlocal` statements": "Nonlocal",
    "`yield`": "Yield",
    "`await`": "Await",
    "nested classes": "ClassDef",
    "`match` statements": "Match",
    "`async` functions": "AsyncFunctionDef",
}

_RULES = (
    # Making tiles.
    Rule("the length of `arange` must be a power of two", ValueError, "arange's range must be a power of 2"),
    Rule(
        "`(?:start|end)` of `arange` must be known",
        ValueError,
        "arange's arguments must be of type tl.constexpr",
    ),
    Rule(
        r"`arange\(.*\)` is empty",
        ValueError,
        "arange's end argument must be greater than the start argument",
    ),
    Rule(
        r"`axis` of `(\w+)` must be 0, 1 or 2[\s\S]*?this is (\S+)",
        ValueError,
        "{0} axis must be 0, 1, or 2 but got {1}",
    ),
    Rule(
        r"dimension (\d+) of the shape must be a power of two",
        ValueError,
        "Shape element {0} must be a power of 2",
    ),
    Rule(
        r"a tile of (\d+) elements is too large",
        ValueError,
        "numel ({0}) exceeds triton maximum tensor numel (1048576)",
    ),
    Rule(r"`arange\(.*\)` does not fit in `int32`", ValueError, "arange must fit in int32"),
    Rule("`dtype` of `full` must be a dtype", ValueError, "dtype must be specified when value is not a tensor"),
    # Shapes.
    Rule(
        r"dimension (\d+) is (\d+) (?:on the left|in the pointers) and (\d+) (?:on the right|in the)",
        ValueError,
        "Cannot make_shape_compatible: incompatible dimensions at index {0}: {1} and {2}",
    ),
    Rule(r"cannot reshape \[", ValueError, "reshape() cannot change total number of elements in tensor"),
    Rule(
        r"cannot broadcast shape .*[\s\S]*?dimension (\d+) is (\d+), not 1 or (\d+)",
        ValueError,
        "Cannot broadcast, the expanded size of the tensor ({2}) must match the existing size ({1}) at non-singleton "
        "dimension {0}",
    ),
    Rule(
        r"cannot broadcast shape (\[.*?\]) to (\[.*?\]): the ranks differ",
        ValueError,
        "Cannot broadcast, rank mismatch: {0}, {1}",
    ),
    Rule(r"is not an order of the \d+ dimensions", ValueError, "permute dims must be a permutation of 0, 1, ..., n-1"),
    Rule(
        r"dimension (\d+) is named twice",
        ValueError,
        "expand_dims received duplicate axes, normalized axes = [{0}, {0}]",
    ),
    Rule(
        r"`split` takes a last dimension of size 2, but this is `\w+`",
        AssertionError,
        "split requires a non-scalar tensor",
    ),
    Rule(
        r"`split` takes a last dimension of size 2, but this is `\w+\[(?:.*, )?(\d+)\]`",
        AssertionError,
        "expected last dimension to be 2 for split, got {0}",
    ),
    Rule(
        r"`cat` takes two tiles of one shape", AssertionError, "tensors must have the same shape along all dimensions"
    ),
    Rule("tiles cannot be sliced", ValueError, "unsupported tensor index: slice"),
    Rule(
        r"too many indices for `[\s\S]*? dimensions are named, but there are (\d+)",
        ValueError,
        "too many indices for tensor of rank {0}",
    ),
    Rule(
        r"there is no dimension (-?\d+)[\s\S]*?use -(\d+) to ",
        ValueError,
        "invalid axis {0}. Expected -{1} <= axis < {1}",
    ),
    Rule(r"there is no dimension (-?\d+)", ValueError, "invalid axis {0}"),
    Rule(r"a tile cannot be indexed by `(.*?)`", ValueError, "unsupported tensor index: {0}"),
    Rule("a pointer cannot be indexed", ValueError, "unsupported tensor index"),
    # Memory.
    Rule(r"`(\w+)` takes a pointer, not `(.*?)`", ValueError, "Unsupported ptr type {1} in `tl.{0}`"),
    Rule("`other` has no meaning without `mask`", ValueError, "`other` cannot be provided without `mask`"),
    Rule(
        "the pointer is a scalar, but the mask is",
        ValueError,
        "Mask argument cannot be block type if pointer argument is not a block",
    ),
    Rule(
        "the pointer is a scalar, but the value is",
        ValueError,
        "Value argument cannot be block type if pointer argument is not a block",
    ),
    Rule(
        "the pointer is a scalar, but the `other` is",
        ValueError,
        "Other argument cannot be block type if pointer argument is not a block",
    ),
    Rule(
        r"the pointers have shape \[(.*?)\], but value and mask need \[(.*?)\]",
        ValueError,
        "Expected pointer argument to have shape [{1}] but got [{0}]",
    ),
    Rule("a mask is made of truth values", ValueError, "Mask must have boolean scalar type"),
    Rule(r"`\w+` writes through a pointer that is `tl.const`", ValueError, "Cannot store to a constant pointer"),
    Rule(r'unknown cache modifier for a \w+ "(.*?)"', ValueError, "Unsupported cache modifier '{0}'"),
    Rule(r'unknown eviction policy "(.*?)"', ValueError, "Unsupported eviction policy '{0}'"),
    Rule(r'unknown (?:memory order|scope) "(.*?)"', ValueError, "Memory semantic {0} not supported"),
    Rule(
        r"`(atomic_load|atomic_poll)` does not have the memory order",
        ValueError,
        "{0} only supports acquire and relaxed semantics",
    ),
    Rule(
        "`atomic_store` does not have the memory order",
        ValueError,
        "atomic_store only supports release and relaxed semantics",
    ),
    Rule(
        "`timeout_ns` of `atomic_poll` must not be negative",
        ValueError,
        "atomic_poll timeout_ns must be non-negative",
    ),
    Rule("is no time in nanoseconds", ValueError, "atomic_poll timeout_ns must be a scalar integer"),
    Rule(
        "`atomic_poll` does not work on",
        ValueError,
        "atomic_poll only supports integer elements with width {{16, 32, 64}}",
    ),
    Rule("`atomic_cas` does not work on", ValueError, "atomic_cas only supports elements with width {{16, 32, 64}}"),
    Rule(r"`(atomic_\w+)` does not work on `(.*?)`", ValueError, "{0} does not support {1}"),
    Rule(
        r"the last stride of a descriptor must be the constant 1, not .*`(.*?)`",
        ValueError,
        "Tensor descriptor last dim must be 1 but got {0}",
    ),
    Rule(
        r"a row of the block has (\d+) bytes, but at least",
        ValueError,
        "Descriptor block shape must have at least 16 bytes in the last dimension, but got {0} bytes",
    ),
    Rule(r"a stride of (\d+) elements", ValueError, "Tensor descriptor strides must be 16-byte aligned"),
    Rule(
        r"a descriptor has 1 to 5 dimensions, not (\d+)", ValueError, "Expected 1 <= ndim <= 5 but got {0} dimensions"
    ),
    Rule(
        r"must be equally long[\s\S]*?they have (\d), (?!\1)(\d)",
        ValueError,
        "Expected {0} strides but got {1}",
    ),
    Rule(
        r"must be equally long[\s\S]*?they have (\d), (\d)",
        ValueError,
        "Expected block_shape to have {0} dimensions but got {1}",
    ),
    Rule(
        r"the descriptor has (\d) dimensions, but the offsets are (\d+)",
        AssertionError,
        "expected {0} offsets, but got {1}",
    ),
    Rule(
        r"the block has shape (\[.*?\]), but the value is `\w+(\[.*?\])`",
        AssertionError,
        "expected value shape {0}, got {1}",
    ),
    Rule(
        r"needs a descriptor of rows, but its block has shape (\[.*?\])",
        AssertionError,
        "descriptor block must have 1 row, but got {0}",
    ),
    Rule(
        r"`(gather|scatter)` of `\w+` moves at least \d+ rows of \d+ elements, not (\d+)",
        AssertionError,
        "descriptor {0} must have at least 8 rows, but got [{1}]",
    ),
    Rule("the index of `gather` is made of integers", AssertionError, "index must be an integer tensor"),
    Rule(
        "the source and the index of `gather` are tiles of the same rank",
        AssertionError,
        "source and index tensors must have the same rank",
    ),
    Rule(
        r"dimension \d+ of the index is [\s\S]*?the indexed one \((\d+)\)",
        AssertionError,
        "index dim {0} must match the corresponding source dim",
    ),
    Rule(
        r"`(multiple_of|max_contiguous|max_constancy)` needs \d+ values for",
        ValueError,
        "Shape of input to {0} does not match the length of values",
    ),
    Rule("there is no NaN to pad", ValueError, "Padding option `nan` is not supported for integer blocks"),
    Rule(
        "the offsets of a descriptor are 32-bit integers",
        AssertionError,
        "Expected a 32-bit integer; add a `.to(tl.int32)` to convert the value",
    ),
    Rule(r"this descriptor is of memory that is `tl.const`", ValueError, "Cannot store to a constant pointer"),
    Rule("`histogram` takes a tile of one dimension", AssertionError, "histogram only supports 1D input"),
    Rule(
        r"`histogram` takes 32-bit integers, not `(\w+)",
        ValueError,
        "histogram only supports 32-bit integer input, but got {0}",
    ),
    Rule(
        r"`max_num_imprecise_acc` is (\d+), but only (\d+) products are summed",
        ValueError,
        "max_num_imprecise_acc ({0}) must be <= K ({1})",
    ),
    Rule(r"Invalid float format: (\w+)", ValueError, "Invalid float format: {0}."),
    # Types.
    Rule(
        r"cannot bitcast [\s\S]*?(\d+) bits and (\d+) bits",
        ValueError,
        "Cannot bitcast data-type of size {0} to data-type of size {1}",
    ),
    Rule(
        "unknown rounding `(.*?)`",
        ValueError,
        "Invalid rounding mode: {0}. Supported rounding modes are 'rtne' and 'rtz'.",
    ),
    Rule(
        "no rounding takes place from `(.*?)` to `(.*?)`",
        ValueError,
        "fp_downcast_rounding should be set only for truncating fp conversions. Source scalar type is {0} and "
        "destination type is {1}",
    ),
    Rule(r"takes `fp32` or `fp64`, not `(\w+)", ValueError, "Expected dtype ['fp32', 'fp64'] but got {0}"),
    Rule("cannot add pointers", TypeError, "cannot add pointers together"),
    Rule("a pointer takes an integer offset, not `(.*?)`", TypeError, "invalid operands of type pointer and {0}"),
    Rule(r"`-` does not work on `(.*?)`", ValueError, "wrong type argument to unary minus ({0})"),
    Rule(r"`~` does not work on `(.*?)`", ValueError, "wrong type argument to unary invert ({0})"),
    Rule(
        r"this operation does not work on pointers: (?:the \w+ )?`(.*?)` and (?:the \w+ )?`(.*?)`",
        TypeError,
        "invalid operands of type {0} and {1}",
    ),
    Rule("`fdiv` takes floats", TypeError, "fdiv requires floating-point operands after type promotion"),
    Rule(r"`propagate_nan` of `\w+` must be [\s\S]*?this is `(.*?)`", ValueError, "Unexpected propagate_nan {0}"),
    Rule(r"works on integers, not on (.*)", TypeError, "invalid operands of type {0}"),
    Rule(r"the number (\S+) is out of range for `(.*?)`", ValueError, "Scalar {0} is out of range for type {1}"),
    Rule(
        "cannot divide `(.*?)` and `(.*?)`: one is signed",
        TypeError,
        "Cannot use /, #, or % with {0} and {1} because they have different signedness",
    ),
    Rule(
        r"the negative number \S+ meets a tensor of the unsigned type",
        ValueError,
        "Cannot perform a binary operation between an unsigned tensor and a negative scalar",
    ),
    Rule(r"`dot` cannot multiply `(\w+)\[.*?\]` and `\1\[.*?\]`", AssertionError, "Unsupported lhs dtype {0}"),
    Rule(
        "`dot` multiplies matrices: two tiles of the same rank",
        AssertionError,
        "input and other must have equal ranks >= 2",
    ),
    Rule("the accumulator has shape", AssertionError, "accumulator shape is incompatible"),
    Rule(
        'unknown precision "(.*?)"',
        AssertionError,
        "input_precision must be one of ('tf32', 'tf32x3', 'ieee', 'bf16x3', 'bf16x6'). Got {0}",
    ),
    Rule(
        r"`dot` cannot multiply `(\w+)\[.*?\]` and `(\w+)\[.*?\]`",
        AssertionError,
        "Both operands must be same dtype. Got {0} and {1}",
    ),
    Rule(
        r"shapes \[.*\] and \[.*\] cannot be multiplied",
        AssertionError,
        "input and other must have equal reduction dimensions",
    ),
    # Names and statements.
    Rule(r"error: `(\w+)` is not defined", NameError, "{0} is not defined"),
    Rule(r"`(?:tl|triton\.language|\w+)` has no `(\w+)`", AttributeError, "has no attribute '{0}'"),
    Rule(
        r"the global `(\w+)` is not a `constexpr`",
        NameError,
        "Cannot access global variable {0} from within @jit'ed function. Triton kernels can only access global "
        "variables that are instanstiated as constexpr",
    ),
    Rule(r"the integer `?(\d+)`? fits no integer type", ValueError, "Nonrepresentable integer {0}."),
    Rule(
        r"a \w+ of type `.*?` has no attribute `(\w+)`",
        AttributeError,
        "'tensor' object has no attribute '{0}'",
    ),
    Rule("the bounds of a loop must be integers", TypeError, "For loop bounds and step must all be ints"),
    Rule(
        "a loop cannot run over a tile",
        RuntimeError,
        "Only `range` and `static_range` iterators are currently supported",
    ),
    Rule(
        r"`(\w+)` changes its type in the loop[\s\S]*?type `(.*?)`[\s\S]*?type `(.*?)`",
        AssertionError,
        "Loop-carried variable {0} has initial type {1} but is re-assigned to {2} in loop!",
    ),
    Rule(
        r"`(\w+)` has no value here[\s\S]*?it is a \w+ of type `(.*?)`, on the other a \w+ of type `(.*?)`",
        AssertionError,
        "Mismatched type for {0} between then block ({1}) and else block ({2})",
    ),
    Rule(r"error: `(\w+)` has no value here", NameError, "{0} is not defined"),
    Rule(
        r"the two values of this conditional have different types[\s\S]*?type `(.*?)`[\s\S]*?type `(.*?)`",
        AssertionError,
        "Ternary expression with dynamic condition has inconsistent types {1} and {0}",
    ),
    Rule("elements of this value cannot be assigned", NotImplementedError, "__setitem__ is not supported in triton"),
    Rule(
        "expected a tensor or a number, found `None`",
        TypeError,
        "cannot convert None of type <class 'NoneType'> to tensor",
    ),
    Rule(
        r"this function returns different types[\s\S]*?type `(.*?)`[\s\S]*?type `(.*?)`",
        TypeError,
        "Return type mismatch: {0} and {1}",
    ),
    Rule(
        r"(\d+) names for (\d+) values[\s\S]*?not enough values to unpack",
        ValueError,
        "not enough values to unpack (expected {0}, got {1})",
    ),
    Rule(r"(\d+) names for \d+ values", ValueError, "too many values to unpack (expected {0})"),
    Rule("kernels have no `\\*name` targets", NotImplementedError, "starred assignment targets are not supported"),
    Rule("cannot be unpacked", TypeError, "cannot unpack non-iterable value"),
    Rule(
        "`return` inside a loop",
        NotImplementedError,
        "Cannot have `return` statements inside `while` or `for` statements in triton.",
    ),
    Rule(r"`(\w+)` of constants does not take NaN", AssertionError, "constexpr {0} does not support NaN values"),
    Rule(
        r"`(\w+)` of constants does not take negative zero",
        AssertionError,
        "constexpr {0} does not support negative zero",
    ),
    Rule(
        r"the result of `(.*?)` is not used[\s\S]*?= note: (.*)",
        Exception,
        "The result of {0} is not being used. {1}",
    ),
    Rule(r"the result of `(.*?)` is not used", Exception, "The result of {0} is not being used."),
    Rule(
        r"the condition of `\w+` is a tile of \d+ elements",
        ValueError,
        "Boolean value of Tensor with more than one value is ambiguous",
    ),
    Rule(
        "`static_assert` needs a condition that is known at compile time",
        NotImplementedError,
        "Assertion condition could not be determined at compile-time",
    ),
    Rule(
        "kernels have no nested functions",
        NotImplementedError,
        "nested function definitions are not allowed inside a @triton.jit kernel",
    ),
    # Launches.
    Rule(
        r"kernel `\w+`: an argument is missing for `(\w+)`",
        TypeError,
        "dynamic_func() missing 1 required positional argument: '{0}'",
    ),
    Rule(
        r"kernel `\w+`: arguments are missing for `(\w+)`, `(\w+)`\n",
        TypeError,
        "dynamic_func() missing 2 required positional arguments: '{0}' and '{1}'",
    ),
    Rule(
        r"kernel `\w+` takes (\d+) arguments?, but (\d+) were passed",
        TypeError,
        "dynamic_func() takes {0} positional arguments but {1} were given",
    ),
    Rule(r"`(\w+)` was passed twice", TypeError, "dynamic_func() got multiple values for argument '{0}'"),
    # Calls.
    Rule(r"`(\w+)` has no parameter `(\w+)`", TypeError, "{0}() got an unexpected keyword argument '{1}'"),
    Rule(
        r"`(\w+)` is missing the argument `(\w+)`",
        TypeError,
        "{0}() missing 1 required positional argument: '{1}'",
    ),
)


def _long_name(word: str) -> str:
    """Triton names integers in full: `int32` for `i32`."""
    return DTYPES[word].name if word in DTYPES else word


def places(diagnostic: str) -> list[str]:
    """Where the mistake is and the calls that lead there, as Triton says it: line and column of the function's own
    text, `at 2:4:`.
    """
    first = re.split(r"\n\n(?=error)", diagnostic)[0]
    marks = re.compile(r"(?:\A|^note: in this call to .*\n)[\s\S]*?^ *--> (.*):(\d+):(\d+)$", re.MULTILINE)
    named = [_place(file, int(line), int(column)) for file, line, column in marks.findall(first)]
    return [place for place in named if place is not None]


def _place(file: str, line: int, column: int) -> str | None:
    for above, text in enumerate(reversed(linecache.getlines(file)[:line])):
        if re.match(r"\s*(async )?def ", text):
            # The compiler reads the function without its indentation.
            return f"at {above + 1}:{column - 1}:"
    return None


def in_tritons_words(diagnostic: str) -> Exception | None:
    """What Triton raises for what a diagnostic says, if that is known."""
    for what, node in _NODES.items():
        if f"kernels have no {what}" in diagnostic:
            return NotImplementedError(f"unsupported AST node type: {node}")
    for rule in _RULES:
        found = re.search(rule.pattern, diagnostic)
        if found is not None:
            return rule.cause(rule.text.format(*map(_long_name, found.groups())))
    return None


def with_note(diagnostic: str) -> tuple[str, Exception | None]:
    """A diagnostic with a note of what Triton says, and what Triton raises."""
    cause = in_tritons_words(diagnostic)
    where = places(diagnostic)
    said = "\n".join(str(part) for part in (*where[:1], cause) if part is not None)
    # Triton raises an error for the mistake, and from it one for each call that leads there.
    for place in where[:-1]:
        inner = CompilationError(f"{place} {cause}" if cause is not None else place)
        inner.__cause__, cause = cause, inner
    of_the_call = f"\n   = note: Triton says of the call: {where[-1]}" if len(where) > 1 else ""
    # Triton's message is the last line, which programs look at.
    return (f"{diagnostic}{of_the_call}\n   = note: Triton says: {said}" if said else diagnostic), cause
