// Included once for each variant of walk.cu, inside its namespace, behind its kernels: from a case to launches. A case's
// fields: a and m, b and n the runs; tile the room of the output; block the blocks that run at a time.

std::string run(const Case& c)
{
    const Header& h = c.header;
    const std::size_t size = sizeof(Item);
    const long long tiles = ceil_div(h.m + h.n, TILE), edges = tiles + 1;
    Buffer a(h.a_bytes, h.a_skew * size), b(h.b_bytes, h.b_skew * size);
    std::memcpy(a.as<char>(), c.a.data(), h.a_bytes);
    std::memcpy(b.as<char>(), c.b.data(), h.b_bytes);
    std::vector<long long> cuts(edges * RUNS, -1);
    shim::launch(ceil_div(edges, STRETCH), PARTITION_SIZE, 0, [&] {
        using Cut = cutting::Item;
        const cutting::Runs runs{{a.as<Cut>(), b.as<Cut>()}, {h.m, h.n}};
        cutting::partition(runs, cuts.data(), edges, STRETCH, TILE, nullptr, nullptr);
    });
    std::vector<Said> said(1 + tiles + GROUP_WORDS * ceil_div(tiles, WARP), 0);
    long long count = -1;
    Output out(h.tile * size, h.out_skew * size);
    const Runs runs{{a.as<Item>(), b.as<Item>()}, {h.m, h.n}};
    shim::launch(tiles, BLOCK_SIZE, STAGED_BYTES, [&] {
        walk(runs, out.as<Item>(), h.tile, cuts.data(), said.data(), said.data() + 1, &count, nullptr, nullptr);
    }, static_cast<unsigned>(h.block));
    if (!out.nothing_ahead()) return "bytes ahead were written";
    if (count < 0 || count > h.tile) return "a count that is none";
    if (h.loose) return made_up(out.as<char>(), count, c.a + c.b, size);
    return std::string(out.as<char>(), count * size);
}
