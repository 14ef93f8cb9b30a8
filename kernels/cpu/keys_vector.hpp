// Merges of keys by vectors. A step of a chain takes the next vector of the slice whose next key goes first, merges it with the
// vector that is held, puts out the first half of the two and holds the other half. Two vectors are merged by a bitonic
// network (network.hpp; Inoue and Taura 2015, "SIMD- and cache-friendly algorithm for sorting an array of structures"), which
// has neither branches nor dependent loads. Equal keys have equal bits here, so their order cannot be seen: floats go this way
// only where no NaN is among them, and no zero of the other sign.
//
// Included by keys_path.hpp.
#pragma once

#ifdef VECTOR_BYTES  // a test's choice
#elif defined(__AVX512BW__) && defined(__AVX512VL__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__) && (KEY_BITS < 64 || KEY_KIND == 2)
#define VECTOR_BYTES 32
#elif (defined(__SSE4_1__) || defined(__ARM_NEON)) && !defined(__AVX2__) && (KEY_BITS < 32 || (KEY_BITS == 32 && KEY_KIND == 2))
#define VECTOR_BYTES 16
#else
#define VECTOR_BYTES 0  // vectors of few keys are slower than single items
#endif

#if VECTOR_BYTES

typedef std::conditional_t<KEY_KIND == 0, Bits, SignedBits> Lane;
typedef Network<Lane, VECTOR_BYTES, DESCENDING> Lanes;
typedef Lanes::Vector Vector;
constexpr int LANES = Lanes::LANES;

// Integers with the order of the keys, ascending, and back.
__forceinline__ Vector ordered_lanes(Vector keys)
{
#if KEY_KIND == 2
    return keys ^ (keys >> (KEY_BITS - 1) & std::numeric_limits<Lane>::max());
#else
    return keys - static_cast<Lane>(NAT_IS_LAST);
#endif
}

__forceinline__ Vector keys_of_lanes(Vector ordered)
{
#if KEY_KIND == 2
    return ordered_lanes(ordered);
#else
    return ordered + static_cast<Lane>(NAT_IS_LAST);
#endif
}

__forceinline__ Vector load_vector(const Item* items)
{
    Vector keys;
    std::memcpy(&keys, items, sizeof keys);
    return ordered_lanes(keys);
}

__forceinline__ void store_vector(Item* items, Vector ordered)
{
    const Vector keys = keys_of_lanes(ordered);
    std::memcpy(items, &keys, sizeof keys);
}

// A chain: what is left of two slices, of which it holds a vector, and the place of its output.
struct VectorChain {
    const Item *a, *a_end, *b, *b_end;
    Item* out;
    Vector held;

    explicit VectorChain(const Pair& pair)
        : a(pair.a + LANES), a_end(pair.a + pair.m), b(pair.b), b_end(pair.b + pair.n), out(pair.out), held(load_vector(pair.a))
    {
    }

    // The steps that end ahead of both ends.
    long long certain() const { return smaller(static_cast<long long>(a_end - a), static_cast<long long>(b_end - b)) / LANES; }

    __forceinline__ void step()
    {
        const bool take_b = before(*b, *a, NO_LINES);
        const Vector next = Lanes::reversed(load_vector(take_b ? b : a));
        a += take_b ? 0 : LANES;
        b += take_b ? LANES : 0;
        store_vector(out, Lanes::in_order(Lanes::first(held, next)));
        held = Lanes::in_order(Lanes::last(held, next));
        out += LANES;
    }
};

// Does the last steps of a chain. One slice has less than a vector then: its rest is merged with what is held, and then with
// the rest of the other one.
__noinline__ void end_chain(VectorChain chain)
{
    for (long long certain; (certain = chain.certain()) > 0;)
        for (; certain > 0; --certain) chain.step();
    Item held[LANES], few[2 * LANES];
    store_vector(held, chain.held);
    const long long m = chain.a_end - chain.a, n = chain.b_end - chain.b;
    const bool a_ends = m < n;
    const long long rest = a_ends ? m : n;
    merge_one<ByImage>({held, LANES, a_ends ? chain.a : chain.b, rest, few, &NO_LINES});
    merge_one<ByImage>({few, LANES + rest, a_ends ? chain.b : chain.a, a_ends ? n : m, chain.out, &NO_LINES});
}

inline void merge_vectors(const Pair (&pairs)[CHAINS])
{
    VectorChain chains[CHAINS] = {VectorChain(pairs[0]), VectorChain(pairs[1]), VectorChain(pairs[2]), VectorChain(pairs[3])};
    for (long long certain;
         (certain = smaller(smaller(chains[0].certain(), chains[1].certain()),
              smaller(chains[2].certain(), chains[3].certain()))) > 0;) {
        VectorChain c0 = chains[0], c1 = chains[1], c2 = chains[2], c3 = chains[3];
        for (; certain > 0; --certain) {
            c0.step();
            c1.step();
            c2.step();
            c3.step();
        }
        chains[0] = c0;
        chains[1] = c1;
        chains[2] = c2;
        chains[3] = c3;
    }
    for (const VectorChain& chain : chains) end_chain(chain);
}

#if KEY_KIND == 2
constexpr Item SIGN = static_cast<Item>(1ull << (KEY_BITS - 1));
constexpr Item INFINITE = static_cast<Item>(KEY_BITS == 16 ? 0x7c00ull : KEY_BITS == 32 ? 0x7f800000ull : 0x7ff0000000000000ull);

inline bool is_nan(Item item) { return static_cast<Item>(item & ~SIGN) > INFINITE; }

// Notes the signs of the zeros of a sorted slice: those lie beside each other.
inline void note_zeros(const Item* items, long long count, Item& all, Item& any)
{
    const long long first =
        gallop(count, [=](int64_t at) { return before(items[at], Item{0}, NO_LINES); });
    for (long long at = first; at < count && static_cast<Item>(items[at] & ~SIGN) == 0; ++at) {
        all &= items[at];
        any |= items[at];
    }
}

// Whether equal keys of both slices have equal bits. NaNs of a sorted slice lie at one end of it. If slices are not sorted, either
// answer is right.
inline bool alike_if_equal(const Pair& pair)
{
    if (pair.m > 0 && is_nan(pair.a[DESCENDING ? 0 : pair.m - 1])) return false;
    if (pair.n > 0 && is_nan(pair.b[DESCENDING ? 0 : pair.n - 1])) return false;
    Item all = SIGN, any = 0;
    note_zeros(pair.a, pair.m, all, any);
    note_zeros(pair.b, pair.n, all, any);
    return any == 0 || all == SIGN;
}
#else
inline bool alike_if_equal(const Pair&) { return true; }
#endif

#endif
