// Included once for each variant of groups.cu, inside its namespace, behind it: from a case to a launch. A case's fields: a the m
// items; n the room for groups; blocks those of the launch, of which `block` run at a time. The output: the indices of the first
// items of all groups that find room, these items, and their number.

std::string run(const Case& c)
{
    const Header& h = c.header;
    Output given(h.a_bytes, h.a_skew * sizeof(Item)), firsts(h.n * sizeof(long long), 0), keys(h.n * sizeof(Item), 0);
    std::memcpy(given.as<char>(), c.a.data(), h.a_bytes);
    const long long tiles = ceil_div(h.m, TILE);
    std::vector<Descriptor> descriptors(1 + tiles + GROUP_WORDS * ceil_div(tiles, WARP), 0);
    long long groups = -1;
    shim::launch(static_cast<unsigned>(h.blocks), BLOCK_SIZE, GROUPING_BYTES, [&] {
        find_groups(given.as<Item>(), h.m, firsts.as<long long>(), keys.as<Item>(), h.n, descriptors.data(),
            descriptors.data() + 1, &groups);
    }, static_cast<unsigned>(h.block));
    if (groups < 0 || groups > h.n) return "a number of groups that cannot be";
    return std::string(firsts.as<char>(), groups * sizeof(long long)) + std::string(keys.as<char>(), groups * sizeof(Item)) +
        std::string(reinterpret_cast<char*>(&groups), sizeof groups);
}
