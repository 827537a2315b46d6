"""Inline PTX spins on a flag by a weak load."""
# expect: race
# ranks: 2
# launches: 1

import shoal
import shoal.language as tl
from triton_dist.language.extra.language_extra import __syncthreads, st, tid


@shoal.jit
def spin(flag):
    tl.inline_asm_elementwise(
        """{
            .reg .pred %p;
            again: ld.global.u32 $0, [$1];
            setp.ne.u32 %p, $0, 1;
            @%p bra again;
        }""",
        "=r,l",
        [flag],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


@shoal.jit
def send(x, flag, out):
    peer = (tl.rank() + 1) % tl.num_ranks()
    tl.store(tl.symm_at(x, peer), 7)
    __syncthreads()
    if tid(0) == 0:
        st(tl.symm_at(flag, peer), 1, scope="sys", semantic="release")
        spin(flag)
    __syncthreads()
    tl.store(out, tl.load(x))


@shoal.harness
def message(world):
    out = world.empty(1, "int32")
    send[(1,)](world.symm_empty(1, "int32"), world.symm(1, "int32"), out)
    world.expect(out, 7)

# says: only one of them is atomic
# says: make the plain load atomic
