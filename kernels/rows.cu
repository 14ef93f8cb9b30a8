// Lines and records in and out: find where lines start, make rows, and gather what merged rows stand for.
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

// Of lines, or, with RECORD_SIZE, of records, which need no starts. Grid: a thread a row.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) make_rows(
    const unsigned char* text, const long long* starts, long long lines, Item* rows)
{
    const long long line = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    rows[line].prefix = row_prefix(line_of(Lines{text, starts}, line));
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

#if RECORD_SIZE

// The largest piece that every record starts and ends with.
template <int BYTES> struct PieceOf;
template <> struct PieceOf<16> { typedef uint4 Type; };
template <> struct PieceOf<8> { typedef unsigned long long Type; };
template <> struct PieceOf<4> { typedef unsigned int Type; };
constexpr int PIECE_BYTES = RECORD_SIZE % 16 == 0 ? 16 : RECORD_SIZE % 8 == 0 ? 8 : 4;
typedef PieceOf<PIECE_BYTES>::Type Piece;
constexpr int PIECES_PER_THREAD = 4;

// Where byte `at` of the gathered records comes from.
__device__ __forceinline__ const unsigned char* record_byte(const unsigned char* text, const Item* rows, long long at)
{
    const long long row = at / RECORD_SIZE;
    return text + rows[row].line * RECORD_SIZE + (at - row * RECORD_SIZE);
}

// Four bytes at any address. Reads no further than the aligned words that hold some of them.
__device__ __forceinline__ unsigned int word_at(const unsigned char* bytes)
{
    const unsigned skipped = static_cast<unsigned>(reinterpret_cast<unsigned long long>(bytes) % 4);
    const unsigned int* const words = reinterpret_cast<const unsigned int*>(bytes - skipped);
    if (skipped == 0) return words[0];
    return words[0] >> (8 * skipped) | words[1] << (32 - 8 * skipped);
}

// Writes the records of `count` rows, in the rows' order, to out. Work is shared out by pieces of output, so that a
// warp's stores lie side by side. Any addresses will do; where records, text and out allow it, pieces are copied whole,
// otherwise words are put together, and records that meet inside a word by their bytes.
// Grid: ceil((count * RECORD_SIZE + PIECE_BYTES) / (threads a block * PIECES_PER_THREAD * PIECE_BYTES)) blocks.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) gather_records(
    const unsigned char* text, const Item* rows, long long count, unsigned char* out)
{
    const long long nbytes = count * RECORD_SIZE;
    const long long first = static_cast<long long>(blockIdx.x) * blockDim.x * PIECES_PER_THREAD + threadIdx.x;
    const unsigned long long addresses =
        reinterpret_cast<unsigned long long>(text) | reinterpret_cast<unsigned long long>(out);
    if (RECORD_SIZE % PIECE_BYTES == 0 && addresses % PIECE_BYTES == 0) {
        Piece loaded[PIECES_PER_THREAD];
#pragma unroll
        for (int turn = 0; turn < PIECES_PER_THREAD; ++turn) {
            const long long at = (first + static_cast<long long>(turn) * blockDim.x) * PIECE_BYTES;
            if (at < nbytes) loaded[turn] = *reinterpret_cast<const Piece*>(record_byte(text, rows, at));
        }
#pragma unroll
        for (int turn = 0; turn < PIECES_PER_THREAD; ++turn) {
            const long long at = (first + static_cast<long long>(turn) * blockDim.x) * PIECE_BYTES;
            if (at < nbytes) *reinterpret_cast<Piece*>(out + at) = loaded[turn];
        }
        return;
    }
    // Pieces of whole words of the output's memory: the first one may begin ahead of `out`.
    const int skew = static_cast<int>(reinterpret_cast<unsigned long long>(out) % 4);
    constexpr int WORDS = PIECE_BYTES / 4;
    for (int turn = 0; turn < PIECES_PER_THREAD * WORDS; ++turn) {
        const long long at = (first + static_cast<long long>(blockIdx.x) * blockDim.x * PIECES_PER_THREAD * (WORDS - 1)
                              + static_cast<long long>(turn) * blockDim.x) * 4 - skew;
        const long long begin = at < 0 ? 0 : at;
        const long long end = smaller(at + 4, nbytes);
        if (end - begin == 4 && begin % RECORD_SIZE + 4 <= RECORD_SIZE) {
            *reinterpret_cast<unsigned int*>(out + begin) = word_at(record_byte(text, rows, begin));
        } else {
            for (long long byte = begin; byte < end; ++byte) out[byte] = *record_byte(text, rows, byte);
        }
    }
}

#endif
