# lower: k()
import triton


@triton.jit
def k():
    x = (1 + 
    y = 2 $ 3
    return

# ---
# error: invalid syntax: expected `)`, found `=`
#  --> syntax.py:8:7
#   |
# 8 |     y = 2 $ 3
#   |       ^
#
# error: invalid syntax: got unexpected token $
#  --> syntax.py:8:11
#   |
# 8 |     y = 2 $ 3
#   |           ^
#
# error: invalid syntax: invalid assignment target
#  --> syntax.py:7:10
#   |
# 7 |       x = (1 +
#   |  __________^
# 8 | |     y = 2 $ 3
#   | |_____^
#
# error: invalid syntax: simple statements must be separated by newlines or semicolons
#  --> syntax.py:8:13
#   |
# 8 |     y = 2 $ 3
#   |             ^
