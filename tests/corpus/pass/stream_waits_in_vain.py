"""Every rank announces itself to the stream of its peer."""
# expect: clean
# ranks: 2 3

import shoal
import shoal.language as tl


@shoal.harness
def announce(world):
    flag = world.symm(1, "int32")
    side = world.stream()
    peer = (world.rank + 1) % world.size
    if True:
        side.write_value(world.at(flag, peer), 1)
    world.wait_value(flag, 1, ">=")
    world.synchronize()
