// Lines that begin with counts, as uniq -c writes them, and the items that stand for them in a merge.
#include <cstring>

#include "entries.h"

namespace {

constexpr int64_t WIDTH = 7;  // of a count and the blanks ahead of it

const unsigned char* find(const unsigned char* at, const unsigned char* stop, int byte)
{
    const void* const found = std::memchr(at, byte, static_cast<size_t>(stop - at));
    return found == nullptr ? stop : static_cast<const unsigned char*>(found);
}

unsigned char* put(unsigned char* out, const unsigned char* at, const unsigned char* stop)
{
    if (at < stop) std::memcpy(out, at, static_cast<size_t>(stop - at));
    return out + (stop - at);
}

bool is_blank(unsigned char byte) { return byte == ' ' || byte == '\t'; }
bool is_figure(unsigned char byte) { return byte >= '0' && byte <= '9'; }

}  // namespace

int64_t gm_counted_items(const unsigned char* text, int64_t nbytes, int64_t end, unsigned char* out)
{
    const unsigned char *at = text, *const stop = text + nbytes;
    unsigned char* to = out;
    while (at < stop) {
        const unsigned char* const newline = find(at, stop, '\n');
        const unsigned char* first = at;
        while (first < newline && is_blank(*first)) ++first;
        const unsigned char* behind = first;
        while (behind < newline && is_figure(*behind)) ++behind;
        if (behind == first || behind == newline || !is_blank(*behind)) return ~(at - text);
        to = put(to, behind + 1, newline);
        *to++ = '\n';
        to = put(to, first, behind);
        *to++ = static_cast<unsigned char>(end);
        at = newline + (newline < stop);
    }
    return to - out;
}

int64_t gm_counted_lines(const unsigned char* items, int64_t nbytes, int64_t end, unsigned char* out)
{
    const unsigned char *at = items, *const stop = items + nbytes;
    unsigned char* to = out;
    while (at < stop) {
        const unsigned char* const behind = find(at, stop, static_cast<int>(end));
        const unsigned char* const newline = find(at, behind, '\n');
        if (newline < behind) {
            const unsigned char* count = newline + 1;
            while (behind - count > 1 && *count == '0') ++count;
            for (int64_t blanks = WIDTH - (behind - count); blanks > 0; --blanks) *to++ = ' ';
            to = put(to, count, behind);
            *to++ = ' ';
        }
        to = put(to, at, newline);
        if (behind < stop) *to++ = '\n';
        at = behind + (behind < stop);
    }
    return to - out;
}
