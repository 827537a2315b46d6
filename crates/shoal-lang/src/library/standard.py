"""The functions of the language that are written in the language itself.

Names that begin with an underscore are for this file only.
"""

import shoal
import shoal.language as tl

# Arithmetic on sizes and indices.


@shoal.jit
def cdiv(x, div):
    """The quotient of integers, rounded up."""
    return (x + (div - 1)) // div


@shoal.constexpr_function
def next_power_of_2(n):
    """The least power of two that is not below n."""
    power = 1 if n > 0 else 0
    while power < n:
        power *= 2
    return power


@shoal.constexpr_function
def _log2(n):
    bits = 0
    while n > 1:
        n //= 2
        bits += 1
    return bits


@shoal.constexpr_function
def _is_power_of_two(n):
    return n > 0 and n & (n - 1) == 0


@shoal.constexpr_function
def _axis(dim, rank):
    """A dimension counted from the front; the last one if none is named."""
    if dim is None:
        return rank - 1
    return dim + rank if dim < 0 else dim


@shoal.jit
def swizzle2d(i, j, size_i, size_j, size_g):
    """Renumbers a row-major matrix so that each group of `size_g` rows is walked column by column."""
    place = i * size_j + j
    per_group = size_g * size_j
    first_row = place // per_group * size_g
    # The last group may have fewer rows.
    rows = tl.minimum(size_i - first_row, size_g)
    place = place % per_group
    return first_row + place % rows, place // rows


# Tiles.


@shoal.jit
def zeros(shape, dtype):
    """A tile of zeros."""
    return tl.full(shape, 0, dtype)


@shoal.jit
def zeros_like(input):
    """A tile of zeros with the shape and type of another one."""
    return tl.full(input.shape, 0, input.dtype)


@shoal.jit
def ravel(x, can_reorder=False):
    """All elements in one dimension."""
    return tl.reshape(x, [x.numel])


@shoal.jit
def interleave(a, b):
    """The elements of two tiles in turn, along the last dimension."""
    pairs = tl.join(a, b)
    if len(pairs.shape) == 1:
        return pairs
    else:
        return tl.reshape(pairs, pairs.shape[:-2] + (2 * pairs.shape[-2],))


@shoal.jit
def flip(x, dim=None):
    """The elements along a dimension in reverse order."""
    axis: tl.constexpr = _axis(dim, len(x.shape))
    tl.static_assert(0 <= axis and axis < len(x.shape), "flip: there is no such dimension")
    last: tl.constexpr = x.shape[axis] - 1
    return tl.gather(x, last - tl._axis_indices(x.shape, axis), axis)


@shoal.jit
def _poll_each(pointer, expected, sem: tl.constexpr, scope: tl.constexpr, timeout_ns):
    """Whether memory at each pointer comes to hold its value, within a time that all of them share."""
    places = tl.arange(0, pointer.numel)
    addresses = tl.reshape(pointer.to(tl.int64), [pointer.numel])
    values = tl.reshape(expected.to(tl.int64), [pointer.numel])
    found = places < 0
    if timeout_ns is not None:
        end = tl.extra.cuda.globaltimer().to(tl.int64) + timeout_ns
    for i in range(pointer.numel):
        here = places == i
        address = sum(tl.where(here, addresses, 0), 0).to(pointer.dtype)
        value = sum(tl.where(here, values, 0), 0).to(expected.dtype)
        if timeout_ns is None:
            seen = tl.atomic_poll(address, value, sem, scope)
        else:
            left = tl.maximum(end - tl.extra.cuda.globaltimer().to(tl.int64), 0)
            seen = tl.atomic_poll(address, value, sem, scope, left)
        found = found | (here & seen)
    return tl.reshape(found, pointer.shape)


# Activations.


@shoal.jit
def sigmoid(x):
    """1 / (1 + exp(-x))"""
    return 1 / (1 + tl.exp(-x))


@shoal.jit
def softmax(x, dim=None, keep_dims=False, ieee_rounding=False):
    """The softmax along a dimension; the first one if none is named."""
    axis: tl.constexpr = 0 if dim is None else dim
    powers = tl.exp(x - max(x, axis, keep_dims=True))
    return tl.fdiv(powers, sum(powers, axis, keep_dims=True), ieee_rounding)


# Reductions. What they combine with has the names that other kernels take from here for `tl.reduce`.


@shoal.jit
def _sum_combine(a, b):
    return a + b


@shoal.jit
def _prod_combine(a, b):
    return a * b


@shoal.jit
def _xor_combine(a, b):
    return a ^ b


@shoal.jit
def _or_combine(a, b):
    return a | b


@shoal.jit
def _elementwise_max(a, b):
    return tl.maximum(a, b)


@shoal.jit
def _elementwise_min(a, b):
    return tl.minimum(a, b)


@shoal.jit
def _argmax_combine_tie_break_left(a, i, b, j):
    take = (a > b) | ((a == b) & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)


@shoal.jit
def _argmax_combine_tie_break_fast(a, i, b, j):
    take = a > b
    return tl.where(take, a, b), tl.where(take, i, j)


@shoal.jit
def _argmin_combine_tie_break_left(a, i, b, j):
    take = (a < b) | ((a == b) & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)


@shoal.jit
def _argmin_combine_tie_break_fast(a, i, b, j):
    take = a < b
    return tl.where(take, a, b), tl.where(take, i, j)


@shoal.jit
def _argmax_combine(value1, index1, value2, index2, tie_break_left):
    if tie_break_left:
        return _argmax_combine_tie_break_left(value1, index1, value2, index2)
    else:
        return _argmax_combine_tie_break_fast(value1, index1, value2, index2)


@shoal.jit
def _argmin_combine(value1, index1, value2, index2, tie_break_left):
    if tie_break_left:
        return _argmin_combine_tie_break_left(value1, index1, value2, index2)
    else:
        return _argmin_combine_tie_break_fast(value1, index1, value2, index2)


@shoal.jit
def _without_bfloat16(x):
    if x.dtype == tl.bfloat16:
        return x.to(tl.float32)
    else:
        return x


@shoal.jit
def _at_least_32_bits(x):
    if x.dtype.primitive_bitwidth >= 32:
        return x
    elif x.dtype.is_floating():
        return x.to(tl.float32)
    else:
        return x.to(tl.int32)


@shoal.constexpr_function
def _pick_sum_dtype(given, asked):
    """The type of a sum: as asked for, or the input's, but integers have at least 32 bits."""
    if asked is not None:
        return asked
    if given.is_int() and given.int_bitwidth < 32:
        return tl.int32 if given.is_int_signed() else tl.uint32
    return given


@shoal.jit
def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    """The greatest element along an axis, and where it is if asked for."""
    if return_indices:
        if return_indices_tie_break_left:
            return _with_indices(input, axis, _argmax_combine_tie_break_left, keep_dims)
        return _with_indices(input, axis, _argmax_combine_tie_break_fast, keep_dims)
    else:
        return tl.reduce(_at_least_32_bits(input), axis, _elementwise_max, keep_dims=keep_dims)


@shoal.jit
def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    """The least element along an axis, and where it is if asked for."""
    if return_indices:
        if return_indices_tie_break_left:
            return _with_indices(input, axis, _argmin_combine_tie_break_left, keep_dims)
        return _with_indices(input, axis, _argmin_combine_tie_break_fast, keep_dims)
    else:
        return tl.reduce(_at_least_32_bits(input), axis, _elementwise_min, keep_dims=keep_dims)


@shoal.jit
def _with_indices(input, axis, combine, keep_dims):
    tl.static_assert(axis is not None, "indices are along an axis: name one")
    index = tl._axis_indices(input.shape, axis)
    return tl.reduce((_without_bfloat16(input), index), axis, combine, keep_dims=keep_dims)


@shoal.jit
def argmax(input, axis, tie_break_left=True, keep_dims=False):
    """Where the greatest element along an axis is."""
    _, index = max(input, axis, True, tie_break_left, keep_dims)
    return index


@shoal.jit
def argmin(input, axis, tie_break_left=True, keep_dims=False):
    """Where the least element along an axis is."""
    _, index = min(input, axis, True, tie_break_left, keep_dims)
    return index


@shoal.jit
def sum(input, axis=None, keep_dims=False, dtype: tl.constexpr = None):
    """The sum along an axis."""
    return tl.reduce(input.to(_pick_sum_dtype(input.dtype, dtype)), axis, _sum_combine, keep_dims=keep_dims)


@shoal.jit
def xor_sum(input, axis=None, keep_dims=False):
    """The exclusive or of integers along an axis."""
    tl.static_assert(input.dtype.is_int(), "xor_sum works on integers")
    return tl.reduce(input, axis, _xor_combine, keep_dims=keep_dims)


@shoal.jit
def reduce_or(input, axis=None, keep_dims=False):
    """The bitwise or of integers along an axis."""
    tl.static_assert(input.dtype.is_int(), "reduce_or works on integers")
    return tl.reduce(input, axis, _or_combine, keep_dims=keep_dims)


# Scans.


@shoal.jit
def cumsum(input, axis=0, reverse=False, dtype: tl.constexpr = None):
    """The sums of all prefixes along an axis."""
    input = _without_bfloat16(input)
    return tl.associative_scan(input.to(_pick_sum_dtype(input.dtype, dtype)), axis, _sum_combine, reverse)


@shoal.jit
def cumprod(input, axis=0, reverse=False, dtype: tl.constexpr = None):
    """The products of all prefixes along an axis."""
    input = _without_bfloat16(input)
    return tl.associative_scan(input.to(_pick_sum_dtype(input.dtype, dtype)), axis, _prod_combine, reverse)


# Sorting: a bitonic network on integers, in loops that do not grow with the tile. Floats are sorted by their bits,
# which are brought into the order of integers; NaN counts as greater than every number.


@shoal.constexpr_function
def _get_int_dtype(bitwidth, signed):
    if bitwidth == 1:
        return tl.int1
    if bitwidth == 8:
        return tl.int8 if signed else tl.uint8
    if bitwidth == 16:
        return tl.int16 if signed else tl.uint16
    if bitwidth == 32:
        return tl.int32 if signed else tl.uint32
    return tl.int64 if signed else tl.uint64


@shoal.jit
def _swap_magnitude(bits):
    """Of integers that are negative, all bits but the sign flipped: sign and magnitude to two's complement and back."""
    sign_bit: tl.constexpr = bits.dtype.primitive_bitwidth - 1
    return bits ^ ((bits >> sign_bit) & bits.dtype.get_int_max_value())


@shoal.jit
def _merge(keys, place, stage, axis: tl.constexpr, falling: tl.constexpr):
    """Sorts runs of 2^stage elements that rise and then fall; every other run ends up in the opposite order."""
    rising = ((place >> stage) & 1) == falling
    for step in range(stage):
        stride = 1 << (stage - 1 - step)
        partner = tl.gather(keys, place ^ stride, axis)
        first = (place & stride) == 0
        keys = tl.where(first == rising, tl.minimum(keys, partner), tl.maximum(keys, partner))
    return keys


@shoal.jit
def _sort_keys(keys, axis: tl.constexpr, falling: tl.constexpr, from_stage: tl.constexpr):
    place = tl._axis_indices(keys.shape, axis)
    stages: tl.constexpr = _log2(keys.shape[axis])
    for stage in range(from_stage, stages + 1):
        keys = _merge(keys, place, stage, axis, falling)
    return keys


@shoal.jit
def _sorted(x, axis: tl.constexpr, falling: tl.constexpr, from_stage: tl.constexpr):
    if x.dtype.is_fp8():
        return _sorted(x.to(tl.float32), axis, falling, from_stage).to(x.dtype)
    elif x.dtype.is_floating():
        x = tl.where(x != x, float("nan"), x)
        keys = _swap_magnitude(x.to(_get_int_dtype(x.dtype.primitive_bitwidth, True), bitcast=True))
        keys = _sort_keys(keys, axis, falling, from_stage)
        return _swap_magnitude(keys).to(x.dtype, bitcast=True)
    elif x.dtype.is_int1():
        return _sort_keys(x.to(tl.int8), axis, falling, from_stage).to(tl.int1)
    else:
        return _sort_keys(x, axis, falling, from_stage)


@shoal.jit
def _checked_axis(x, dim: tl.constexpr):
    axis: tl.constexpr = _axis(dim, len(x.shape))
    tl.static_assert(0 <= axis and axis < len(x.shape), "there is no such dimension to sort")
    return axis


@shoal.jit
def sort(x, dim: tl.constexpr = None, descending: tl.constexpr = False):
    """The elements along a dimension in order; the last dimension if none is named."""
    return _sorted(x, _checked_axis(x, dim), 1 if descending else 0, 1)


@shoal.jit
def bitonic_merge(x, dim: tl.constexpr = None, descending: tl.constexpr = False):
    """Sorts elements that rise and then fall along a dimension."""
    axis: tl.constexpr = _checked_axis(x, dim)
    return _sorted(x, axis, 1 if descending else 0, _log2(x.shape[axis]))


@shoal.jit
def topk(x, k: tl.constexpr, dim: tl.constexpr = None, descending: tl.constexpr = True):
    """The k greatest (or least) elements along a dimension, in order."""
    axis: tl.constexpr = _checked_axis(x, dim)
    tl.static_assert(_is_power_of_two(k), "topk: k must be a power of two")
    tl.static_assert(k <= x.shape[axis], "topk: k must not exceed the size of the dimension")
    if k == x.shape[axis]:
        return sort(x, axis, descending)
    elif k == 1:
        if descending:
            return max(x, axis, keep_dims=True)
        else:
            return min(x, axis, keep_dims=True)
    else:
        first = tl._axis_indices(x.shape[:axis] + (k,) + x.shape[axis + 1:], axis)
        return tl.gather(sort(_at_least_32_bits(x), axis, descending), first, axis)


# Steps of a bitonic network on tiles of which every dimension has size 2, for kernels that build networks of their own.


@shoal.jit
def _indicator(n_dims: tl.constexpr, j: tl.constexpr):
    """0 and 1 along the dimension that is `j` before the last of `n_dims`."""
    return tl.reshape(tl.arange(0, 2), [1] * (n_dims - j - 1) + [2] + [1] * j)


@shoal.jit
def _compare_and_swap(x, flip, i: tl.constexpr):
    """Puts pairs along the dimension that is `i` before the last in order: rising where `flip` is 0."""
    rank: tl.constexpr = len(x.shape)
    partner = tl.flip(x, rank - 1 - i)
    falling = (flip ^ _indicator(rank, i)) != 0
    return tl.where((x > partner) != falling, partner, x)


@shoal.jit
def _bitonic_merge_hypercube(x, stage: tl.constexpr, order: tl.constexpr):
    """Sorts runs of 2^stage elements: rising (order 0), falling (1) or in turn (2)."""
    if order == 2:
        flip = _indicator(len(x.shape), stage)
    else:
        flip = tl.full([1] * len(x.shape), order, tl.int32)
    for step in tl.static_range(stage):
        x = _compare_and_swap(x, flip, stage - 1 - step)
    return x


@shoal.jit
def _bitonic_merge(x, stage: tl.constexpr, order: tl.constexpr, n_dims: tl.constexpr):
    cube = tl.reshape(x, [2] * _log2(x.numel))
    return tl.reshape(_bitonic_merge_hypercube(cube, stage, order), x.shape)


@shoal.jit
def _sort_impl(x, k: tl.constexpr = None, dim: tl.constexpr = None, descending: tl.constexpr = False):
    if k is None:
        return sort(x, dim, descending)
    else:
        return topk(x, k, dim, descending)


@shoal.constexpr_function
def _get_flip_dim(dim, shape):
    return _axis(dim, len(shape))


@shoal.constexpr_function
def _primitive_bitwidth(dtype):
    return dtype.primitive_bitwidth


@shoal.constexpr_function
def _unwrap_if_constexpr(o):
    return o


# Random numbers: Philox, a counter turned into bits by rounds of multiplications.


@shoal.jit
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds: tl.constexpr = 10):
    """Rounds of Philox on a counter of four words, with a key of two."""
    tl.static_assert(c0.dtype == tl.uint32 or c0.dtype == tl.uint64, "philox works on uint32 and uint64")
    wide: tl.constexpr = c0.dtype == tl.uint64
    weyl_0: tl.constexpr = 0x9E3779B97F4A7C15 if wide else 0x9E3779B9
    weyl_1: tl.constexpr = 0xBB67AE8584CAA73B if wide else 0xBB67AE85
    factor_0: tl.constexpr = 0xD2E7470EE14C6C93 if wide else 0xD2511F53
    factor_1: tl.constexpr = 0xCA5A826395121157 if wide else 0xCD9E8D57
    for _ in tl.static_range(n_rounds):
        high_0 = tl.umulhi(c0, factor_0)
        low_0 = tl.mul(c0, factor_0, sanitize_overflow=False)
        high_1 = tl.umulhi(c2, factor_1)
        low_1 = tl.mul(c2, factor_1, sanitize_overflow=False)
        c0 = high_1 ^ c1 ^ k0
        c1 = low_1
        c2 = high_0 ^ c3 ^ k1
        c3 = low_0
        k0 = tl.add(k0, weyl_0, sanitize_overflow=False)
        k1 = tl.add(k1, weyl_1, sanitize_overflow=False)
    return c0, c1, c2, c3


@shoal.jit
def philox(seed, c0, c1, c2, c3, n_rounds: tl.constexpr = 10):
    """Four words of random bits from a seed and a counter of four words."""
    seed = tl.to_tensor(seed)
    tl.static_assert(seed.dtype.is_int(), "the seed is an integer")
    seed = seed.to(tl.uint64)
    c0 = tl.to_tensor(c0)
    c1 = tl.to_tensor(c1)
    c2 = tl.to_tensor(c2)
    c3 = tl.to_tensor(c3)
    width: tl.constexpr = c0.dtype.primitive_bitwidth
    tl.static_assert(width == 32 or width == 64, "philox counts in 32 or 64 bits")
    if width == 32:
        key_0 = (seed & 0xFFFFFFFF).to(tl.uint32)
        key_1 = (seed >> 32).to(tl.uint32)
    else:
        key_0 = seed
        key_1 = seed ^ seed
    word: tl.constexpr = tl.uint32 if width == 32 else tl.uint64
    return philox_impl(c0.to(word, bitcast=True), c1.to(word, bitcast=True), c2.to(word, bitcast=True),
                       c3.to(word, bitcast=True), key_0, key_1, n_rounds)


@shoal.jit
def randint4x(seed, offset, n_rounds: tl.constexpr = 10):
    """Four tiles of random 32-bit words, one of each for every offset."""
    offset = tl.to_tensor(offset)
    low = offset.to(tl.uint32)
    zero = low * 0
    if offset.dtype.primitive_bitwidth > 32:
        high = (offset >> 32).to(tl.uint32)
    else:
        high = zero
    return philox(seed, low, high, zero, zero, n_rounds)


@shoal.jit
def randint(seed, offset, n_rounds: tl.constexpr = 10):
    """A random 32-bit word for every offset."""
    word, _, _, _ = randint4x(seed, offset, n_rounds)
    return word


@shoal.jit
def uint_to_uniform_float(x):
    """Random bits as a float in [0, 1): the magnitude of the signed number, scaled so that rounding never gives 1."""
    if x.dtype.primitive_bitwidth == 32:
        x = x.to(tl.int32, bitcast=True)
        return tl.where(x < 0, ~x, x) * 4.6566127342e-10
    else:
        x = x.to(tl.int64, bitcast=True)
        return tl.where(x < 0, ~x, x) * 1.0842020432385337e-19


@shoal.jit
def rand(seed, offset, n_rounds: tl.constexpr = 10):
    """A random float in [0, 1) for every offset."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@shoal.jit
def rand4x(seed, offsets, n_rounds: tl.constexpr = 10):
    """Four random floats in [0, 1) for every offset."""
    a, b, c, d = randint4x(seed, offsets, n_rounds)
    return uint_to_uniform_float(a), uint_to_uniform_float(b), uint_to_uniform_float(c), uint_to_uniform_float(d)


@shoal.jit
def pair_uniform_to_normal(u1, u2):
    """Two uniform floats to two normally distributed ones (Box and Muller)."""
    radius = tl.sqrt(-2.0 * tl.log(tl.maximum(1.0e-7, u1)))
    angle = 6.283185307179586 * u2
    return radius * tl.cos(angle), radius * tl.sin(angle)


@shoal.jit
def randn(seed, offset, n_rounds: tl.constexpr = 10):
    """A normally distributed float for every offset."""
    a, b, _, _ = randint4x(seed, offset, n_rounds)
    first, _ = pair_uniform_to_normal(uint_to_uniform_float(a), uint_to_uniform_float(b))
    return first


@shoal.jit
def randn4x(seed, offset, n_rounds: tl.constexpr = 10):
    """Four normally distributed floats for every offset."""
    a, b, c, d = rand4x(seed, offset, n_rounds)
    w, x = pair_uniform_to_normal(a, b)
    y, z = pair_uniform_to_normal(c, d)
    return w, x, y, z
