// Included once for each variant of select.cu, inside its namespace, behind it: from a case to a launch. A case's fields: a the
// items, b the bound; m the number of items; tile what is selected, and 0 for a sample; n the room for indices, or the size of the
// sample; items the number of the first item; loose 1 if more items are selected than there is room for.

std::string run(const Case& c)
{
    const Header& h = c.header;
    // Vectors that reach behind either end must not be read.
    Output given(h.a_bytes, h.a_skew * sizeof(Item)), bound(h.b_bytes, 0);
    std::memcpy(given.as<char>(), c.a.data(), h.a_bytes);
    std::memcpy(bound.as<char>(), c.b.data(), h.b_bytes);
    const unsigned blocks = static_cast<unsigned>(h.blocks), together = static_cast<unsigned>(h.block);
    if (h.tile == 0) {
        Output out(h.n * sizeof(Item), 0);
        shim::launch(blocks, BLOCK_SIZE, 0, [&] { sample_items(given.as<Item>(), h.m, out.as<Item>(), h.n); }, together);
        return std::string(out.as<char>(), h.n * sizeof(Item));
    }
    Output out(h.n * sizeof(long long), 0);
    unsigned long long found = 0;
    shim::launch(blocks, BLOCK_SIZE, 0, [&] {
        select_items(given.as<Item>(), h.m, h.items, bound.as<Item>(), h.tile, out.as<long long>(), h.n, &found);
    }, together);
    std::vector<long long> indices(out.as<long long>(), out.as<long long>() + std::min<long long>(found, h.n));
    std::sort(indices.begin(), indices.end());
    indices.push_back(static_cast<long long>(found));
    if (!h.loose) return std::string(reinterpret_cast<char*>(indices.data()), indices.size() * sizeof(long long));
    // The expected output has all indices. Any of them may have found room.
    std::set<long long> all;
    for (std::size_t at = 0; at + sizeof(long long) < c.expected.size(); at += sizeof(long long)) {
        long long index;
        std::memcpy(&index, c.expected.data() + at, sizeof index);
        all.insert(index);
    }
    for (std::size_t at = 0; at + 1 < indices.size(); ++at)
        if (all.erase(indices[at]) == 0) return "an index that was not wanted, or twice";
    return static_cast<long long>(found) > h.n ? c.expected : "too few were counted";
}
