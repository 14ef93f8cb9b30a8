// Walks through two sorted sources, group by group of equal keys. Included by join.cpp.
//
// Both sources are read through windows, and the result is written in parts of about the size that the caller asks for. The
// items of B in a group are held if they fit into a window. Otherwise they are read again for each item of A. So memory grows
// neither with the size of a group nor with the number of its pairs.
//
// A Kind knows the items. It has a type Item and an output `out`, and the functions that Walk calls.
#pragma once

template <typename Kind>
class Walk final : public Join {
public:
    Walk(const JoinSpec& spec, int64_t room)
        : spec_(spec), keys_(*spec.keys), room_(std::max(std::min(room, most_room(spec)), LEAST_ROOM)), kind_(spec),
          diffs_((spec.shows & JOIN_DIFF) != 0), unique_((spec.shows & JOIN_UNIQUE) != 0), passes_((spec.shows & JOIN_EACH) == 0)
    {
    }

    void start(const int64_t* ranges, bool check) override
    {
        check_ = check;
        in_group_ = holding_ = far_ = false;
        changed_ = 0;
        for (int64_t input = 0; input < 2; ++input) {
            Side& side = sides_[input];
            const int64_t from = ranges[2 * input], to = ranges[2 * input + 1];
            side.taken = 0;
            side.there = false;
            side.tape.begin(spec_.sources[input], keys_, input, from, to, room_);
            step(input);
            if (check && from > 0 && to > from) check_border(input, from);
        }
    }

    void next(int64_t most, JoinResult& result) override
    {
        kind_.out.begin(most);
        try {
            while (kind_.out.bytes() < most) {
                if (diffs_) {
                    if (!differ()) break;
                } else if (in_group_) put_group(most);
                else if (!walk()) break;
            }
        } catch (SurplusFields& found) {
            const bool again = found.failure.input == 1 && in_group_ && far_;
            found.failure.position = (again ? again_ : sides_[found.failure.input]).tape.place_of(found.at);
            throw;
        }
        tell(result);
        result.over = kind_.out.bytes() < most;
    }

    void pair(Bytes a, Bytes b, JoinResult& result) override
    {
        kind_.out.begin(1);
        kind_.put_pair(a, b);
        sides_[0].taken = sides_[1].taken = 0;
        tell(result);
        result.over = 1;
    }

    int64_t fields(int64_t input, Bytes line) override { return kind_.fields(input, line); }

private:
    typedef typename Kind::Item Item;
    static constexpr int64_t LEAST_ROOM = 1 << 12;
    static constexpr int64_t ROOM_OF_DIFF = 1 << 18;  // no group is held, so windows may stay in the cache of a core

    static int64_t most_room(const JoinSpec& spec) { return spec.shows & JOIN_DIFF ? ROOM_OF_DIFF : INT64_MAX; }

    // The items of one input's range, one after the other.
    struct Side {
        Tape tape;
        Item items[2];       // the current item, and the one ahead of it
        Buffer made[2];      // their keys, if these are made
        size_t current = 0;  // which of the two
        bool there = false;  // whether there is one
        bool same = false;   // whether its key equals that of the item ahead of it
        int64_t taken = 0;

        Item& item() { return items[current]; }
    };

    // Makes the next item of a side the current one, if there is one.
    __attribute__((always_inline)) void take(int64_t input, Side& side)
    {
        const bool was_there = side.there;
        side.there = !side.tape.over();
        if (!side.there) return;
        const unsigned char* end = kind_.end_of(side.tape.next, side.tape.stop(), input);
        if (end == nullptr) [[unlikely]] end = read_on(input, side, was_there);
        const unsigned char* const begin = side.tape.next;
        side.tape.next = end;
        enter(input, side, begin, end);
    }

    // Makes an item in the window the current one.
    __attribute__((always_inline)) void enter(int64_t input, Side& side, const unsigned char* begin, const unsigned char* end)
    {
        ++side.taken;
        side.current ^= 1;
        kind_.read(input, begin, end, side.item(), side.made[side.current]);
        if (kind_.is_at_fault(side.item())) [[unlikely]] throw Fault{DISORDER, {0, input, side.tape.place_of(begin)}};
    }

    // Makes the next item of an input the current one. Throws Fault if it goes before the last one.
    __attribute__((always_inline)) void step(int64_t input)
    {
        Side& side = sides_[input];
        const bool was_there = side.there;
        take(input, side);
        side.same = false;
        if (was_there && side.there) check_step(input, side);
    }

    // Compares the current item with the one ahead of it. Throws Fault if it may not follow it.
    __attribute__((always_inline)) void check_step(int64_t input, Side& side)
    {
        const int order = kind_.compare(side.item(), side.items[side.current ^ 1]);
        side.same = order == 0;
        if (order < 0 && check_) throw Fault{DISORDER, {0, input, side.tape.place_of(kind_.begin_of(side.item()))}};
        if (side.same && unique_) throw Fault{REPEATED_KEY, {0, input, side.tape.place_of(kind_.begin_of(side.item()))}};
    }

    // Reads until the window holds the next item. Returns its end.
    __attribute__((noinline)) const unsigned char* read_on(int64_t input, Side& side, bool was_there)
    {
        Tape& tape = side.tape;
        const unsigned char* end = nullptr;
        while (end == nullptr && !tape.is_last()) {
            const unsigned char* keep = was_there ? kind_.begin_of(side.item()) : tape.next;
            std::vector<Item>* const held = holding_ && &side == &sides_[1] ? &b_items_ : nullptr;
            if (held != nullptr && tape.stop() - kind_.begin_of(held->front()) > room_ / 2) give_up();
            if (holding_ && held != nullptr) keep = kind_.begin_of(held->front());
            const ptrdiff_t moved = tape.read_on(keep);
            if (was_there) kind_.move(side.item(), moved, input);
            if (held != nullptr)
                for (Item& item : *held) kind_.move(item, moved, input);
            end = kind_.end_of(tape.next, tape.stop(), input);
        }
        return end == nullptr ? tape.stop() : end;
    }

    void check_border(int64_t input, int64_t from)
    {
        Items items(spec_.sources[input], keys_, input, window_);
        const Bytes first = items.read_key(from, border_);
        if (items.compare(items.start_before(from), first) > 0) throw Fault{DISORDER, {0, input, from}};
    }

    // Goes on with the current items: puts out one without a partner, or finds a group. False if no item is left.
    bool walk()
    {
        Side &a = sides_[0], &b = sides_[1];
        if (!a.there && !b.there) return false;
        int order = !a.there ? 1 : !b.there ? -1 : kind_.compare(a.item(), b.item());
        if (a.there && b.there) {
            while (order < 0 && !(spec_.shows & JOIN_ONLY_A)) {
                step(0);
                if (!a.there) return true;
                order = kind_.compare(a.item(), b.item());
            }
            while (order > 0 && !(spec_.shows & JOIN_ONLY_B)) {
                step(1);
                if (!b.there) return true;
                order = kind_.compare(a.item(), b.item());
            }
        }
        if (order < 0) {
            if (spec_.shows & JOIN_ONLY_A) kind_.put(prepared(0), nullptr);
            step(0);
        } else if (order > 0) {
            if (spec_.shows & JOIN_ONLY_B) kind_.put(nullptr, prepared(1));
            step(1);
        } else {
            gather();
        }
        return true;
    }

    // Goes on with the current items of a diff. Items of a group meet their partners in order, so no item is held. False if no
    // item is left.
    bool differ()
    {
        Side &a = sides_[0], &b = sides_[1];
        if (!a.there && !b.there) return false;
        const int order = !a.there ? 1 : !b.there ? -1 : kind_.compare(a.item(), b.item());
        if (order < 0) {
            kind_.out.marked(REMOVED, a.item());
            step(0);
        } else if (order > 0) {
            kind_.out.marked(ADDED, b.item());
            step(1);
        } else {
            if (!kind_.same(a.item(), b.item())) {
                ++changed_;
                kind_.out.marked(CHANGED_FROM, a.item());
                kind_.out.marked(CHANGED_TO, b.item());
            } else if (passes_) {
                pass_same();
            }
            step(0);
            step(1);
        }
        return true;
    }

    // Goes to the last item of the stretch behind the current ones that has the same bytes in both windows. Its items are pairs
    // that have not changed, so only the order of A's is checked.
    void pass_same()
    {
        Side &a = sides_[0], &b = sides_[1];
        const ptrdiff_t most = std::min(a.tape.stop() - a.tape.next, b.tape.stop() - b.tape.next);
        const unsigned char* const begin = a.tape.next;
        const ptrdiff_t bytes = same_bytes(begin, b.tape.next, most);
        const Passed passed = kind_.pass(a.item(), begin, begin + bytes, [&](int order, const unsigned char* item) {
            if (order == FAULTY_KEY || (order < 0 && check_)) throw Fault{DISORDER, {0, 0, a.tape.place_of(item)}};
            if (order == 0 && unique_) throw Fault{REPEATED_KEY, {0, 0, a.tape.place_of(item)}};
        });
        if (passed.count == 0) return;
        for (int64_t input = 0; input < 2; ++input) {
            Side& side = sides_[input];
            const unsigned char* const last = side.tape.next + (passed.last - begin);
            side.tape.next += passed.end - begin;
            side.taken += passed.count - 1;
            enter(input, side, last, side.tape.next);
        }
    }

    const Item* prepared(int64_t input)
    {
        kind_.prepare(input, sides_[input].item());
        return &sides_[input].item();
    }

    // Begins with the group of the current items: goes to its end in B, and holds B's items if they are needed.
    void gather()
    {
        Side& b = sides_[1];
        b_items_.clear();
        holding_ = (spec_.shows & JOIN_PAIRS) != 0;
        far_ = false;
        const int64_t from = b.tape.place_of(kind_.begin_of(b.item()));
        do {
            if (holding_) {
                b_items_.push_back(*prepared(1));
                if (static_cast<int64_t>(b_items_.size() * sizeof(Item)) > room_) give_up();
            }
            step(1);
        } while (b.there && b.same);
        if (holding_ && !kind_.hold(b_items_, room_)) give_up();
        holding_ = false;
        in_group_ = true;
        const int64_t to = b.tape.place_of(b.there ? kind_.begin_of(b.item()) : b.tape.next);
        group_[0] = from;
        group_[1] = to;
        begin_row();
    }

    // Holds no item of the group any more.
    void give_up()
    {
        holding_ = false;
        far_ = true;
        b_items_.clear();
    }

    // Begins with the pairs of A's current item.
    void begin_row()
    {
        kind_.prepare(0, sides_[0].item());
        next_b_ = 0;
        if (!far_) return;
        again_.there = false;
        again_.tape.begin(spec_.sources[1], keys_, 1, group_[0], group_[1], room_);
    }

    // Goes on with the group: puts out what A's current item makes, and takes the next one.
    void put_group(int64_t most)
    {
        Side& a = sides_[0];
        if (spec_.shows & JOIN_PAIRS) {
            if (far_ ? !put_far_pairs(most) : !put_pairs(most)) return;
        } else if (spec_.shows & JOIN_PAIRED_A) {
            kind_.put(&a.item(), nullptr);
        }
        step(0);
        in_group_ = a.there && a.same;
        if (in_group_) begin_row();
    }

    // Whether all pairs of A's current item are out.
    bool put_pairs(int64_t most)
    {
        kind_.begin_pairs(sides_[0].item());
        for (; next_b_ < b_items_.size() && kind_.out.bytes() < most; ++next_b_)
            kind_.put_held(sides_[0].item(), b_items_, next_b_);
        return next_b_ == b_items_.size();
    }

    bool put_far_pairs(int64_t most)
    {
        while (kind_.out.bytes() < most) {
            take(1, again_);
            if (!again_.there) return true;
            kind_.prepare(1, again_.item());
            kind_.put(&sides_[0].item(), &again_.item());
        }
        return false;
    }

    void tell(JoinResult& result)
    {
        result.at = kind_.out.data();
        result.nbytes = kind_.out.bytes();
        result.lines = kind_.out.items();
        result.taken_a = sides_[0].taken;
        result.taken_b = sides_[1].taken;
        result.changed = changed_;
    }

    const JoinSpec& spec_;
    const OrderSpec keys_;
    const int64_t room_;
    Kind kind_;
    const bool diffs_, unique_, passes_;
    int64_t changed_ = 0;
    bool check_ = true;
    Side sides_[2];
    Window window_;
    Buffer border_;
    // The current group, which A's current item is of.
    bool in_group_ = false;
    bool holding_ = false;         // whether B's items are being gathered
    bool far_ = false;             // whether they were too large for that, and lie at group_ in the source
    std::vector<Item> b_items_;
    size_t next_b_ = 0;            // the next partner of A's current item
    int64_t group_[2] = {0, 0};
    Side again_;                   // reads them again
};
