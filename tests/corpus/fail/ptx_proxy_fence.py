"""The fence before the flag orders a program's own copies with its stores (a proxy fence), and nothing for others."""
# expect: race
# ranks: 2 3
# launches: 1

import shoal
import shoal.language as tl


@shoal.jit
def ptx(text: tl.constexpr):
    tl.inline_asm_elementwise(f"{{ {text} mov.u32 $0, 0; }}", "=r", [], dtype=tl.int32, is_pure=False, pack=1)


@shoal.jit
def message(data, flag, out, n, BLOCK: tl.constexpr):
    peer = (tl.rank() + 1) % tl.num_ranks()
    at = tl.arange(0, BLOCK)
    tl.store(tl.symm_at(data, peer) + at, at, mask=at < n)
    ptx("fence.proxy.async.global;")
    tl.atomic_xchg(tl.symm_at(flag, peer), 1, sem="relaxed", scope="sys")
    while tl.atomic_add(flag, 0, sem="relaxed", scope="sys") != 1:
        pass
    ptx("fence.acq_rel.sys;")
    tl.store(out + at, tl.load(data + at, mask=at < n), mask=at < n)


@shoal.harness
def ring(world, n=5):
    data = world.symm_empty(n, "int32")
    out = world.empty(n, "int32")
    message[(1,)](data, world.symm(1, "int32"), out, n, BLOCK=8)
    world.output(out)

# says: let the fence before the write of the flag have scope `sys`
