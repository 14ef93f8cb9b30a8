// Included once for each variant of ranks.cu, inside its namespace, behind it: from a case to a launch. A case's fields: a the
// run, b the items; m and n their numbers; tile 1 if equals count, too; items what the ranks hold before the launch, -1 for the
// first run.

std::string run(const Case& c)
{
    const Header& h = c.header;
    Output run(h.a_bytes, h.a_skew * sizeof(Item)), items(h.b_bytes, 0), out(h.n * sizeof(long long), 0);
    std::memcpy(run.as<char>(), c.a.data(), h.a_bytes);
    std::memcpy(items.as<char>(), c.b.data(), h.b_bytes);
    std::fill_n(out.as<long long>(), h.n, h.items);
    const unsigned blocks = static_cast<unsigned>(h.blocks), together = static_cast<unsigned>(h.block);
    shim::launch(blocks, RANKING_THREADS, 0, [&] {
        rank_items(run.as<Item>(), h.m, items.as<Item>(), h.n, h.tile, h.items < 0, out.as<long long>());
    }, together);
    return std::string(out.as<char>(), h.n * sizeof(long long));
}
