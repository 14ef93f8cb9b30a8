// Joined lines of JSON: the members of A's object, and behind them those of B's. All text stays as it is written.
#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#include "json_text.hpp"

namespace {

constexpr size_t FEW = 16;  // names that are not sorted
constexpr std::string_view SUFFIX = "_2";

using Place = const unsigned char*;

struct Span {
    Place start, stop;

    int64_t size() const { return stop - start; }
};

// text: begins behind the comma or brace ahead of the member, and ends behind its value. name: lies within it, without quotes.
struct Member {
    Span text;
    JsonString name;
    std::string_view own;  // the name without escapes
};

Span without_blanks_behind(Span text)
{
    while (text.stop > text.start && (text.stop[-1] == ' ' || text.stop[-1] == '\t' || text.stop[-1] == '\r')) --text.stop;
    return text;
}

// The comma or bracket behind a value; null if the text is not JSON.
Place behind_value(Place at)
{
    for (int64_t depth = 0;; ++at) {
        switch (*at) {
        case '"': {
            JsonString found;
            if (read_string(at + 1, found) != NO_JSON_FAULT) return nullptr;
            at = found.stop;
            break;
        }
        case '{': case '[': ++depth; break;
        case '}': case ']':
            if (depth-- == 0) return at;
            break;
        case ',':
            if (depth == 0) return at;
            break;
        case MARK: case END: return nullptr;
        }
    }
}

// The members of an object. Names without escapes lie in `texts`, which must not move.
bool read_members(Place at, std::vector<Member>& members, std::vector<char>& texts)
{
    members.clear();
    at = behind_blanks(at);
    if (*at != '{') return false;
    do {
        Member one;
        one.text.start = ++at;
        at = behind_blanks(at);
        if (*at == '}' && members.empty()) return true;
        if (*at != '"' || read_string(at + 1, one.name) != NO_JSON_FAULT) return false;
        const size_t begin = texts.size();
        each_stretch(one.name, [&](Place bytes, int64_t count) {
            texts.insert(texts.end(), bytes, bytes + count);
            return true;
        });
        one.own = {texts.data() + begin, texts.size() - begin};
        at = behind_blanks(one.name.stop + 1);
        if (*at != ':' || (at = behind_value(at + 1)) == nullptr) return false;
        one.text.stop = at;
        one.text = without_blanks_behind(one.text);
        members.push_back(one);
    } while (*at == ',');
    return *at == '}';
}

// Whether a name is among some.
class Names {
public:
    void take(const std::vector<Member>& members)
    {
        names_.clear();
        for (const Member& one : members) names_.push_back(one.own);
        prepare();
    }

    // The names that keys of B get.
    template <class NameOfKey>
    void take_keys(int64_t count, NameOfKey name)
    {
        names_.clear();
        for (int64_t key = 0; key < count; ++key)
            if (!name(key).empty()) names_.push_back(name(key));
        prepare();
    }

    bool has(std::string_view name) const
    {
        if (names_.size() > FEW) return std::binary_search(names_.begin(), names_.end(), name);
        return std::find(names_.begin(), names_.end(), name) != names_.end();
    }

private:
    void prepare()
    {
        if (names_.size() > FEW) std::sort(names_.begin(), names_.end());
    }

    std::vector<std::string_view> names_;
};

class Lines {
public:
    Lines(const JsonJoin& join, unsigned char* out, int64_t room) : join_(join), out_(out), stop_(out + room) {}

    unsigned char* at() const { return out_; }

    // Writes the line of a pair, either of which may be empty. Returns 1 if it is written, 0 if there is no room, -1 if
    // one of both is not an object.
    int put(Span a, Span b)
    {
        unsigned char* const begin = out_;
        const int status = b.size() == 0 ? copy(a) : a.size() == 0 ? alone(b) : pair(a, b);
        const bool done = status > 0 && copy({reinterpret_cast<Place>("\n"), reinterpret_cast<Place>("\n") + 1});
        if (!done) out_ = begin;
        return status < 0 ? status : done;
    }

private:
    bool copy(Span text)
    {
        if (stop_ - out_ < text.size()) return false;
        std::memcpy(out_, text.start, static_cast<size_t>(text.size()));
        out_ += text.size();
        return true;
    }

    bool copy(std::string_view text)
    {
        const Place at = reinterpret_cast<Place>(text.data());
        return copy(Span{at, at + text.size()});
    }

    // The name of a key in A (side 0) or B (side 1).
    std::string_view name(int64_t key, int64_t side) const
    {
        const int64_t number = 2 * key + side, from = number == 0 ? 0 : join_.ends[number - 1];
        return {reinterpret_cast<const char*>(join_.names) + from, static_cast<size_t>(join_.ends[number] - from)};
    }

    // The key that a member of B is; -1 for none.
    int64_t key_of(const Member& member) const
    {
        for (int64_t key = 0; key < join_.count; ++key)
            if (member.own == name(key, 1)) return key;
        return -1;
    }

    bool read(Span line, std::vector<Member>& members) { return read_members(line.start, members, texts_); }

    void begin(int64_t bytes)
    {
        texts_.clear();
        texts_.reserve(static_cast<size_t>(bytes));
    }

    // B without a partner: keys get the names that they have in A, and others with these names a suffix.
    int alone(Span b)
    {
        if (join_.same) return copy(b);
        begin(b.size());
        if (!read(b, b_)) return copy(b);
        names_a_.take_keys(join_.count, [this](int64_t key) { return name(key, 0); });
        names_b_.take(b_);
        Place from = b.start;
        for (const Member& one : b_) {
            const int64_t key = key_of(one);
            if (key < 0) {
                if (!names_a_.has(one.own)) continue;
                if (!copy({from, one.name.stop}) || !suffix(one.own)) return 0;
            } else {
                if (name(key, 0).empty()) continue;
                if (!copy({from, one.name.start}) || !copy(name(key, 0))) return 0;
            }
            from = one.name.stop;
        }
        return copy({from, b.stop});
    }

    int pair(Span a, Span b)
    {
        begin(a.size() + b.size());
        if (!read(a, a_) || !read(b, b_)) return -1;
        names_a_.take(a_);
        names_b_.take(b_);
        const Place inner = a_.empty() ? behind_blanks(a.start) + 1 : a_.back().text.stop;
        if (!copy({a.start, inner})) return 0;
        bool first = a_.empty();
        const Span blanks = blanks_between();
        for (const Member& one : b_) {
            if (key_of(one) >= 0) continue;
            if (!first && (!copy(",") || !copy(blanks))) return 0;
            first = false;
            if (!copy({one.name.start - 1, one.name.stop})) return 0;
            if (names_a_.has(one.own) && !suffix(one.own)) return 0;
            if (!copy({one.name.stop, one.text.stop})) return 0;
        }
        return copy({inner, a.stop});
    }

    // Puts SUFFIX behind a name of B until no other name is the same.
    bool suffix(std::string_view own)
    {
        made_.assign(own.begin(), own.end());
        for (;;) {
            made_.insert(made_.end(), SUFFIX.begin(), SUFFIX.end());
            if (!copy(SUFFIX)) return false;
            const std::string_view name(made_.data(), made_.size());
            if (!names_a_.has(name) && !names_b_.has(name)) return true;
        }
    }

    // The blanks behind the first comma of A, or else of B.
    Span blanks_between() const
    {
        const std::vector<Member>& members = a_.size() > 1 ? a_ : b_;
        if (members.size() < 2) return {out_, out_};
        return {members[1].text.start, members[1].name.start - 1};
    }

    const JsonJoin& join_;
    unsigned char* out_;
    unsigned char* const stop_;
    std::vector<Member> a_, b_;
    Names names_a_, names_b_;
    std::vector<char> texts_, made_;
};

}  // namespace

int64_t gm_json_join(const JsonJoin* join, const unsigned char* items, int64_t nbytes, unsigned char* out, int64_t room, JsonJoined* found)
{
    try {
        Lines lines(*join, out, room);
        Place at = items;
        const Place stop = items + nbytes;
        found->fault = 0;
        while (at < stop) {
            const Place mark = static_cast<Place>(std::memchr(at, MARK, static_cast<size_t>(stop - at)));
            if (mark == nullptr) break;
            const Place end = static_cast<Place>(std::memchr(mark, END, static_cast<size_t>(stop - mark)));
            if (end == nullptr) break;
            const int status = lines.put({at, mark}, {mark + 1, end});
            found->fault = status < 0;
            if (status <= 0) break;
            at = end + 1;
        }
        found->taken = at - items;
        found->made = lines.at() - out;
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    }
    return DONE;
}
