// The types of the values in lines of JSON.
#include "json_reader.hpp"

namespace {

constexpr uint64_t LARGEST_INT64 = ~uint64_t{0} >> 1;
constexpr int EXACT_BITS = 53;       // of a double
constexpr int64_t SHORT_DIGITS = 15;  // a number of so few digits has fewer bits
constexpr int64_t MOST_DIGITS = 20;

// The kind of the number in [at, stop). negative: whether it is an integer below 0.
JsonKind kind_of_number(const unsigned char* at, const unsigned char* stop, bool& negative)
{
    const bool minus = *at == '-';
    at += minus;
    negative = false;
    for (const unsigned char* one = at; one < stop; ++one)
        if (!is_digit(*one)) return FRACTION;
    negative = minus && *at != '0';
    if (stop - at <= SHORT_DIGITS) return EXACT_INTEGER;
    if (stop - at > MOST_DIGITS) return HUGE_INTEGER;
    unsigned __int128 number = 0;
    for (; at < stop; ++at) number = 10 * number + static_cast<unsigned>(*at - '0');
    if (number > (minus ? static_cast<unsigned __int128>(LARGEST_INT64) + 1 : ~uint64_t{0})) return HUGE_INTEGER;
    const uint64_t value = static_cast<uint64_t>(number);
    if (!minus && value > LARGEST_INT64) return LARGE_INTEGER;
    return value >> __builtin_ctzll(value) >> EXACT_BITS == 0 ? EXACT_INTEGER : OTHER_INTEGER;
}

bool has_lone_surrogate(const JsonString& one)
{
    bool found = false;
    if (!one.plain)
        each_stretch(one, [&](const unsigned char* bytes, int64_t count) {
            found |= count == 3 && bytes[0] == 0xed && bytes[1] >= 0xa0;  // all other text is valid
            return !found;
        });
    return found;
}

class Tree {
public:
    Tree(const unsigned char* text, JsonTypes& found) : text_(text), found_(found) {}

    bool is_full = false;  // whether the line found no room

    void begin() { is_full = false; }

    void note(int64_t here, const JsonValue& value)
    {
        if (here < 0) return;
        switch (value.type) {
        case JSON_NOTHING: return add(here, NULL_KIND, value.start, value.stop);
        case JSON_BOOL: return add(here, BOOL_KIND, value.start, value.stop);
        case JSON_NUMBER: {
            bool negative;
            const JsonKind kind = kind_of_number(value.start, value.stop, negative);
            if (negative) add(here, NEGATIVE, value.start, value.stop);
            return add(here, kind, value.start, value.stop);
        }
        case JSON_STRING:
            if (!value.plain && has_lone_surrogate(value.string())) add(here, LONE_SURROGATE, value.start - 1, value.stop + 1);
            return add(here, STRING_KIND, value.start - 1, value.stop + 1);
        case JSON_CONTAINER:
            if (*value.start == '{') found_.members[here].object = ++found_.objects;
            return add(here, *value.start == '{' ? OBJECT_KIND : ARRAY_KIND, value.start, value.stop);
        }
    }

    int64_t member(int64_t parent, const JsonString& name)
    {
        if (parent < 0) return -1;
        JsonMember& around = found_.members[parent];
        const int64_t one = child(around, [&](const JsonMember& its) {
            return its.name_size >= 0 && is_text(name, found_.names + its.name, its.name_size);
        });
        if (one < 0) return new_member(parent, name);
        if (found_.members[one].within == around.object) add(one, MEMBER_TWICE, name.start - 1, name.stop + 1);
        found_.members[one].within = around.object;
        return one;
    }

    int64_t element(int64_t parent, int64_t)
    {
        if (parent < 0) return -1;
        const int64_t one = child(found_.members[parent], [](const JsonMember& its) { return its.name_size < 0; });
        return one < 0 ? new_child(parent, 0, -1) : one;
    }

private:
    // The child that `is` holds for, -1 for none. Members mostly follow each other in the same order.
    template <typename Is>
    int64_t child(JsonMember& around, Is is)
    {
        if (around.child < 0) return -1;
        const int64_t start = around.recent < 0 || found_.members[around.recent].next < 0 ? around.child : found_.members[around.recent].next;
        for (int64_t one = start; one >= 0; one = found_.members[one].next)
            if (is(found_.members[one])) return around.recent = one;
        for (int64_t one = around.child; one != start; one = found_.members[one].next)
            if (is(found_.members[one])) return around.recent = one;
        return -1;
    }

    int64_t new_member(int64_t parent, const JsonString& name)
    {
        int64_t size = 0;
        each_stretch(name, [&](const unsigned char* bytes, int64_t count) {
            if (found_.names_size + size + count > found_.names_room) {
                is_full = true;
                return false;
            }
            std::memcpy(found_.names + found_.names_size + size, bytes, static_cast<size_t>(count));
            size += count;
            return true;
        });
        if (is_full) return -1;
        const int64_t made = new_child(parent, found_.names_size, size);
        if (made >= 0) found_.names_size += size;
        return made;
    }

    int64_t new_child(int64_t parent, int64_t name, int64_t size)
    {
        if (found_.count == found_.most_members) {
            is_full = true;
            return -1;
        }
        const int64_t made = found_.count++;
        JsonMember& around = found_.members[parent];
        found_.members[made] = {parent, name, size, -1, -1, -1, 0, 0, around.object};
        int64_t* last = &around.child;
        if (around.recent >= 0) last = &found_.members[around.recent].next;
        while (*last >= 0) last = &found_.members[*last].next;
        *last = made;
        around.recent = made;
        return made;
    }

    void add(int64_t node, JsonKind kind, const unsigned char* start, const unsigned char* stop)
    {
        int64_t& kinds = found_.members[node].kinds;
        if (kinds >> kind & 1) return;
        if (found_.events == found_.most_events) {
            is_full = true;
            return;
        }
        kinds |= int64_t{1} << kind;
        int64_t* const event = found_.event + EVENT_WORDS * found_.events++;
        event[0] = node;
        event[1] = kind;
        event[2] = found_.lines;
        event[3] = start - text_;
        event[4] = stop - text_;
    }

    const unsigned char* const text_;
    JsonTypes& found_;
};

}  // namespace

void gm_json_types(const unsigned char* text, int64_t start, int64_t stop, JsonTypes* found)
{
    Tree tree(text, *found);
    JsonReader<Tree> reader(tree);
    const unsigned char* at = text + start;
    found->fault = NO_JSON_FAULT;
    while (at < text + stop) {
        const unsigned char* newline = behind_blanks(at);
        if (*newline != '\n') newline = reader.read(at);
        if (newline == nullptr && !tree.is_full) {
            found->fault = reader.fault;
            found->at = reader.at_fault - text;
        }
        if (newline == nullptr || tree.is_full) break;
        at = newline + 1;
        ++found->lines;
    }
    found->taken = at - text;
}
