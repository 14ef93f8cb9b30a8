#include "keys_sort.hpp"

void sort_keys(const KeyMerge& merging, const Byte* items, int64_t count, Byte* out)
{
    const auto& [order, keys, width, launch, team, spare] = merging;
    if (count == 0) return;
    if (launch.algorithm == SORT_RADIX) return radix_sort_keys(order, keys, items, count, out, team);
    const KeyKind kind{order, keys};
    Merging<KeyKind>{kind, width, launch, team, spare}.sort(items, count, out, [&](int64_t tile, Byte* to) {
        radix_sort_tiles(merging.order, merging.keys, items, count, tile, to, merging.team);
    });
}

void sort_key_ranks(const KeyMerge& merging, const Byte* items, int64_t count, int64_t* ranks)
{
    uint64_t* const images = reinterpret_cast<uint64_t*>(ranks);
    merging.team.share(count, 1 << 15, [&](int64_t first, int64_t last, int) {
        merging.keys.images(items + first * merging.width, last - first, images + first);
    });
    radix_sort_ranks(images, count, ranks, merging.team);
}
