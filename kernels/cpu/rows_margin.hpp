// Lines that go out with text beside them: the number of their equals, the column of a comparison, or the name of their run.
// The prefix of a row that goes out holds a number, or the case of sets.cuh in which the row went out. The name is directly
// ahead of the line, between it and any other text.
#pragma once

#include "../field_separator.cuh"
#include "../places.cuh"

class Beside {
public:
    static constexpr long long SHORT = 32;  // bytes of a text that is copied at once

    // The text beside a row. SHORT bytes of it are readable if it is no longer.
    struct MarginText {
        const unsigned char* text;
        long long bytes;
        bool ahead, out;  // whether it stands ahead of the line; whether the row goes out
    };

    struct Name {
        const unsigned char* text;
        long long bytes;
    };

    // starts: the bytes at which runs begin, and the end of the last one.
    Beside(const Margin& margin, const Lines& lines, const std::vector<int64_t>& starts)
        : margin(margin), lines(lines), starts(starts)
    {
        if (margin.kind != COLUMNS) return;
        const int64_t lengths[] = {margin.equal, margin.only_a, margin.only_b};
        const unsigned char* text = margin.text;
        for (int column = 0; column < COLUMN_COUNT; text += lengths[column] > 0 ? lengths[column] : 0, ++column) {
            const int64_t bytes = lengths[column];
            unsigned char* const room = column_rooms_[column];
            for (int64_t at = 0; at < bytes && bytes <= SHORT; ++at) room[at] = text[at];
            columns_[column] = {bytes > SHORT ? text : room, bytes > 0 ? bytes : 0, true, bytes >= 0};
        }
    }
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;

    bool counts() const { return margin.kind >= COUNT_AHEAD && margin.kind <= COUNT_APART; }
    bool has_text() const { return has_margin() || margin.runs > 0; }

    // A row's text. It lies in the room, or lasts as long as this object and the margin.
    MarginText text_of(const Item& row, unsigned char (&room)[SHORT]) const
    {
        if (!has_margin()) return {room, 0, true, true};
        if (margin.kind == COLUMNS) return columns_[row.prefix];
        const bool ahead = margin.kind == COUNT_AHEAD;
        int digits = 1;
        for (uint64_t left = row.prefix / 10; left > 0; left /= 10) ++digits;
        const int width = ahead && digits < 7 && !margin.separator ? 7 : digits, between = width_of(margin.separator);
        const int first = ahead ? 0 : between;
        for (int at = 0; at < width - digits; ++at) room[at] = ' ';
        uint64_t left = row.prefix;
        int at;
        for (at = first + width; at > first + width - digits; left /= 10)
            room[--at] = static_cast<unsigned char>('0' + left % 10);
        at = ahead ? width : 0;
        room[at] = static_cast<unsigned char>(margin.separator ? margin.separator : ahead ? ' ' : '\t');
        for (long long rest = rest_of(margin.separator); rest != 0; rest >>= 8) room[++at] = static_cast<unsigned char>(rest);
        return {room, width + between, ahead, true};
    }

    long long bytes_of(const Item* rows, long long count) const
    {
        unsigned char room[SHORT];
        long long total = 0;
        if (!has_margin()) {
            for (long long at = 0; at < count; ++at) total += name_of(rows[at]).bytes;
            return total + bytes_of_rows(lines, rows, count);
        }
        for (long long at = 0; at < count; ++at) {
            const MarginText text = text_of(rows[at], room);
            total += text.out ? text.bytes + name_of(rows[at]).bytes + bytes_of_row(lines, rows[at].line) : 0;
        }
        return total;
    }

    // Copies the rows to out, which they fill up to `stop`. As copy_rows, it may write ahead of where it is, but not behind
    // `stop`.
    void copy_all(const Item* rows, long long count, unsigned char* out, unsigned char* stop) const
    {
        if (!has_margin()) return copy_named(rows, count, out, stop);
        unsigned char room[SHORT];
        for (long long at = 0; at < count; ++at) {
            if (at + AHEAD < count) __builtin_prefetch(lines.text + start_of_row(lines, rows[at + AHEAD].line));
            const MarginText text = text_of(rows[at], room);
            if (!text.out) continue;
            const unsigned char* const line = lines.text + start_of_row(lines, rows[at].line);
            const Name name = name_of(rows[at]);
            const long long bytes = bytes_of_row(lines, rows[at].line), whole = text.bytes + name.bytes + bytes;
            if (stop - out < whole + 96 || text.bytes > SHORT || bytes > LONG) {
                copy(rows + at, 0, whole, out);
            } else if (text.ahead) {
                ::copy<SHORT>(out, text.text);
                copy_line(out + text.bytes, name.text, name.bytes);
                copy_line(out + text.bytes + name.bytes, line, bytes);
            } else {
                const long long tail = tail_of(line, bytes);
                copy_line(out, name.text, name.bytes);
                copy_line(out + name.bytes, line, bytes);
                ::copy<SHORT>(out + name.bytes + bytes - tail, text.text);
                for (long long back = tail; back > 0; --back) out[whole - back] = line[bytes - back];
            }
            out += whole;
        }
    }

    // Copies `nbytes` bytes of the rows to out. The first `skip` bytes of them are left out.
    void copy(const Item* row, long long skip, long long nbytes, unsigned char* out) const
    {
        unsigned char room[SHORT];
        const auto part = [&](const unsigned char* text, long long bytes) {
            const long long left_out = smaller(skip, bytes), taken = smaller(bytes - left_out, nbytes);
            if (taken > 0) __builtin_memcpy(out, text + left_out, static_cast<size_t>(taken));
            skip -= left_out;
            out += taken;
            nbytes -= taken;
        };
        for (; nbytes > 0; ++row) {
            const MarginText text = text_of(*row, room);
            if (!text.out) continue;
            const unsigned char* const line = lines.text + start_of_row(lines, row->line);
            const long long bytes = bytes_of_row(lines, row->line);
            const long long front = text.ahead ? 0 : bytes - tail_of(line, bytes);
            const Name name = name_of(*row);
            if (text.ahead) part(text.text, text.bytes);
            part(name.text, name.bytes);
            part(line, front);
            if (!text.ahead) part(text.text, text.bytes);
            part(line + front, bytes - front);
        }
    }

private:
    static constexpr int64_t FEW_RUNS = 8;
    static constexpr unsigned char NOTHING[64] = {};  // may be read, as any text that is copied

    bool has_margin() const { return margin.kind != NO_MARGIN && margin.kind < COUNT_APART; }

    // The name of the run that a row comes from.
    Name name_of(const Item& row) const
    {
        if (margin.runs == 0) return {NOTHING, 0};
        const int64_t place = start_of_row(lines, row.line);
        int64_t run = 0;
        if (margin.runs <= FEW_RUNS)  // without branches, which would be mispredicted
            for (int64_t other = 1; other < margin.runs; ++other) run += place >= starts[static_cast<size_t>(other)];
        else
            run = std::upper_bound(starts.begin() + 1, starts.end() - 1, place) - starts.begin() - 1;
        const int64_t first = run > 0 ? margin.name_ends[run - 1] : 0;
        return {margin.names + first, margin.name_ends[run] - first};
    }

    // As copy_all, where nothing but names goes out beside lines.
    void copy_named(const Item* rows, long long count, unsigned char* out, unsigned char* stop) const
    {
        for (long long at = 0; at < count; ++at) {
            if (at + AHEAD < count) {
                const unsigned char* const ahead = lines.text + start_of_row(lines, rows[at + AHEAD].line);
                __builtin_prefetch(ahead);
                __builtin_prefetch(ahead + 64);
            }
            const Name name = name_of(rows[at]);
            const long long bytes = bytes_of_row(lines, rows[at].line), whole = name.bytes + bytes;
            if (stop - out < whole + 64 || bytes > LONG) {
                copy(rows + at, 0, whole, out);
            } else {
                copy_line(out, name.text, name.bytes);
                copy_line(out + name.bytes, lines.text + start_of_row(lines, rows[at].line), bytes);
            }
            out += whole;
        }
    }

    // The bytes of a line's end, behind a text at the end.
    long long tail_of(const unsigned char* line, long long bytes) const
    {
        return margin.separator && bytes > 1 && line[bytes - 2] == '\r' ? 2 : 1;
    }

    // May write up to 63 bytes beyond the end.
    static void copy_line(unsigned char* out, const unsigned char* line, long long bytes)
    {
        if (bytes <= 32) return ::copy<32>(out, line);
        for (long long done = 0; done < bytes; done += 64) ::copy<64>(out + done, line + done);
    }

    static constexpr int COLUMN_COUNT = 3;
    const Margin& margin;
    const Lines& lines;
    const std::vector<int64_t>& starts;
    MarginText columns_[COLUMN_COUNT];  // by the case in which a row goes out
    unsigned char column_rooms_[COLUMN_COUNT][SHORT] = {};
};

// Moves one of equal neighbours to out, which may be the rows themselves, each with the number of its equals as its prefix: the
// first one, or as `equals` says. Returns how many there are.
inline long long count_equals(const Item* rows, long long count, Item* out, Equals equals, const Lines& lines)
{
    long long kept = 0;
    for (long long at = 0; at < count;) {
        const Item first = rows[at];
        long long behind = at + 1;
        while (behind < count && !before(first, rows[behind], lines)) ++behind;
        out[kept] = by_last(equals) ? rows[behind - 1] : first;
        out[kept].prefix = static_cast<Word>(behind - at);
        kept += group_stays(equals, behind - at);
        at = behind;
    }
    return kept;
}
