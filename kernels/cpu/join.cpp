// Joins two sorted sources of lines, group by group of equal keys.
//
// The result goes out in parts of about the size that is asked for. So memory does not grow with the product of a group's
// lines. Keys are compared once with the key ahead of them, which also shows disorder, and once with the other input's. Their
// images, which are those of sorts, decide nearly all comparisons.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <vector>

#include "compare.hpp"
#include "fault.hpp"
#include "find.hpp"
#include "memory.hpp"
#include "source.hpp"

#define ROWS 1
#define KEY_BITS 64
#define KEY_KIND 0
#define DESCENDING 0
#define TEXT_PADDING 64
#include "../host.cuh"

namespace {

#include "../lines.cuh"
#include "join_fields.hpp"
#include "join_output.hpp"

int64_t now()
{
    timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
}

// The lines of one input's range, one after the other.
struct Side {
    const unsigned char *start = nullptr, *next = nullptr, *stop = nullptr;  // of the range, in staging
    JoinLine lines[2];    // the line in hand, and the one ahead of it
    int64_t in_hand = 0;  // which of the two
    bool there = false;   // whether there is one
    bool same = false;    // whether its key equals that of the line ahead of it
    int64_t taken = 0;

    JoinLine& line() { return lines[in_hand]; }
};

}  // namespace

struct Join {
public:
    explicit Join(const JoinSpec& spec)
        : spec_(spec), keys_(*spec.keys), order_(keys_), reader_a_(spec.sources[0].key), reader_b_(spec.sources[1].key)
    {
    }

    void start(const int64_t* ranges, bool check)
    {
        const int64_t sizes[2] = {ranges[1] - ranges[0], ranges[3] - ranges[2]};
        unsigned char* at = staging_.reserve(static_cast<size_t>(sizes[0] + sizes[1]));
        Window window;
        check_ = check;
        for (int64_t input = 0; input < 2; at += sizes[input], ++input) {
            const int64_t from = ranges[2 * input];
            read_source(spec_.sources[input], keys_, input, from, at, sizes[input]);
            Items items(spec_.sources[input], keys_, input, window);
            if (check && from > 0 && sizes[input] > 0
                && items.compare(items.start_before(from), items.key_in(at, sizes[input])) > 0)
                throw Fault{DISORDER, {0, input, from}};
            starts_[input] = from;
            sides_[input] = {at, at, at + sizes[input], {}, 0, false, false, 0};
            step(input);
        }
        a_lines_.clear();
        b_lines_.clear();
        i_ = j_ = 0;
    }

    void next(int64_t most, JoinResult& result)
    {
        Output out(spec_, room_);
        out.begin(most);
        while (out.bytes() < most) {
            if (i_ < a_lines_.size()) put_group(out, most);
            else if (!walk(out)) break;
        }
        tell(out, result);
        result.over = out.bytes() < most;
    }

    void pair(const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size, JoinResult& result)
    {
        Output out(spec_, room_);
        out.begin(1);
        // The texts need not have padding, so they are copied.
        unsigned char* copy = staging_.reserve(static_cast<size_t>(a_size + b_size));
        if (a_size > 0) std::memcpy(copy, a, static_cast<size_t>(a_size));
        if (b_size > 0) std::memcpy(copy + a_size, b, static_cast<size_t>(b_size));
        JoinLine x, y;
        reader_a_.read({copy, copy + a_size}, x);
        reader_b_.read({copy + a_size, copy + a_size + b_size}, y);
        reader_a_.judge(x);
        reader_b_.judge(y);
        put(out, a == nullptr ? nullptr : &x, b == nullptr ? nullptr : &y);
        sides_[0].taken = sides_[1].taken = 0;
        tell(out, result);
        result.over = 1;
    }

    int64_t fields(int64_t input, const unsigned char* line, int64_t size)
    {
        fields_[0].clear();
        reader(input).split({line, line + size}, fields_[0]);
        return static_cast<int64_t>(fields_[0].size());
    }

private:
    const LineReader& reader(int64_t input) const { return input == 0 ? reader_a_ : reader_b_; }

    // The place of the terminator that ends the line at `at`, or `stop`.
    Place line_end(Place at, Place stop) const
    {
        for (; at < stop; at += 64)
            if (const Word marks = matches_at(at, static_cast<unsigned char>(keys_.terminator))) {
                at += __builtin_ctzll(marks);
                return at < stop ? at : stop;
            }
        return stop;
    }

    // Takes the next line of an input in hand. Throws Fault if it goes before the one that was in hand.
    __attribute__((always_inline)) void step(int64_t input)
    {
        Side& side = sides_[input];
        const bool was_there = side.there;
        side.there = side.next < side.stop;
        side.same = false;
        if (!side.there) return;
        const unsigned char* const begin = side.next;
        const unsigned char* const end = line_end(begin, side.stop);
        side.next = end + (end < side.stop);
        ++side.taken;
        const JoinLine& last = side.line();
        side.in_hand ^= 1;
        JoinLine& line = side.line();
        (input == 0 ? reader_a_ : reader_b_).read({begin, end}, line);
        order_.see(line);
        const int order = was_there ? order_.compare(line, last) : 1;
        side.same = order == 0;
        if (order < 0 && check_) throw Fault{DISORDER, {0, input, starts_[input] + (begin - side.start)}};
    }

    // Goes on with the lines in hand: puts out one without a partner, or finds a group. False if no line is left.
    bool walk(Output& out)
    {
        Side &a = sides_[0], &b = sides_[1];
        if (!a.there && !b.there) return false;
        int order = !a.there ? 1 : !b.there ? -1 : order_.compare(a.line(), b.line());
        if (a.there && b.there) {
            while (order < 0 && !(spec_.shows & JOIN_ONLY_A)) {
                step(0);
                if (!a.there) return true;
                order = order_.compare(a.line(), b.line());
            }
            while (order > 0 && !(spec_.shows & JOIN_ONLY_B)) {
                step(1);
                if (!b.there) return true;
                order = order_.compare(a.line(), b.line());
            }
        }
        if (order < 0) {
            if (spec_.shows & JOIN_ONLY_A) put(out, judged(0), nullptr);
            step(0);
        } else if (order > 0) {
            if (spec_.shows & JOIN_ONLY_B) put(out, nullptr, judged(1));
            step(1);
        } else {
            gather(0, a_lines_);
            gather(1, b_lines_);
            i_ = j_ = 0;
            if (!(spec_.shows & (JOIN_PAIRS | JOIN_PAIRED_A))) i_ = a_lines_.size();
            if (out.by_fields()) split(b_lines_, 1);
        }
        return true;
    }

    const JoinLine* judged(int64_t input)
    {
        reader(input).judge(sides_[input].line());
        return &sides_[input].line();
    }

    void gather(int64_t input, std::vector<JoinLine>& lines)
    {
        lines.clear();
        do {
            lines.push_back(*judged(input));
            step(input);
        } while (sides_[input].there && sides_[input].same);
    }

    void put_group(Output& out, int64_t most)
    {
        if (!(spec_.shows & JOIN_PAIRS)) {
            put(out, &a_lines_[i_++], nullptr);
            return;
        }
        const JoinLine& a = a_lines_[i_];
        if (out.by_fields()) {
            fields_[0].clear();
            reader_a_.split(a.text, fields_[0]);
            for (; j_ < b_lines_.size() && out.bytes() < most; ++j_)
                out.fields(&a, view(0, 0, fields_[0].size()), &b_lines_[j_], view(1, firsts_[j_], firsts_[j_ + 1]));
        } else {
            for (; j_ < b_lines_.size() && out.bytes() < most; ++j_) put(out, &a, &b_lines_[j_]);
        }
        if (j_ == b_lines_.size()) {
            ++i_;
            j_ = 0;
        }
    }

    void put(Output& out, const JoinLine* a, const JoinLine* b)
    {
        if (!out.by_fields() && (a == nullptr || a->raw) && (b == nullptr || b->raw)) return out.raw(a, b);
        FieldView found[2];
        const JoinLine* const lines[2] = {a, b};
        for (size_t input = 0; input < 2; ++input) {
            if (lines[input] == nullptr) continue;
            auto& fields = single_[input];
            fields.clear();
            reader(static_cast<int64_t>(input)).split(lines[input]->text, fields);
            found[input] = {fields.data(), fields.size(), true};
        }
        out.fields(a, found[0], b, found[1]);
    }

    // Splits all lines of a group into fields.
    void split(const std::vector<JoinLine>& lines, size_t input)
    {
        fields_[input].clear();
        firsts_.assign(1, 0);
        for (const JoinLine& line : lines) {
            reader(static_cast<int64_t>(input)).split(line.text, fields_[input]);
            firsts_.push_back(fields_[input].size());
        }
    }

    FieldView view(size_t input, size_t first, size_t last) const { return {fields_[input].data() + first, last - first, true}; }

    void tell(Output& out, JoinResult& result)
    {
        result.at = out.data();
        result.nbytes = out.bytes();
        result.lines = out.lines();
        result.taken_a = sides_[0].taken;
        result.taken_b = sides_[1].taken;
    }

    const JoinSpec& spec_;
    const OrderSpec keys_;
    const KeyOrder order_;
    bool check_ = true;
    const LineReader reader_a_, reader_b_;
    Buffer staging_, room_;
    int64_t starts_[2] = {0, 0};
    Side sides_[2];
    std::vector<JoinLine> a_lines_, b_lines_;  // the group in hand
    size_t i_ = 0, j_ = 0;                     // the pair of it that comes next
    std::vector<Text> fields_[2], single_[2];
    std::vector<size_t> firsts_;  // the first field of each of b_lines_
};

struct Join* gm_join_open(const struct JoinSpec* spec)
{
    try {
        return new Join(*spec);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void gm_join_close(struct Join* join) { delete join; }

int64_t gm_join_start(struct Join* join, const int64_t* ranges, int64_t check, struct JoinResult* result,
    struct Failure* failure)
{
    *result = JoinResult{};
    return stopped_by(failure, [&] {
        const int64_t began = now();
        join->start(ranges, check != 0);
        result->read_ns = now() - began;
    });
}

int64_t gm_join_next(struct Join* join, int64_t most, struct JoinResult* result, struct Failure* failure)
{
    *result = JoinResult{};
    return stopped_by(failure, [&] {
        const int64_t began = now();
        join->next(most, *result);
        result->kernel_ns = now() - began;
    });
}

int64_t gm_join_pair(struct Join* join, const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size,
    struct JoinResult* result)
{
    *result = JoinResult{};
    Failure failure;
    return stopped_by(&failure, [&] { join->pair(a, a_size, b, b_size, *result); });
}

int64_t gm_join_fields(struct Join* join, int64_t input, const unsigned char* line, int64_t size)
{
    int64_t count = -1;
    Failure failure;
    stopped_by(&failure, [&] { count = join->fields(input, line, size); });
    return count;
}
