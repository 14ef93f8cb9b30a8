// Included once for each variant of the sort by digits, inside its namespace, behind its kernels: from a case to launches.
// A case's fields: m the items; n where they lie (see make_plan); blocks those of a launch, of which `block` run at a time;
// b the values of PAIRS; tile 1 if the values are the places of the keys; strict 1 if all bytes of the input become 255 behind
// the count, so that only accesses outside of the arrays are looked for.

std::string run(const Case& c)
{
    const Header& h = c.header;
    const long long count = h.m, tiles = ceil_div(count, TILE);
    const unsigned blocks = static_cast<unsigned>(h.blocks), together = static_cast<unsigned>(h.block);
    Buffer given(h.a_bytes, h.a_skew * sizeof(Given));
    std::memcpy(given.as<char>(), c.a.data(), h.a_bytes);
    Buffer first(count * sizeof(Item), h.out_skew * sizeof(Item)), second(count * sizeof(Item), h.b_skew * sizeof(Item));
    const Given* input = given.as<Given>();
#if !PAIRS
    if (h.n != 0) {
        std::memcpy((h.n == 1 ? first : second).as<char>(), c.a.data(), h.a_bytes);
        input = (h.n == 1 ? first : second).as<Given>();
    }
#endif
    Plan plan{};
    // Words that nobody wrote look like what tiles say, in three ways.
    const Descriptor garbage[] = {static_cast<Descriptor>(-1), OWN | 1, SUM | 5};
    std::vector<Descriptor> descriptors((PASSES > 1 ? 2 : 1) * tiles * DIGITS, garbage[h.out_skew % 3]);
    shim::launch(blocks, BLOCK_SIZE, counting::COUNTING_BYTES, [&] {
        counting::count_digits((const counting::Given*)input, count, h.n, (counting::Plan*)&plan, descriptors.data(), tiles * DIGITS);
    }, together);
    if (h.strict) std::memset(h.n == 2 ? second.as<char>() : h.n == 1 ? first.as<char>() : given.as<char>(), 255, h.a_bytes);
#if PAIRS
    const long long value_bytes = h.tile ? sizeof(long long) : VALUE_WORDS * sizeof(unsigned);
    Buffer values(h.b_bytes, 0), keys_out(h.a_bytes, h.out_skew * sizeof(Given)), values_out(count * value_bytes, 0);
    std::memcpy(values.as<char>(), c.b.data(), h.b_bytes);
    const Ends ends{h.tile ? nullptr : values.as<unsigned>(), keys_out.as<Given>(), values_out.as<unsigned>()};
#endif
    for (int pass = 0; pass < PASSES; ++pass)
        shim::launch(blocks, BLOCK_SIZE, STAGED_BYTES, [&] {
            sort_radix(input, first.as<Item>(), second.as<Item>(), count, pass, &plan, descriptors.data()
#if PAIRS
                , ends
#endif
            );
        }, together);
    if (!h.strict && h.n == 0 && std::memcmp(given.as<char>(), c.a.data(), h.a_bytes) != 0) return "the input was changed";
#if PAIRS
    if (!keys_out.nothing_around(h.a_bytes) || !values_out.nothing_around(count * value_bytes)) return "bytes around were written";
    if (h.strict) return "";
    return std::string(keys_out.as<char>(), h.a_bytes) + std::string(values_out.as<char>(), count * value_bytes);
#else
    if (!first.nothing_around(h.a_bytes) || !second.nothing_around(h.a_bytes)) return "bytes around were written";
    if (h.strict) return "";
    return std::string(first.as<char>(), h.a_bytes);
#endif
}
