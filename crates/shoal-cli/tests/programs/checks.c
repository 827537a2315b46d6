/* Two libraries in one process: results, choices, errors, threads. Every line that does not hold is printed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "add.h"
#include "guarded.h"

static int failures = 0;

#define CHECK(condition)                                      \
    do {                                                      \
        if (!(condition)) {                                   \
            printf("line %d: %s\n", __LINE__, #condition);    \
            failures++;                                       \
        }                                                     \
    } while (0)

static float *floats(size_t count) {
    float *memory = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
    memset(memory, 0, count * sizeof(float));
    return memory;
}

/* Adds `n` numbers that start `offset` elements into their memory, and looks at all of them and at what follows. */
static int adds(int64_t n, size_t offset) {
    float *x = floats(n + 32), *y = floats(n + 32), *out = floats(n + 32);
    for (int64_t i = 0; i < n; i++) {
        x[offset + i] = (float)i;
        y[offset + i] = 0.5f;
    }
    out[offset + n] = -7;
    shoal_grid grid = { (uint32_t)((n + ADD_BLOCK - 1) / ADD_BLOCK), 1, 1 };
    int right = add_launch(grid, x + offset, y + offset, out + offset, n) == SHOAL_OK;
    for (int64_t i = 0; i < n; i++) {
        right = right && out[offset + i] == (float)i + 0.5f;
    }
    right = right && out[offset + n] == -7;
    free(x), free(y), free(out);
    return right;
}

static void *launch_often(void *wrong) {
    for (int i = 0; i < 50; i++) {
        if (!adds(1 + i * 37, i % 3)) {
            *(int *)wrong = 1;
        }
    }
    return NULL;
}

static void results(void) {
    const int sizes[] = { 0, 1, 2, 15, 16, 17, 255, 256, 1000, 4096, 100001 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CHECK(adds(sizes[i], 0));
        CHECK(adds(sizes[i], 1));
    }
}

static void choices(void) {
    float *x = floats(64), *y = floats(64), *out = floats(64);
    CHECK(strcmp(add_variant(x, y, out, 1), "*kfp32:16, *kfp32:16, *fp32:16, i32:1, 256") == 0);
    CHECK(strcmp(add_variant(x, y, out, 32), "*kfp32:16, *kfp32:16, *fp32:16, i32:16, 256") == 0);
    CHECK(strcmp(add_variant(x, y, out, 33), "*kfp32, *kfp32, *fp32, i64, 256") == 0);
    CHECK(strcmp(add_variant(x + 1, y, out, 32), "*kfp32, *kfp32, *fp32, i64, 256") == 0);
    CHECK(strcmp(add_variant(x, y, out, (int64_t)1 << 40), "*kfp32, *kfp32, *fp32, i64, 256") == 0);
    CHECK(strcmp(add_error(), "") == 0);
    free(x), free(y), free(out);
}

static void errors(void) {
    int32_t *x = (int32_t *)floats(128);
    x[77] = -1;
    shoal_grid grid = { 8, 1, 1 };
    CHECK(guarded_launch(grid, x, 128) == SHOAL_KERNEL_FAILED);
    CHECK(strstr(guarded_error(), "x is negative") != NULL);
    CHECK(strstr(guarded_error(), "program (4, 0, 0)") != NULL);
    CHECK(strstr(guarded_error(), "kernels.py:9") != NULL);
    /* The error is that library's, and the next launch works. */
    CHECK(strcmp(add_error(), "") == 0);
    for (int i = 0; i < 128; i++) {
        x[i] = i;
    }
    CHECK(guarded_launch(grid, x, 128) == SHOAL_OK);
    CHECK(x[127] == 128);
    /* Nothing was compiled for such a pointer or such a number. */
    CHECK(guarded_launch(grid, x + 1, 112) == SHOAL_NO_VARIANT);
    CHECK(strstr(guarded_error(), "compiled: *i32:16, i32:16, 16") != NULL);
    CHECK(guarded_launch(grid, x, 17) == SHOAL_NO_VARIANT);
    CHECK(strstr(guarded_error(), "n = 17") != NULL);
    CHECK(guarded_variant(x, 17) == NULL);
    shoal_grid endless = { UINT32_MAX, UINT32_MAX, UINT32_MAX };
    CHECK(guarded_launch(endless, x, 128) == SHOAL_ARGUMENT);
    shoal_grid empty = { 0, 1, 1 };
    CHECK(guarded_launch(empty, x, 128) == SHOAL_OK);
    free(x);
}

static void threads(void) {
    pthread_t threads[4];
    int wrong[4] = { 0 };
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, launch_often, &wrong[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(wrong[i] == 0);
    }
}

int main(void) {
    CHECK(add_load() == SHOAL_OK);
    results();
    choices();
    errors();
    threads();
    puts(failures ? "wrong" : "right");
    return failures != 0;
}
