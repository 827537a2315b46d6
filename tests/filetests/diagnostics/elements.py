# lower: k(*fp32, i32)
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    a = tl.arange(0, 4)
    b = a[-1]
    c = a[4]
    d = tl.zeros((4, 8), tl.int32)
    e = d[1, 8]
    a[7] = 1
    a[tl.arange(0, 4)] = a
    f = a[1:3]
    g = a[tl.arange(0, 4)]
    t = (1, 2)
    t[0] = 3
    h = a[3] + d[3, 7] + a[n]

# ---
