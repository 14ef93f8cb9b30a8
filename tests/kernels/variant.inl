// Included once for each variant, inside its namespace, behind its kernels: from a case to launches.

struct Run {
    const void* items;
    long long count;
};

template <typename Table>
static Table table_of(const std::vector<Run>& runs)
{
    Table table{};
    for (std::size_t run = 0; run < runs.size(); ++run) {
        table.items[run] = (decltype(table.items[run]))runs[run].items;
        table.counts[run] = runs[run].count;
    }
    return table;
}

static std::vector<long long> partition_of(
    const std::vector<Run>& runs, long long tile, const unsigned char* text, const long long* starts)
{
    long long total = 0;
    for (const Run& run : runs) total += run.count;
    const long long edges = ceil_div(total, tile) + 1;
    std::vector<long long> cuts(edges * RUNS, -1);
    shim::launch(ceil_div(edges, STRETCH), PARTITION_SIZE, 0, [&] {
        parts::partition(table_of<parts::Runs>(runs), cuts.data(), edges, STRETCH, tile, text, starts);
    });
    return cuts;
}

// ahead: the cuts are found before the merge, else by its blocks.
static void merge_runs(
    bool ahead, const std::vector<Run>& runs, void* out, const unsigned char* text, const long long* starts)
{
    long long total = 0;
    for (const Run& run : runs) total += run.count;
    std::vector<long long> cuts;
    if (ahead) cuts = partition_of(runs, path::TILE, text, starts);
    const unsigned tiles = ceil_div(total, path::TILE);
    shim::launch(tiles, BLOCK_SIZE, path::STAGED_BYTES, [&] {
        path::merge_path(table_of<path::Runs>(runs), (path::Item*)out, cuts.data(), ahead ? 1 : tiles, text, starts);
    });
}

static void merge_items(const Case& c, long long work, const void* a, long long m, const void* b, long long n, void* out,
    const unsigned char* text, const long long* starts)
{
    const Header& h = c.header;
    const long long total = m + n;
    const std::size_t size = sizeof(keys::Item);
    const unsigned threads = static_cast<unsigned>(h.block);
    const unsigned blocks = static_cast<unsigned>(h.blocks);
    const std::vector<Run> pair = {{a, m}, {b, n}};
    switch (work) {
#define MERGE(WORK, FILE, KERNEL, BLOCKS, STAGED, ...)                                            \
    case WORK:                                                                                    \
        return shim::launch(BLOCKS, threads, STAGED * size, [&] {                                 \
            FILE::KERNEL(table_of<FILE::Runs>(pair), (FILE::Item*)out, __VA_ARGS__, text, starts); \
        });
#if HAVE_LADDER
        MERGES_OF_PAIRS(MERGE)
#endif
#undef MERGE
    case VALUES:
    case PATH: {
        // Pieces of a run, one behind the other, are runs.
        const long long half = RUNS / 2;
        std::vector<Run> runs;
        for (long long piece = 0; piece < half; ++piece)
            runs.push_back({(const char*)a + m * piece / half * size, m * (piece + 1) / half - m * piece / half});
        for (long long piece = 0; piece < half; ++piece)
            runs.push_back({(const char*)b + n * piece / half * size, n * (piece + 1) / half - n * piece / half});
#if HAVE_VALUES
        if (h.work == VALUES)
            return shim::launch(ceil_div(total, h.tile), BLOCK_SIZE, 0, [&] {
                values::merge_values(table_of<values::Runs>(runs), (values::Item*)out, h.tile, text, starts);
            });
#endif
        return merge_runs(h.blocks % 2 == 0, runs, out, text, starts);
    }
    default:
        std::abort();
    }
}

#if HAVE_SORTS
// Merges every `fan_in` neighbouring runs of `length` items by the kernel that `work` names.
static void merge_level(const Case& c, long long work, const void* in, long long length, long long total, void* out,
    const unsigned char* text, const long long* starts)
{
    const Header& h = c.header;
    const std::size_t size = sizeof(keys::Item);
    const unsigned threads = static_cast<unsigned>(h.block);
    const unsigned blocks = static_cast<unsigned>(h.blocks);
    switch (work) {
    case SERIAL:
        return shim::launch(ceil_div(ceil_div(total, 2 * length), threads), threads, 0, [&] {
            using namespace level_serial;
            merge_alone(Source{(const Item*)in, length, total}, (Item*)out, text, starts);
        });
#define MERGE(WORK, FILE, KERNEL, BLOCKS, STAGED, ...)                                  \
    case WORK:                                                                          \
        return shim::launch(BLOCKS, threads, STAGED * size, [&] {                       \
            using namespace level_##FILE;                                               \
            KERNEL(Source{(const Item*)in, length, total}, (Item*)out, __VA_ARGS__, text, starts); \
        });
        MERGES_OF_PAIRS(MERGE)
#undef MERGE
    default:
        break;
    }
    const long long group = length > total / RUNS ? total : RUNS * length;
    const long long tiles = ceil_div(group, level_path::TILE), edges = tiles + 1;
    std::vector<long long> cuts;
    if (h.blocks % 2 == 0) {
        cuts.assign(ceil_div(total, group) * edges * RUNS, -1);
        shim::launch(ceil_div(total, group) * ceil_div(edges, STRETCH), PARTITION_SIZE, 0, [&] {
            using namespace level_parts;
            partition(Source{(const Item*)in, length, total}, cuts.data(), edges, STRETCH, level_path::TILE, text, starts);
        });
    }
    const unsigned all = total / group * tiles + ceil_div(total % group, level_path::TILE);
    shim::launch(all, BLOCK_SIZE, level_path::STAGED_BYTES, [&] {
        using namespace level_path;
        merge_path(Source{(const Item*)in, length, total}, (Item*)out, cuts.data(), cuts.empty() ? all : 1, text, starts);
    });
}

// Sorts tiles of h.n items, if any, then merges level by level, between `out` and a buffer of its own. False: bytes around
// one of them were written.
static bool sort_items(const Case& c, const void* in, long long count, Buffer& out, const unsigned char* text,
    const long long* starts)
{
    using sorts::Item;
    const Header& h = c.header;
    Buffer scratch(count * sizeof(Item), h.b_skew * sizeof(Item));
    const long long fan_in = h.merge == PATH ? RUNS : 2;
    long long length = h.n > 0 ? h.n : 1, levels = 0;
    for (long long runs = ceil_div(count, length); runs > 1; runs = ceil_div(runs, fan_in)) ++levels;
    const auto target = [&] { return levels % 2 == 0 ? out.as<Item>() : scratch.as<Item>(); };
    const Item* from = (const Item*)in;
    if (h.n > 0 || levels == 0) {
        shim::launch(ceil_div(count, length), BLOCK_SIZE, sorts::STAGED_BYTES,
            [&] { sorts::sort_tile(from, count, length, target(), text, starts); });
        from = target();
    }
    for (; levels > 0; length *= fan_in) {
        --levels;
        merge_level(c, h.merge, from, length, count, target(), text, starts);
        from = target();
    }
    const long long bytes = count * sizeof(Item);
    return out.nothing_around(bytes) && scratch.nothing_around(bytes);
}
#endif

#if HAVE_LADDER
static unsigned long long first_disorder(
    const void* run, long long count, long long base, long long strict, const unsigned char* text, const long long* starts)
{
    unsigned long long first = ~0ull;
    shim::launch(2, 3, 0, [&] {
        using namespace check;
        check_order((const Item*)run, count, base, strict, &first, text, starts);
    });
    return first;
}

#if !RECORD_SIZE && ROWS
static unsigned long long first_fault(long long count, const unsigned char* text, const long long* starts)
{
    unsigned long long first = ~0ull;
    shim::launch(2, 3, 0, [&] {
        using namespace check;
        check_values(text, starts, count, &first);
    });
    return first;
}
#endif

// Flags start out as 2, so that one that is not written shows.
static std::string marks(
    const void* items, long long count, long long equals, const unsigned char* text, const long long* starts)
{
    std::string keeps(count, 2);
    shim::launch(2, 3, 0, [&] {
        using namespace check;
        mark_places((const Item*)items, count, equals, (unsigned char*)keeps.data(), text, starts);
    });
    return keeps;
}
#endif

template <typename T>
static std::string bytes_of(const T* items, long long count)
{
    return std::string(reinterpret_cast<const char*>(items), count * sizeof(T));
}

// a: the runs one behind the other; b: their counts.
static std::vector<Run> runs_of(const Case& c, const char* items)
{
    std::vector<Run> runs;
    for (std::size_t at = 0; at < c.b.size(); at += sizeof(long long)) {
        long long count;
        std::memcpy(&count, c.b.data() + at, sizeof(count));
        runs.push_back({items, count});
        items += count * sizeof(keys::Item);
    }
    return runs;
}

static std::string judge_cuts(const std::vector<long long>& cuts, const std::vector<Run>& runs, long long tile)
{
    long long total = 0;
    for (const Run& run : runs) total += run.count;
    for (std::size_t edge = 0; edge < cuts.size() / RUNS; ++edge) {
        const long long* const at = cuts.data() + edge * RUNS;
        for (std::size_t run = 0; run < runs.size(); ++run)
            if (at[run] < 0 || at[run] > runs[run].count) return "a cut outside of its run";
        if (std::accumulate(at, at + RUNS, 0ll) != std::min<long long>(edge * tile, total)) return "a cut that does not add up";
    }
    return "";
}

#if ROWS

#include "rows.inl"

// For every two rows, whether the first one goes before the second: 1 if their prefixes, then their texts say so, plus 2 if
// the texts alone say so. Lines without keys take the first answer for both, because the bytes in prefixes are not read.
static std::string comparisons(const rows::Item* items, long long count, rows::Lines lines)
{
    std::string shown;
    for (long long y = 0; y < count; ++y)
        for (long long x = 0; x < count; ++x) {
            const bool before = rows::before(items[y], items[x], lines);
#if RECORD_SIZE
            const bool alone = before;
#else
            const bool alone = rows::order_of(lines).flags & rows::PLAIN ? before : rows::line_before(lines, y, x);
#endif
            shown += static_cast<char>(before + 2 * alone);
        }
    return shown;
}

// a: the rows of run A, b: of run B; lines have their terminators with them.
static std::string run_rows(const Case& c)
{
    using rows::Item;
    const Header& h = c.header;
    const std::string both = c.a + c.b;
    const long long nbytes = both.size();
    TextBuffer text_buffer(nbytes, h.a_skew);
    unsigned char* const text = text_buffer.as<unsigned char>();
    std::memcpy(text, both.data(), nbytes);

    const Rows found = find_rows(c.order, text, nbytes);
    const long long* const starts = found.starts();
    if (starts != nullptr && starts[found.count] != nbytes) return "the last line does not end the text";

    Buffer items(found.count * sizeof(Item), 0);
    Buffer merged(found.count * sizeof(Item), 0);
    shim::launch(
        ceil_div(found.count, 4), 4, 0, [&] { rows::make_rows(text, starts, found.count, items.as<Item>()); });
#if HAVE_LADDER
    if (h.work == ROWS_CHECK) {
        const unsigned long long first = first_disorder(items.as<Item>(), found.count, 0, h.strict, text, starts);
        return bytes_of(&first, 1);
    }
#if !RECORD_SIZE
    if (h.work == ROWS_VALUES) {
        const unsigned long long first = first_fault(found.count, text, starts);
        return bytes_of(&first, 1);
    }
#endif
    if (h.work == ROWS_MARK) return marks(items.as<Item>(), found.count, h.n, text, starts);
#endif
    if (h.work == ROWS_PREFIXES) {
        std::string prefixes;
        for (long long row = 0; row < found.count; ++row) prefixes += bytes_of(&items.as<Item>()[row].prefix, 1);
        return prefixes;
    }
    if (h.work == ROWS_COMPARE) return comparisons(items.as<Item>(), found.count, {text, starts});

#if HAVE_SORTS
    if (h.work == ROWS_SORT) {
        if (!sort_items(c, items.as<Item>(), found.count, merged, text, starts)) return "rows around were written";
        Output sorted(nbytes, h.out_skew);
        gather(text, found, merged.as<Item>(), found.count, sorted.as<unsigned char>(), nbytes);
        return bytes_of(sorted.as<unsigned char>(), nbytes);
    }
#endif
    const long long m = rows_in(found, c.a.size());
    merge_items(c, h.merge, items.as<Item>(), m, items.as<Item>() + m, found.count - m, merged.as<Item>(), text, starts);
    Output out(nbytes, h.out_skew);
    gather(text, found, merged.as<Item>(), found.count, out.as<unsigned char>(), nbytes);
    if (!out.nothing_ahead()) return "bytes ahead of the output were written";
    if (h.loose) return made_up(merged.as<char>(), found.count, bytes_of(items.as<Item>(), found.count), sizeof(Item));
    return bytes_of(out.as<unsigned char>(), nbytes);
}

#endif

std::string run(const Case& c)
{
    const Header& h = c.header;
#if ROWS
    return run_rows(c);
#else
    using keys::Item;
    Buffer a(h.a_bytes, h.a_skew * sizeof(Item));
    Buffer b(h.b_bytes, h.b_skew * sizeof(Item));
    std::memcpy(a.as<char>(), c.a.data(), h.a_bytes);
    std::memcpy(b.as<char>(), c.b.data(), h.b_bytes);
#if HAVE_SORTS
    if (h.work == SORT) {
        Buffer sorted(h.a_bytes, h.out_skew * sizeof(Item));
        if (!sort_items(c, a.as<Item>(), h.m, sorted, nullptr, nullptr)) return "items around were written";
        return bytes_of(sorted.as<char>(), h.a_bytes);
    }
    if (h.work == LEVEL) {
        Output out(h.a_bytes, h.out_skew * sizeof(Item));
        merge_level(c, h.merge, a.as<Item>(), h.n, h.m, out.as<Item>(), nullptr, nullptr);
        return made_up(out.as<char>(), h.m, c.a, sizeof(Item));
    }
#endif
#if HAVE_LADDER
    if (h.work == CHECK) {
        const unsigned long long first = first_disorder(a.as<Item>(), h.m, 1000, h.strict, nullptr, nullptr);
        return bytes_of(&first, 1);
    }
    if (h.work == MARK) return marks(a.as<Item>(), h.m, h.n, nullptr, nullptr);
#endif
    if (h.work == PARTITION) {
        const std::vector<long long> cuts = partition_of(runs_of(c, a.as<char>()), h.tile, nullptr, nullptr);
        if (h.loose) return judge_cuts(cuts, runs_of(c, a.as<char>()), h.tile);
        return bytes_of(cuts.data(), cuts.size());
    }
    if (h.work == RUNS_MERGED) {
        Output out(h.a_bytes, h.out_skew * sizeof(Item));
        merge_runs(h.blocks % 2 == 0, runs_of(c, a.as<char>()), out.as<Item>(), nullptr, nullptr);
        if (h.loose) return made_up(out.as<char>(), h.a_bytes / sizeof(Item), c.a, sizeof(Item));
        return bytes_of(out.as<char>(), h.a_bytes);
    }
    Output out(h.a_bytes + h.b_bytes, h.out_skew * sizeof(Item));
    merge_items(c, h.work, a.as<Item>(), h.m, b.as<Item>(), h.n, out.as<Item>(), nullptr, nullptr);
    if (h.loose) return made_up(out.as<char>(), h.m + h.n, c.a + c.b, sizeof(Item));
    return bytes_of(out.as<Item>(), h.m + h.n);
#endif
}
