// Lines in and out: find where lines start, make rows of them, and gather the text of merged rows.
//
// Text is moved twice, coming in and going out; in between only rows of 16 bytes are merged. Needs ROWS.
#include "tile.cuh"

constexpr int BYTES_PER_THREAD = 16;

__device__ inline int newlines_in(const unsigned char* text, long long begin, long long end)
{
    int newlines = 0;
    for (long long at = begin; at < end; ++at) newlines += text[at] == '\n';
    return newlines;
}

// Sum of `value` over the threads of the block up to and with this one. Shared memory: an int a thread.
// Every thread of the block must call this.
__device__ inline int block_inclusive_scan(int value)
{
    int* const sums = reinterpret_cast<int*>(shared_bytes);
    const int thread = threadIdx.x;
    sums[thread] = value;
    for (int reach = 1; reach < static_cast<int>(blockDim.x); reach *= 2) {
        __syncthreads();  // all sums of the last reach are written
        const int add = thread >= reach ? sums[thread - reach] : 0;
        __syncthreads();  // all are read before any is overwritten
        sums[thread] += add;
    }
    return sums[thread];
}

// counts[block] becomes the newlines in the block's part of text[0 .. nbytes).
// Grid: ceil(nbytes / (threads a block * BYTES_PER_THREAD)) blocks.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) count_lines(const unsigned char* text, long long nbytes, long long* counts)
{
    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long begin = smaller(thread * BYTES_PER_THREAD, nbytes);
    const int sum = block_inclusive_scan(newlines_in(text, begin, smaller(begin + BYTES_PER_THREAD, nbytes)));
    if (threadIdx.x == blockDim.x - 1) counts[blockIdx.x] = sum;
}

// starts[L] becomes the offset of line L, and one entry more that of the end. The text must end in a newline.
// ends[block]: newlines in the parts of all blocks up to and with this one. Grid: as count_lines.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) find_lines(
    const unsigned char* text, long long nbytes, const long long* ends, long long* starts)
{
    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long begin = smaller(thread * BYTES_PER_THREAD, nbytes);
    const long long end = smaller(begin + BYTES_PER_THREAD, nbytes);
    const int newlines = newlines_in(text, begin, end);
    long long line = block_inclusive_scan(newlines) - newlines + (blockIdx.x == 0 ? 0 : ends[blockIdx.x - 1]);
    if (thread == 0) starts[0] = 0;
    for (long long at = begin; at < end; ++at)
        if (text[at] == '\n') starts[++line] = at + 1;
}

// Grid: a thread a line.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) make_rows(
    const unsigned char* text, const long long* starts, long long lines, Item* rows)
{
    const long long line = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    rows[line].prefix = line_prefix(line_of(Lines{text, starts}, line));
    rows[line].line = line;
}

// lengths[r] becomes the bytes of row r's line, its newline with it. Grid: a thread a row.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) line_lengths(
    const Item* rows, long long count, const long long* starts, long long* lengths)
{
    const long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= count) return;
    lengths[row] = starts[rows[row].line + 1] - starts[rows[row].line];
}

// The first row in [low, high) that ends behind byte `at` of the output; one of them must.
__device__ inline long long row_at(const long long* ends, long long low, long long high, long long at)
{
    while (low < high) {
        const long long middle = (low + high) >> 1;
        if (ends[middle] > at) high = middle;
        else low = middle + 1;
    }
    return low;
}

// Writes the lines of all rows, in the rows' order, to out. Work is shared out by bytes of output, so that one long
// line keeps as many threads busy as many short ones. ends[r]: output bytes of rows 0 to r.
// Grid: ceil(nbytes / (threads a block * BYTES_PER_THREAD)) blocks.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) gather_lines(
    const unsigned char* text, const long long* starts, const Item* rows, const long long* ends, long long count,
    unsigned char* out, long long nbytes)
{
    __shared__ long long edges[2];  // the rows in which the block's output begins and ends
    const long long block_bytes = static_cast<long long>(blockDim.x) * BYTES_PER_THREAD;
    const long long block_begin = block_bytes * blockIdx.x;
    for (int edge = threadIdx.x; edge < 2; edge += blockDim.x)
        edges[edge] = row_at(ends, 0, count, smaller(block_begin + edge * block_bytes, nbytes) - edge);
    __syncthreads();  // both edges are there before any thread searches between them

    const long long begin = block_begin + static_cast<long long>(threadIdx.x) * BYTES_PER_THREAD;
    const long long end = smaller(begin + BYTES_PER_THREAD, nbytes);
    if (begin >= end) return;
    long long row = row_at(ends, edges[0], edges[1], begin);
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
