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

// Two sides of a join. Both are sorted by their groups first, if there are any.
template <bool GROUPED, int DIRECTION>
struct Asof {
    const Item *a, *b;
    const int64_t *a_groups, *b_groups;
    int64_t n;
    Distance limit;

    // Whether item j of B lies ahead of the place of item i of A: behind its equals, or ahead of them if it looks forward.
    bool is_passed(int64_t j, int64_t i) const
    {
        if (GROUPED && b_groups[j] != a_groups[i]) return b_groups[j] < a_groups[i];
        return DIRECTION == FORWARD ? before(b[j], a[i], NO_LINES) : !before(a[i], b[j], NO_LINES);
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
        int64_t found = DIRECTION == FORWARD ? place : place - 1;
        if (DIRECTION == NEAREST && may_match(place, i) &&
            (!may_match(found, i) || distance(b[place], a[i]) < distance(a[i], b[found])))
            found = place;
        return may_match(found, i) && distance(a[i], b[found]) <= limit ? found : -1;
    }

    // Walks through both sides. No branch depends on a comparison of keys.
    void walk(int64_t first, int64_t last, int64_t* indices) const
    {
        constexpr int64_t STRETCH = 2048;
        if (first == last) return;
        int64_t j = place_of(first);
        for (int64_t low = first; low < last; low += STRETCH) {
            const int64_t high = last - low < STRETCH ? last : low + STRETCH;
            int64_t i = low;
            while (i < high && j < n) {
                const bool passed = is_passed(j, i);
                indices[i] = j;
                j += passed;
                i += !passed;
            }
            for (; i < high; ++i) indices[i] = j;
            for (i = low; i < high; ++i) indices[i] = partner_of(i, indices[i]);
        }
    }
};

template <bool GROUPED>
void asof_by(const AsofSpec& spec, int64_t first, int64_t last, int64_t* indices)
{
    Distance limit;
    std::memcpy(&limit, &spec.limit, sizeof limit);
    const Item *const a = items_at(spec.a), *const b = items_at(spec.b);
    if (spec.direction == BACKWARD)
        Asof<GROUPED, BACKWARD>{a, b, spec.a_groups, spec.b_groups, spec.b_count, limit}.walk(first, last, indices);
    else if (spec.direction == FORWARD)
        Asof<GROUPED, FORWARD>{a, b, spec.a_groups, spec.b_groups, spec.b_count, limit}.walk(first, last, indices);
    else
        Asof<GROUPED, NEAREST>{a, b, spec.a_groups, spec.b_groups, spec.b_count, limit}.walk(first, last, indices);
}

void asof(const AsofSpec& spec, int64_t first, int64_t last, int64_t* indices)
{
    if (spec.a_groups != nullptr) asof_by<true>(spec, first, last, indices);
    else asof_by<false>(spec, first, last, indices);
}

#else
constexpr void (*asof)(const AsofSpec&, int64_t, int64_t, int64_t*) = nullptr;  // float16 comes as float32
#endif
