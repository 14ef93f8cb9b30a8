// Walks forward through the items of two sorted sources, and checks their order. Included by join.cpp.
//
// Both sources are read through windows, and the result is written in parts of about the size that the caller asks for.
//
// A Kind knows the items. It has a type Item and an output `out`, and the functions that Sides and what is derived from it call.
#pragma once

template <typename Kind>
class Sides : public Join {
public:
    Sides(const JoinSpec& spec, int64_t room)
        : spec_(spec), keys_(*spec.keys), room_(std::max(room, LEAST_ROOM)), kind_(spec), unique_((spec.shows & JOIN_UNIQUE) != 0)
    {
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

protected:
    typedef typename Kind::Item Item;
    static constexpr int64_t LEAST_ROOM = 1 << 12;

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
            std::vector<Item>* const held = holding_ && &side == &sides_[1] ? &held_items_ : nullptr;
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

    // Begins with the ranges of both inputs: makes their first items the current ones. See gm_join_start.
    void begin(const int64_t* ranges, bool check)
    {
        check_ = check;
        holding_ = far_ = false;
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

    const Item* prepared(int64_t input)
    {
        kind_.prepare(input, sides_[input].item());
        return &sides_[input].item();
    }

    // Holds no item of the group any more.
    void give_up()
    {
        holding_ = false;
        far_ = true;
        held_items_.clear();
    }

    void tell(JoinResult& result)
    {
        result.at = kind_.out.data();
        result.nbytes = kind_.out.bytes();
        result.lines = kind_.out.items();
        result.taken_a = sides_[0].taken;
        result.taken_b = sides_[1].taken;
    }

    const JoinSpec& spec_;
    const OrderSpec keys_;
    const int64_t room_;
    Kind kind_;
    const bool unique_;
    bool check_ = true;
    Side sides_[2];
    Window window_;
    // Items of B that are held. They may be no more than fit into a window.
    std::vector<Item> held_items_;
    bool holding_ = false;  // whether more are gathered
    bool far_ = false;      // whether they were too many

private:
    Buffer border_;
};
