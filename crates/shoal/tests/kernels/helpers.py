import shoal
import shoal.language as tl


@shoal.jit
def places(BLOCK: tl.constexpr):
    return tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
