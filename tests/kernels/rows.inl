// Included inside the namespace of a variant whose items are rows, behind its kernels in the namespaces `rows` and, for lines,
// `text`: rows are found in a text, and gathered.

struct Rows {
    long long count;
    std::vector<long long> memory;  // of lines: their order, then their starts; records have none
    std::size_t ahead;

    const long long* starts() const { return memory.empty() ? nullptr : memory.data() + ahead; }
};

#if RECORD_SIZE

using TextBuffer = Buffer;

static Rows find_rows(const std::string&, const unsigned char*, long long nbytes)
{
    return {nbytes / RECORD_SIZE, {}, 0};
}

static long long rows_in(const Rows&, long long nbytes) { return nbytes / RECORD_SIZE; }

static long long bytes_of_rows(const Rows&, const rows::Item*, long long count) { return count * RECORD_SIZE; }

static void gather(
    const unsigned char* text, const Rows&, const rows::Item* merged, long long count, unsigned char* out, long long nbytes)
{
    const unsigned threads = 3;
    shim::launch(ceil_div(nbytes + 3, threads * rows::BYTES_PER_THREAD), threads, 0,
        [&] { rows::gather_records(text, merged, count, out); });
}

#else

// Lines are read byte by byte, so nothing behind them may be.
using TextBuffer = Output;

// Each number becomes the sum of all up to it.
static void sum_up(std::vector<long long>& numbers)
{
    const unsigned threads = 3;
    const long long count = numbers.size();
    const unsigned blocks = ceil_div(count, threads * SUMMED_PER_THREAD);
    const std::size_t shared = threads * sizeof(long long);
    std::vector<long long> sums(blocks);
    if (blocks > 1) {
        shim::launch(blocks, threads, shared, [&] { text::add_up(numbers.data(), count, sums.data()); });
        sum_up(sums);
    }
    shim::launch(blocks, threads, shared, [&] { text::running_sums(numbers.data(), count, sums.data()); });
}

static Rows find_rows(const std::string& order, const unsigned char* text, long long nbytes)
{
    using namespace text;
    std::vector<long long> memory(order.size() / sizeof(long long));
    std::memcpy(memory.data(), order.data(), order.size());
    const std::size_t ahead = memory.size();
    const long long terminator = reinterpret_cast<const text::LineOrder*>(memory.data())->terminator;
    const unsigned threads = 3;
    const unsigned blocks = ceil_div(nbytes, threads * BYTES_PER_THREAD);
    std::vector<long long> ends(blocks);
    shim::launch(blocks, threads, threads * sizeof(int), [&] { count_lines(text, nbytes, terminator, ends.data()); });
    sum_up(ends);
    const long long lines = blocks == 0 ? 0 : ends[blocks - 1];
    memory.resize(ahead + lines + 1);
    shim::launch(blocks, threads, threads * sizeof(int),
        [&] { find_lines(text, nbytes, terminator, ends.data(), memory.data() + ahead); });
    memory.shrink_to_fit();  // so that the bytes behind are out of bounds
    return {lines, std::move(memory), ahead};
}

// The number of the row that starts at this byte, or of the end.
static long long rows_in(const Rows& found, long long nbytes)
{
    std::vector<long long> place = {nbytes};
    shim::launch(1, 3, 0, [&] { text::number_lines(found.starts(), found.count, place.data(), 1); });
    return place[0];
}

// The bytes of `count` rows in the text.
static long long bytes_of_rows(const Rows& found, const rows::Item* rows, long long count)
{
    long long nbytes = 0;
    for (long long row = 0; row < count; ++row)
        nbytes += found.starts()[rows[row].line + 1] - found.starts()[rows[row].line];
    return nbytes;
}

static void gather(const unsigned char* text, const Rows& found, const rows::Item* merged, long long count, unsigned char* out,
    long long nbytes)
{
    using namespace text;
    const unsigned threads = 3;
    const auto items = (const text::Item*)merged;
    const long long* const starts = found.starts();
    std::vector<long long> lengths(count);
    shim::launch(ceil_div(count, 4), 4, 0, [&] { line_lengths(items, count, starts, lengths.data()); });
    sum_up(lengths);
    shim::launch(ceil_div(nbytes, threads * BYTES_PER_THREAD), threads, 0,
        [&] { gather_lines(text, starts, items, lengths.data(), count, out, nbytes); });
}

#endif
