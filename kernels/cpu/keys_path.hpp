// The merge path on the CPU: one loop merges four sections of it. Their chains of loads and compares do not depend on each
// other, so each hides the latency of the others. No branch depends on a comparison of keys, because processors cannot
// predict it.
//
// Included by keys.cpp in its namespace, behind ladder.hpp.

const Lines NO_LINES{};
constexpr long long UNCHECKED = 16;  // fewer certain steps are not worth the set-up of a loop without checks

struct ByImage {
    static bool before(Item y, Item x) { return ::before(y, x, NO_LINES); }
};

#if KEY_KIND == 2 && KEY_BITS >= 32
typedef std::conditional_t<KEY_BITS == 32, float, double> Float;

inline Float float_of(Item item)
{
    Float value;
    std::memcpy(&value, &item, sizeof value);
    return value;
}

// Compares as ByImage, except for NaNs. With NaNs a merge is some permutation.
struct ByValue {
    static bool before(Item y, Item x)
    {
        return DESCENDING ? float_of(y) > float_of(x) : float_of(y) < float_of(x);
    }
};

// Whether sorted slices hold no NaN. In sorted slices NaNs lie at one end.
inline bool all_numbers(const Pair& pair)
{
    const auto is_number = [](const Item* items, long long count) {
        const Float end = float_of(items[DESCENDING ? 0 : count - 1]);
        return end == end;
    };
    return (pair.m == 0 || is_number(pair.a, pair.m)) && (pair.n == 0 || is_number(pair.b, pair.n));
}
#endif

// One step of a chain: the next item goes out. Arithmetic, not a branch, decides which item it is.
template <typename Less>
__forceinline__ void step(const Item*& a, const Item*& b, Item* out)
{
    const Item x = *a, y = *b;
    const long long take_b = Less::before(y, x);
    *out = x ^ ((x ^ y) & static_cast<Item>(-take_b));
    a += 1 - take_b;
    b += take_b;
}

// Merges while both slices hold items; then copies the rest of one.
template <typename Less>
__noinline__ void merge_one(Pair pair)
{
    for (long long certain; (certain = pair.certain()) >= UNCHECKED;) {
        const Item *a = pair.a, *b = pair.b;
        for (long long at = 0; at < certain; ++at) step<Less>(a, b, pair.out + at);
        pair.advance(a - pair.a, b - pair.b);
    }
    while (pair.m > 0 && pair.n > 0) {
        const bool take_b = Less::before(*pair.b, *pair.a);
        *pair.out = take_b ? *pair.b : *pair.a;
        pair.advance(!take_b, take_b);
    }
    if (pair.m > 0) std::memcpy(pair.out, pair.a, pair.m * sizeof(Item));
    else if (pair.n > 0) std::memcpy(pair.out, pair.b, pair.n * sizeof(Item));
}

// Does as many steps of each chain as are possible without a check.
template <typename Less>
void run_chains(Pair (&chains)[CHAINS], long long certain)
{
    const Item *a0 = chains[0].a, *a1 = chains[1].a, *a2 = chains[2].a, *a3 = chains[3].a;
    const Item *b0 = chains[0].b, *b1 = chains[1].b, *b2 = chains[2].b, *b3 = chains[3].b;
    Item *const out0 = chains[0].out, *const out1 = chains[1].out, *const out2 = chains[2].out, *const out3 = chains[3].out;
    for (long long at = 0; at < certain; ++at) {
        step<Less>(a0, b0, out0 + at);
        step<Less>(a1, b1, out1 + at);
        step<Less>(a2, b2, out2 + at);
        step<Less>(a3, b3, out3 + at);
    }
    chains[0].advance(a0 - chains[0].a, b0 - chains[0].b);
    chains[1].advance(a1 - chains[1].a, b1 - chains[1].b);
    chains[2].advance(a2 - chains[2].a, b2 - chains[2].b);
    chains[3].advance(a3 - chains[3].a, b3 - chains[3].b);
}

#include "keys_vector.hpp"

#if VECTOR_BYTES
// Merges by vectors, if each chain has enough of both slices. Returns whether it did.
inline bool merge_by_vectors(const Pair (&chains)[CHAINS], const Pair& pair)
{
    for (const Pair& chain : chains)
        if (chain.certain() < 4 * LANES) return false;
    if (!alike_if_equal(pair)) return false;
    merge_vectors(chains);
    return true;
}
#endif

template <typename Less>
void merge_four(const Pair& pair, [[maybe_unused]] bool by_vectors)
{
    const long long half = pair.total() / 2, quarter = half / 2;
    const long long middle = pair.co_rank_of(half);
    const Pair front = pair.head(half, middle), back = pair.tail(half, middle);
    const long long first = front.co_rank_of(quarter), third = back.co_rank_of(quarter);
    Pair chains[CHAINS] = {
        front.head(quarter, first), front.tail(quarter, first), back.head(quarter, third), back.tail(quarter, third)};
#if VECTOR_BYTES
    if (by_vectors && merge_by_vectors(chains, pair)) return;
#endif
    for (;;) {
        const long long certain = smaller(smaller(chains[0].certain(), chains[1].certain()),
            smaller(chains[2].certain(), chains[3].certain()));
        if (certain < UNCHECKED) break;
        run_chains<Less>(chains, certain);
    }
    for (const Pair& chain : chains) merge_one<Less>(chain);
}

template <typename Less>
void merge_tile(const Pair& tile, bool by_vectors)
{
    if (tile.certain() < CHAINS * UNCHECKED) merge_one<Less>(tile);
    else merge_four<Less>(tile, by_vectors);
}

// Cuts the merge into tiles, for the path and the vector rung. Chains end at different times, and in a tile only little is left for the last chain.
void merge_path(Pair pair, long long tile, bool by_vectors)
{
    tile = tile < 1 ? 1 : tile;
    while (pair.m > 0 && pair.n > 0) {
        const long long count = smaller(tile, pair.total());
        const long long i = pair.co_rank_of(count);
        const Pair part = pair.head(count, i);
#if KEY_KIND == 2 && KEY_BITS >= 32
        if (all_numbers(part)) merge_tile<ByValue>(part, by_vectors);
        else merge_tile<ByImage>(part, by_vectors);
#else
        merge_tile<ByImage>(part, by_vectors);
#endif
        pair = pair.tail(count, i);
    }
    merge_one<ByImage>(pair);
}
