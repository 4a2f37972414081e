/* The join of two relations of 16-byte tuples over MPI, written by hand: what `bench/mpi/run.py`
 * compares Volley with.
 *
 *   mpicc -O3 -march=native -o radix_join radix_join.c
 *   mpirun -n 2 radix_join TUPLES_PER_SIDE [REPETITIONS]
 *
 * Phases, as in figure 9 of the Modularis paper (VLDB 2021):
 *   histogram   count the tuples of each rank's partitions, exchange the counts
 *   network     write each tuple to its rank's window: buffers of 64 KiB per rank, MPI_Put
 *   local       partition the tuples of a window by 10 bits of the key's hash, out of place
 *   join        per partition: a table of chains, build and probe
 *
 * Both sides have each key from 0 to TUPLES_PER_SIDE - 1 once, in an order of their own, so that
 * the result has TUPLES_PER_SIDE pairs; the sum of all payloads is checked. The ranks synchronize
 * between phases. The time of a phase is that of the slowest rank; the processor time is that of all
 * ranks, with what they wait in collective calls. Rank 0 prints a line of JSON per repetition.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    uint64_t key;
    uint64_t payload;
} Tuple;

enum { LOCAL_BITS = 10, PARTITIONS = 1 << LOCAL_BITS, BUFFER_TUPLES = 4096, PHASES = 4 };

static const char *const PHASE_NAMES[PHASES] = {"histogram", "network", "local", "join"};

static int rank, ranks;

static void fail(const char *what) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *allocate(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!memory) fail("out of memory");
    return memory;
}

/* A bijection of 64 bits: the order of keys, and their hash. */
static inline uint64_t mix(uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ull;
    x ^= x >> 32;
    return x;
}

/* The rank of a hash: the high half, multiplied instead of divided. */
static inline int rank_of(uint64_t hash) {
    return (int)((unsigned __int128)(hash << 16) * (unsigned)ranks >> 64);
}

/* This rank's tuples of a side: keys begin + i of a permutation of 0 .. total - 1. */
static Tuple *generate(uint64_t total, uint64_t step, uint64_t *count) {
    uint64_t begin = total * (uint64_t)rank / (uint64_t)ranks;
    uint64_t end = total * ((uint64_t)rank + 1) / (uint64_t)ranks;
    *count = end - begin;
    Tuple *tuples = allocate(*count * sizeof(Tuple));
    for (uint64_t i = 0; i < *count; i++) {
        /* `step` has no factor in common with `total`. */
        uint64_t key = (uint64_t)((unsigned __int128)(begin + i) * step % total);
        tuples[i] = (Tuple){key, key + step};
    }
    return tuples;
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A step near `wanted` that visits every number below `total`. */
static uint64_t step_near(uint64_t wanted, uint64_t total) {
    uint64_t step = wanted % total | 1;
    while (greatest_divisor(step, total) != 1) step += 2;
    return step;
}

/* Counts the tuples for each rank. */
static void count_ranks(const Tuple *tuples, uint64_t count, uint64_t *counts) {
    memset(counts, 0, sizeof(uint64_t) * (size_t)ranks);
    for (uint64_t i = 0; i < count; i++) counts[rank_of(mix(tuples[i].key))]++;
}

typedef struct {
    MPI_Win window;
    Tuple *tuples;
    uint64_t count;   /* tuples of this rank's window */
    uint64_t *starts; /* where this rank writes in each rank's window */
} Exchange;

/* Exact offsets from the histograms: a prefix sum over ranks, and the sum of all. */
static Exchange open_exchange(const uint64_t *counts) {
    Exchange exchange;
    uint64_t *all = allocate(sizeof(uint64_t) * (size_t)ranks);
    exchange.starts = allocate(sizeof(uint64_t) * (size_t)ranks);
    memset(exchange.starts, 0, sizeof(uint64_t) * (size_t)ranks);
    MPI_Exscan(counts, exchange.starts, ranks, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) memset(exchange.starts, 0, sizeof(uint64_t) * (size_t)ranks);
    MPI_Allreduce(counts, all, ranks, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    exchange.count = all[rank];
    MPI_Aint bytes = (MPI_Aint)(exchange.count * sizeof(Tuple));
    MPI_Win_allocate(bytes, sizeof(Tuple), MPI_INFO_NULL, MPI_COMM_WORLD, &exchange.tuples,
                     &exchange.window);
    free(all);
    return exchange;
}

static void write_tuples(Exchange *exchange, const Tuple *tuples, uint64_t count) {
    /* Two buffers per rank: MPI reads one while the other is filled. */
    Tuple *buffers = allocate(sizeof(Tuple) * BUFFER_TUPLES * 2 * (size_t)ranks);
    uint32_t *filled = calloc((size_t)ranks, sizeof(uint32_t));
    uint32_t *turn = calloc((size_t)ranks, sizeof(uint32_t));
    if (!filled || !turn) fail("out of memory");
    MPI_Win_lock_all(MPI_MODE_NOCHECK, exchange->window);
    for (uint64_t i = 0; i < count; i++) {
        int to = rank_of(mix(tuples[i].key));
        Tuple *buffer = buffers + ((size_t)to * 2 + turn[to]) * BUFFER_TUPLES;
        buffer[filled[to]++] = tuples[i];
        if (filled[to] == BUFFER_TUPLES) {
            if (to == rank) {
                memcpy(exchange->tuples + exchange->starts[to], buffer,
                       sizeof(Tuple) * BUFFER_TUPLES);
            } else {
                MPI_Win_flush_local(to, exchange->window);
                MPI_Put(buffer, BUFFER_TUPLES * sizeof(Tuple), MPI_BYTE, to,
                        (MPI_Aint)exchange->starts[to], BUFFER_TUPLES * sizeof(Tuple), MPI_BYTE,
                        exchange->window);
            }
            exchange->starts[to] += BUFFER_TUPLES;
            filled[to] = 0;
            turn[to] ^= 1;
        }
    }
    for (int to = 0; to < ranks; to++) {
        Tuple *buffer = buffers + ((size_t)to * 2 + turn[to]) * BUFFER_TUPLES;
        int bytes = (int)(filled[to] * sizeof(Tuple));
        if (bytes)
            MPI_Put(buffer, bytes, MPI_BYTE, to, (MPI_Aint)exchange->starts[to], bytes, MPI_BYTE,
                    exchange->window);
    }
    MPI_Win_flush_all(exchange->window);
    MPI_Win_unlock_all(exchange->window);
    free(buffers);
    free(filled);
    free(turn);
}

/* Partitions by the low bits of the hash, through buffers of a cache line per partition. */
static Tuple *partition(const Tuple *tuples, uint64_t count, uint64_t *starts) {
    enum { LINE = 4 };
    uint64_t *counts = calloc(PARTITIONS, sizeof(uint64_t));
    Tuple *lines = allocate(sizeof(Tuple) * LINE * PARTITIONS);
    uint8_t *filled = calloc(PARTITIONS, 1);
    Tuple *out = allocate((count + 1) * sizeof(Tuple));
    if (!counts || !filled) fail("out of memory");
    for (uint64_t i = 0; i < count; i++) counts[mix(tuples[i].key) & (PARTITIONS - 1)]++;
    uint64_t start = 0;
    for (int p = 0; p < PARTITIONS; p++) {
        starts[p] = start;
        start += counts[p];
        counts[p] = starts[p];
    }
    starts[PARTITIONS] = start;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t p = mix(tuples[i].key) & (PARTITIONS - 1);
        lines[p * LINE + filled[p]++] = tuples[i];
        if (filled[p] == LINE) {
            memcpy(out + counts[p], lines + p * LINE, sizeof(Tuple) * LINE);
            counts[p] += LINE;
            filled[p] = 0;
        }
    }
    for (int p = 0; p < PARTITIONS; p++)
        memcpy(out + counts[p], lines + p * LINE, sizeof(Tuple) * filled[p]);
    free(counts);
    free(lines);
    free(filled);
    return out;
}

/* Joins two partitions; the number of pairs and the sum of their payloads. */
static uint64_t join(const Tuple *build, uint64_t build_count, const Tuple *probe,
                     uint64_t probe_count, uint32_t **scratch, uint64_t *scratch_len,
                     uint64_t *sum) {
    uint64_t heads = 1;
    while (heads < build_count) heads *= 2;
    if (heads + build_count > *scratch_len) {
        free(*scratch);
        *scratch_len = heads + build_count;
        *scratch = allocate(*scratch_len * sizeof(uint32_t));
    }
    uint32_t *head = *scratch, *next = *scratch + heads;
    memset(head, 0, heads * sizeof(uint32_t));
    for (uint64_t i = 0; i < build_count; i++) {
        uint64_t at = mix(build[i].key) >> LOCAL_BITS & (heads - 1);
        next[i] = head[at];
        head[at] = (uint32_t)i + 1;
    }
    uint64_t pairs = 0, total = 0;
    for (uint64_t i = 0; i < probe_count; i++) {
        uint64_t at = mix(probe[i].key) >> LOCAL_BITS & (heads - 1);
        for (uint32_t row = head[at]; row; row = next[row - 1]) {
            if (build[row - 1].key == probe[i].key) {
                pairs++;
                total += build[row - 1].payload + probe[i].payload;
            }
        }
    }
    *sum += total;
    return pairs;
}

/* Seconds of a phase: of the slowest rank, and of all ranks' processors. */
typedef struct {
    double wall, cpu;
} Seconds;

static Seconds now_seconds(void) {
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (Seconds){MPI_Wtime(), (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9};
}

static Seconds phase_end(Seconds begin, Seconds *seconds) {
    Seconds end = now_seconds();
    double wall = end.wall - begin.wall, cpu = end.cpu - begin.cpu;
    MPI_Allreduce(&wall, &seconds->wall, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&cpu, &seconds->cpu, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return now_seconds();
}

static void run(uint64_t total, int repetition) {
    uint64_t steps[2] = {step_near(0x9e3779b97f4aull, total), step_near(0xc2b2ae3d27d4ull, total)};
    Tuple *sides[2];
    uint64_t counts[2];
    for (int side = 0; side < 2; side++) sides[side] = generate(total, steps[side], &counts[side]);
    Seconds seconds[PHASES];
    MPI_Barrier(MPI_COMM_WORLD);
    Seconds now = now_seconds();
    Exchange exchanges[2];
    for (int side = 0; side < 2; side++) {
        uint64_t *histogram = allocate(sizeof(uint64_t) * (size_t)ranks);
        count_ranks(sides[side], counts[side], histogram);
        exchanges[side] = open_exchange(histogram);
        free(histogram);
    }
    now = phase_end(now, &seconds[0]);
    for (int side = 0; side < 2; side++)
        write_tuples(&exchanges[side], sides[side], counts[side]);
    MPI_Barrier(MPI_COMM_WORLD);
    now = phase_end(now, &seconds[1]);
    Tuple *parts[2];
    uint64_t starts[2][PARTITIONS + 1];
    for (int side = 0; side < 2; side++)
        parts[side] = partition(exchanges[side].tuples, exchanges[side].count, starts[side]);
    now = phase_end(now, &seconds[2]);
    uint32_t *scratch = NULL;
    uint64_t scratch_len = 0, own[2] = {0, 0}, all[2];
    for (int p = 0; p < PARTITIONS; p++)
        own[0] += join(parts[0] + starts[0][p], starts[0][p + 1] - starts[0][p],
                       parts[1] + starts[1][p], starts[1][p + 1] - starts[1][p], &scratch,
                       &scratch_len, &own[1]);
    phase_end(now, &seconds[3]);
    MPI_Allreduce(own, all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    /* Each key k is once in each side, with the payloads k + step. */
    uint64_t expected = (uint64_t)((unsigned __int128)total * (total - 1)) +
                        total * (steps[0] + steps[1]);
    if (all[0] != total || all[1] != expected) fail("wrong result");
    if (rank == 0) {
        printf("{\"program\": \"c\", \"ranks\": %d, \"tuples\": %llu, \"repetition\": %d", ranks,
               (unsigned long long)total, repetition);
        Seconds all_phases = {0, 0};
        for (int phase = 0; phase < PHASES; phase++) {
            const char *name = PHASE_NAMES[phase];
            printf(", \"%s\": %.6f, \"%s_cpu\": %.6f", name, seconds[phase].wall, name,
                   seconds[phase].cpu);
            all_phases.wall += seconds[phase].wall;
            all_phases.cpu += seconds[phase].cpu;
        }
        printf(", \"seconds\": %.6f, \"cpu\": %.6f}\n", all_phases.wall, all_phases.cpu);
        fflush(stdout);
    }
    free(scratch);
    for (int side = 0; side < 2; side++) {
        free(parts[side]);
        free(exchanges[side].starts);
        free(sides[side]);
        MPI_Win_free(&exchanges[side].window);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    uint64_t total = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    int repetitions = argc > 2 ? atoi(argv[2]) : 3;
    if (total == 0 || repetitions < 1) fail("usage: radix_join TUPLES_PER_SIDE [REPETITIONS]");
    for (int repetition = 0; repetition < repetitions; repetition++) run(total, repetition);
    MPI_Finalize();
    return 0;
}
