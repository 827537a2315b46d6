/* A collective of MPI, timed: mpi_peer COLLECTIVE ELEMENTS. Rank 0 prints the seconds of one call. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *x, *out;
static int count, ranks;

static void all_reduce(void) { MPI_Allreduce(x, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
static void all_gather(void) { MPI_Allgather(x, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD); }
static void broadcast(void) { MPI_Bcast(x, count, MPI_FLOAT, ranks / 2, MPI_COMM_WORLD); }
static void reduce_scatter(void) {
    MPI_Reduce_scatter_block(x, out, count / ranks, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static double batch(void (*call)(void), int calls) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < calls; i++) call();
    return (MPI_Wtime() - start) / calls;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3) return 2;
    count = atoi(argv[2]);
    x = malloc(sizeof(float) * (size_t)count);
    out = malloc(sizeof(float) * (size_t)count * (size_t)ranks);
    for (int i = 0; i < count; i++) x[i] = (float)(i % 101) * 0.37f - 11.0f + (float)rank;
    void (*call)(void) = NULL;
    if (!strcmp(argv[1], "all_reduce")) call = all_reduce;
    if (!strcmp(argv[1], "all_gather")) call = all_gather;
    if (!strcmp(argv[1], "broadcast")) call = broadcast;
    if (!strcmp(argv[1], "reduce_scatter")) call = reduce_scatter;
    if (!call) return 2;
    batch(call, 1);
    double once = batch(call, 4);
    int calls = once > 0 ? (int)(0.03 / once) : 10000;
    if (calls < 1) calls = 1;
    if (calls > 10000) calls = 10000;
    MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        double took = batch(call, calls);
        if (took < best) best = took;
    }
    if (rank == 0) printf("%.9g\n", best);
    MPI_Finalize();
    return 0;
}
