// As-of joins of sorted keys: for each item of A the nearest item of B on one side, or on either.
//
// Included by keys.cpp in its namespace.

#if KEY_KIND == 2
#if KEY_BITS >= 32
typedef double Distance;

bool is_missing(Item item)
{
    const Float value = float_of(item);
    return value != value;
}

// Equal infinities have no difference.
Distance distance(Item x, Item y)
{
    const double from = float_of(x), to = float_of(y);
    return from == to ? 0 : from < to ? to - from : from - to;
}
#endif
#else
typedef uint64_t Distance;

bool is_missing([[maybe_unused]] Item item)
{
    return KEY_KIND == 5 && item == static_cast<Item>(1ull << (KEY_BITS - 1));
}

Distance distance(Item x, Item y)
{
    const uint64_t from = ordered(x), to = ordered(y);
    return from < to ? to - from : from - to;
}
#endif

#if KEY_KIND != 2 || KEY_BITS >= 32

static_assert(CHAINS == 4, "walk_all steps through four chains");

// Two sides of a join. Both are sorted by their groups first, if there are any. FORWARD: whether the direction is ASOF_FORWARD.
template <typename Less, bool GROUPED, bool FORWARD>
struct Asof {
    const Item *a, *b;
    const int64_t *a_groups, *b_groups;
    int64_t n;
    Distance limit;
    bool nearest;

    // Whether item j of B lies ahead of the place of item i of A: behind its equals, or ahead of them if it looks forward.
    bool is_passed(int64_t j, int64_t i) const
    {
        if (GROUPED && b_groups[j] != a_groups[i]) return b_groups[j] < a_groups[i];
        return FORWARD ? Less::before(b[j], a[i]) : !Less::before(a[i], b[j]);
    }

    // The number of items of B ahead of the place of item i, by bisection.
    int64_t place_of(int64_t i) const
    {
        int64_t low = 0, high = n;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (is_passed(middle, i)) low = middle + 1;
            else high = middle;
        }
        return low;
    }

    bool may_match(int64_t j, int64_t i) const
    {
        return j >= 0 && j < n && (!GROUPED || b_groups[j] == a_groups[i]) && !is_missing(b[j]);
    }

    int64_t partner_of(int64_t i, int64_t place) const
    {
        if (is_missing(a[i])) return -1;
        int64_t found = FORWARD ? place : place - 1;
        if (!FORWARD && nearest && may_match(place, i) &&
            (!may_match(found, i) || distance(b[place], a[i]) < distance(a[i], b[found])))
            found = place;
        return may_match(found, i) && distance(a[i], b[found]) <= limit ? found : -1;
    }

    // A walk through the items [i, end) of A, which has passed j items of B.
    struct Chain {
        int64_t i, end, j;
    };

    // One step. Arithmetic, not a branch, decides which side it passes.
    __forceinline__ void step(Chain& chain, int64_t* indices) const
    {
        const int64_t passed = is_passed(chain.j, chain.i);
        indices[chain.i] = chain.j;
        chain.j += passed;
        chain.i += 1 - passed;
    }

    // Walks at once through all chains, whose loads and compares do not depend on each other, as far as both sides last.
    void walk_all(Chain (&chains)[CHAINS], int64_t* indices) const
    {
        constexpr int64_t UNCHECKED = 16;
        for (;;) {
            int64_t certain = n;
            for (const Chain& chain : chains) {
                certain = smaller(static_cast<long long>(certain), static_cast<long long>(chain.end - chain.i));
                certain = smaller(static_cast<long long>(certain), static_cast<long long>(n - chain.j));
            }
            if (certain < UNCHECKED) break;
            Chain one = chains[0], two = chains[1], three = chains[2], four = chains[3];
            for (; certain > 0; --certain) {
                step(one, indices);
                step(two, indices);
                step(three, indices);
                step(four, indices);
            }
            chains[0] = one, chains[1] = two, chains[2] = three, chains[3] = four;
        }
        for (Chain& chain : chains) {
            while (chain.i < chain.end && chain.j < n) step(chain, indices);
            for (; chain.i < chain.end; ++chain.i) indices[chain.i] = chain.j;
        }
    }

    // The partners of the items [first, last) of A: stretch by stretch of each chain, while its places are in the cache.
    void walk(int64_t first, int64_t last, int64_t* indices) const
    {
        constexpr int64_t STRETCH = 1024;
        Chain chains[CHAINS];
        int64_t starts[CHAINS], stops[CHAINS];
        for (int number = 0; number < CHAINS; ++number) {
            starts[number] = first + (last - first) * number / CHAINS;
            stops[number] = first + (last - first) * (number + 1) / CHAINS;
            chains[number] = {starts[number], starts[number], 0};
            if (starts[number] < stops[number]) chains[number].j = place_of(starts[number]);
        }
        for (bool any = true; any;) {
            for (int number = 0; number < CHAINS; ++number)
                chains[number].end = smaller(static_cast<long long>(chains[number].i + STRETCH), static_cast<long long>(stops[number]));
            walk_all(chains, indices);
            any = false;
            for (int number = 0; number < CHAINS; ++number) {
                for (int64_t i = starts[number]; i < chains[number].end; ++i) indices[i] = partner_of(i, indices[i]);
                starts[number] = chains[number].end;
                any = any || starts[number] < stops[number];
            }
        }
    }
};

template <typename Less, bool GROUPED>
[[maybe_unused]] void asof_by(const ArrayAsofSpec& spec, int64_t n, int64_t first, int64_t last, int64_t* indices)
{
    Distance limit;
    std::memcpy(&limit, &spec.limit, sizeof limit);
    const Item *const a = items_at(spec.a), *const b = items_at(spec.b);
    const bool nearest = spec.direction == ASOF_NEAREST;
    if (spec.direction == ASOF_FORWARD)
        Asof<Less, GROUPED, true>{a, b, spec.a_groups, spec.b_groups, n, limit, nearest}.walk(first, last, indices);
    else
        Asof<Less, GROUPED, false>{a, b, spec.a_groups, spec.b_groups, n, limit, nearest}.walk(first, last, indices);
}

void asof(const ArrayAsofSpec& spec, int64_t first, int64_t last, int64_t* indices)
{
#if DESCENDING
    Distance limit;
    std::memcpy(&limit, &spec.limit, sizeof limit);
    const Asof<ByImage, false, false> backward{items_at(spec.a), items_at(spec.b), nullptr, nullptr, spec.b_count, limit, false};
    backward.walk(first, last, indices);
#else
    if (spec.a_groups != nullptr) return asof_by<ByImage, true>(spec, spec.b_count, first, last, indices);
#if KEY_KIND == 2
    // Without the NaNs at the end of B, floats compare as they are.
    const Item* const b = items_at(spec.b);
    const int64_t numbers = gallop(spec.b_count, [=](int64_t j) { return !is_missing(b[j]); });
    asof_by<ByValue, false>(spec, numbers, first, last, indices);
#else
    asof_by<ByImage, false>(spec, spec.b_count, first, last, indices);
#endif
#endif
}

#else
constexpr void (*asof)(const ArrayAsofSpec&, int64_t, int64_t, int64_t*) = nullptr;  // float16 comes as float32
#endif
