"""Records of what programs do, and when, in a buffer of 64-bit words.

Word 0 holds the number of programs and of groups (1), the next ones the programs' numbers and, on a GPU, which
multiprocessor runs them, then come records; those of a program lie as many words apart as there are programs. The lower half of a record is its tag (program, task, begin or
end), the upper half the lower half of the clock. Where the buffer is `None`, nothing is recorded and nothing costs.
"""

import shoal
import shoal.language as tl
from shoal.language.extra.cuda import globaltimer, smid


@shoal.jit
def first_record(words):
    """Where a program's first record goes."""
    program = tl.program_id(0)
    if words is not None:
        if program == 0:
            tl.store(words, tl.num_programs(0).to(tl.uint64) | (1 << 32))
        where = program.to(tl.uint64)
        if tl.target_info.is_cuda():
            where |= (smid() + 1).to(tl.uint64) << 32
        tl.store(words + 1 + program, where)
    return 1 + tl.num_programs(0) + program


@shoal.jit
def record(words, room, at, TASK: tl.constexpr, IS_START: tl.constexpr):
    """Records that a task begins or ends, if there is room, and returns where the next record goes."""
    if words is None:
        return at
    tl.debug_barrier()
    if at < room:
        tag = tl.program_id(0).to(tl.uint64) << 12 | (TASK << 1 | IS_START)
        tl.store(words + at, globaltimer().to(tl.uint64) << 32 | tag)
    return at + tl.num_programs(0)
