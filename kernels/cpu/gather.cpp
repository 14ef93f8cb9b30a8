// Rows of tables that references name: an input and a row in one number, the row in the low bits.
#include <cstring>
#include <new>
#include <vector>

#include "entries.h"

namespace {

constexpr int64_t ROW_BITS = 40, INPUT_BITS = 21;  // as in formats/tables/references.py
constexpr int64_t ROW_MASK = (int64_t{1} << ROW_BITS) - 1, INPUT_MASK = (int64_t{1} << INPUT_BITS) - 1;

int64_t input_of(int64_t reference) { return (reference >> ROW_BITS) & INPUT_MASK; }
int64_t row_of(int64_t reference) { return reference & ROW_MASK; }

// The chunk of an input that had the last row.
struct Place {
    int64_t first = 0;
    uint64_t rows = 0;
    const unsigned char* values = nullptr;
};

const RowChunk* chunk_of(const RowChunk* chunks, int64_t count, int64_t input, int64_t row)
{
    for (int64_t at = 0; at < count; ++at) {
        const RowChunk& chunk = chunks[at];
        if (chunk.input == input && row >= chunk.first && row - chunk.first < chunk.rows) return &chunk;
    }
    return nullptr;
}

// WIDTH: the bytes of a value; if 0, `width` says them.
template <size_t WIDTH>
bool gather(const int64_t* references, int64_t words, int64_t count, size_t width, const RowChunk* chunks, int64_t chunk_count,
    std::vector<Place>& places, unsigned char* out)
{
    const size_t size = WIDTH == 0 ? width : WIDTH;
    for (int64_t at = 0; at < count; ++at, references += words, out += size) {
        const int64_t input = input_of(*references), row = row_of(*references);
        if (input >= static_cast<int64_t>(places.size())) return false;
        Place& place = places[static_cast<size_t>(input)];
        uint64_t ahead = static_cast<uint64_t>(row - place.first);
        if (ahead >= place.rows) {
            const RowChunk* const chunk = chunk_of(chunks, chunk_count, input, row);
            if (chunk == nullptr) return false;
            place = {chunk->first, static_cast<uint64_t>(chunk->rows), chunk->values};
            ahead = static_cast<uint64_t>(row - place.first);
        }
        std::memcpy(out, place.values + ahead * size, size);
    }
    return true;
}

}  // namespace

int64_t gm_row_ranges(const int64_t* references, int64_t words, int64_t count, int64_t inputs, struct RowRange* ranges)
{
    for (int64_t input = 0; input < inputs; ++input) ranges[input] = {0, 0, 0};
    for (int64_t at = 0; at < count; ++at, references += words) {
        const int64_t input = input_of(*references), row = row_of(*references);
        if (input >= inputs) return 0;
        RowRange& range = ranges[input];
        if (range.count == 0) range.low = range.high = row;
        if (row < range.low) range.low = row;
        if (row >= range.high) range.high = row + 1;
        ++range.count;
    }
    return 1;
}

int64_t gm_gather(const int64_t* references, int64_t words, int64_t count, int64_t width, const struct RowChunk* chunks,
    int64_t chunk_count, unsigned char* out)
{
    int64_t inputs = 0;
    for (int64_t at = 0; at < chunk_count; ++at) inputs = chunks[at].input >= inputs ? chunks[at].input + 1 : inputs;
    try {
        std::vector<Place> places(static_cast<size_t>(inputs));
        const auto by = [&](auto gather) {
            return gather(references, words, count, static_cast<size_t>(width), chunks, chunk_count, places, out) ? 1 : 0;
        };
        switch (width) {
        case 1: return by(gather<1>);
        case 2: return by(gather<2>);
        case 4: return by(gather<4>);
        case 8: return by(gather<8>);
        case 16: return by(gather<16>);
        default: return by(gather<0>);
        }
    } catch (const std::bad_alloc&) {
        return 0;
    }
}
