// Keys are turned into words of the same order, sorted as words, and turned back. Keys with equal words are the same, so the
// sort need not be stable. But some floats are equal and not the same: zeros of both signs, and NaNs. These are put back into
// the order in which they came.
#include "keys_radix.hpp"

#include <vector>

#include "radix_wide.hpp"

namespace {

template <typename Word>
struct Words {
    typedef std::make_signed_t<Word> Signed;
    static constexpr int SIGN = 8 * sizeof(Word) - 1;

    Word negative = 0, all = 0, least = 0, flip = 0;

    explicit Words(const OrderSpec& order)
    {
        constexpr Word sign = static_cast<Word>(Word{1} << SIGN), ones = static_cast<Word>(~Word{0});
        if (order.kind != UNSIGNED_KEYS) all = sign;
        if (order.kind == FLOAT_KEYS) {
            // Negative NaNs would lie below the least number. They move to the other end.
            const uint64_t infinity = sizeof(Word) == 2 ? 0x7c00 : sizeof(Word) == 4 ? 0x7f800000 : 0x7ff0000000000000;
            negative = ones;
            least = static_cast<Word>(~(sign | infinity));
        }
        if (order.kind == DATE_KEYS) least = 1;  // NaT, the least integer, moves to the other end
        if (order.descending) flip = ones;
    }

    Word of(Word key) const
    {
        const Word turned = key ^ ((static_cast<Word>(static_cast<Signed>(key) >> SIGN) & negative) | all);
        return static_cast<Word>(turned - least) ^ flip;
    }

    Word key(Word word) const
    {
        const Word turned = static_cast<Word>((word ^ flip) + least);
        return turned ^ ((static_cast<Word>(~(static_cast<Signed>(turned) >> SIGN)) & negative) | all);
    }
};

// Puts the items of `out` with this image into their order in `items`.
template <typename Word>
void restore(const KeyFunctions& keys, Word like, const Word* items, int64_t count, Word* out)
{
    uint64_t image;
    keys.images(reinterpret_cast<const Byte*>(&like), 1, &image);
    const auto bound = [&](bool through) { return keys.bound(reinterpret_cast<const Byte*>(out), count, image, through); };
    int64_t place = bound(false);
    const int64_t end = bound(true);
    // These items are sorted by their bits.
    if (place >= end || out[place] == out[end - 1]) return;
    constexpr int64_t BLOCK = 512;
    uint64_t images[BLOCK];
    // Both bounds hold by themselves, unless somebody else changes the items meanwhile.
    for (int64_t i = 0; i < count && place < end; i += BLOCK) {
        const int64_t held = std::min(BLOCK, count - i);
        keys.images(reinterpret_cast<const Byte*>(items + i), held, images);
        for (int64_t k = 0; k < held && place < end; ++k)
            if (images[k] == image) out[place++] = items[i + k];
    }
}

template <typename Word>
void restore_equals(const OrderSpec& order, const KeyFunctions& keys, const Word* items, int64_t count, Word* out)
{
    if (order.kind != FLOAT_KEYS) return;
    restore(keys, Word{0}, items, count, out);
    restore(keys, static_cast<Word>(~Word{0}), items, count, out);
}

template <typename Word>
void sort_by_digits(const OrderSpec& order, const Word* items, int64_t count, Word* out, const Team& team)
{
    const Words<Word> words(order);
    radix::sort_wide(
        [=](int64_t i) { return words.of(items[i]); }, count, out, team,
        [=](int64_t first, int64_t last) {
            for (int64_t i = first; i < last; ++i) out[i] = words.key(out[i]);
        });
}

// Sorts keys with few values: it counts how often each value occurs.
template <typename Word>
void sort_by_counts(const OrderSpec& order, const Word* items, int64_t count, Word* out, const Team& team)
{
    constexpr int64_t VALUES = int64_t{1} << 8 * sizeof(Word);
    const Words<Word> words(order);
    std::vector<std::vector<int64_t>> found(team.size(), std::vector<int64_t>(VALUES));
    team.share(count, VALUES, [&](int64_t first, int64_t last, int part) {
        int64_t* const here = found[part].data();
        for (int64_t i = first; i < last; ++i) ++here[words.of(items[i])];
    });
    std::vector<int64_t> edges(VALUES + 1);
    for (int64_t value = 0; value < VALUES; ++value) {
        edges[value + 1] = edges[value];
        for (const std::vector<int64_t>& part : found) edges[value + 1] += part[value];
    }
    team.share(count, VALUES, [&](int64_t first, int64_t last, int) {
        int64_t value = std::upper_bound(edges.begin(), edges.end(), first) - edges.begin() - 1;
        for (; first < last; ++value) {
            const int64_t stop = std::min(last, edges[value + 1]);
            std::fill(out + first, out + stop, words.key(static_cast<Word>(value)));
            first = stop;
        }
    });
}

template <typename Word>
void sort_one(const OrderSpec& order, const KeyFunctions& keys, const Word* items, int64_t count, Word* out, Word* other,
    radix::Counts& counts)
{
    const Words<Word> words(order);
    for (int64_t i = 0; i < count; ++i) out[i] = words.of(items[i]);
    radix::sort_piece(out, other, count, counts);
    for (int64_t i = 0; i < count; ++i) out[i] = words.key(out[i]);
    restore_equals(order, keys, items, count, out);
}

// Calls work with the items as words of the same width.
template <typename Work>
void with_words(const OrderSpec& order, const Byte* items, Byte* out, Work work)
{
    switch (order.width) {
    case 1: return work(reinterpret_cast<const uint8_t*>(items), reinterpret_cast<uint8_t*>(out));
    case 2: return work(reinterpret_cast<const uint16_t*>(items), reinterpret_cast<uint16_t*>(out));
    case 4: return work(reinterpret_cast<const uint32_t*>(items), reinterpret_cast<uint32_t*>(out));
    default: return work(reinterpret_cast<const uint64_t*>(items), reinterpret_cast<uint64_t*>(out));
    }
}

}  // namespace

void radix_sort_keys(const OrderSpec& order, const KeyFunctions& keys, const Byte* items, int64_t count, Byte* out,
    const Team& team)
{
    if (count == 0) return;
    with_words(order, items, out, [&](const auto* from, auto* to) {
        constexpr size_t WIDTH = sizeof *to;
        if constexpr (WIDTH >= 4) {
            sort_by_digits(order, from, count, to, team);
        } else {
            if (count < int64_t{1} << 7 * WIDTH) return radix_sort_tiles(order, keys, items, count, count, out, team);
            sort_by_counts(order, from, count, to, team);
        }
        restore_equals(order, keys, from, count, to);
    });
}

void radix_sort_tiles(const OrderSpec& order, const KeyFunctions& keys, const Byte* items, int64_t count, int64_t tile,
    Byte* out, const Team& team)
{
    std::vector<PieceSorter> sorters(team.size());
    for (PieceSorter& sorter : sorters) sorter.reserve(std::min(tile, count), order.width);
    team.share((count + tile - 1) / tile, 1, [&](int64_t from, int64_t to, int part) {
        for (int64_t first = from * tile; first < std::min(to * tile, count); first += tile)
            sorters[part].sort(order, keys, items + first * order.width, std::min(tile, count - first),
                out + first * order.width);
    });
}

void PieceSorter::reserve(int64_t items, int64_t width)
{
    other_.reserve(items * width);
    counts_.reserve(sizeof(radix::Counts));
}

void PieceSorter::sort(const OrderSpec& order, const KeyFunctions& keys, const Byte* items, int64_t count, Byte* out)
{
    with_words(order, items, out, [&](const auto* from, auto* to) {
        typedef std::remove_reference_t<decltype(*to)> Word;
        sort_one(order, keys, from, count, to, reinterpret_cast<Word*>(other_.data()),
            *reinterpret_cast<radix::Counts*>(counts_.data()));
    });
}

void radix_sort_ranks(const uint64_t* words, int64_t count, int64_t* numbers, const Team& team)
{
    Room<radix::Pair> pairs;
    radix::Pair* const sorted = pairs.reserve(count);
    if (count > 0)
        radix::sort_wide([=](int64_t i) { return radix::Pair{words[i], static_cast<uint64_t>(i)}; }, count, sorted, team,
            [](int64_t, int64_t) {});
    team.share(count, radix::LEAST_SHARE, [=](int64_t first, int64_t last, int) {
        for (int64_t i = first; i < last; ++i) numbers[i] = static_cast<int64_t>(sorted[i].number);
    });
}
