// Merges of keys with values give what stable sorts of pairs give: a program for test_pair_merges.py, for one kind of key and one
// size of vectors. Its argument is a seed. It prints the number of merges, or the first wrong one, and then exits with 1.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "pairs.cpp"

#define NAME_OF(bits, kind, descending) key_functions_##bits##_##kind##_##descending
#define NAME(bits, kind, descending) NAME_OF(bits, kind, descending)
extern const KeyFunctions NAME(KEY_BITS, KEY_KIND, DESCENDING);

namespace {

typedef std::conditional_t<KEY_BITS == 32, uint32_t, uint64_t> Key;
constexpr bool FLOAT = KEY_KIND == 2;
const KeyFunctions& functions = NAME(KEY_BITS, KEY_KIND, DESCENDING);
const OrderSpec order{KEY_KIND, KEY_BITS / 8, DESCENDING, 0, 0, 0, 0, 0, nullptr};
long long merges = 0;

template <typename Value>
struct Side {
    std::vector<Key> keys;
    std::vector<Value> values;

    void add(Key key, uint64_t value)
    {
        keys.push_back(key);
        values.push_back(static_cast<Value>(value));
    }
    bool operator==(const Side& other) const { return keys == other.keys && values == other.values; }
};

// Items in memory of their own size, so that a sanitizer sees each access outside of them. Values are not aligned.
template <typename T>
std::unique_ptr<Byte[]> alone(const std::vector<T>& items, size_t ahead = 0)
{
    std::unique_ptr<Byte[]> room(new Byte[ahead + items.size() * sizeof(T)]);
    if (!items.empty()) std::memcpy(room.get() + ahead, items.data(), items.size() * sizeof(T));
    return room;
}

uint64_t image_of_key(Key key)
{
    uint64_t image;
    functions.images(reinterpret_cast<const Byte*>(&key), 1, &image);
    return image;
}

template <typename Value>
Side<Value> sorted(const std::vector<Side<Value>>& sides)
{
    std::vector<std::pair<Key, Value>> all;
    for (const auto& side : sides)
        for (size_t at = 0; at < side.keys.size(); ++at) all.push_back({side.keys[at], side.values[at]});
    std::stable_sort(all.begin(), all.end(), [](auto& x, auto& y) { return image_of_key(x.first) < image_of_key(y.first); });
    Side<Value> found;
    for (const auto& [key, value] : all) found.add(key, value);
    return found;
}

void fail(const char* what, size_t m, size_t n, size_t value)
{
    std::printf("wrong: %s of %zu and %zu items, keys of %d bits, kind %d, descending %d, values of %zu bytes, vectors of %d bytes\n",
        what, m, n, KEY_BITS, KEY_KIND, DESCENDING, value, PAIR_VECTOR_BYTES);
    std::exit(1);
}

// A chain by itself.
template <typename Value>
void check_chain(const Side<Value>& a, const Side<Value>& b)
{
    const Ordered<Key, FLOAT> ordered(order);
    const auto x = alone(a.keys), y = alone(b.keys), v = alone(a.values), w = alone(b.values);
    Side<Value> found;
    found.keys.resize(a.keys.size() + b.keys.size());
    found.values.resize(found.keys.size());
    const auto out = alone(found.keys), out_values = alone(found.values);
    const PairSlices<Key, Value> slices{reinterpret_cast<Key*>(x.get()), v.get(), static_cast<long long>(a.keys.size()),
        reinterpret_cast<Key*>(y.get()), w.get(), static_cast<long long>(b.keys.size()), reinterpret_cast<Key*>(out.get()), out_values.get()};
    typedef PairChain<Key, Value, FLOAT> Chain;
    if (!Chain::fits(slices, ordered) || !Chain(slices, ordered).end()) fail("a chain that was refused", a.keys.size(), b.keys.size(), sizeof(Value));
    std::memcpy(found.keys.data(), out.get(), found.keys.size() * sizeof(Key));
    std::memcpy(found.values.data(), out_values.get(), found.values.size() * sizeof(Value));
    ++merges;
    if (!(found == sorted<Value>({a, b}))) fail("a chain", a.keys.size(), b.keys.size(), sizeof(Value));
}

// The key whose place in the order is `rank`, of keys without NaN and of zeros of one sign.
Key key_of(unsigned rank) { return DESCENDING ? 100 - rank : rank; }

// All ways in which m and n items interleave, with `ties` equal keys in a row.
template <typename Value>
void interleave(long long m, long long n, unsigned ties)
{
    for (unsigned ways = 0; ways < 1u << (m + n); ++ways) {
        if (__builtin_popcount(ways) != m) continue;
        Side<Value> a, b;
        for (unsigned rank = 0; rank < m + n; ++rank) (ways >> rank & 1 ? a : b).add(key_of(rank / ties), rank);
        check_chain(a, b);
    }
}

// A network that sorts all zeros and ones sorts everything (Knuth, The Art of Computer Programming 3, 5.3.4).
template <typename Value>
void zeros_and_ones()
{
    constexpr int LANES = PairChain<Key, Value, FLOAT>::LANES;
    for (int i = 0; i <= LANES + 1; ++i)
        for (int j = 0; j <= LANES + 1; ++j) {
            Side<Value> a, b;
            for (int at = 0; at <= LANES; ++at) {
                a.add(key_of(at >= i), at);
                b.add(key_of(at >= j), 1000 + at);
            }
            check_chain(a, b);
        }
}

// Keys of all bits, of few values, with NaNs and zeros of both signs, or close together, as `form` says.
template <typename Value>
Side<Value> drawn(std::mt19937_64& random, size_t count, unsigned form, uint64_t first)
{
    constexpr Key SIGN = static_cast<Key>(1) << (KEY_BITS - 1);
    Side<Value> side;
    for (size_t at = 0; at < count; ++at) {
        Key key = static_cast<Key>(random());
        if (form == 1) key %= 9;
        if (form >= 4) key = SIGN / 2 + key % (form == 4 ? 100'000 : 90);
        if (FLOAT && form == 2 && random() % 3 == 0) key = random() % 2 ? SIGN : 0;
        if (FLOAT && form != 3 && (key & ~SIGN) > (KEY_BITS == 32 ? 0x7f800000ull : 0x7ff0000000000000ull)) key = 1;
        side.add(key, first + at);
    }
    return side;
}

template <typename Value>
Side<Value> merged(const std::vector<Side<Value>>& sides, int64_t tile, int threads, size_t shift)
{
    std::vector<std::unique_ptr<Byte[]>> rooms;
    std::vector<PairRun> runs;
    size_t total = 0;
    for (const auto& side : sides) {
        rooms.push_back(alone(side.keys));
        const Byte* const keys = rooms.back().get();
        rooms.push_back(alone(side.values, shift));
        runs.push_back({keys, rooms.back().get() + shift, static_cast<int64_t>(side.keys.size())});
        total += side.keys.size();
    }
    Side<Value> found;
    found.keys.resize(total);
    found.values.resize(total);
    const auto out = alone(found.keys), out_values = alone(found.values, shift);
    const Team team(threads);
    const LaunchSpec launch{VECTOR, 1, 0, tile, 0, 0};
    PairMerge{order, functions, launch, sizeof(Value), team}.merge(runs, out.get(), out_values.get() + shift);
    if (total > 0) std::memcpy(found.keys.data(), out.get(), total * sizeof(Key));
    if (total > 0) std::memcpy(found.values.data(), out_values.get() + shift, total * sizeof(Value));
    ++merges;
    return found;
}

template <typename Value>
void random_merges(std::mt19937_64& random)
{
    for (unsigned turn = 0; turn < 400; ++turn) {
        const size_t most = turn % 3 == 0 ? 2000 : 600, count = turn % 4 == 0 ? 1 + random() % 7 : 2;
        std::vector<Side<Value>> sides;
        for (size_t run = 0; run < count; ++run) sides.push_back(drawn<Value>(random, random() % most, turn % 6, run << 16));
        const int64_t tile = turn % 5 == 0 ? 1 + static_cast<int64_t>(random() % 3000) : 1 << 20;
        const int threads = 1 + static_cast<int>(random() % 3);
        const size_t m = sides[0].keys.size(), n = sides.back().keys.size();
        const Side<Value> loose = merged(sides, tile, threads, random() % 2);
        Side<Value> all;
        for (const auto& side : sides)
            for (size_t at = 0; at < side.keys.size(); ++at) all.add(side.keys[at], side.values[at]);
        const auto pairs = [](const Side<Value>& side) {
            std::vector<std::pair<Key, Value>> found;
            for (size_t at = 0; at < side.keys.size(); ++at) found.push_back({side.keys[at], side.values[at]});
            std::sort(found.begin(), found.end());
            return found;
        };
        if (pairs(loose) != pairs(all)) fail("unsorted runs", m, n, sizeof(Value));
        for (auto& side : sides) side = sorted<Value>({side});
        if (!(merged(sides, tile, threads, random() % 2) == sorted(sides))) fail("runs", m, n, sizeof(Value));
        // One key out of order, far from the others.
        if (m > 2) sides[0].keys[random() % m] ^= static_cast<Key>(random());
        all = {};
        for (const auto& side : sides)
            for (size_t at = 0; at < side.keys.size(); ++at) all.add(side.keys[at], side.values[at]);
        if (pairs(merged(sides, tile, threads, 0)) != pairs(all)) fail("nearly sorted runs", m, n, sizeof(Value));
    }
}

template <typename Value>
void check_values(std::mt19937_64& random)
{
    constexpr int LANES = PairChain<Key, Value, FLOAT>::LANES;
    zeros_and_ones<Value>();
    for (long long m = LANES + 1; LANES == 2 && m <= 8; ++m)
        for (long long n = 1; n <= 8; ++n)
            for (const unsigned ties : {1, 3}) interleave<Value>(m, n, ties);
    random_merges<Value>(random);
}

}  // namespace

int main(int, char** arguments)
{
    std::mt19937_64 random(std::strtoull(arguments[1], nullptr, 10));
    check_values<uint32_t>(random);
    check_values<uint64_t>(random);
    std::printf("%lld\n", merges);
}
