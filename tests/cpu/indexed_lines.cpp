// The index of lines is what a plain loop finds: a program for test_line_index.py. Its argument is a seed. It prints the number
// of texts, or the first wrong one, and then exits with 1.
#include "line_index.cpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

namespace {

struct Found {
    std::vector<long long> places;
    std::vector<LongLine> long_lines;
};

struct Case {
    std::vector<unsigned char> text;
    int64_t first, last, start;
    unsigned char terminator;
};

long long texts = 0;

Found plain(const Case& one)
{
    Found found;
    int64_t start = one.start;
    for (int64_t at = one.first; at < one.last; ++at) {
        if (one.text[static_cast<size_t>(at)] != one.terminator) continue;
        const int64_t length = at + 1 - start;
        found.places.push_back(line_place(start, length));
        if (length >= LONG_LINE) found.long_lines.push_back({start, length});
        start = at + 1;
    }
    return found;
}

void expect(bool holds, const char* what, const Case& one)
{
    if (holds) return;
    std::printf("wrong: %s of bytes %lld to %lld, the first line from %lld, terminator %d\n", what, (long long)one.first,
        (long long)one.last, (long long)one.start, one.terminator);
    std::exit(1);
}

// Text and rows lie in memory of their own size, so that a sanitizer sees each access outside of them. offset: of the text from
// an aligned address.
void check(const Case& one, size_t offset)
{
    const Found expected = plain(one);
    const size_t count = expected.places.size();
    std::unique_ptr<unsigned char[]> room(new unsigned char[offset + one.text.size() + PADDING]);
    unsigned char* const text = room.get() + offset;
    std::copy(one.text.begin(), one.text.end(), text);
    std::fill_n(text + one.text.size(), PADDING, one.terminator);

    const Terminators counted = count_terminators(text, one.first, one.last, one.terminator);
    expect(counted.count == static_cast<int64_t>(count), "count", one);
    int64_t behind = one.last;
    while (behind > one.first && text[behind - 1] != one.terminator) --behind;
    expect(counted.behind_last == (count > 0 ? behind : -1), "last terminator", one);

    const auto index = [&](size_t rows, Found& found) {
        std::unique_ptr<unsigned char[]> out(new unsigned char[rows * ROW]);
        const int64_t made = index_lines(text, one.first, one.last, one.terminator, one.start, static_cast<int64_t>(rows),
            out.get(), found.long_lines);
        for (size_t at = 0; made >= 0 && at < static_cast<size_t>(made); ++at) {
            long long row[2];
            std::memcpy(row, out.get() + at * ROW, ROW);
            found.places.push_back(row[1]);
        }
        return made;
    };
    for (const size_t spare : {0, 5}) {
        Found found;
        expect(index(count + spare, found) == static_cast<int64_t>(count), "number of rows", one);
        expect(found.places == expected.places, "rows", one);
        expect(found.long_lines.size() == expected.long_lines.size(), "number of long lines", one);
        for (size_t at = 0; at < found.long_lines.size(); ++at) {
            const LongLine &x = found.long_lines[at], &y = expected.long_lines[at];
            expect(x.start == y.start && x.length == y.length, "long lines", one);
        }
    }
    Found found;
    for (const size_t lacking : {size_t{1}, count / 2 + 1, count})
        if (lacking > 0 && lacking <= count) expect(index(count - lacking, found) == -1, "rows in too little room", one);
    ++texts;
}

}  // namespace

int main(int, char** arguments)
{
    std::mt19937_64 random(std::strtoull(arguments[1], nullptr, 10));
    const auto below = [&](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); };
    for (int turn = 0; turn < 1500; ++turn) {
        Case one{{}, 0, 0, 0, static_cast<unsigned char>(turn % 5 ? '\n' : below(256))};
        // Lines of one length, or of up to twice that, in stretches, so that every way follows every other one.
        const int64_t size = below(turn % 3 ? 3 * TILE : 300);
        while (static_cast<int64_t>(one.text.size()) < size) {
            static constexpr int64_t MEANS[] = {0, 1, 4, 12, 20, 40, 64, 100, 200, 1000, 9000};
            const int64_t mean = MEANS[below(11)], same = below(3);
            for (int64_t left = below(TILE); left > 0;) {
                const int64_t length = same == 0 ? mean : below(2 * mean + 1);
                for (int64_t at = 0; at < length; ++at)
                    one.text.push_back(static_cast<unsigned char>(one.terminator ^ (1 + below(255))));
                one.text.push_back(one.terminator);
                left -= length + 1;
            }
        }
        const int64_t held = static_cast<int64_t>(one.text.size());
        one.first = turn % 2 ? 0 : below(held + 1);
        one.last = turn % 4 < 2 ? held : one.first + below(held - one.first + 1);
        one.start = turn % 3 ? one.first : below(one.first + 1);
        check(one, static_cast<size_t>(below(64)));
    }
    for (const int64_t length : {LONG_LINE - 1, LONG_LINE, LONG_LINE + 1}) {
        Case one{{}, 0, 0, 0, '\n'};
        for (int line = 0; line < 2; ++line) {
            one.text.insert(one.text.end(), static_cast<size_t>(below(200)), '\n');
            one.text.insert(one.text.end(), static_cast<size_t>(length - 1), 'x');
            one.text.push_back('\n');
        }
        one.text.insert(one.text.end(), static_cast<size_t>(below(200)), 'y');
        one.last = static_cast<int64_t>(one.text.size());
        check(one, static_cast<size_t>(below(64)));
    }
    std::printf("%lld\n", texts);
}
