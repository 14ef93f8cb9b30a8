// Reads a line of JSON: whether it is valid by RFC 8259, and what values lie in it.
#pragma once

#include "json_text.hpp"

constexpr int64_t DEEPEST = 1024;  // arrays and objects within each other

// A value in a line. It lies in [start, stop), a string without its quotes. Of an object or array, only the first byte does.
struct JsonValue {
    JsonType type;
    bool plain;  // of a string: it has no escapes
    const unsigned char* start;
    const unsigned char* stop;

    JsonString string() const { return {start, stop, plain}; }
};

// Tree: takes the values of a line. begin() starts one. member(node, name) and element(node, index) are the nodes of values within
// an object or array, negative for values that nobody asks for; note(node, value) comes with each value, that of an object or array
// ahead of those within it. Node 0 is the line itself.
template <typename Tree>
class JsonReader {
public:
    explicit JsonReader(Tree& tree) : tree_(tree) {}

    // The fault of the last line, a JsonFault, and its place.
    int64_t fault = NO_JSON_FAULT;
    const unsigned char* at_fault = nullptr;

    // Reads the line at `at`, which goes to its newline; STRIDE bytes behind that are readable. Returns the place of the newline;
    // null for a line that has a fault.
    const unsigned char* read(const unsigned char* at)
    {
        int64_t depth = 0, here = 0;  // here: the node of the value that comes, -1 for none
        tree_.begin();
        fault = NO_JSON_FAULT;
    value:
        at = behind_blanks(at);
        {
            JsonValue value{JSON_NOTHING, true, at, at};
            switch (*at) {
            case '{':
            case '[':
                if (depth == DEEPEST) return failed(TOO_DEEP, at);
                value.stop = at + 1;
                value.type = JSON_CONTAINER;
                tree_.note(here, value);
                levels_[depth++] = {here, *at == '{' ? -1 : 0};
                at = behind_blanks(at + 1);
                if (levels_[depth - 1].index < 0) {
                    if (*at != '}') goto name;
                } else if (*at != ']') {
                    here = tree_.element(levels_[depth - 1].node, 0);
                    goto value;
                }
                ++at;
                --depth;
                goto behind;
            case '"': {
                JsonString found;
                if (const int64_t status = read_string(at + 1, found)) return failed(status, found.stop);
                value = {JSON_STRING, found.plain, found.start, found.stop};
                at = found.stop + 1;
                break;
            }
            case 't':
                if (std::memcmp(at, "true", 4) != 0) return failed(VALUE_EXPECTED, at);
                at += 4;
                value.type = JSON_BOOL;
                break;
            case 'f':
                if (std::memcmp(at, "false", 5) != 0) return failed(VALUE_EXPECTED, at);
                at += 5;
                value.type = JSON_BOOL;
                break;
            case 'n':
                if (std::memcmp(at, "null", 4) != 0) return failed(VALUE_EXPECTED, at);
                at += 4;
                break;
            case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9': {
                const unsigned char* const stop = behind_number(at);
                if (stop == nullptr) return failed(INVALID_NUMBER, at);
                at = stop;
                value.type = JSON_NUMBER;
                break;
            }
            default: return failed(*at == '\n' ? LINE_ENDS : VALUE_EXPECTED, at);
            }
            if (value.type != JSON_STRING) value.stop = at;
            tree_.note(here, value);
        }
    behind:
        at = behind_blanks(at);
        if (depth == 0) return *at == '\n' ? at : failed(TEXT_BEHIND_VALUE, at);
        {
            Level& level = levels_[depth - 1];
            if (*at == ',') {
                at = behind_blanks(at + 1);
                if (level.index < 0) goto name;
                ++level.index;
                here = tree_.element(level.node, level.index);
                goto value;
            }
            if (*at != (level.index < 0 ? '}' : ']')) return failed(*at == '\n' ? LINE_ENDS : COMMA_EXPECTED, at);
            ++at;
            --depth;
            goto behind;
        }
    name:
        {
            if (*at != '"') return failed(*at == '\n' ? LINE_ENDS : NAME_EXPECTED, at);
            JsonString found;
            if (const int64_t status = read_string(at + 1, found)) return failed(status, found.stop);
            here = tree_.member(levels_[depth - 1].node, found);
            at = behind_blanks(found.stop + 1);
            if (*at != ':') return failed(*at == '\n' ? LINE_ENDS : COLON_EXPECTED, at);
            ++at;
            goto value;
        }
    }

private:
    struct Level {
        int64_t node;   // of the object or array, -1 for none
        int64_t index;  // of the element, -1 in an object
    };

    // The place behind a number; null if it is invalid.
    static const unsigned char* behind_number(const unsigned char* at)
    {
        at += *at == '-';
        if (!is_digit(*at)) return nullptr;
        if (*at == '0') ++at;
        else while (is_digit(*at)) ++at;
        if (*at == '.') {
            if (!is_digit(*++at)) return nullptr;
            while (is_digit(*at)) ++at;
        }
        if ((*at | 0x20) == 'e') {
            ++at;
            at += *at == '-' || *at == '+';
            if (!is_digit(*at)) return nullptr;
            while (is_digit(*at)) ++at;
        }
        return at;
    }

    const unsigned char* failed(int64_t status, const unsigned char* at)
    {
        fault = status;
        at_fault = at;
        return nullptr;
    }

    Tree& tree_;
    Level levels_[DEEPEST];
};

// The values that keys name. values: one for each key, by its slot.
class JsonKeyTree {
public:
    JsonKeyTree(const JsonKeys& keys, JsonValue* values) : nodes_(keys.nodes), names_(keys.texts), count_(keys.count), values_(values) {}

    void begin() { forget(0, count_); }

    void note(int64_t here, const JsonValue& value)
    {
        if (here >= 0 && node(here).slot >= 0) values_[node(here).slot] = value;
    }

    // The node of the member `name` of an object, -1 for none. Forgets the values of an earlier member with this name.
    int64_t member(int64_t parent, const JsonString& name)
    {
        if (parent < 0) return -1;
        for (int64_t one = node(parent).child; one >= 0; one = node(one).next)
            if (is_text(name, names_ + node(one).name, node(one).name_size)) return reached(one);
        return -1;
    }

    int64_t element(int64_t parent, int64_t index)
    {
        if (parent < 0) return -1;
        for (int64_t one = node(parent).child; one >= 0; one = node(one).next)
            if (node(one).index == index) return reached(one);
        return -1;
    }

private:
    const JsonNode& node(int64_t number) const { return nodes_[number]; }

    void forget(int64_t low, int64_t high)
    {
        for (int64_t slot = low; slot < high; ++slot) values_[slot] = {JSON_NOTHING, true, nullptr, nullptr};
    }

    int64_t reached(int64_t one)
    {
        forget(node(one).low, node(one).high);
        return one;
    }

    const JsonNode* nodes_;
    const unsigned char* names_;
    int64_t count_;
    JsonValue* values_;
};
