// Lines as a join knows them: see Walk. Included by join.cpp.
#pragma once

class LineKind {
public:
    typedef JoinLine Item;

    explicit LineKind(const JoinSpec& spec)
        : order_(*spec.keys), readers_{LineReader(spec.sources[0].key), LineReader(spec.sources[1].key)},
          terminator_(static_cast<unsigned char>(spec.keys->terminator)), out(spec, readers_[0], readers_[1], room_)
    {
        if (spec.shows & JOIN_DIFF) ignored_.assign(spec.columns, spec.columns + spec.count);
    }

    // The place behind the line at `at`, or null if it does not end ahead of `stop`.
    Place end_of(Place at, Place stop, int64_t) const
    {
        for (; at < stop; at += 64)
            if (const Word marks = matches_at(at, terminator_)) {
                at += __builtin_ctzll(marks);
                return at < stop ? at + 1 : nullptr;
            }
        return nullptr;
    }

    __attribute__((always_inline)) void read(int64_t input, Place begin, Place end, JoinLine& line, Buffer& made) const
    {
        readers_[input].read({begin, end - (end[-1] == terminator_)}, line, made);
        order_.see(line);
    }

    __attribute__((always_inline)) int compare(const JoinLine& x, const JoinLine& y) const { return order_.compare(x, y); }
    static Place begin_of(const JoinLine& line) { return line.text.start; }

    // Whether two lines of a diff have the same bytes, or else the same values in all fields that are compared.
    __attribute__((always_inline)) bool same(const JoinLine& x, const JoinLine& y)
    {
        const int64_t size = x.text.stop - x.text.start;
        if (size == y.text.stop - y.text.start && std::memcmp(x.text.start, y.text.start, static_cast<size_t>(size)) == 0)
            return true;
        return (!ignored_.empty() || readers_[0].may_be_quoted()) && same_fields(x, y);
    }

    // Passes the lines that end in [begin, stop), which both inputs of a diff hold. ahead: the line ahead of them. visit: see
    // pass_lines.
    template <typename Visit>
    Passed pass(const JoinLine& ahead, Place begin, Place stop, Visit visit) const
    {
        if (!readers_[0].is_whole()) return {};
        return order_.by_words([&](auto* words) {
            return pass_lines<std::remove_pointer_t<decltype(words)>>(
                order_.lines(), ahead.text, begin, stop, terminator_, [&](Text x, Text y) { return order_.compare_texts(x, y); },
                [&](Text line) { return readers_[0].without_return(line); }, visit);
        });
    }

    static bool is_at_fault(const JoinLine& line) { return line.fault; }
    void move(JoinLine& line, ptrdiff_t bytes, int64_t) const { line.move(bytes, !readers_[0].several()); }
    void prepare(int64_t input, JoinLine& line) const
    {
        if (out.by_fields()) return;
        readers_[input].find_field(line);
        const int64_t most = out.most(input);
        if (most > 0 && line.raw) line.raw = readers_[input].has_fields(line.text, most);
    }

    void put(const JoinLine* a, const JoinLine* b)
    {
        if (!out.by_fields() && (a == nullptr || a->raw) && (b == nullptr || b->raw)) return out.raw(a, b);
        FieldView found[2];
        const JoinLine* const lines[2] = {a, b};
        for (size_t input = 0; input < 2; ++input) {
            if (lines[input] == nullptr) continue;
            auto& fields = single_[input];
            fields.clear();
            readers_[input].split(lines[input]->text, fields);
            found[input] = {fields.data(), fields.size(), true};
        }
        out.fields(a, found[0], b, found[1]);
    }

    // Splits the lines of a group into fields. False if that takes more than a few times `room`.
    bool hold(const std::vector<JoinLine>& lines, int64_t room)
    {
        fields_.clear();
        firsts_.assign(1, 0);
        if (!out.by_fields()) return true;
        for (const JoinLine& line : lines) {
            readers_[1].split(line.text, fields_);
            firsts_.push_back(fields_.size());
            if (static_cast<int64_t>(fields_.size() * sizeof(Text)) > 4 * room) return false;
        }
        return true;
    }

    void begin_pairs(const JoinLine& a)
    {
        if (!out.by_fields()) return;
        a_fields_.clear();
        readers_[0].split(a.text, a_fields_);
    }

    void put_held(const JoinLine& a, const std::vector<JoinLine>& lines, size_t number)
    {
        if (!out.by_fields()) return put(&a, &lines[number]);
        const FieldView b{fields_.data() + firsts_[number], firsts_[number + 1] - firsts_[number], true};
        out.fields(&a, {a_fields_.data(), a_fields_.size(), true}, &lines[number], b);
    }

    // Puts out the line that two lines without terminators make, whatever their keys. They may be null.
    void put_pair(Bytes a, Bytes b)
    {
        JoinLine x, y;
        const bool with_a = read_copy(0, a, x), with_b = read_copy(1, b, y);
        put(with_a ? &x : nullptr, with_b ? &y : nullptr);
    }

    int64_t fields(int64_t input, Bytes line) const
    {
        std::vector<Text> found;
        readers_[input].split({line.at, line.at + line.size}, found);
        return static_cast<int64_t>(found.size());
    }

private:
    __attribute__((noinline)) bool same_fields(const JoinLine& x, const JoinLine& y)
    {
        const JoinLine* const lines[2] = {&x, &y};
        for (size_t input = 0; input < 2; ++input) {
            single_[input].clear();
            readers_[input].split(lines[input]->text, single_[input]);
        }
        const size_t count = std::max(single_[0].size(), single_[1].size());
        for (size_t field = 0; field < count; ++field) {
            if (std::find(ignored_.begin(), ignored_.end(), static_cast<int64_t>(field)) != ignored_.end()) continue;
            if (field >= single_[0].size() || field >= single_[1].size()) return false;
            if (!readers_[0].same_value(single_[0][field], single_[1][field])) return false;
        }
        return true;
    }

    // The text need not have padding, so it is copied.
    bool read_copy(int64_t input, Bytes text, JoinLine& line)
    {
        unsigned char* const copy = copies_[input].reserve(static_cast<size_t>(text.size));
        if (text.size > 0) std::memcpy(copy, text.at, static_cast<size_t>(text.size));
        readers_[input].read({copy, copy + text.size}, line, made_[input]);
        readers_[input].find_field(line);
        return text.at != nullptr;
    }

    const KeyOrder order_;
    const LineReader readers_[2];
    const unsigned char terminator_;
    Buffer room_, copies_[2], made_[2];
    std::vector<Text> fields_, a_fields_, single_[2];
    std::vector<size_t> firsts_;  // the first field of each line of the group
    std::vector<int64_t> ignored_;  // fields that a diff does not compare

public:
    LineOutput out;
};
