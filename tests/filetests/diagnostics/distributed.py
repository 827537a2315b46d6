# lower: k(*fp32, *i32, *i64, i32, fp32)
import triton
import triton.language as tl
import triton_dist.language as dl


@triton.jit
def k(x, words, flags, n, f):
    a = dl.rank(axis=n)
    b = dl.num_ranks(axis=-2)
    c = dl.symm_at(n, 0)
    d = dl.symm_at(x + tl.arange(0, 4), 0)
    e = dl.symm_at(x, 0.5)
    g = dl.wait(x, 1, "sys", "acquire")
    h = dl.wait(words, 1, "sys", "release")
    i = dl.wait(words, 1, "world", "acquire")
    j = dl.wait(words, f, "sys", "acquire")
    k = dl.consume_token(x, n)
    l = dl.consume_token(3, dl.wait(words, 1, "sys", "acquire"))
    dl.notify(words, 0)
    dl.notify(flags, 0, sig_op="or")
    dl.notify(flags, 0, comm_scope="node")
    m = dl.wait(words, 1, "sys", "acquire") + 1
    o = dl.wait(words, 1)

# ---
# error: `axis` of `rank` must be known at compile time
#  --> distributed.py:9:22
#   |
# 9 |     a = dl.rank(axis=n)
#   |                      ^ this is computed on the device: i32
#   |
#   = help: make it a `constexpr`: a parameter `NAME: tl.constexpr`, or a local `NAME: tl.constexpr = …`
#
# error: `axis` of `num_ranks` must be an axis of the world's mesh, or -1 for the whole world
#   --> distributed.py:10:27
#    |
# 10 |     b = dl.num_ranks(axis=-2)
#    |                           ^^ this is `-2`
#
# error: `symm_at` takes a pointer, not `i32`
#   --> distributed.py:11:9
#    |
# 11 |     c = dl.symm_at(n, 0)
#    |         ^^^^^^^^^^^^^^^^
#    |
#    = help: add the offset to a pointer argument: `ptr + offsets`
#
# error: `symm_at` takes one pointer, not `*fp32[4]`
#   --> distributed.py:12:9
#    |
# 12 |     d = dl.symm_at(x + tl.arange(0, 4), 0)
#    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
#    |
#    = help: pass the base to `symm_at`, and add the offsets to what it gives
#
# error: `rank` of `symm_at` must be an integer
#   --> distributed.py:13:23
#    |
# 13 |     e = dl.symm_at(x, 0.5)
#    |                       ^^^ this is `0.5`
#
# error: `wait` works on words of `int32` or `int64`, not `fp32`
#   --> distributed.py:14:9
#    |
# 14 |     g = dl.wait(x, 1, "sys", "acquire")
#    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
#    |
#    = help: allocate the flags with that type, or cast the pointer
#
# error: unknown memory order "release"
#   --> distributed.py:15:9
#    |
# 15 |     h = dl.wait(words, 1, "sys", "release")
#    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
#    |
#    = help: use "acquire" or "relaxed"
#
# error: unknown scope "world"
#   --> distributed.py:16:9
#    |
# 16 |     i = dl.wait(words, 1, "world", "acquire")
#    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
#    |
#    = help: use "gpu", "cta" or "sys"
#
# error: `numBarriers` of `wait` must be an integer
#   --> distributed.py:17:24
#    |
# 17 |     j = dl.wait(words, f, "sys", "acquire")
#    |                        ^ this is a scalar of type `fp32`
#
# error: `token` of `consume_token` must be the result of `wait`
#   --> distributed.py:18:29
#    |
# 18 |     k = dl.consume_token(x, n)
#    |                             ^ this is a scalar of type `i32`
#
# error: `value` of `consume_token` must be a pointer, a tile, a block pointer or a tensor descriptor
#   --> distributed.py:19:26
#    |
# 19 |     l = dl.consume_token(3, dl.wait(words, 1, "sys", "acquire"))
#    |                          ^ this is `3`
#
# error: `notify` works on words of `int64`, not `i32`
#   --> distributed.py:20:5
#    |
# 20 |     dl.notify(words, 0)
#    |     ^^^^^^^^^^^^^^^^^^^
#    |
#    = help: allocate the flags with that type, or cast the pointer
#
# error: `sig_op` of `notify` must be "set" or "add"
#   --> distributed.py:21:32
#    |
# 21 |     dl.notify(flags, 0, sig_op="or")
#    |                                ^^^^ this is `'or'`
#
# error: `comm_scope` of `notify` must be "gpu", "intra_node" or "inter_node"
#   --> distributed.py:22:36
#    |
# 22 |     dl.notify(flags, 0, comm_scope="node")
#    |                                    ^^^^^^ this is `'node'`
#
# error: `+` does not work between these values
#   --> distributed.py:23:9
#    |
# 23 |     m = dl.wait(words, 1, "sys", "acquire") + 1
#    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ the token of a wait and `1`
#
# error: `wait` is missing the arguments `scope`, `semantic`
#   --> distributed.py:24:9
#    |
# 24 |     o = dl.wait(words, 1)
#    |         ^^^^^^^^^^^^^^^^^
#    |
#    = help: its signature is `wait(barrierPtrs, numBarriers, scope, semantic, waitValue=1)`
