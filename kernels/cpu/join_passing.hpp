// The items of a diff that both inputs hold with the same bytes: they are passed at once. Included by join.cpp.
#pragma once

// Items that were passed. last: the last one. end: behind it.
struct Passed {
    int64_t count = 0;
    const unsigned char *last = nullptr, *end = nullptr;
};

// An order of an item and the one ahead of it: its key is invalid.
constexpr int FAULTY_KEY = -2;

// The images of lines without keys. The text is compared where these are equal.
struct PlainWords {
    Word words[2];
    static constexpr bool exact = false, fault = false;

    __attribute__((always_inline)) PlainWords(const LineOrder& order, Text line)
    {
        const Word turned = order.flags & REVERSE ? ~0ull : 0;
        const WideWord bytes = WideText(line, false).bytes;
        words[0] = Images::in_register(static_cast<Word>(bytes >> 64) ^ turned);
        words[1] = Images::in_register(static_cast<Word>(bytes) ^ turned);
    }
};

// Passes the lines that end in [begin, stop). ahead: the line ahead of them. Words: see Images. compare(x, y): of lines whose
// images are equal. text_of(line): without what ends it. Calls visit(order, line) for lines that do not go behind the one ahead
// of them: FAULTY_KEY, negative, or zero for equal keys.
template <typename Words, typename Compare, typename TextOf, typename Visit>
Passed pass_lines(const LineOrder& order, Text ahead, Place begin, Place stop, unsigned char terminator, Compare compare,
    TextOf text_of, Visit visit)
{
    Passed found;
    const Words first(order, ahead);
    Word high = first.words[0], low = first.words[1];
    bool exact = first.exact;
    each_line(begin, 0, stop - begin, terminator, 0, [&](int64_t from, int64_t to) {
        const Text line = text_of(Text{begin + from, begin + to - 1});
        const Words words(order, line);
        if (words.fault) [[unlikely]] visit(FAULTY_KEY, begin + from);
        const bool behind = words.words[0] > high || (words.words[0] == high && words.words[1] > low);
        if (!behind) [[unlikely]] {
            const bool equal = words.words[0] == high && words.words[1] == low;
            visit(!equal ? -1 : exact && words.exact ? 0 : compare(line, ahead), begin + from);
        }
        high = words.words[0];
        low = words.words[1];
        exact = words.exact;
        ahead = line;
        ++found.count;
        found.last = begin + from;
        found.end = begin + to;
    });
    return found;
}
