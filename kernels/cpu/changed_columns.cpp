// The changed columns of the pairs in a diff's result of lines, as lines of CSV. See ChangesSpec of entries.h.
#include <cstdint>
#include <cstring>
#include <vector>

#include "entries.h"
#include "fault.hpp"

namespace {

typedef const unsigned char* Place;

struct Text {
    Place start = nullptr, stop = nullptr;
    int64_t size() const { return stop - start; }
};

bool operator==(Text x, Text y)
{
    return x.size() == y.size() && (x.size() == 0 || std::memcmp(x.start, y.start, static_cast<size_t>(x.size())) == 0);
}

Place find(Place at, Place stop, int byte)
{
    const void* const found = at < stop ? std::memchr(at, byte, static_cast<size_t>(stop - at)) : nullptr;
    return found == nullptr ? stop : static_cast<Place>(found);
}

bool is_blank(unsigned char byte) { return byte == ' ' || byte == '\t' || byte == '\n'; }
bool is_space(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

// The values of the fields of one line, without the quotes around them.
class Fields {
public:
    std::vector<Text> texts;

    explicit Fields(const ChangesSpec& spec) : spec_(spec) {}

    // with_blanks: where blanks separate fields, each has the blanks ahead of it, and those at the end are one, too.
    void split(Text line, bool with_blanks)
    {
        texts.clear();
        plain_.clear();
        plain_.reserve(static_cast<size_t>(line.size()));  // so what lies in it stays in its place
        if (spec_.separator_size == 0) return split_by_blanks(line, with_blanks);
        if (spec_.returns && line.size() > 0 && line.stop[-1] == '\r') --line.stop;
        for (Place at = line.start;;) {
            const bool quoted = spec_.quoted && at < line.stop && *at == '"';
            const Place end = separator_from(quoted ? behind_quotes(at, line.stop) : at, line.stop);
            texts.push_back(quoted ? value_of({at, end}) : Text{at, end});
            if (end == line.stop) return;
            at = end + spec_.separator_size;
        }
    }

    Text at(size_t number) const { return number < texts.size() ? texts[number] : Text{}; }

private:
    void split_by_blanks(Text line, bool with_blanks)
    {
        for (Place at = line.start; at < line.stop;) {
            const Place begin = at;
            while (at < line.stop && is_blank(*at)) ++at;
            const Place word = at;
            while (at < line.stop && !is_blank(*at)) ++at;
            if (with_blanks || word < at) texts.push_back({with_blanks ? begin : word, at});
        }
    }

    // The end of the quoted parts that lie directly one behind the other from `at` on.
    static Place behind_quotes(Place at, Place stop)
    {
        while (at < stop && *at == '"') {
            at = find(at + 1, stop, '"');
            if (at < stop) ++at;
        }
        return at;
    }

    // The first separator from `at` on, or else `stop`.
    Place separator_from(Place at, Place stop) const
    {
        for (;; ++at) {
            at = find(at, stop, spec_.separator[0]);
            if (at == stop || spec_.separator_size == 1) return at;
            const size_t size = static_cast<size_t>(spec_.separator_size);
            if (static_cast<size_t>(stop - at) >= size && std::memcmp(at, spec_.separator, size) == 0) return at;
        }
    }

    // The value of a field that begins with a quote.
    Text value_of(Text field)
    {
        const Text inner{field.start + 1, field.size() < 2 ? field.start + 1 : field.stop - 1};
        const Place first = find(inner.start, inner.stop, '"');
        if (first == inner.stop) return inner;
        const size_t begin = plain_.size();
        for (Place at = inner.start; at < inner.stop; ++at) {
            plain_.push_back(*at);
            if (*at == '"' && at + 1 < inner.stop && at[1] == '"') ++at;
        }
        return {plain_.data() + begin, plain_.data() + plain_.size()};
    }

    const ChangesSpec& spec_;
    std::vector<unsigned char> plain_;  // values with quotes in them
};

// Writes to memory of a limited size. What does not fit is left out, and `full` from then on.
class Out {
public:
    Out(unsigned char* at, int64_t room) : start_(at), at_(at), stop_(at + room) {}

    bool full = false;
    int64_t bytes() const { return at_ - start_; }

    void byte(unsigned char value)
    {
        if (at_ == stop_) full = true;
        else *at_++ = value;
    }

    void text(Text text)
    {
        if (stop_ - at_ < text.size()) full = true;
        if (full || text.size() == 0) return;
        std::memcpy(at_, text.start, static_cast<size_t>(text.size()));
        at_ += text.size();
    }

    // A text as a field of CSV.
    void field(Text value)
    {
        if (!needs_quotes(value)) return text(value);
        byte('"');
        while (value.start < value.stop) {
            const Place quote = find(value.start, value.stop, '"');
            text({value.start, quote});
            if (quote < value.stop) byte('"'), byte('"');
            value.start = quote < value.stop ? quote + 1 : quote;
        }
        byte('"');
    }

    void number(int64_t value)
    {
        unsigned char figures[20];
        unsigned char* first = figures + sizeof figures;
        do *--first = static_cast<unsigned char>('0' + value % 10);
        while ((value /= 10) > 0);
        text({first, figures + sizeof figures});
    }

private:
    static bool needs_quotes(Text value)
    {
        if (value.size() == 0) return false;
        if (is_space(*value.start) || is_space(value.stop[-1])) return true;
        for (Place at = value.start; at < value.stop; ++at)
            if (*at == ',' || *at == '"' || *at == '\n' || *at == '\r') return true;
        return false;
    }

    unsigned char *const start_, *at_, *const stop_;
};

// The pairs of some items of a diff, one after the other.
class Changes {
public:
    Changes(const ChangesSpec& spec, unsigned char* out, int64_t room) : spec_(spec), out_(out, room), old_(spec), new_(spec) {}

    void go(Place items, Place stop, ChangesResult& result)
    {
        Text old;
        for (Place at = items, begin = items; at < stop;) {
            const Place end = find(at, stop, static_cast<int>(spec_.terminator));
            const Text item{at, end};
            if (is_marked(item, spec_.old_mark)) {
                old = {at + spec_.mark_bytes, end};
                begin = at;
            } else if (is_marked(item, spec_.new_mark)) {
                put(old, {at + spec_.mark_bytes, end}, result.pairs);
                if (out_.full) {
                    result.taken = begin - items;
                    return;
                }
                ++result.pairs;
                result.made = out_.bytes();
            }
            at = end < stop ? end + 1 : stop;
        }
        result.taken = stop - items;
    }

private:
    bool is_marked(Text item, const unsigned char* mark) const
    {
        return item.size() >= spec_.mark_bytes && std::memcmp(item.start, mark, static_cast<size_t>(spec_.mark_bytes)) == 0;
    }

    void put(Text old, Text other, int64_t pair)
    {
        old_.split(old, false);
        new_.split(other, false);
        const Text key = key_of(old, pair);
        if (put_rows(key) || spec_.separator_size > 0) return;
        old_.split(old, true);
        new_.split(other, true);
        put_rows(key);
    }

    Text key_of(Text line, int64_t pair) const
    {
        if (spec_.keys != nullptr) return {spec_.keys + spec_.key_edges[pair], spec_.keys + spec_.key_edges[pair + 1]};
        return spec_.key_field < 0 ? line : old_.at(static_cast<size_t>(spec_.key_field));
    }

    // Whether any column has changed.
    bool put_rows(Text key)
    {
        bool any = false;
        const size_t count = old_.texts.size() > new_.texts.size() ? old_.texts.size() : new_.texts.size();
        for (size_t number = 0; number < count && !out_.full; ++number) {
            const bool in_both = number < old_.texts.size() && number < new_.texts.size();
            if ((in_both && old_.at(number) == new_.at(number)) || is_ignored(static_cast<int64_t>(number))) continue;
            any = true;
            out_.field(key);
            out_.byte(',');
            put_title(static_cast<int64_t>(number));
            out_.byte(',');
            out_.field(old_.at(number));
            out_.byte(',');
            out_.field(new_.at(number));
            out_.byte('\n');
        }
        return any;
    }

    bool is_ignored(int64_t number) const
    {
        for (int64_t at = 0; at < spec_.ignored_count; ++at)
            if (spec_.ignored[at] == number) return true;
        return false;
    }

    void put_title(int64_t number)
    {
        if (number >= spec_.titles_count) return out_.number(number + spec_.first_number);
        out_.text({spec_.titles + spec_.title_edges[number], spec_.titles + spec_.title_edges[number + 1]});
    }

    const ChangesSpec& spec_;
    Out out_;
    Fields old_, new_;
};

}  // namespace

int64_t gm_changed_columns(const struct ChangesSpec* spec, const unsigned char* items, int64_t nbytes, unsigned char* out,
    int64_t room, struct ChangesResult* result)
{
    *result = ChangesResult{};
    Failure failure;
    return stopped_by(&failure, [&] { Changes(*spec, out, room).go(items, items + nbytes, *result); });
}
