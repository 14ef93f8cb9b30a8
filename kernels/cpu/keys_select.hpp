// The items ahead of a bound, or equal to it, in a run of any order.
//
// Included by keys.cpp in its namespace.

// Whether an item is selected, by the bits of Selects. The image of the bound is known.
template <int SELECTS>
bool is_selected(Image item, Image bound)
{
    if (SELECTS == (SELECT_LESS | SELECT_EQUAL)) return item <= bound;
    return SELECTS == SELECT_LESS ? item < bound : item == bound;
}

// See KeyFunctions.select. Most stretches hold no selected item, and a loop without an exit compiles to vector compares.
template <int SELECTS>
int64_t select_by(const Item* items, int64_t first, int64_t last, Item bound, int64_t* indices, int64_t room)
{
    constexpr int64_t STRETCH = 256;
    const Image edge = image(bound);
    int64_t found = 0;
    for (int64_t low = first; low < last; low += STRETCH) {
        const long long high = smaller(static_cast<long long>(low + STRETCH), static_cast<long long>(last));
        Bits any = 0;
        for (int64_t i = low; i < high; ++i) any |= is_selected<SELECTS>(image(items[i]), edge);
        if (any == 0) continue;
        if (room - found >= STRETCH) {  // each index is written, even if the next one overwrites it
            for (int64_t i = low; i < high; ++i) {
                indices[found] = i;
                found += is_selected<SELECTS>(image(items[i]), edge);
            }
            continue;
        }
        for (int64_t i = low; i < high; ++i) {
            if (!is_selected<SELECTS>(image(items[i]), edge)) continue;
            if (found < room) indices[found] = i;
            ++found;
        }
    }
    return found;
}

int64_t select(
    const Byte* bytes, int64_t first, int64_t last, const Byte* bound, int64_t selects, int64_t* indices, int64_t room)
{
    Item edge;
    std::memcpy(&edge, bound, sizeof edge);
    const Item* const items = items_at(bytes);
    switch (selects) {
    case SELECT_LESS: return select_by<SELECT_LESS>(items, first, last, edge, indices, room);
    case SELECT_EQUAL: return select_by<SELECT_EQUAL>(items, first, last, edge, indices, room);
    default: return select_by<SELECT_LESS | SELECT_EQUAL>(items, first, last, edge, indices, room);
    }
}
