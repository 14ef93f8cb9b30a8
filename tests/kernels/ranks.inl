// Included once for each variant of ranks.cu, inside its namespace, behind it: from a case to a launch. A case's fields: a the
// run, b the items; m and n their numbers; tile 1 if equals count, too; items what the ranks hold before the launch, -1 for the
// first run; b_skew the items that a thread of rank_ordered_items searches for, 0 for rank_items alone.

std::string run(const Case& c)
{
    const Header& h = c.header;
    Buffer run(h.a_bytes, h.a_skew * sizeof(Item));
    Output items(h.b_bytes, 0), out(h.n * sizeof(long long), 0);
    std::memcpy(run.as<char>(), c.a.data(), h.a_bytes);
    std::memcpy(items.as<char>(), c.b.data(), h.b_bytes);
    std::fill_n(out.as<long long>(), h.n, h.items);
    const unsigned blocks = static_cast<unsigned>(h.blocks), together = static_cast<unsigned>(h.block);
    const long long tile = h.b_skew * RANKING_THREADS, tiles = tile == 0 ? h.n : (h.n + tile - 1) / tile;
    Output edges(tiles * sizeof(long long), 0);
    shim::launch(blocks, RANKING_THREADS, 0, [&] {
        if (tile == 0) rank_items(run.as<Item>(), h.m, items.as<Item>(), 1, h.n, h.tile, h.items < 0, out.as<long long>());
        else rank_items(run.as<Item>(), h.m, items.as<Item>(), tile, tiles, h.tile, 1, edges.as<long long>());
    }, together);
    if (tile == 0) return std::string(out.as<char>(), h.n * sizeof(long long));
    const auto ordered = [&](long long* disorder) {
        shim::launch(static_cast<unsigned>(tiles), RANKING_THREADS, 0, [&] {
            rank_ordered_items(run.as<Item>(), h.m, items.as<Item>(), h.n, h.tile, h.items < 0, out.as<long long>(),
                edges.as<long long>(), h.b_skew, disorder);
        });
    };
    long long disorder = 0, falls = 0;
    for (long long at = 1; at < h.n; ++at) falls |= before(items.as<Item>()[at], items.as<Item>()[at - 1], Lines{});
    if (falls) ordered(&disorder);
    if (disorder != falls) return "its disorder";
    std::fill_n(out.as<long long>(), h.n, h.items);
    ordered(falls ? nullptr : &disorder);
    if (disorder != falls) return "a disorder";
    return std::string(out.as<char>(), h.n * sizeof(long long));
}
