#include <stdio.h>
#include <stdlib.h>

#include "add.h"

int main(void) {
    enum { N = 1000 };
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), *out = malloc(N * sizeof *out);
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1.0f;
    }
    shoal_grid grid = { (N + ADD_BLOCK - 1) / ADD_BLOCK, 1, 1 };
    if (add_launch(grid, x, y, out, N) != SHOAL_OK) {
        fprintf(stderr, "%s\n", add_error());
        return 1;
    }
    printf("%g by %s\n", out[N - 1], add_variant(x, y, out, N));
    return 0;
}
