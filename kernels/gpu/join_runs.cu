// Lays runs one behind the other. A copy by the driver costs the host more than the device for short runs, and must not
// cross from one allocation to the next. A launch takes up to RUNS runs, whose table comes by value.
//
// A block copies one stretch of the output, from as many runs as have bytes there.
//
// Macros: none.
#define BLOCK_SIZE JOINING_THREADS

#include "sizes.cuh"

constexpr int RUNS = JOINED_RUNS, WORD = 4, AT_ONCE = 4;
constexpr long long STRETCH = JOINED_STRETCH;

struct __align__(VECTOR) Vector {
    unsigned words[VECTOR / WORD];
};

// The runs of a launch: where each begins, and how many bytes it and those ahead of it have. The last ones may be empty.
struct Table {
    const unsigned char* from[RUNS];
    long long ends[RUNS];
};

// Copies `count` units, several a thread at once, so that all loads are under way before the first store.
template <typename Unit, typename Read>
__device__ __forceinline__ void copy_units(Unit* to, long long count, Read read)
{
    for (long long first = threadIdx.x; first < count; first += AT_ONCE * BLOCK_SIZE) {
        Unit held[AT_ONCE];
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn)
            if (first + turn * BLOCK_SIZE < count) held[turn] = read(first + turn * BLOCK_SIZE);
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn)
            if (first + turn * BLOCK_SIZE < count) to[first + turn * BLOCK_SIZE] = held[turn];
    }
}

// Copies bytes between places of any alignment. No byte outside of [from, from + count) is read.
__device__ __forceinline__ void copy_bytes(const unsigned char* from, unsigned char* to, long long count)
{
    const unsigned long long source = reinterpret_cast<unsigned long long>(from);
    const unsigned long long target = reinterpret_cast<unsigned long long>(to);
    const int shift = static_cast<int>((source - target) % WORD);
    // Each word of the body comes from the one or two aligned words that hold its bytes. A vector's room at both ends keeps
    // these inside of the run.
    const int spare = shift == 0 ? 0 : VECTOR;
    const long long ahead = (VECTOR - target % VECTOR) % VECTOR + spare;
    const long long body = count > ahead + spare ? (count - ahead - spare) / VECTOR * VECTOR : 0;
    const long long head = body > 0 ? ahead : 0;
    for (long long edge = threadIdx.x; edge < count - body; edge += BLOCK_SIZE) {
        const long long at = edge < head ? edge : edge + body;
        to[at] = from[at];
    }
    if ((source - target) % VECTOR == 0) {
        const Vector* const vectors = reinterpret_cast<const Vector*>(from + head);
        copy_units(reinterpret_cast<Vector*>(to + head), body / VECTOR, [&](long long at) { return vectors[at]; });
    } else {
        const unsigned* const words = reinterpret_cast<const unsigned*>(from + head - shift);
        copy_units(reinterpret_cast<unsigned*>(to + head), body / WORD, [&](long long at) {
            if (shift == 0) return words[at];
            const unsigned long long both = words[at] | static_cast<unsigned long long>(words[at + 1]) << 32;
            return static_cast<unsigned>(both >> 8 * shift);
        });
    }
}

// Lays the runs of a table at `out`, in STRETCH bytes a block. One more block is needed if `out` is no multiple of 16.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) join_runs(const __grid_constant__ Table table, unsigned char* out)
{
    const long long total = table.ends[RUNS - 1];
    const long long skipped = static_cast<long long>(reinterpret_cast<unsigned long long>(out) % VECTOR);
    const long long begin = static_cast<long long>(blockIdx.x) * STRETCH - skipped;
    const long long stop = begin + STRETCH < total ? begin + STRETCH : total;
    long long at = begin < 0 ? 0 : begin;
    int run = 0;  // the first one that ends behind `at`
    for (int count = RUNS; count > 0;) {
        const int half = count / 2;
        if (table.ends[run + half] <= at) {
            run += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    while (at < stop) {
        const long long end = table.ends[run] < stop ? table.ends[run] : stop;
        const long long start = run == 0 ? 0 : table.ends[run - 1];
        if (at < end) copy_bytes(table.from[run] + (at - start), out + at, end - at);
        at = end;
        ++run;
    }
}
