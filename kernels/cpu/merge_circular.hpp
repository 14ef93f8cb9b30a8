// The twin of gpu/merge_circular.cu. Included by ladder.hpp.
#pragma once

#include "pair.hpp"

// A view of a ring that begins at its oldest unread item.
struct Ring {
    Item* items;
    long long size, head;

    Item& operator[](long long at) const
    {
        const long long place = head + at;
        return items[place < size ? place : place - size];
    }
};

// The state of one input. The ring holds `held` unread items, and `next` is the first item that was never loaded.
struct Feed {
    const Item *next, *end;
    Ring ring;
    long long held;

    void refill()
    {
        const long long count = smaller(ring.size - held, static_cast<long long>(end - next));
        for (long long at = 0; at < count; ++at) ring[held + at] = next[at];
        next += count;
        held += count;
    }

    void consume(long long count)
    {
        ring.head = (ring.head + count) % ring.size;
        held -= count;
    }
};

// As merge_tiled_full, but items that a round leaves over stay in a ring, and only the places of consumed ones are refilled.
inline void merge_circular(Pair pair, const LaunchSpec& launch, Item* scratch)
{
    Feed a{pair.a, pair.a + pair.m, {scratch, launch.tile, 0}, 0};
    Feed b{pair.b, pair.b + pair.n, {scratch + launch.tile, launch.tile, 0}, 0};
    for (long long left = pair.total(); left > 0;) {
        a.refill();
        b.refill();
        const long long count = smaller(static_cast<long long>(launch.tile), left);
        const long long used = merge_round(a.ring, a.held, b.ring, b.held, count, launch.block_size, pair.out, *pair.lines);
        a.consume(used);
        b.consume(count - used);
        pair.out += count;
        left -= count;
    }
}
