// Included once, inside the namespace of strings.cu, behind it: from a case to a launch. A case's fields: a the bytes of all texts;
// b the starts of the m texts and their end, then the n texts that are looked at, their pivots, and the bytes ahead; tile 0 for
// words, else more than the bytes of any text; blocks those of the launch, of which `block` run at a time.

std::string run(const Case& c)
{
    const Header& h = c.header;
    Output bytes(h.a_bytes, h.a_skew), words(h.b_bytes, 0);
    std::memcpy(bytes.as<char>(), c.a.data(), h.a_bytes);
    std::memcpy(words.as<char>(), c.b.data(), h.b_bytes);
    const long long *const starts = words.as<long long>(), *const texts = starts + h.m + 1, *const pivots = texts + h.n,
                    *const at = pivots + h.n;
    const unsigned blocks = static_cast<unsigned>(h.blocks), together = static_cast<unsigned>(h.block);
    if (h.tile == 0) {
        Output found(h.n * sizeof(Word), 0), left(h.n, 0);
        shim::launch(blocks, STRINGS_THREADS, 0, [&] {
            text_words(bytes.as<unsigned char>(), starts, texts, at, h.n, found.as<Word>(), left.as<unsigned char>());
        }, together);
        return std::string(found.as<char>(), h.n * sizeof(Word)) + std::string(left.as<char>(), h.n);
    }
    Output codes(h.n * sizeof(long long), 0);
    shim::launch(blocks, STRINGS_THREADS, 0, [&] {
        compare_with_pivots(bytes.as<unsigned char>(), starts, texts, pivots, at, h.n, h.tile, codes.as<long long>());
    }, together);
    return std::string(codes.as<char>(), h.n * sizeof(long long));
}
