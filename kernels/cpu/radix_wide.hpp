// Radix sorts, with a team, of more items than a cache holds; see radix.hpp.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "memory.hpp"
#include "radix.hpp"
#include "team.hpp"

namespace radix {

constexpr int64_t PIECE_BYTES = 3 << 18;       // of a bucket, at least: to deal out to more and shorter ones takes longer
constexpr int64_t MOST_PIECE_BYTES = 1 << 21;  // a larger one is dealt out again
constexpr int64_t LEAST_SHARE = 1 << 15;       // the fewest items of a thread
constexpr int64_t MOST_BUCKETS = 1 << 11;      // roughly: with more, dealing out costs more than it saves
constexpr int64_t FAIR = 4;                    // buckets a thread, at least: then none waits long for the last one
constexpr int CODE_BITS = 12;
constexpr int64_t SAMPLE = 1 << 16, DRAWN = 16;  // at most so many items, and one in so many
constexpr int MOST_SAMPLED = 4;                // levels with a sample; later ones use none, so buckets surely shrink

// Finds the bucket of an item by its word. Buckets have the order of the words.
class Split {
public:
    // height: the number of the highest bit in which words differ, counted from 1. load: see sort_wide.
    template <typename Load>
    Split(const Load& load, int64_t count, int64_t item_bytes, int height, bool sampled)
        : shift_(std::max(0, height - CODE_BITS)), mask_((uint64_t{1} << shift_) - 1)
    {
        constexpr int64_t CODES = 1 << CODE_BITS;
        std::vector<int64_t> found(CODES);
        const int64_t draws = sampled ? std::min(count / DRAWN, SAMPLE) : 0;
        uint64_t random = static_cast<uint64_t>(count);
        for (int64_t draw = 0; draw < draws; ++draw) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const int64_t at = static_cast<int64_t>((static_cast<unsigned __int128>(random) * count) >> 64);
            ++found[word_of(load(at)) >> shift_ & (CODES - 1)];
        }
        const int64_t piece = std::max(PIECE_BYTES, count * item_bytes / MOST_BUCKETS) / item_bytes;
        const int64_t each = std::max<int64_t>(1, draws * piece / count);  // the part of the sample for a bucket
        int64_t held = 0;
        for (int64_t code = 0; code < CODES; ++code) {
            int bits = 0;
            while (bits < shift_ && bits < CODE_BITS && found[code] >> bits > each) ++bits;
            // Rare codes share a bucket.
            if (code > 0 && (held + found[code] > each || draws == 0)) {
                ++buckets_;
                held = 0;
            }
            table_[code] = static_cast<uint32_t>(buckets_ << 6 | (bits == 0 ? 63 : shift_ - bits));
            held += found[code];
            buckets_ += (1 << bits) - 1;
        }
        ++buckets_;
    }

    int64_t buckets() const { return buckets_; }

    int64_t bucket(uint64_t word) const
    {
        const uint32_t entry = table_[word >> shift_ & ((1 << CODE_BITS) - 1)];
        return (entry >> 6) + static_cast<int64_t>((word & mask_) >> (entry & 63));
    }

private:
    int shift_;
    uint64_t mask_;
    int64_t buckets_ = 0;
    uint32_t table_[1 << CODE_BITS];
};

// Loads the items of a bucket that is dealt out again. Its type does not depend on the first load and finish, so that the
// recursion of templates ends.
template <typename Item>
struct FromCopy {
    const Item* items;
    Item operator()(int64_t i) const { return items[i]; }
};
struct AnyFinish {
    const void* context;
    void (*call)(const void*, int64_t, int64_t);
    void operator()(int64_t from, int64_t to) const { call(context, from, to); }
};

// The number of the highest bit in which words differ, counted from 1; 0 if they are all the same.
template <typename Item, typename Load>
int height_of(const Load& load, int64_t count, const Team& team)
{
    const Word<Item> base = word_of(load(0));
    Word<Item> some = 0;
    for (int64_t i = 0; i < count; i += count / 1000 + 1) some |= word_of(load(i)) ^ base;
    if (some >> (8 * sizeof some - 1)) return 8 * sizeof some;
    std::vector<Word<Item>> differing(team.size());
    team.share(count, LEAST_SHARE, [&](int64_t first, int64_t last, int part) {
        Word<Item> found = 0;
        for (int64_t i = first; i < last; ++i) found |= word_of(load(i)) ^ base;
        differing[part] = found;
    });
    for (const Word<Item> word : differing) some |= word;
    return bit_width(some);
}

template <typename Item, typename Load, typename Finish>
void sort_wide(const Load& load, int64_t count, Item* out, const Team& team, const Finish& finish, int level = 0);

// Sorts the bucket of `length` items at out[first], and finishes it. copy: has room for as many. Throws std::bad_alloc.
template <typename Item, typename Finish>
void sort_bucket(Item* out, int64_t first, int64_t length, Item* copy, const Team& team, const Finish& finish, int level)
{
    Item* const items = out + first;
    if (height_of<Item>(FromCopy<Item>{items}, length, team) == 0) return finish(first, first + length);
    team.share(length, LEAST_SHARE, [&](int64_t from, int64_t to, int) {
        std::memcpy(copy + from, items + from, (to - from) * sizeof(Item));
    });
    const auto finish_here = [&](int64_t from, int64_t to) { finish(first + from, first + to); };
    const AnyFinish any{&finish_here, [](const void* context, int64_t from, int64_t to) {
        (*static_cast<const decltype(finish_here)*>(context))(from, to);
    }};
    sort_wide(FromCopy<Item>{copy}, length, items, team, any, level + 1);
}

// Sorts the items load(i), for i in [0, count), to out. Then calls finish(first, last) once for each stretch of it. load must
// not read from out. Throws std::bad_alloc.
template <typename Item, typename Load, typename Finish>
void sort_wide(const Load& load, int64_t count, Item* out, const Team& team, const Finish& finish, int level)
{
    constexpr int64_t ITEM = sizeof(Item);
    if (count * ITEM <= MOST_PIECE_BYTES / (team.size() > 1 ? 4 : 2)) {
        Room<Item> other;
        const auto counts = std::make_unique<Counts>();
        other.reserve(count);
        for (int64_t i = 0; i < count; ++i) out[i] = load(i);
        sort_piece(out, other.data(), count, *counts);
        return finish(0, count);
    }
    const int height = height_of<Item>(load, count, team);
    const auto split = std::make_unique<Split>(load, count, ITEM, height, level < MOST_SAMPLED);
    const int64_t buckets = split->buckets();
    std::vector<std::vector<int64_t>> places(team.size(), std::vector<int64_t>(buckets));
    team.share(count, LEAST_SHARE, [&](int64_t first, int64_t last, int part) {
        int64_t* const found = places[part].data();
        const Split& by = *split;
        for (int64_t i = first; i < last; ++i) ++found[by.bucket(word_of(load(i)))];
    });
    // The places go bucket by bucket, and in a bucket part by part, so that equal words keep their order.
    std::vector<int64_t> edges(buckets + 1);
    int64_t place = 0;
    for (int64_t bucket = 0; bucket < buckets; ++bucket) {
        for (std::vector<int64_t>& of_part : places) {
            const int64_t held = of_part[bucket];
            of_part[bucket] = place;
            place += held;
        }
        edges[bucket + 1] = place;
    }
    team.share(count, LEAST_SHARE, [&](int64_t first, int64_t last, int part) {
        int64_t* const at = places[part].data();
        const Split& by = *split;
        for (int64_t i = first; i < last; ++i) {
            const Item item = load(i);
            const int64_t place = at[by.bucket(word_of(item))]++;
            if (place < count) out[place] = item;  // more than were counted may come, if somebody else changes the items
        }
    });

    // A bucket that is no more than a thread's fair share is sorted by one thread, though it may have to deal it out again.
    const int64_t fair = std::max(MOST_PIECE_BYTES / ITEM, count / (FAIR * team.size()));
    int64_t longest = 0;
    for (int64_t bucket = 0; bucket < buckets; ++bucket) {
        const int64_t length = edges[bucket + 1] - edges[bucket];
        if (length <= fair) longest = std::max(longest, length);
    }
    std::vector<Room<Item>> others(team.size());
    std::vector<std::unique_ptr<Counts>> counts(team.size());
    for (int part = 0; part < team.size(); ++part) {
        others[part].reserve(longest);
        counts[part] = std::make_unique<Counts>();
    }
    std::atomic<int64_t> next{0};
    std::atomic<bool> failed{false};
    team.share(team.size(), 1, [&](int64_t, int64_t, int part) {
        for (int64_t bucket; (bucket = next++) < buckets;) {
            const int64_t first = edges[bucket], length = edges[bucket + 1] - first;
            if (length == 0 || length > fair) continue;
            if (length * ITEM <= MOST_PIECE_BYTES) {
                sort_piece(out + first, others[part].data(), length, *counts[part]);
                finish(first, first + length);
                continue;
            }
            try {
                sort_bucket(out, first, length, others[part].data(), Team(1), finish, level);
            } catch (const std::bad_alloc&) {
                failed = true;
                return;
            }
        }
    });
    if (failed) throw std::bad_alloc();
    for (int64_t bucket = 0; bucket < buckets; ++bucket) {
        const int64_t first = edges[bucket], length = edges[bucket + 1] - first;
        if (length <= fair) continue;
        Room<Item> copy;
        sort_bucket(out, first, length, copy.reserve(length), team, finish, level);
    }
}

}  // namespace radix
