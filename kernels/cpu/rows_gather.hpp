// Brings the items of rows together, in the order of the rows.
#pragma once

#if RECORD_SIZE
inline long long start_of_row(const Lines& records, long long record) { return record * records.record; }
inline long long bytes_of_row(const Lines& records, long long) { return records.record; }
#else
inline long long start_of_row(const Lines&, long long place) { return Lines::start_of(place); }
inline long long bytes_of_row(const Lines& lines, long long place) { return lines.length_of(place); }
#endif

constexpr int AHEAD = 16;         // text is fetched so many rows ahead, because the text of sorted rows lies anywhere
constexpr long long LONG = 1024;  // from this many bytes on, the library's memcpy is faster

inline long long bytes_of_rows(const Lines& lines, const Item* rows, long long count)
{
    long long bytes = 0;
    for (long long at = 0; at < count; ++at) bytes += bytes_of_row(lines, rows[at].line);
    return bytes;
}

template <int BYTES>
__attribute__((always_inline)) inline void copy(unsigned char* out, const unsigned char* from)
{
    __builtin_memcpy(out, from, BYTES);
}

// Copies the items of the rows to out, which they fill up to `stop`. A copy may write up to 63 bytes beyond the end of its
// item; the next item overwrites them. Nothing is written at `stop` or behind it.
inline void copy_rows(const Lines& lines, const Item* rows, long long count, unsigned char* out, unsigned char* stop)
{
    static_assert(PADDING >= 64);
    for (long long at = 0; at < count; ++at) {
        if (at + AHEAD < count) {
            const unsigned char* const ahead = lines.text + start_of_row(lines, rows[at + AHEAD].line);
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + 64);
        }
        const unsigned char* const from = lines.text + start_of_row(lines, rows[at].line);
        const long long bytes = bytes_of_row(lines, rows[at].line);
        if (stop - out < bytes + 64 || bytes > LONG) {
            __builtin_memcpy(out, from, static_cast<size_t>(bytes));
        } else if (bytes <= 32) {
            copy<32>(out, from);
        } else {
            copy<64>(out, from);
            for (long long done = 64; done < bytes; done += 64) copy<64>(out + done, from + done);
        }
        out += bytes;
    }
}

// Copies `nbytes` bytes of the rows' items to exactly out[0 .. nbytes). The first `skip` bytes of the first item are left
// out.
inline void copy_stretch(const Lines& lines, const Item* rows, long long skip, long long nbytes, unsigned char* out)
{
    unsigned char* const stop = out + nbytes;
    while (nbytes > 0 && skip >= bytes_of_row(lines, rows->line)) skip -= bytes_of_row(lines, rows++->line);
    if (nbytes > 0 && skip > 0) {
        const long long bytes = smaller(bytes_of_row(lines, rows->line) - skip, nbytes);
        __builtin_memcpy(out, lines.text + start_of_row(lines, rows->line) + skip, static_cast<size_t>(bytes));
        out += bytes;
        ++rows;
    }
    long long count = 0, whole = 0;
    for (; out + whole < stop; ++count) {
        const long long bytes = bytes_of_row(lines, rows[count].line);
        if (bytes > stop - out - whole) break;
        whole += bytes;
    }
    copy_rows(lines, rows, count, out, out + whole);
    out += whole;
    if (out < stop) __builtin_memcpy(out, lines.text + start_of_row(lines, rows[count].line), static_cast<size_t>(stop - out));
}
