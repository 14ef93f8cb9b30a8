// Turns lines and records into rows, and gathers the records of merged rows. text.cu gathers lines. Needs ROWS.
#include "../corank.cuh"
#include "sizes.cuh"

// Makes the rows of lines or, with RECORD_SIZE, of records, which need no starts. Grid: a thread a row.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) make_rows(
    const unsigned char* text, const long long* starts, long long lines, Item* rows)
{
    const long long line = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    rows[line].prefix = row_prefix(Lines{text, starts}, line);
    rows[line].line = line;
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
