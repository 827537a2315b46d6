#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "add.h"

/* The few functions of CUDA's driver that the program needs itself, found at run time: no toolkit is needed. */
static int (*allocate)(uint64_t *address, size_t bytes);
static int (*to_gpu)(uint64_t to, const void *from, size_t bytes);
static int (*to_host)(void *to, uint64_t from, size_t bytes);

static int find_functions(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL) {
        return 0;
    }
    *(void **)&allocate = dlsym(driver, "cuMemAlloc_v2");
    *(void **)&to_gpu = dlsym(driver, "cuMemcpyHtoD_v2");
    *(void **)&to_host = dlsym(driver, "cuMemcpyDtoH_v2");
    return allocate != NULL && to_gpu != NULL && to_host != NULL;
}

int main(void) {
    enum { N = 1000 };
    static float x[N], y[N], out[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1.0f;
    }
    /* Opens the first GPU, unless the thread has a context already, and makes its context the current one. */
    if (add_load() != SHOAL_OK) {
        fprintf(stderr, "%s\n", add_error());
        return 1;
    }
    uint64_t memory[3];
    int failed = !find_functions();
    for (int i = 0; i < 3 && !failed; i++) {
        failed = allocate(&memory[i], sizeof x);
    }
    if (failed || to_gpu(memory[0], x, sizeof x) || to_gpu(memory[1], y, sizeof y)) {
        fprintf(stderr, "CUDA's driver gives no memory\n");
        return 1;
    }
    float *on_gpu[3];
    for (int i = 0; i < 3; i++) {
        on_gpu[i] = (float *)(uintptr_t)memory[i];
    }
    shoal_grid grid = { (N + ADD_BLOCK - 1) / ADD_BLOCK, 1, 1 };
    if (add_launch(NULL, grid, on_gpu[0], on_gpu[1], on_gpu[2], N) != SHOAL_OK) {
        fprintf(stderr, "%s\n", add_error());
        return 1;
    }
    /* Waits for the kernel: both are in the default stream. */
    if (to_host(out, memory[2], sizeof out)) {
        fprintf(stderr, "the kernel failed\n");
        return 1;
    }
    for (int i = 0; i < N; i++) {
        if (out[i] != x[i] + y[i]) {
            fprintf(stderr, "%g at %d\n", out[i], i);
            return 1;
        }
    }
    printf("%g by %s\n", out[N - 1], add_variant(on_gpu[0], on_gpu[1], on_gpu[2], N));
    return 0;
}
