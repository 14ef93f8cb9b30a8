// Sizes that the host must know ahead of a launch. gpumerge_cli/backends/kernel_sizes.py evaluates this file. So it keeps to
// two forms: a constant, and a function that returns one expression of its arguments, with + - * / and calls, in a line each.
//
// Bytes of shared memory are those of a block. tile: the items that it stages. items: those of a thread. size: the bytes of an
// item. runs: those that a tile comes from.
#pragma once

constexpr int VECTOR = 16;  // bytes of the widest load and store, and the unit of bulk copies
constexpr int WARP = 32;
constexpr int MAX_BLOCK_SIZE = 1024;  // keeps registers a thread low enough for the largest block that devices allow
constexpr int GROUP_WORDS = 2;  // that the tiles of a warp share: see lookback.cuh
constexpr int JOINED_RUNS = 240;  // of a launch of join_runs.cu: 3,840 bytes of arguments; drivers take 4,096
constexpr int JOINED_STRETCH = 32768;  // bytes that a block of join_runs.cu copies
constexpr int WRITTEN_WORDS = 480;  // of a launch of write_words.cu, a thread each: 3,840 bytes of arguments
constexpr int BYTES_PER_THREAD = 16;  // of text, in rows.cu and text.cu
constexpr int STATIC_SHARED = 2048;  // of the variables that a kernel has beside dynamic shared memory, or more
constexpr int GROUPING_TURNS = 16;  // items of a thread, in groups.cu
constexpr int GROUPING_BYTES = 128;  // of what the threads of a block of groups.cu share, or more
constexpr int RANKED_AT_ONCE = 4;  // items that a thread of ranks.cu searches for
constexpr int RANKING_WINDOW = 24576;  // bytes of a run that a block of ranks.cu holds
constexpr int SUMMED = 16;  // numbers that a thread of text.cu adds up

// Threads of a block.
constexpr int JOINING_THREADS = 256;   // join_runs.cu
constexpr int VALUES_THREADS = 128;    // merge_values.cu
constexpr int COUNTING_THREADS = 512;  // count_digits.cu
constexpr int SELECTING_THREADS = 256;  // select.cu
constexpr int GROUPING_THREADS = 256;   // groups.cu
constexpr int RANKING_THREADS = 256;    // ranks.cu
constexpr int STRINGS_THREADS = 256;    // strings.cu

// partition.cu, for two runs and for more: threads of a block, and edges from one mark to the next.
constexpr int PARTITION_THREADS_OF_TWO = 64;
constexpr int PARTITION_THREADS = 256;
constexpr int STRIDE_OF_TWO = 64;
constexpr int STRIDE_OF_MORE = 8;
constexpr int MOST_EDGES = 128;  // of a block

__device__ constexpr int whole_vectors(int bytes) { return (bytes + VECTOR - 1) / VECTOR; }

// Slices of runs may begin and end inside a vector.
__device__ constexpr int slice_bytes(int tile, int size, int runs) { return (whole_vectors(tile * size) + 2 * runs) * VECTOR; }
// A merge reads past the ends of slices, and ignores what it reads there.
__device__ constexpr int past_bytes(int items, int size) { return (items + 1) * size + VECTOR; }
__device__ constexpr int staged_bytes(int tile, int items, int size, int runs) { return slice_bytes(tile, size, runs) + past_bytes(items, size); }

// walk.cu: a tile has one item more if its walk begins ahead of a pair, and ends behind one. Two tiles are staged.
constexpr int WALK_BUFFERS = 2;
constexpr int WALK_STATE = 256;  // bytes of what the threads share besides, or more
__device__ constexpr int walk_buffer(int tile, int items, int size) { return whole_vectors(staged_bytes(tile + 1, items, size, 2)) * VECTOR; }
__device__ constexpr int walk_bytes(int tile, int items, int size) { return WALK_BUFFERS * walk_buffer(tile, items, size) + WALK_STATE; }

// The sort by digits. sum: the bytes of a sum of counts.
constexpr int DIGITS = 256;
constexpr int HELD_PASSES = 2;  // whose words of a tile are there at once, if there are so many
__device__ constexpr int published_bytes(int held, int sum) { return held * DIGITS * sum; }
__device__ constexpr int moving_counts(int warps, int sum) { return 4 * (2 * DIGITS + 1) * warps + sum * DIGITS + 4; }
__device__ constexpr int moving_bytes(int tile, int size, int warps, int sum) { return whole_vectors(tile * size) * VECTOR + moving_counts(warps, sum) + VECTOR; }
__device__ constexpr int plan_bytes(int passes) { return 8 * passes * (DIGITS + 1) + 8; }
__device__ constexpr int counting_bytes(int passes, int warps) { return 4 * passes * (DIGITS + 1) + 8 * warps + 8; }
