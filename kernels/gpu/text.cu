// Finds where lines start, and gathers the lines of merged rows. Nothing here depends on the order of lines.
//
// Text is moved only twice, when it comes in and when it goes out. In between, rows of 16 bytes are merged. Needs ROWS.
#include "sizes.cuh"
#include "tile.cuh"

#ifndef SUMMED_PER_THREAD
#define SUMMED_PER_THREAD SUMMED
#endif

__device__ inline int terminators_in(const unsigned char* text, long long begin, long long end, long long terminator)
{
    int terminators = 0;
    for (long long at = begin; at < end; ++at) terminators += text[at] == terminator;
    return terminators;
}

// The sum of `value` over this thread and the threads of the block ahead of it. Shared memory: a number a thread. Every
// thread of the block must call this.
template <typename Number>
__device__ __forceinline__ Number block_inclusive_scan(Number value)
{
    Number* const sums = reinterpret_cast<Number*>(shared_bytes);
    const int thread = threadIdx.x;
    sums[thread] = value;
    for (int reach = 1; reach < static_cast<int>(blockDim.x); reach *= 2) {
        __syncthreads();  // all sums of the last reach are written before any thread reads them
        const Number add = thread >= reach ? sums[thread - reach] : 0;
        __syncthreads();  // all sums are read before any thread overwrites one
        sums[thread] += add;
    }
    return sums[thread];
}

// The numbers that a thread adds up: [begin, end).
struct Summed {
    long long begin, end;

    __device__ __forceinline__ Summed(long long count)
    {
        const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
        begin = smaller(thread * SUMMED_PER_THREAD, count);
        end = smaller(begin + SUMMED_PER_THREAD, count);
    }

    __device__ __forceinline__ long long sum_of(const long long* numbers) const
    {
        long long sum = 0;
        for (long long at = begin; at < end; ++at) sum += numbers[at];
        return sum;
    }
};

// sums[block] becomes the sum of the block's part of numbers[0 .. count).
// Grid: ceil(count / (threads a block * SUMMED_PER_THREAD)) blocks. Shared memory: a long long a thread.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) add_up(const long long* numbers, long long count, long long* sums)
{
    const long long sum = block_inclusive_scan(Summed(count).sum_of(numbers));
    if (threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = sum;
}

// numbers[i] becomes the sum of numbers[0 .. i]. ahead[block]: the sum of the numbers of this block and all blocks ahead; it
// is not read if there is one block. Grid and shared memory: as for add_up.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) running_sums(
    long long* numbers, long long count, const long long* ahead)
{
    const Summed summed(count);
    const long long own = summed.sum_of(numbers);
    long long sum = block_inclusive_scan(own) - own + (blockIdx.x == 0 ? 0 : ahead[blockIdx.x - 1]);
    for (long long at = summed.begin; at < summed.end; ++at) numbers[at] = sum += numbers[at];
}

// counts[block] becomes the number of terminators in the block's part of text[0 .. nbytes).
// Grid: ceil(nbytes / (threads a block * BYTES_PER_THREAD)) blocks.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) count_lines(
    const unsigned char* text, long long nbytes, long long terminator, long long* counts)
{
    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long begin = smaller(thread * BYTES_PER_THREAD, nbytes);
    const long long end = smaller(begin + BYTES_PER_THREAD, nbytes);
    const int sum = block_inclusive_scan(terminators_in(text, begin, end, terminator));
    if (threadIdx.x == blockDim.x - 1) counts[blockIdx.x] = sum;
}

// starts[L] becomes the offset of line L. One more entry becomes the offset of the end. The text must end in a terminator.
// ends[block]: the number of terminators in the parts of this block and all blocks ahead. Grid: as for count_lines.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) find_lines(
    const unsigned char* text, long long nbytes, long long terminator, const long long* ends, long long* starts)
{
    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long begin = smaller(thread * BYTES_PER_THREAD, nbytes);
    const long long end = smaller(begin + BYTES_PER_THREAD, nbytes);
    const int found = terminators_in(text, begin, end, terminator);
    long long line = block_inclusive_scan(found) - found + (blockIdx.x == 0 ? 0 : ends[blockIdx.x - 1]);
    if (thread == 0) starts[0] = 0;
    for (long long at = begin; at < end; ++at)
        if (text[at] == terminator) starts[++line] = at + 1;
}

// The first place in [low, high) whose offset lies behind `at`; high if there is none.
__device__ inline long long first_behind(const long long* offsets, long long low, long long high, long long at)
{
    while (low < high) {
        const long long middle = (low + high) >> 1;
        if (offsets[middle] > at) high = middle;
        else low = middle + 1;
    }
    return low;
}

// Each of the `count` offsets, at which a line or the end starts, becomes the number of that line. Grid: a thread an offset.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) number_lines(
    const long long* starts, long long lines, long long* offsets, long long count)
{
    const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at < count) offsets[at] = first_behind(starts, 0, lines, offsets[at] - 1);
}

// lengths[r] becomes the number of bytes in the line of row r, with its terminator. Grid: a thread a row.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) line_lengths(
    const Item* rows, long long count, const long long* starts, long long* lengths)
{
    const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= count) return;
    lengths[row] = starts[rows[row].line + 1] - starts[rows[row].line];
}

// Writes the lines of all rows to out, in the order of the rows. Each thread has the same number of output bytes, so one long
// line keeps as many threads busy as many short lines. ends[r]: the output bytes of rows 0 to r. If the runs were out of
// order, the rows may have more or fewer bytes than the output. Then the output is cut off, or its end is not written.
// Grid: ceil(nbytes / (threads a block * BYTES_PER_THREAD)) blocks.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) gather_lines(
    const unsigned char* text, const long long* starts, const Item* rows, const long long* ends, long long count,
    unsigned char* out, long long nbytes)
{
    __shared__ long long edges[2];  // the rows that hold the first and the last byte of the block's output
    nbytes = smaller(nbytes, ends[count - 1]);
    const long long block_bytes = static_cast<long long>(blockDim.x) * BYTES_PER_THREAD;
    const long long block_begin = block_bytes * blockIdx.x;
    for (int edge = threadIdx.x; edge < 2; edge += blockDim.x)
        edges[edge] = first_behind(ends, 0, count, smaller(block_begin + edge * block_bytes, nbytes) - edge);
    __syncthreads();  // both edges are written before any thread searches between them

    const long long begin = block_begin + static_cast<long long>(threadIdx.x) * BYTES_PER_THREAD;
    const long long end = smaller(begin + BYTES_PER_THREAD, nbytes);
    if (begin >= end) return;
    long long row = first_behind(ends, edges[0], edges[1], begin);
    long long row_end = ends[row];
    long long shift = starts[rows[row].line + 1] - row_end;  // from offsets of the output to offsets of the text
    union {
        uint4 vector;
        unsigned char bytes[BYTES_PER_THREAD];
    } gathered;
#pragma unroll
    for (int turn = 0; turn < BYTES_PER_THREAD; ++turn) {
        const long long at = begin + turn;
        if (at >= end) break;
        if (at == row_end) {
            row_end = ends[++row];
            shift = starts[rows[row].line + 1] - row_end;
        }
        gathered.bytes[turn] = text[shift + at];
    }
    if (end - begin == BYTES_PER_THREAD && reinterpret_cast<unsigned long long>(out) % BYTES_PER_THREAD == 0) {
        *reinterpret_cast<uint4*>(out + begin) = gathered.vector;
        return;
    }
#pragma unroll
    for (int turn = 0; turn < BYTES_PER_THREAD; ++turn)
        if (begin + turn < end) out[begin + turn] = gathered.bytes[turn];
}
