# lower: branch(*i32, i32)
# lower: static_branch(*i32, True)
# lower: static_branch(*i32, None)
import triton
import triton.language as tl


@triton.jit
def branch(out, n):
    x = 0
    if n > 3:
        x = n
        y = 1
        only_then = 5
    elif n < 0:
        y = 2
    else:
        x += 2
        y = n
    tl.store(out, x + y)


@triton.jit
def static_branch(out, FLAG: tl.constexpr):
    if FLAG is None:
        value = tl.program_id(0)
    elif FLAG:
        value = 1.5
    else:
        no_such_function()
    tl.store(out, value)

# ---
# kernel @branch(%0: ptr<i32>, %1: i32) {
#   %2 = const {value = 0} () : i32
#   %3 = const {value = 3} () : i32
#   %4 = cmp {is = gt} (%1, %3) : i1
#   %5, %6 = if (%4) : i32, i32 do {
#     %7 = const {value = 1} () : i32
#     %8 = const {value = 5} () : i32
#     yield (%1, %7)
#   } do {
#     %9 = const {value = 0} () : i32
#     %10 = cmp {is = lt} (%1, %9) : i1
#     %11, %12 = if (%10) : i32, i32 do {
#       %13 = const {value = 2} () : i32
#       yield (%2, %13)
#     } do {
#       %14 = const {value = 2} () : i32
#       %15 = add (%2, %14) : i32
#       yield (%15, %1)
#     }
#     yield (%11, %12)
#   }
#   %16 = add (%5, %6) : i32
#   store (%0, %16)
#   return ()
# }
# kernel @static_branch(%0: ptr<i32>) {
#   %1 = const {value = 1.5} () : f32
#   %2 = cast {round = rtne} (%1) : i32
#   store (%0, %2)
#   return ()
# }
# kernel @static_branch(%0: ptr<i32>) {
#   %1 = program_id {axis = 0} () : i32
#   store (%0, %1)
#   return ()
# }
