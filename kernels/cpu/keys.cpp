// The functions for one kind of key. This file is compiled once for each kind, with the macros of keys.cuh.
#include "keys.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "gallop.hpp"
#include "network.hpp"
#include "../host.cuh"

namespace {
#include "../corank.cuh"
#include "../places.cuh"
#include "ladder.hpp"
#include "keys_path.hpp"
#include "walk.hpp"

const Item* items_at(const Byte* bytes) { return reinterpret_cast<const Item*>(bytes); }
Item* items_at(Byte* bytes) { return reinterpret_cast<Item*>(bytes); }

int64_t co_rank_of(int64_t rank, const Byte* a, int64_t m, const Byte* b, int64_t n)
{
    return Pair{items_at(a), m, items_at(b), n, nullptr, &NO_LINES}.co_rank_of(rank);
}

void merge(const Byte* a, int64_t m, const Byte* b, int64_t n, Byte* out, const LaunchSpec& launch, Byte* scratch)
{
    merge_by(launch, {items_at(a), m, items_at(b), n, items_at(out), &NO_LINES}, items_at(scratch), merge_path);
}

template <bool STRICT>
bool falls(Item ahead, Item item)
{
    return STRICT ? !before(ahead, item, NO_LINES) : before(item, ahead, NO_LINES);
}

template <bool STRICT>
long long find_disorder(const Item* items, long long first, long long last)
{
    constexpr long long BLOCK = 4096;
    for (long long low = first + 1; low < last; low += BLOCK) {
        const long long high = smaller(low + BLOCK, last);
        // The loop has no exit, so that it compiles to vector compares.
        Bits bad = 0;
        for (long long i = low; i < high; ++i) bad |= falls<STRICT>(items[i - 1], items[i]);
        if (bad == 0) continue;
        for (long long i = low; i < high; ++i)
            if (falls<STRICT>(items[i - 1], items[i])) return i;
    }
    return -1;
}

int64_t first_disorder(const Byte* items, int64_t first, int64_t last, bool strict)
{
    return strict ? find_disorder<true>(items_at(items), first, last)
                  : find_disorder<false>(items_at(items), first, last);
}

int64_t drop_equals(Byte* bytes, int64_t count, bool like_first)
{
    Item* const items = items_at(bytes);
    if (count == 0) return 0;
    Item ahead = items[0];
    int64_t kept = like_first ? 0 : 1;
    for (int64_t i = 1; i < count; ++i) {
        const Item item = items[i];
        // Each item is written, even if the next one overwrites it. No write goes ahead of an item that is still to be read.
        items[kept] = item;
        kept += before(ahead, item, NO_LINES);
        ahead = item;
    }
    return kept;
}

int64_t keep_places(Byte* bytes, int64_t count, Equals equals)
{
    Item* const items = items_at(bytes);
    bool ahead = (equals & CONTINUED) != 0;
    int64_t kept = 0;
    for (int64_t at = 0; at < count; ++at) {
        const Item item = items[at];
        const bool behind = at + 1 < count ? !before(item, items[at + 1], NO_LINES) : (equals & FOLLOWED) != 0;
        items[kept] = item;
        kept += stays(equals, ahead, behind);
        ahead = behind;
    }
    return kept;
}

int64_t count_equals(const Byte* bytes, int64_t count, Byte* to, int64_t* equals, Equals rule)
{
    const Item* const items = items_at(bytes);
    Item* const out = items_at(to);
    int64_t kept = 0;
    for (int64_t at = 0, behind; at < count; at = behind) {
        const Item first = items[at];
        for (behind = at + 1; behind < count && !before(first, items[behind], NO_LINES);) ++behind;
        out[kept] = by_last(rule) ? items[behind - 1] : first;
        equals[kept] = behind - at;
        kept += group_stays(rule, behind - at);
    }
    return kept;
}

// The two items of a step, by Less.
template <typename Less>
struct KeySides {
    static int compare(Item x, Item y) { return Less::before(y, x) - Less::before(x, y); }
    static Item chosen(const Item* a, const Item* b, bool take_b)
    {
        return *a ^ ((*a ^ *b) & static_cast<Item>(-static_cast<Item>(take_b)));
    }
    static constexpr bool equals_of_b() { return false; }
    static void mark(Item*, long long, int) {}
};

int64_t walk(const Byte* a, int64_t m, const Byte* b, int64_t n, Byte* out, int64_t tile, Equals equals)
{
    const Pair pair{items_at(a), m, items_at(b), n, items_at(out), &NO_LINES};
#if KEY_KIND == 2 && KEY_BITS >= 32
    if (all_numbers(pair)) return walk_tiles(pair, tile, equals, KeySides<ByValue>{});
#endif
    return walk_tiles(pair, tile, equals, KeySides<ByImage>{});
}

void walk_cut_at(int64_t rank, const Byte* a, int64_t m, const Byte* b, int64_t n, int64_t* passed)
{
    const Passed<long long> found = walk_cut_of({items_at(a), m, items_at(b), n, nullptr, &NO_LINES}, rank);
    passed[0] = found.a;
    passed[1] = found.b;
}

uint64_t ordered(Item item)
{
#if SIGNED_IMAGES
    return static_cast<Bits>(image(item)) ^ static_cast<Bits>(1ull << (KEY_BITS - 1));
#else
    return image(item);
#endif
}

void images(const Byte* items, int64_t count, uint64_t* images)
{
    for (int64_t i = 0; i < count; ++i) images[i] = ordered(items_at(items)[i]);
}

int64_t bound(const Byte* bytes, int64_t count, uint64_t image, bool through)
{
    const Item* const items = items_at(bytes);
    return gallop(count, [=](int64_t i) { return through ? ordered(items[i]) <= image : ordered(items[i]) < image; });
}

#include "keys_asof.hpp"
#include "keys_select.hpp"
}  // namespace

#define NAME_OF(bits, kind, descending) key_functions_##bits##_##kind##_##descending
#define NAME(bits, kind, descending) NAME_OF(bits, kind, descending)
extern const KeyFunctions NAME(KEY_BITS, KEY_KIND, DESCENDING);
const KeyFunctions NAME(KEY_BITS, KEY_KIND, DESCENDING) = {
    co_rank_of, merge, first_disorder, drop_equals, keep_places, count_equals, walk, walk_cut_at, images, bound, select,
    asof, VECTOR_BYTES};
