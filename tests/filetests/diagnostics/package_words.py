# lower: k(*fp32)
# lower: host(*fp32)
import shoal
import shoal.language as tl


def helper(v):
    return v + 1


def host(x):
    pass


@shoal.jit
def k(x):
    def inner():
        pass

    helper(tl.load(x))
    tl.atan2(tl.load(x), 1.0)

# ---
# error: kernels have no nested functions
#   --> package_words.py:17:5
#    |
# 17 | /     def inner():
# 18 | |         pass
#    | |____________^ not supported
#    |
#    = help: define it outside of the kernel, with `@shoal.jit`
#
# error: `helper` is a host function
#   --> package_words.py:20:5
#    |
#  7 | def helper(v):
#    |     ------ defined here without `@jit`
# ...
# 20 |     helper(tl.load(x))
#    |     ^^^^^^^^^^^^^^^^^^ called with values that are on the device
#    |
#    = help: decorate `helper` with `@shoal.jit`
#
# error: `tl` has no `atan2`
#   --> package_words.py:21:8
#    |
# 21 |     tl.atan2(tl.load(x), 1.0)
#    |        ^^^^^ unknown name
#    |
#    = help: it is in libdevice: `from shoal.language.extra import libdevice`, then `libdevice.atan2(...)`
# error: `host` is not a kernel
#   --> package_words.py:11:5
#    |
# 11 | def host(x):
#    |     ^^^^ this function has no `@shoal.jit` decorator
#    |
#    = help: decorate it with `@shoal.jit`
