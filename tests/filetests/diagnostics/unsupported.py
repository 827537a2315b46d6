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
    for i in range(n):
        pass
    else:
        pass
    while n > 0:
        return
    async def h():
        pass
    match n:
        case 1:
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
    d = {"a": 1}["b"]
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
# error: kernels have no `break`
#   --> unsupported.py:10:13
#    |
# 10 |             break
#    |             ^^^^^ not supported
#    |
#    = help: loops on the device run to their end: use `while` with the condition
#
# error: kernels have no `continue`
#   --> unsupported.py:12:13
#    |
# 12 |             continue
#    |             ^^^^^^^^ not supported
#    |
#    = help: put the rest of the loop body under an `if`
#
# error: `return` inside a loop
#   --> unsupported.py:14:13
#    |
# 14 |             return
#    |             ^^^^^^ a loop on the device runs to its end
#    |
#    = help: put the condition into a `while`, or mask what must not happen
#
# error: kernels have no `else` after a `for` loop
#   --> unsupported.py:18:9
#    |
# 18 |         pass
#    |         ^^^^ not supported
#    |
#    = help: loops cannot be left early, so put this after the loop
#
# error: `return` inside a loop
#   --> unsupported.py:20:9
#    |
# 20 |         return
#    |         ^^^^^^ a loop on the device runs to its end
#    |
#    = help: put the condition into a `while`, or mask what must not happen
#
# error: kernels have no `async` functions
#   --> unsupported.py:21:5
#    |
# 21 | /     async def h():
# 22 | |         pass
#    | |____________^ not supported
#    |
#    = help: write an ordinary `def` function
#
# error: kernels have no `match` statements
#   --> unsupported.py:23:5
#    |
# 23 | /     match n:
# 24 | |         case 1:
# 25 | |             pass
#    | |________________^ not supported
#    |
#    = help: use `if` and `elif`
#
# error: kernels have no `lambda`
#   --> unsupported.py:26:9
#    |
# 26 |     f = lambda a: a
#    |         ^^^^^^^^^^^ not supported
#    |
#    = help: write a module-level `@jit` function
#
# error: kernels have no nested functions
#   --> unsupported.py:27:5
#    |
# 27 | /     def g():
# 28 | |         pass
#    | |____________^ not supported
#    |
#    = help: define it outside of the kernel, with `@triton.jit`
#
# error: kernels have no `try` statements
#   --> unsupported.py:29:5
#    |
# 29 | /     try:
# 30 | |         pass
# 31 | |     except ValueError:
# 32 | |         pass
#    | |____________^ not supported
#    |
#    = help: check the condition with an `if`
#
# error: `open` is not defined
#   --> unsupported.py:33:10
#    |
# 33 |     with open("f") as h:
#    |          ^^^^ unknown name
#
# error: kernels have no `del` statements
#   --> unsupported.py:35:5
#    |
# 35 |     del n
#    |     ^^^^^ not supported
#    |
#    = help: remove it: names end with their scope
#
# error: kernels have no `global` statements
#   --> unsupported.py:36:5
#    |
# 36 |     global y
#    |     ^^^^^^^^ not supported
#    |
#    = help: pass the value as an argument, or make it a `constexpr` of the module
#
# error: the dictionary has no key `'b'`
#   --> unsupported.py:37:9
#    |
# 37 |     d = {"a": 1}["b"]
#    |         ^^^^^^^^^^^^^
#
# error: kernels have no sets
#   --> unsupported.py:38:9
#    |
# 38 |     s = {1, 2}
#    |         ^^^^^^ not supported
#    |
#    = help: use a tuple
#
# error: a pointer cannot be indexed
#   --> unsupported.py:39:5
#    |
# 39 |     x[0] = 1.0
#    |     ^^^^ this is an address, not an array
#    |
#    = help: read with `tl.load(x + 0)`, write with `tl.store(x + 0, value)`
#
# error: attributes cannot be assigned
#   --> unsupported.py:40:5
#    |
# 40 |     x.a = 1
#    |     ^^^ cannot be assigned
#    |
#    = help: values are immutable: make a new one with the changed field
#
# error: kernels have no `*name` targets
#   --> unsupported.py:41:8
#    |
# 41 |     a, *b = (1, 2, 3)
#    |        ^^
#    |
#    = help: name each part, or take a slice of the tuple
#
# error: 2 names for 3 values
#   --> unsupported.py:42:5
#    |
# 42 |     a, b = (1, 2, 3)
#    |     ^^^^ too many values to unpack
#
# error: kernels have no `raise`
#   --> unsupported.py:43:5
#    |
# 43 |     raise ValueError("x")
#    |     ^^^^^^^^^^^^^^^^^^^^^ not supported
#    |
#    = help: use `tl.static_assert` at compile time or `tl.device_assert` at run time
#
# error: kernels have no imports
#   --> unsupported.py:44:5
#    |
# 44 |     import math
#    |     ^^^^^^^^^^^ not supported
#    |
#    = help: import at module level
#
# error: a loop cannot run over a scalar of type `i32`
#   --> unsupported.py:45:14
#    |
# 45 |     for e in n:
#    |              ^
#    |
#    = help: use `range`, `tl.range` or `tl.static_range`
