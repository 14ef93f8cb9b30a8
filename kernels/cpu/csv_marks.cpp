// Finds what the quotes of CSV enclose, 64 bytes at a time: bit k of a word stands for byte k. See CsvMarks of entries.h.
//
// A byte is enclosed if it is an opening quote, or if it lies behind one and ahead of the closing one. A quote within quotes is
// written twice: the first closes what the second opens again.
#include <cstdint>

#include "entries.h"
#include "find.hpp"

namespace {

typedef uint64_t Word;
typedef const unsigned char* Place;

Word shifted(Word marks, Word ahead, int64_t by) { return by == 0 ? marks : marks << by | ahead >> (64 - by); }

// The bits that have an odd number of set ones at or ahead of them.
Word odd_ahead(Word marks)
{
    for (int step = 1; step < 64; step *= 2) marks ^= marks << step;
    return marks;
}

// The state of a call: CsvMarks, whose numbers stay in registers.
class Marks {
public:
    explicit Marks(CsvMarks& marks)
        : marks_(marks), separator_(marks.separator), late_(marks.separator_size - 1), inside_(marks.inside != 0),
          bound_(marks.bound != 0), closing_(marks.closing != 0), returned_(marks.returned != 0)
    {
        for (int64_t back = 1; back <= late_; ++back) {
            overlaps_ |= std::memcmp(separator_ + back, separator_, static_cast<size_t>(late_ + 1 - back)) == 0;
        }
    }

    // Goes on with whole words. end: see gm_csv_marks.
    void go(unsigned char* text, int64_t nbytes, int64_t end)
    {
        for (int64_t at = 0; at < nbytes; at += 64) {
            if (late_ == 0 && !(inside_ || closing_ || returned_)) {
                const int64_t from = at;
                while (at < nbytes && !(matches_at(text + at, '"') | matches_at(text + at, '\r'))) at += 64;
                if (at > from) {
                    bound_ = text[at - 1] == '\n' || text[at - 1] == separator_[0];
                    if (end >= 0) replace_all(text + from, at - from, static_cast<unsigned char>(end));
                }
                if (at == nbytes) break;
            }
            Word ends = word(text + at);
            if (end < 0) continue;
            for (; ends != 0; ends &= ends - 1) text[at + __builtin_ctzll(ends)] = static_cast<unsigned char>(end);
        }
        marks_.inside = inside_;
        marks_.bound = bound_;
        marks_.closing = closing_;
        marks_.returned = returned_;
    }

private:
    static void replace_all(unsigned char* text, int64_t nbytes, unsigned char end)
    {
        for (int64_t at = 0; at < nbytes; ++at) text[at] = text[at] == '\n' ? end : text[at];
    }

    // Takes 64 bytes. Returns the newlines that end records.
    Word word(Place at)
    {
        const Word quotes = matches_at(at, '"'), newlines = matches_at(at, '\n');
        const Word inside = odd_ahead(quotes) ^ (Word{0} - inside_);
        const Word opening = quotes & inside, closing = quotes & ~inside, returns = matches_at(at, '\r') & ~inside;
        const Word ends = newlines & ~inside, last = separators(at) & ~inside, bounds = ends | last;
        const Word behind_closing = closing << 1 | closing_;
        Word astray = opening & ~(bounds << 1 | bound_ | behind_closing);
        astray |= later(behind_closing & ~(ends | quotes | returns), late_, 0) & ~last;
        if (overlaps_) {  // separators ahead of the bytes decide then whether they are a separator
            Word near = 0;
            for (int64_t back = 1; back <= late_; ++back) near |= later(last, back, 1 + late_ + back);
            astray |= opening & later(last & near, 1, 1);
        }
        astray |= (returns << 1 | returned_) & ~newlines;
        marks_.proper &= astray == 0;
        marks_.lines &= (newlines & inside) == 0;
        marks_.doubled |= (opening & behind_closing) != 0;
        inside_ = inside >> 63;
        bound_ = bounds >> 63;
        closing_ = closing >> 63;
        returned_ = returns >> 63;
        return ends;
    }

    // The last byte of each separator.
    Word separators(Place at)
    {
        Word found = matches_at(at, separator_[late_]);
        for (int64_t back = 1; back <= late_; ++back) found &= later(matches_at(at, separator_[late_ - back]), back, 1 + back);
        return found;
    }

    // The places `by` bytes behind marks, which word number `kept` keeps for the bytes to come.
    Word later(Word marks, int64_t by, int64_t kept)
    {
        const Word found = shifted(marks, static_cast<Word>(marks_.words[kept]), by);
        marks_.words[kept] = static_cast<int64_t>(marks);
        return found;
    }

    CsvMarks& marks_;
    const Place separator_;
    const int64_t late_;  // a separator's last byte is so much later than its first one
    bool overlaps_ = false;  // whether two separators may overlap
    Word inside_, bound_, closing_, returned_;
};

}  // namespace

void gm_csv_marks(struct CsvMarks* marks, unsigned char* text, int64_t nbytes, int64_t end)
{
    Marks(*marks).go(text, nbytes, end);
}
