// Merges of keys with values by vectors. A network does not keep the order of equal keys, and moves no values. So a lane holds a
// key and one bit more, which says whether it comes from B: the key's distance from the least key, times two, plus this bit. Equal
// keys of A then go ahead of those of B, and the order of equal lanes cannot be seen. The bits of the lanes that go out say from
// which run each value comes, and values are taken from both runs in their order.
//
// The distances must leave a bit free. In a chain, a short stretch of two sorted runs, they nearly always do. Else the chain is merged
// item by item, and so is one that is not in order: its keys would part from their values.
//
// Included by pairs.cpp in its namespace.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

// The bytes of the vectors by which keys of this type are merged; 0: item by item, where vectors are slower.
template <typename Key>
constexpr int vector_bytes()
{
#ifdef PAIR_VECTOR_BYTES  // a test's choice
    return PAIR_VECTOR_BYTES;
#elif defined(__AVX512BW__) && defined(__AVX512VL__)
    return 64;
#elif defined(__AVX2__)
    return 32;
#else
    return 0;
#endif
}

// For each lane of 8 whether it takes its value from A or B, a number of 8 bits: the place of this value among the next ones there.
struct PlacesOfEight {
    uint8_t of[256][8];

    constexpr PlacesOfEight() : of()
    {
        for (int bits = 0; bits < 256; ++bits)
            for (int lane = 0, places[2] = {0, 0}; lane < 8; ++lane)
                of[bits][lane] = static_cast<uint8_t>(places[bits >> lane & 1]++);
    }
};
[[maybe_unused]] constexpr PlacesOfEight PLACES{};

// Where the next values of both runs are, and where they go.
template <typename Value>
struct ValueFeed {
    const Byte *a, *b;
    Byte* out;

    // Takes the values of COUNT lanes: from B where a bit of `from_b` is set. COUNT values of both runs must be readable.
    template <int COUNT>
    __forceinline__ void take(unsigned from_b)
    {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
        if constexpr (sizeof(Value) == 4 && COUNT % 16 == 0) {
            take_vectors<COUNT, 16>(from_b, [&](unsigned bits) {
                const __m512i x = _mm512_maskz_expand_epi32(static_cast<__mmask16>(~bits), _mm512_loadu_si512(a));
                _mm512_storeu_si512(out, _mm512_mask_expand_epi32(x, static_cast<__mmask16>(bits), _mm512_loadu_si512(b)));
            });
            return;
        } else if constexpr (sizeof(Value) == 4 && COUNT % 8 == 0) {
            take_vectors<COUNT, 8>(from_b, [&](unsigned bits) {
                const auto load = [](const Byte* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); };
                const __m256i x = _mm256_maskz_expand_epi32(static_cast<__mmask8>(~bits), load(a));
                const __m256i all = _mm256_mask_expand_epi32(x, static_cast<__mmask8>(bits), load(b));
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), all);
            });
            return;
        } else if constexpr (sizeof(Value) == 8 && COUNT % 8 == 0) {
            take_vectors<COUNT, 8>(from_b, [&](unsigned bits) {
                const __m512i x = _mm512_maskz_expand_epi64(static_cast<__mmask8>(~bits), _mm512_loadu_si512(a));
                _mm512_storeu_si512(out, _mm512_mask_expand_epi64(x, static_cast<__mmask8>(bits), _mm512_loadu_si512(b)));
            });
            return;
        }
#elif defined(__AVX2__)
        const auto load = [](const Byte* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); };
        const auto put = [&](__m256i places, __m256i bits, unsigned each) {
            const __m256i mine = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(each)), bits), bits);
            const __m256i x = _mm256_permutevar8x32_epi32(load(a), places), y = _mm256_permutevar8x32_epi32(load(b), places);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_blendv_epi8(x, y, mine));
        };
        if constexpr (sizeof(Value) == 4 && COUNT % 8 == 0) {
            take_vectors<COUNT, 8>(from_b, [&](unsigned bits) {
                const __m256i places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(PLACES.of[bits])));
                put(places, _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), bits);
            });
            return;
        } else if constexpr (sizeof(Value) == 8 && COUNT % 4 == 0) {
            take_vectors<COUNT, 4>(from_b, [&](unsigned bits) {
                int four;
                std::memcpy(&four, PLACES.of[bits], sizeof four);
                // A value is two words: at twice its place, and behind that.
                const __m256i words = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
                const __m256i twice = _mm256_add_epi64(words, words);
                const __m256i places = _mm256_or_si256(_mm256_or_si256(twice, _mm256_slli_epi64(twice, 32)), _mm256_set1_epi64x(1ll << 32));
                put(places, _mm256_setr_epi32(1, 1, 2, 2, 4, 4, 8, 8), bits);
            });
            return;
        } else if constexpr (sizeof(Value) == 4 && COUNT % 4 == 0) {
            take_vectors<COUNT, 4>(from_b, [&](unsigned bits) {
                int four;
                std::memcpy(&four, PLACES.of[bits], sizeof four);
                const __m128i places = _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four)), each = _mm_setr_epi32(1, 2, 4, 8);
                const __m128i mine = _mm_cmpeq_epi32(_mm_and_si128(_mm_set1_epi32(static_cast<int>(bits)), each), each);
                const auto chosen = [&](const Byte* at) { return _mm_permutevar_ps(_mm_loadu_ps(reinterpret_cast<const float*>(at)), places); };
                _mm_storeu_ps(reinterpret_cast<float*>(out), _mm_blendv_ps(chosen(a), chosen(b), _mm_castsi128_ps(mine)));
            });
            return;
        }
#endif
        for (int lane = 0; lane < COUNT; ++lane, out += sizeof(Value)) {
            const bool of_b = from_b >> lane & 1;
            std::memcpy(out, of_b ? b : a, sizeof(Value));
            (of_b ? b : a) += sizeof(Value);
        }
    }

private:
    template <int COUNT, int EACH, typename Put>
    __forceinline__ void take_vectors(unsigned from_b, Put put)
    {
        for (int at = 0; at < COUNT; at += EACH) {
            const unsigned bits = from_b >> at & ((1u << EACH) - 1);
            put(bits);
            const int of_b = __builtin_popcount(bits);
            a += (EACH - of_b) * sizeof(Value);
            b += of_b * sizeof(Value);
            out += EACH * sizeof(Value);
        }
    }
};

// A chain: what is left of two slices, of which it holds a vector, and the places of its output.
template <typename Key, typename Value, bool FLOAT>
struct PairChain {
    typedef Ordered<Key, FLOAT> Order;
    typedef Network<typename Order::Signed, vector_bytes<Key>()> Lanes;
    typedef typename Lanes::Vector Vector;  // of signed integers: AVX2 compares no others of 64 bits
    typedef Key Keys __attribute__((vector_size(vector_bytes<Key>())));
    static constexpr int LANES = Lanes::LANES;

    const Key *a, *a_end, *b, *b_start, *b_end;
    Key* out;
    ValueFeed<Value> values;
    Order ordered;
    Key base;
    Vector held, wrong;  // wrong: not zero where a key went ahead of the one before it

    // slices: with more than LANES items on each side.
    PairChain(const PairSlices<Key, Value>& slices, Order ordered)
        : a(slices.a), a_end(a + slices.m), b(slices.b), b_start(b), b_end(b + slices.n), out(slices.out),
          values{slices.a_values, slices.b_values, slices.out_values}, ordered(ordered),
          base(static_cast<Key>(std::min(ordered.integer_of(*a), ordered.integer_of(*b)))), wrong{}
    {
        held = loaded(a, 0);
        a += LANES;
    }

    // Whether the least and the greatest key leave a bit free.
    static bool fits(const PairSlices<Key, Value>& slices, Order ordered)
    {
        const auto least = std::min(ordered.integer_of(slices.a[0]), ordered.integer_of(slices.b[0]));
        const auto most = std::max(ordered.integer_of(slices.a[slices.m - 1]), ordered.integer_of(slices.b[slices.n - 1]));
        return (static_cast<Key>(most) - static_cast<Key>(least)) < Order::SIGN;
    }
    bool is_near(Key key) const { return ordered.of(key) - base < Order::SIGN; }

    // The steps that end ahead of both ends.
    long long certain() const { return (std::min<long long>(a_end - a, b_end - b) - 1) / LANES; }

    // A vector of lanes, with a key behind it.
    __forceinline__ Vector loaded(const Key* at, Key from_b)
    {
        Keys keys, behind;
        std::memcpy(&keys, at, sizeof keys);
        std::memcpy(&behind, at + 1, sizeof behind);
        keys = ordered.of(keys);
        behind = ordered.of(behind);
        const Vector next = reinterpret_cast<Vector>(behind);
        wrong |= Lanes::greater(reinterpret_cast<Vector>(keys), next) ^ next;
        return reinterpret_cast<Vector>((keys - base) << 1 ^ (Order::SIGN | from_b));
    }

    __forceinline__ void step()
    {
        const bool take_b = ordered.integer_of(*b) < ordered.integer_of(*a);
        const Vector next = Lanes::reversed(loaded(take_b ? b : a, take_b));
        a += take_b ? 0 : LANES;
        b += take_b ? LANES : 0;
        const Vector first = Lanes::in_order(Lanes::lesser(held, next));
        held = Lanes::in_order(Lanes::greater(held, next));
        const Keys keys = ordered.undone((reinterpret_cast<Keys>(first) >> 1 ^ Order::SIGN >> 1) + base);
        std::memcpy(out, &keys, sizeof keys);
        out += LANES;
        values.template take<LANES>(bits_of(first));
    }

    // The lowest bit of each lane.
    static __forceinline__ unsigned bits_of(Vector lanes)
    {
#if defined(__AVX512BW__)
        if constexpr (sizeof lanes == 64 && sizeof(Key) == 4)
            return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(lanes), _mm512_set1_epi32(1));
        else if constexpr (sizeof lanes == 64)
            return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(lanes), _mm512_set1_epi64(1));
#elif defined(__AVX2__)
        if constexpr (sizeof lanes == 32 && sizeof(Key) == 4)
            return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(reinterpret_cast<Keys>(lanes) << 31)));
        else if constexpr (sizeof lanes == 32)
            return static_cast<unsigned>(_mm256_movemask_pd(reinterpret_cast<__m256d>(reinterpret_cast<Keys>(lanes) << 63)));
#endif
        unsigned bits = 0;
        for (int lane = 0; lane < LANES; ++lane) bits |= static_cast<unsigned>(lanes[lane] & 1) << lane;
        return bits;
    }

    // Does the last steps. Returns false if the slices turn out not to be in order: their pairs may be wrong then.
    __noinline__ bool end()
    {
        for (long long left; (left = certain()) > 0;)
            for (; left > 0; --left) step();
        bool in_order = is_near(a[-1]) && (b == b_start || is_near(b[-1]));
        for (int lane = 0; lane < LANES; ++lane) in_order = in_order && wrong[lane] == 0;
        if (!in_order) return false;
        // The keys that are held lie ahead of the rest, as their values do.
        const int of_b = __builtin_popcount(bits_of(held));
        a -= LANES - of_b;
        b -= of_b;
        merge_items<Key, Value, FLOAT>({a, values.a, a_end - a, b, values.b, b_end - b, out, values.out}, ordered);
        return true;
    }
};
