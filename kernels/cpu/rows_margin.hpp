// Lines that go out with text beside them: the number of their equals, or the column of a comparison. The prefix of a row
// that goes out holds what the margin needs: a number, or the case of sets.cuh in which the row went out.
#pragma once

struct Beside {
    const Margin& margin;
    const Lines& lines;

    bool counts() const { return margin.kind == COUNT_AHEAD || margin.kind == COUNT_AFTER; }

    // Calls part(text, bytes) for each stretch of the row, in turn.
    template <typename Part>
    void each(const Item& row, Part part) const
    {
        const unsigned char* const line = lines.text + start_of_row(lines, row.line);
        const long long bytes = bytes_of_row(lines, row.line);
        if (margin.kind == COLUMNS) {
            const int64_t lengths[] = {margin.equal, margin.only_a, margin.only_b};
            const unsigned char* text = margin.text;
            for (uint64_t at = 0; at < row.prefix; ++at) text += lengths[at] > 0 ? lengths[at] : 0;
            if (lengths[row.prefix] < 0) return;
            part(text, lengths[row.prefix]);
            return part(line, bytes);
        }
        unsigned char room[24];
        unsigned char* const end = room + sizeof room;
        unsigned char* start = end;
        const bool ahead = margin.kind == COUNT_AHEAD;
        if (ahead) *--start = ' ';
        for (uint64_t left = row.prefix; start == end - ahead || left > 0; left /= 10)
            *--start = static_cast<unsigned char>('0' + left % 10);
        while (ahead && end - start < 8) *--start = ' ';
        if (!ahead) {
            *--start = '\t';
            part(line, bytes - 1);
        }
        part(start, end - start);
        part(ahead ? line : line + bytes - 1, ahead ? bytes : 1);
    }

    long long bytes_of(const Item* rows, long long count) const
    {
        long long total = 0;
        for (long long at = 0; at < count; ++at)
            each(rows[at], [&](const unsigned char*, long long bytes) { total += bytes; });
        return total;
    }

    // Copies `nbytes` bytes of the rows to out. The first `skip` bytes of them are left out.
    void copy(const Item* row, long long skip, long long nbytes, unsigned char* out) const
    {
        for (; nbytes > 0; ++row)
            each(*row, [&](const unsigned char* text, long long bytes) {
                const long long left_out = smaller(skip, bytes), taken = smaller(bytes - left_out, nbytes);
                if (taken > 0) __builtin_memcpy(out, text + left_out, static_cast<size_t>(taken));
                skip -= left_out;
                out += taken;
                nbytes -= taken;
            });
    }
};

// Moves the first of equal neighbours to out, which may be the rows themselves, each with the number of its equals as its
// prefix. Returns how many there are.
inline long long count_equals(const Item* rows, long long count, Item* out, const Lines& lines)
{
    long long kept = 0;
    for (long long at = 0; at < count;) {
        const Item first = rows[at];
        long long behind = at + 1;
        while (behind < count && !before(first, rows[behind], lines)) ++behind;
        out[kept] = first;
        out[kept++].prefix = static_cast<Word>(behind - at);
        at = behind;
    }
    return kept;
}
