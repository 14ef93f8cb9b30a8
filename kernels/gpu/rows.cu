// Turns lines and records into rows and back: finds where lines start, makes rows, and gathers the lines or records of merged
// rows.
//
// Text is moved only twice, when it comes in and when it goes out. In between, rows of 16 bytes are merged. Needs ROWS.
#include "tile.cuh"

constexpr int BYTES_PER_THREAD = 16;

__device__ inline int terminators_in(const unsigned char* text, long long begin, long long end, long long terminator)
{
    int terminators = 0;
    for (long long at = begin; at < end; ++at) terminators += text[at] == terminator;
    return terminators;
}

// The sum of `value` over this thread and the threads of the block ahead of it. Shared memory: an int a thread. Every thread
// of the block must call this.
__device__ inline int block_inclusive_scan(int value)
{
    int* const sums = reinterpret_cast<int*>(shared_bytes);
    const int thread = threadIdx.x;
    sums[thread] = value;
    for (int reach = 1; reach < static_cast<int>(blockDim.x); reach *= 2) {
        __syncthreads();  // all sums of the last reach are written before any thread reads them
        const int add = thread >= reach ? sums[thread - reach] : 0;
        __syncthreads();  // all sums are read before any thread overwrites one
        sums[thread] += add;
    }
    return sums[thread];
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

// Makes the rows of lines or, with RECORD_SIZE, of records, which need no starts. Grid: a thread a row.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) make_rows(
    const unsigned char* text, const long long* starts, long long lines, Item* rows)
{
    const long long line = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    rows[line].prefix = row_prefix(Lines{text, starts}, line);
    rows[line].line = line;
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

#if RECORD_SIZE

// The largest unit that divides every record.
template <int BYTES> struct PieceOf { typedef unsigned int Type; };
template <> struct PieceOf<8> { typedef unsigned long long Type; };
template <> struct PieceOf<16> { typedef uint4 Type; };
constexpr int PIECE_BYTES = RECORD_SIZE % 16 == 0 ? 16 : RECORD_SIZE % 8 == 0 ? 8 : 4;
typedef PieceOf<PIECE_BYTES>::Type Piece;

// A stretch of the gathered records, from some byte on: the row that holds this byte, and the byte's place in the record.
// Making it takes one division of 64-bit numbers. Everything after it needs only 32 bits.
struct Stretch {
    const unsigned char* text;
    const Item* rows;
    unsigned int skipped;
};

__device__ __forceinline__ Stretch stretch_from(const unsigned char* text, const Item* rows, long long begin)
{
    const long long row = begin / RECORD_SIZE;
    return {text, rows + row, static_cast<unsigned int>(begin - row * RECORD_SIZE)};
}

// The source of the byte that lies `ahead` bytes behind the begin of a stretch.
__device__ __forceinline__ const unsigned char* source_of(Stretch stretch, unsigned int ahead)
{
    const unsigned int at = stretch.skipped + ahead;
    const unsigned int row = at / RECORD_SIZE;
    return stretch.text + stretch.rows[row].line * RECORD_SIZE + (at - row * RECORD_SIZE);
}

// Four bytes at any address. Reads only the aligned words that hold some of them.
__device__ __forceinline__ unsigned int word_at(const unsigned char* bytes)
{
    const unsigned skipped = static_cast<unsigned>(reinterpret_cast<unsigned long long>(bytes) % 4);
    const unsigned int* const words = reinterpret_cast<const unsigned int*>(bytes - skipped);
    return skipped == 0 ? words[0] : words[0] >> (8 * skipped) | words[1] << (32 - 8 * skipped);
}

// Four bytes of a stretch that has `left` bytes; bytes outside of it are 0. `ahead` may be negative.
__device__ __forceinline__ unsigned int gathered_word(Stretch stretch, int ahead, long long left)
{
    if (ahead >= 0 && ahead + 4 <= left && (stretch.skipped + ahead) % RECORD_SIZE + 4 <= RECORD_SIZE)
        return word_at(source_of(stretch, ahead));
    unsigned int word = 0;
    for (int byte = 0; byte < 4; ++byte)
        if (ahead + byte >= 0 && ahead + byte < left)
            word |= static_cast<unsigned int>(*source_of(stretch, ahead + byte)) << (8 * byte);
    return word;
}

// Writes the records of `count` rows to out, in the order of the rows. A block writes one stretch of the output, and its
// neighbouring threads store neighbouring units. A unit is a whole part of a record, if the size of records and both
// addresses allow it. Otherwise it is a word of the output's memory, and the first word may begin ahead of `out`.
// Grid: ceil((count * RECORD_SIZE + 3) / (threads a block * BYTES_PER_THREAD)) blocks.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) gather_records(
    const unsigned char* text, const Item* rows, long long count, unsigned char* out)
{
    const long long nbytes = count * RECORD_SIZE;
    const long long block_begin = static_cast<long long>(blockIdx.x) * blockDim.x * BYTES_PER_THREAD;
    const unsigned long long addresses =
        reinterpret_cast<unsigned long long>(text) | reinterpret_cast<unsigned long long>(out);
    if (RECORD_SIZE % PIECE_BYTES == 0 && addresses % PIECE_BYTES == 0) {
        constexpr int PIECES = BYTES_PER_THREAD / PIECE_BYTES;
        Piece gathered[PIECES];
        const Stretch stretch = stretch_from(text, rows, block_begin);
        const long long left = nbytes - block_begin;
        const int ahead = threadIdx.x * PIECE_BYTES;
        const int stride = blockDim.x * PIECE_BYTES;
        unsigned char* const to = out + block_begin;
#pragma unroll
        for (int turn = 0; turn < PIECES; ++turn)
            if (ahead + turn * stride < left)
                gathered[turn] = *reinterpret_cast<const Piece*>(source_of(stretch, ahead + turn * stride));
#pragma unroll
        for (int turn = 0; turn < PIECES; ++turn)
            if (ahead + turn * stride < left) *reinterpret_cast<Piece*>(to + ahead + turn * stride) = gathered[turn];
        return;
    }
    constexpr int WORDS = BYTES_PER_THREAD / 4;
    unsigned int gathered[WORDS];
    const int skew = static_cast<int>(reinterpret_cast<unsigned long long>(out) % 4);
    const long long begin = block_begin > 0 ? block_begin - skew : 0;
    const Stretch stretch = stretch_from(text, rows, begin);
    const long long left = nbytes - begin;
    const int ahead = static_cast<int>(block_begin - skew - begin) + threadIdx.x * 4;
    const int stride = blockDim.x * 4;
    unsigned char* const to = out + begin;
#pragma unroll
    for (int turn = 0; turn < WORDS; ++turn) gathered[turn] = gathered_word(stretch, ahead + turn * stride, left);
#pragma unroll
    for (int turn = 0; turn < WORDS; ++turn) {
        const int at = ahead + turn * stride;
        if (at >= 0 && at + 4 <= left) {
            *reinterpret_cast<unsigned int*>(to + at) = gathered[turn];
            continue;
        }
        for (int byte = 0; byte < 4; ++byte)
            if (at + byte >= 0 && at + byte < left) to[at + byte] = gathered[turn] >> (8 * byte);
    }
}

#endif
