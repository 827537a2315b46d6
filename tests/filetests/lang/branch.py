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
# kernel @branch(%out: ptr<i32>, %n: i32) {
#   %x = const {value = 0} () : i32
#   %0 = const {value = 3} () : i32
#   %1 = cmp {is = gt} (%n, %0) : i1
#   %x.1, %y = if (%1) : i32, i32 do {
#     %y.1 = const {value = 1} () : i32
#     %only_then = const {value = 5} () : i32
#     yield (%n, %y.1)
#   } do {
#     %2 = const {value = 0} () : i32
#     %3 = cmp {is = lt} (%n, %2) : i1
#     %x.2, %y.2 = if (%3) : i32, i32 do {
#       %y.3 = const {value = 2} () : i32
#       yield (%x, %y.3)
#     } do {
#       %4 = const {value = 2} () : i32
#       %x.3 = add (%x, %4) : i32
#       yield (%x.3, %n)
#     }
#     yield (%x.2, %y.2)
#   }
#   %5 = add (%x.1, %y) : i32
#   store (%out, %5)
#   return ()
# }
# kernel @static_branch(%out: ptr<i32>) {
#   %value = const {value = 1.5} () : f32
#   %0 = cast {round = rtne} (%value) : i32
#   store (%out, %0)
#   return ()
# }
# kernel @static_branch(%out: ptr<i32>) {
#   %value = program_id {axis = 0} () : i32
#   store (%out, %value)
#   return ()
# }
