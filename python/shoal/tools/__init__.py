"""Tools around the compiler: kernels as C source, tensor descriptors, disassembly."""
