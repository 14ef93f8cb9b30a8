// Merges of keys by vectors give what merges by items give: a program for test_vector_merges.py, for one kind of key and one
// size of vectors. Its argument is a seed. It prints the number of merges, or the first wrong one, and then exits with 1.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "keys.cpp"

namespace {

typedef std::vector<Item> Items;
long long merges = 0;

// Items in memory of their own size, so that a sanitizer sees each access outside of them.
std::unique_ptr<Item[]> alone(const Items& items)
{
    std::unique_ptr<Item[]> room(new Item[items.size()]);
    std::copy(items.begin(), items.end(), room.get());
    return room;
}

bool goes_before(Item x, Item y) { return before(x, y, NO_LINES); }

void fail(const char* what, const Items& a, const Items& b)
{
    std::printf("wrong: %s of %zu and %zu items, keys of %d bits, kind %d, descending %d, vectors of %d bytes\n", what, a.size(),
        b.size(), KEY_BITS, KEY_KIND, DESCENDING, VECTOR_BYTES);
    std::exit(1);
}

template <typename Merge>
Items merged(const Items& a, const Items& b, Merge merge)
{
    const auto x = alone(a), y = alone(b), out = alone(Items(a.size() + b.size()));
    merge(Pair{x.get(), static_cast<long long>(a.size()), y.get(), static_cast<long long>(b.size()), out.get(), &NO_LINES});
    ++merges;
    return Items(out.get(), out.get() + a.size() + b.size());
}

template <typename Merge>
void check(const char* what, const Items& a, const Items& b, Merge merge)
{
    if (merged(a, b, merge) != merged(a, b, merge_one<ByImage>)) fail(what, a, b);
}

// The item whose place in the order is `rank`, of keys without NaN and of zeros of one sign.
Item item_of(unsigned rank)
{
    const Bits up = DESCENDING ? 100 - rank : rank;
    return static_cast<Item>(KEY_KIND == 5 ? up + 1 : up);
}

// All ways in which m and n items interleave: a chain alone merges them.
void interleave(long long m, long long n)
{
    for (unsigned ways = 0; ways < 1u << (m + n); ++ways) {
        if (__builtin_popcount(ways) != m) continue;
        Items a, b;
        for (unsigned rank = 0; rank < m + n; ++rank) (ways >> rank & 1 ? a : b).push_back(item_of(rank));
        check("a chain", a, b, [](const Pair& pair) { end_chain(VectorChain(pair)); });
    }
}

// A network that sorts all zeros and ones sorts everything (Knuth, The Art of Computer Programming 3, 5.3.4).
void zeros_and_ones()
{
    for (int i = 0; i <= LANES; ++i)
        for (int j = 0; j <= LANES; ++j) {
            Items a(LANES, item_of(1)), b(LANES, item_of(1));
            std::fill_n(a.begin(), i, item_of(0));
            std::fill_n(b.begin(), j, item_of(0));
            check("a network", a, b, [](const Pair& pair) { end_chain(VectorChain(pair)); });
        }
}

// Keys with ties, of few values, or with NaNs and zeros of both signs, as `form` says.
Items drawn(std::mt19937_64& random, size_t count, unsigned form)
{
    Items items(count);
    for (Item& item : items) {
        item = static_cast<Item>(random());
        if (form == 1) item = static_cast<Item>(item % 9);
#if KEY_KIND == 2
        if (form == 2 && random() % 3 == 0) item = random() % 2 ? SIGN : 0;
        if (form != 3 && is_nan(item)) item = 0;
#endif
    }
    return items;
}

void random_merges(std::mt19937_64& random)
{
    for (unsigned turn = 0; turn < 600; ++turn) {
        const size_t most = turn % 3 == 0 ? 40 * LANES : 900;
        Items a = drawn(random, random() % most, turn % 4), b = drawn(random, random() % most, turn % 4);
        const long long tile = 1 + static_cast<long long>(random() % 3000);
        const auto path = [tile](const Pair& pair) { merge_path(pair, tile, true); };
        Items found = merged(a, b, path), all = a;
        all.insert(all.end(), b.begin(), b.end());
        std::sort(found.begin(), found.end());
        std::sort(all.begin(), all.end());
        if (found != all) fail("unsorted runs", a, b);
        std::stable_sort(a.begin(), a.end(), goes_before);
        std::stable_sort(b.begin(), b.end(), goes_before);
        check("the path", a, b, path);
    }
}

}  // namespace

int main(int, char** arguments)
{
    zeros_and_ones();
    if (LANES == 2)
        for (long long m = LANES; m <= 8; ++m)
            for (long long n = 0; n <= 8; ++n) interleave(m, n);
    std::mt19937_64 random(std::strtoull(arguments[1], nullptr, 10));
    random_merges(random);
    std::printf("%lld\n", merges);
}
