// Included once for each variant of walk.cu, inside its namespace, behind its kernels: from a case to launches. A case's
// fields: a and m, b and n the runs; tile the room of the output; block the blocks that run at a time. For rows, a and b are
// their texts, and m and n are not used.

using walking::Item;

#if ROWS
#include "rows.inl"
#endif

// The walk through two runs, of which some items go out to a place with room for h.tile. Returns their number.
static long long walk_runs(const Header& h, const Item* a, long long m, const Item* b, long long n, Item* out,
    const unsigned char* text, const long long* starts)
{
    using namespace walking;
    const long long tiles = ceil_div(m + n, TILE), edges = tiles + 1;
    std::vector<long long> cuts(edges * RUNS, -1);
    shim::launch(ceil_div(edges, STRETCH), PARTITION_SIZE, 0, [&] {
        using Cut = cutting::Item;
        const cutting::Runs runs{{reinterpret_cast<const Cut*>(a), reinterpret_cast<const Cut*>(b)}, {m, n}};
        cutting::partition(runs, cuts.data(), edges, STRETCH, TILE, text, starts);
    });
    std::vector<Descriptor> descriptors(1 + tiles + GROUP_WORDS * ceil_div(tiles, WARP), 0);
    long long count = -1;
    const Runs runs{{a, b}, {m, n}};
    shim::launch(tiles, BLOCK_SIZE, STAGED_BYTES, [&] {
        walk(runs, out, h.tile, cuts.data(), descriptors.data(), descriptors.data() + 1, &count, text, starts);
    }, static_cast<unsigned>(h.block));
    return count;
}

#if ROWS

std::string run(const Case& c)
{
    const Header& h = c.header;
    const std::string both = c.a + c.b;
    TextBuffer text_buffer(both.size(), h.a_skew);
    unsigned char* const text = text_buffer.as<unsigned char>();
    std::memcpy(text, both.data(), both.size());
    const Rows found = find_rows(c.order, text, both.size());
    const long long* const starts = found.starts();
    Buffer made(found.count * sizeof(Item), 0);
    const Item* const items = made.as<Item>();
    shim::launch(ceil_div(found.count, 4), 4, 0,
        [&] { rows::make_rows(text, starts, found.count, made.as<rows::Item>()); });

    const long long m = rows_in(found, c.a.size());
    Output kept(h.tile * sizeof(Item), h.out_skew * sizeof(Item));
    const long long count = walk_runs(h, items, m, items + m, found.count - m, kept.as<Item>(), text, starts);
    if (!kept.nothing_ahead()) return "bytes ahead were written";
    if (count < 0 || count > h.tile) return "a count that is none";
    const std::string known(made.as<char>(), found.count * sizeof(Item));
    if (h.loose) return made_up(kept.as<char>(), count, known, sizeof(Item));
    if (count == 0) return "";
    const long long nbytes = bytes_of_rows(found, kept.as<rows::Item>(), count);
    Output out(nbytes, h.b_skew);
    gather(text, found, kept.as<rows::Item>(), count, out.as<unsigned char>(), nbytes);
    return std::string(out.as<char>(), nbytes);
}

#else

std::string run(const Case& c)
{
    const Header& h = c.header;
    const std::size_t size = sizeof(Item);
    Buffer a(h.a_bytes, h.a_skew * size), b(h.b_bytes, h.b_skew * size);
    std::memcpy(a.as<char>(), c.a.data(), h.a_bytes);
    std::memcpy(b.as<char>(), c.b.data(), h.b_bytes);
    Output out(h.tile * size, h.out_skew * size);
    const long long count = walk_runs(h, a.as<Item>(), h.m, b.as<Item>(), h.n, out.as<Item>(), nullptr, nullptr);
    if (!out.nothing_ahead()) return "bytes ahead were written";
    if (count < 0 || count > h.tile) return "a count that is none";
    if (h.loose) return made_up(out.as<char>(), count, c.a + c.b, size);
    return std::string(out.as<char>(), count * size);
}

#endif
