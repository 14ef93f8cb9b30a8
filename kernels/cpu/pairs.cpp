#include "pairs.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "network.hpp"
#include "../host.cuh"

namespace {
#include "../keys.cuh"

constexpr int64_t LEAST_SHARED = 1 << 14;  // pairs of a thread: fewer are merged before another thread has started

// Keys as signed integers with their order: vectors compare these, and count distances between them. Images, whose NaNs and zeros
// are equal, would not give the keys back.
template <typename Key, bool FLOAT>
struct Ordered {
    static constexpr int BITS = 8 * sizeof(Key);
    typedef std::make_signed_t<Key> Signed;

    static constexpr Key SIGN = static_cast<Key>(1) << (BITS - 1);

    Key flip;  // the bits that differ
    bool descending;

    explicit Ordered(const OrderSpec& order)
        : flip(order.kind == UNSIGNED_KEYS ? SIGN : 0), descending(order.descending != 0)
    {
        if (descending) flip = ~flip;
    }

    // The bits of the integers of a key, or of a vector of keys, and back.
    template <typename Keys>
    Keys of(Keys keys) const { return without_sign(keys) ^ flip; }
    template <typename Keys>
    Keys undone(Keys ordered) const { return without_sign(ordered ^ flip); }

    Signed integer_of(Key key) const { return static_cast<Signed>(of(key)); }

    // Whether y goes before x. NaNs are equal, and so are zeros.
    bool before(Key y, Key x) const
    {
        if constexpr (FLOAT) return image_of(y, BITS, 2, descending) < image_of(x, BITS, 2, descending);
        else return integer_of(y) < integer_of(x);
    }

private:
    // Floats as signed integers of the same order, and back.
    template <typename Keys>
    static Keys without_sign(Keys keys)
    {
        if constexpr (!FLOAT) return keys;
        else if constexpr (std::is_same_v<Keys, Key>) return keys ^ (static_cast<Key>(static_cast<Signed>(keys) >> (BITS - 1)) >> 1);
        else {
            typedef Signed SignedKeys __attribute__((vector_size(sizeof(Keys))));
            return keys ^ (reinterpret_cast<Keys>(reinterpret_cast<SignedKeys>(keys) >> (BITS - 1)) >> 1);
        }
    }
};

// Two slices that are merged, and the place of their merge.
template <typename Key, typename Value>
struct PairSlices {
    const Key* a;
    const Byte* a_values;
    long long m;
    const Key* b;
    const Byte* b_values;
    long long n;
    Key* out;
    Byte* out_values;

    // The slices ahead of output position `rank`, and behind it; i is its co-rank.
    PairSlices head(long long rank, long long i) const { return {a, a_values, i, b, b_values, rank - i, out, out_values}; }
    PairSlices tail(long long rank, long long i) const
    {
        const long long j = rank - i, each = sizeof(Value);
        return {a + i, a_values + i * each, m - i, b + j, b_values + j * each, n - j, out + rank, out_values + rank * each};
    }
    long long co_rank_of(long long rank, const KeyFunctions& keys) const
    {
        return keys.co_rank(rank, reinterpret_cast<const Byte*>(a), m, reinterpret_cast<const Byte*>(b), n);
    }
};

template <typename Key, typename Value, bool FLOAT>
void merge_items(PairSlices<Key, Value> slices, const Ordered<Key, FLOAT>& ordered)
{
    auto& [a, a_values, m, b, b_values, n, out, out_values] = slices;
    const Key *const a_end = a + m, *const b_end = b + n;
    for (; a < a_end && b < b_end; ++out, out_values += sizeof(Value)) {
        const bool take_b = ordered.before(*b, *a);
        *out = take_b ? *b : *a;
        std::memcpy(out_values, take_b ? b_values : a_values, sizeof(Value));
        a += !take_b;
        a_values += !take_b * sizeof(Value);
        b += take_b;
        b_values += take_b * sizeof(Value);
    }
    m = a_end - a;
    n = b_end - b;
    if (m > 0) std::memcpy(out, a, m * sizeof(Key));
    if (m > 0) std::memcpy(out_values, a_values, m * sizeof(Value));
    if (n > 0) std::memcpy(out, b, n * sizeof(Key));
    if (n > 0) std::memcpy(out_values, b_values, n * sizeof(Value));
}

#include "pairs_vector.hpp"

// Merges the slices by vectors, if that is faster. Returns whether it did.
template <typename Key, typename Value, bool FLOAT>
bool merge_vectors(const PairSlices<Key, Value>& slices, const Ordered<Key, FLOAT>& ordered, const KeyFunctions& keys)
{
    if constexpr (vector_bytes<Key>() == 0) return false;
    else {
        typedef PairChain<Key, Value, FLOAT> Chain;
        const long long total = slices.m + slices.n, half = total / 2, quarter = half / 2;
        const long long middle = slices.co_rank_of(half, keys);
        const PairSlices<Key, Value> front = slices.head(half, middle), back = slices.tail(half, middle);
        const long long first = front.co_rank_of(quarter, keys), third = back.co_rank_of(quarter, keys);
        const PairSlices<Key, Value> parts[] = {
            front.head(quarter, first), front.tail(quarter, first), back.head(quarter, third), back.tail(quarter, third)};
        for (const auto& part : parts)
            if (std::min(part.m, part.n) < 4 * Chain::LANES || !Chain::fits(part, ordered)) return false;
        Chain c0(parts[0], ordered), c1(parts[1], ordered), c2(parts[2], ordered), c3(parts[3], ordered);
        for (long long certain; (certain = std::min({c0.certain(), c1.certain(), c2.certain(), c3.certain()})) > 0;)
            for (; certain > 0; --certain) {
                c0.step();
                c1.step();
                c2.step();
                c3.step();
            }
        Chain* const chains[] = {&c0, &c1, &c2, &c3};
        for (int chain = 0; chain < CHAINS; ++chain)
            if (!chains[chain]->end()) merge_items(parts[chain], ordered);
        return true;
    }
}

// Whether equal keys have equal bits. NaNs of a sorted run lie at one end of it, and zeros beside each other.
template <typename Key, typename Value>
bool alike_if_equal(const PairSlices<Key, Value>& slices, const KeyFunctions& keys, bool descending)
{
    constexpr Key SIGN = static_cast<Key>(1) << (8 * sizeof(Key) - 1);
    constexpr Key INFINITE = static_cast<Key>(sizeof(Key) == 4 ? 0x7f800000ull : 0x7ff0000000000000ull);
    const Key zero = 0;
    uint64_t image;
    keys.images(reinterpret_cast<const Byte*>(&zero), 1, &image);
    Key all = SIGN, any = 0;
    const auto note = [&](const Key* items, long long count) {
        if (count > 0 && static_cast<Key>(items[descending ? 0 : count - 1] & ~SIGN) > INFINITE) return false;
        long long at = keys.bound(reinterpret_cast<const Byte*>(items), count, image, false);
        for (; at < count && (items[at] & ~SIGN) == 0; ++at) {
            all &= items[at];
            any |= items[at];
        }
        return true;
    };
    return note(slices.a, slices.m) && note(slices.b, slices.n) && (any == 0 || all == SIGN);
}

template <typename Key, typename Value, bool FLOAT>
void merge_slices(const PairMerge& merge, PairSlices<Key, Value> slices)
{
    const Ordered<Key, FLOAT> ordered(merge.order);
    const int64_t tile = std::max<int64_t>(1, merge.launch.tile);
    const bool by_vectors = merge.launch.kernel == VECTOR;
    while (by_vectors && slices.m > 0 && slices.n > 0) {
        const long long count = std::min<long long>(tile, slices.m + slices.n), i = slices.co_rank_of(count, merge.keys);
        const PairSlices<Key, Value> part = slices.head(count, i);
        const bool alike = !FLOAT || alike_if_equal(part, merge.keys, ordered.descending);
        if (!alike || !merge_vectors(part, ordered, merge.keys)) merge_items(part, ordered);
        slices = slices.tail(count, i);
    }
    merge_items(slices, ordered);
}

template <typename Key, typename Value>
void merge_typed(const PairMerge& merge, const PairRun& a, const PairRun& b, Byte* out, Byte* out_values)
{
    const PairSlices<Key, Value> slices{reinterpret_cast<const Key*>(a.keys), a.values, a.count,
        reinterpret_cast<const Key*>(b.keys), b.values, b.count, reinterpret_cast<Key*>(out), out_values};
    if (merge.order.kind == FLOAT_KEYS) merge_slices<Key, Value, true>(merge, slices);
    else merge_slices<Key, Value, false>(merge, slices);
}

void merge_any(const PairMerge& merge, const PairRun& a, const PairRun& b, Byte* out, Byte* out_values)
{
    const bool wide = merge.value_bytes == 8;
    if (merge.order.width == 4) (wide ? merge_typed<uint32_t, uint64_t> : merge_typed<uint32_t, uint32_t>)(merge, a, b, out, out_values);
    else (wide ? merge_typed<uint64_t, uint64_t> : merge_typed<uint64_t, uint32_t>)(merge, a, b, out, out_values);
}

}  // namespace

void PairMerge::merge_two(const PairRun& a, const PairRun& b, Byte* out, Byte* out_values) const
{
    const int64_t width = order.width, total = a.count + b.count;
    const auto cut = [&](const PairRun& run, int64_t first, int64_t last) {
        return PairRun{run.keys + first * width, run.values + first * value_bytes, last - first};
    };
    const int64_t parts = std::clamp<int64_t>(total / LEAST_SHARED, 1, team.size());
    std::vector<int64_t> ranks(parts + 1), cuts(parts + 1);
    for (int64_t part = 1; part <= parts; ++part) {
        // The search is in the rest of both runs, so cuts never go backwards.
        const int64_t i = cuts[part - 1], j = ranks[part - 1] - i;
        ranks[part] = total / parts * part + total % parts * part / parts;
        cuts[part] = i + keys.co_rank(ranks[part] - ranks[part - 1], a.keys + i * width, a.count - i, b.keys + j * width, b.count - j);
    }
    team.share(parts, 1, [&](int64_t first, int64_t last, int) {
        for (int64_t part = first; part < last; ++part) {
            const int64_t rank = ranks[part], i = cuts[part], i_end = cuts[part + 1];
            merge_any(*this, cut(a, i, i_end), cut(b, rank - i, ranks[part + 1] - i_end), out + rank * width,
                out_values + rank * value_bytes);
        }
    });
}

void PairMerge::merge(std::vector<PairRun> runs, Byte* out, Byte* out_values) const
{
    int64_t total = 0;
    int levels = 0;
    for (const PairRun& run : runs) total += run.count;
    while ((size_t{1} << levels) < runs.size()) ++levels;
    Buffer spare, spare_values;
    if (levels > 1) spare.reserve(total * order.width);
    if (levels > 1) spare_values.reserve(total * value_bytes);
    for (int level = std::max(1, levels); level-- > 0;) {
        Byte* target = level % 2 == 0 ? out : spare.data();
        Byte* values = level % 2 == 0 ? out_values : spare_values.data();
        std::vector<PairRun> merged;
        for (size_t at = 0; at < runs.size(); at += 2) {
            const PairRun &a = runs[at], b = at + 1 < runs.size() ? runs[at + 1] : PairRun{a.keys, a.values, 0};
            merge_two(a, b, target, values);
            merged.push_back({target, values, a.count + b.count});
            target += merged.back().count * order.width;
            values += merged.back().count * value_bytes;
        }
        runs.swap(merged);
    }
}
