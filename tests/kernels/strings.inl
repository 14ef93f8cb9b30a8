// Included once, inside the namespace of strings.cu, behind it: from a case to a launch. A case's fields: a the bytes of all texts;
// b the starts of the m texts and their end, then the n texts that are looked at, their groups, and the bytes ahead; tile 0 for
// words, else the number of groups; blocks those of the launch, of which `block` run at a time.

std::string run(const Case& c)
{
    const Header& h = c.header;
    Output bytes(h.a_bytes, h.a_skew), words(h.b_bytes, 0);
    std::memcpy(bytes.as<char>(), c.a.data(), h.a_bytes);
    std::memcpy(words.as<char>(), c.b.data(), h.b_bytes);
    const long long *const starts = words.as<long long>(), *const texts = starts + h.m + 1, *const groups = texts + h.n,
                    *const at = groups + h.n;
    const unsigned blocks = static_cast<unsigned>(h.blocks), together = static_cast<unsigned>(h.block);
    if (h.tile == 0) {
        Output found(h.n * sizeof(Word), 0), left(h.n, 0);
        shim::launch(blocks, STRINGS_THREADS, 0, [&] {
            text_words(bytes.as<unsigned char>(), starts, texts, at, h.n, found.as<Word>(), left.as<unsigned char>());
        }, together);
        return std::string(found.as<char>(), h.n * sizeof(Word)) + std::string(left.as<char>(), h.n);
    }
    Output least(h.tile * sizeof(Word), 0);
    std::fill_n(least.as<Word>(), h.tile, ~Word(0));
    shim::launch(blocks, STRINGS_THREADS, 0, [&] {
        shared_prefixes(bytes.as<unsigned char>(), starts, texts, groups, at, h.n, least.as<Word>());
    }, together);
    return std::string(least.as<char>(), h.tile * sizeof(Word));
}
