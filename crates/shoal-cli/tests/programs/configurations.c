/* Three kernels with one runtime: two configurations, a pointer that may be null, 16-bit floats, a descriptor, a tuple. */
#include <stdio.h>
#include <string.h>

#include "add.h"
#include "corner.h"
#include "scale.h"

int main(void) {
    enum { N = 37 };
    /* 1.5 as fp16. */
    shoal_fp16 x[2 * N];
    float bias[N], out[N + 1], zeros[N] = { 0 };
    for (int i = 0; i < N; i++) {
        x[2 * i] = 0x3e00;
        x[2 * i + 1] = 0;
        bias[i] = (float)i;
    }
    shoal_grid grid = { 3, 1, 1 };
    if (scale_launch(grid, SCALE_BLOCK_16, x, bias, out, N, 2, 4.0f, true) != SHOAL_OK) {
        puts(scale_error());
        return 1;
    }
    printf("%g %g %g\n", out[0], out[N - 1], out[N]);
    if (scale_launch(grid, SCALE_BLOCK_64, x, NULL, out, N, 1, 0.5f, false) != SHOAL_OK) {
        puts(scale_error());
        return 1;
    }
    printf("%g %g %g\n", out[0], out[1], out[N]);
    puts(scale_variant(SCALE_BLOCK_16, x, NULL, out, N, 1, 1, true));
    puts(scale_variant(SCALE_BLOCK_16, x, bias, out, N, 1, 1, true));
    int status = scale_launch(grid, (scale_config)2, x, NULL, out, N, 1, 1, true);
    printf("%d: %s\n", status, scale_error());
    if (add_launch(grid, bias, zeros, out, N) != SHOAL_OK) {
        puts(add_error());
        return 1;
    }
    float matrix[4][8], tile[2][4];
    for (int i = 0; i < 32; i++) {
        matrix[i / 8][i % 8] = (float)i;
    }
    shoal_grid one = { 1, 1, 1 };
    if (corner_launch(one, matrix[0], 4, 8, 8, 10, 0.5f, tile[0]) != SHOAL_OK) {
        puts(corner_error());
        return 1;
    }
    printf("%g %g\n", tile[0][0], tile[1][3]);
    puts(memcmp(bias, out, sizeof bias) == 0 ? "added" : "wrong");
    return 0;
}
