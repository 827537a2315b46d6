"""One rank announces nothing, and its peer's stream waits for its word."""
# expect: deadlock
# ranks: 2 3

import shoal
import shoal.language as tl


@shoal.harness
def announce(world):
    flag = world.symm(1, "int32")
    side = world.stream()
    peer = (world.rank + 1) % world.size
    if world.rank != 0:
        side.write_value(world.at(flag, peer), 1)
    world.wait_value(flag, 1, ">=")
    world.synchronize()

# says: world.wait_value(flag, 1, ">=")
# says: waits until byte 0 of buffer 0 >= 1; it holds 0
