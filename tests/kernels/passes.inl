// Included once, inside the namespace of the kernels that merge groups: from recorded steps to launches. A case's fields: a,
// the memory of the runs, of m bytes, and behind it the text of rows; n, the bytes of the output; a_skew and out_skew, their
// bytes behind a vector's boundary; b, words: the number of other memories, their bytes, and then for each step its kernel,
// its blocks, the number of its arguments, and these.
//
// An address in an argument is a memory's number, counted from 1, in the bits from REGION_BITS on, and a byte of it below.

enum Kernel { WRITE_WORDS, PARTITION, MERGE_PATH };
constexpr int REGION_BITS = 44;

std::string run(const Case& c)
{
    const Header& h = c.header;
    std::vector<long long> told(h.b_bytes / sizeof(long long));
    std::memcpy(told.data(), c.b.data(), h.b_bytes);
    Buffer runs(h.m, h.a_skew), text(h.a_bytes - h.m, 0);
    std::memcpy(runs.as<char>(), c.a.data(), h.m);
    std::memcpy(text.as<char>(), c.a.data() + h.m, h.a_bytes - h.m);
    Buffer out(h.n, h.out_skew);  // passes read it by whole vectors, too
    std::vector<Output> others;
    std::vector<unsigned char*> memories = {
        runs.as<unsigned char>(), out.as<unsigned char>(), text.as<unsigned char>()};
    const long long* at = told.data() + 1;
    for (long long other = 0; other < told[0]; ++other, ++at) {
        others.emplace_back(*at, 0);
        memories.push_back(others.back().as<unsigned char>());
    }
    const auto placed = [&](long long word) {
        const long long region = word >> REGION_BITS;
        if (region < 1 || region > static_cast<long long>(memories.size())) return word;
        return reinterpret_cast<long long>(memories[region - 1] + (word & ((1ll << REGION_BITS) - 1)));
    };
    while (at < told.data() + told.size()) {
        const long long kernel = at[0];
        const unsigned blocks = static_cast<unsigned>(at[1]);
        std::vector<long long> words(at + 3, at + 3 + at[2]);
        at += 3 + at[2];
        for (long long& word : words) word = placed(word);
        const auto pointer = [&](int word) { return reinterpret_cast<long long*>(words[word]); };
        const unsigned char* const lines = reinterpret_cast<const unsigned char*>(words[words.size() - 2]);
        if (kernel == WRITE_WORDS) {
            writing::Words all;
            std::memcpy(&all, words.data(), sizeof(all));
            const long long* const rest = words.data() + writing::WRITTEN_WORDS;
            shim::launch(blocks, writing::WRITTEN_WORDS, 0, [&] {
                writing::write_words(all, rest[0], reinterpret_cast<long long*>(rest[1]));
            });
        } else if (kernel == PARTITION) {
            const parts::Source source{reinterpret_cast<const parts::Group*>(words[0]), pointer(1), words[2]};
            shim::launch(blocks, PARTITION_SIZE, 0, [&] {
                parts::partition(source, pointer(3), words[4], words[5], words[6], lines, nullptr);
            });
        } else {
            const path::Source source{reinterpret_cast<const path::Group*>(words[0]), pointer(1), words[2]};
            shim::launch(blocks, BLOCK_SIZE, path::STAGED_BYTES, [&] {
                path::merge_path(source, reinterpret_cast<path::Item*>(words[3]), pointer(4), words[5], lines, nullptr);
            });
        }
    }
    if (!out.nothing_around(h.n)) return "bytes around the output were written";
    if (std::memcmp(runs.as<char>(), c.a.data(), h.m) != 0) return "runs were written";
    if (h.loose) return made_up(out.as<char>(), h.n / sizeof(path::Item), c.expected, sizeof(path::Item)) + c.expected;
    return std::string(out.as<char>(), h.n);
}
