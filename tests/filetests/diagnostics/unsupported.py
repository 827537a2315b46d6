# lower: k(*fp32, i32)
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    for i in range(n):
        if i > 3:
            break
        if i > 2:
            continue
        if i > 1:
            return
    else:
        pass
    f = lambda a: a
    def g():
        pass
    try:
        pass
    except ValueError:
        pass
    with open("f") as h:
        pass
    del n
    global y
    d = {"a": 1}
    s = {1, 2}
    x[0] = 1.0
    x.a = 1
    a, *b = (1, 2, 3)
    a, b = (1, 2, 3)
    raise ValueError("x")
    import math
    for e in n:
        pass

# ---
# error: kernels have no `else` after a `for` loop
#   --> unsupported.py:16:9
#    |
# 16 |         pass
#    |         ^^^^ not supported
#    |
#    = help: loops cannot be left early, so put this after the loop
#
# error: kernels have no `lambda`
#   --> unsupported.py:17:9
#    |
# 17 |     f = lambda a: a
#    |         ^^^^^^^^^^^ not supported
#    |
#    = help: write a module-level `@jit` function
#
# error: kernels have no nested functions
#   --> unsupported.py:18:5
#    |
# 18 | /     def g():
# 19 | |         pass
#    | |____________^ not supported
#    |
#    = help: move it to module level and decorate it with `@triton.jit`
#
# error: kernels have no `try` statements
#   --> unsupported.py:20:5
#    |
# 20 | /     try:
# 21 | |         pass
# 22 | |     except ValueError:
# 23 | |         pass
#    | |____________^ not supported
#    |
#    = help: check the condition with an `if`
#
# error: kernels have no `with` statements
#   --> unsupported.py:24:5
#    |
# 24 | /     with open("f") as h:
# 25 | |         pass
#    | |____________^ not supported
#    |
#    = help: call the functions directly
#
# error: kernels have no `del` statements
#   --> unsupported.py:26:5
#    |
# 26 |     del n
#    |     ^^^^^ not supported
#    |
#    = help: remove it: names end with their scope
#
# error: kernels have no `global` statements
#   --> unsupported.py:27:5
#    |
# 27 |     global y
#    |     ^^^^^^^^ not supported
#    |
#    = help: pass the value as an argument, or make it a `constexpr` of the module
#
# error: kernels have no dictionaries
#   --> unsupported.py:28:9
#    |
# 28 |     d = {"a": 1}
#    |         ^^^^^^^^ not supported
#    |
#    = help: use tuples, or a `NamedTuple` class for named parts
#
# error: kernels have no sets
#   --> unsupported.py:29:9
#    |
# 29 |     s = {1, 2}
#    |         ^^^^^^ not supported
#    |
#    = help: use a tuple
#
# error: elements of a value cannot be assigned
#   --> unsupported.py:30:5
#    |
# 30 |     x[0] = 1.0
#    |     ^^^^ cannot be assigned
#    |
#    = help: tiles are values: compute a new one with `tl.where`, or write to memory with `tl.store`
#
# error: attributes cannot be assigned
#   --> unsupported.py:31:5
#    |
# 31 |     x.a = 1
#    |     ^^^ cannot be assigned
#    |
#    = help: values are immutable: make a new one with the changed field
#
# error: kernels have no `*name` targets
#   --> unsupported.py:32:8
#    |
# 32 |     a, *b = (1, 2, 3)
#    |        ^^
#    |
#    = help: name each part, or take a slice of the tuple
#
# error: 2 names for 3 values
#   --> unsupported.py:33:5
#    |
# 33 |     a, b = (1, 2, 3)
#    |     ^^^^ too many values to unpack
#
# error: kernels have no `raise`
#   --> unsupported.py:34:5
#    |
# 34 |     raise ValueError("x")
#    |     ^^^^^^^^^^^^^^^^^^^^^ not supported
#    |
#    = help: use `tl.static_assert` at compile time or `tl.device_assert` at run time
#
# error: kernels have no imports
#   --> unsupported.py:35:5
#    |
# 35 |     import math
#    |     ^^^^^^^^^^^ not supported
#    |
#    = help: import at module level
#
# error: a loop cannot run over a scalar of type `i32`
#   --> unsupported.py:36:14
#    |
# 36 |     for e in n:
#    |              ^
#    |
#    = help: use `range`, `tl.range` or `tl.static_range`
