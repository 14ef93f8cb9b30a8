// Walks through two sorted sources, group by group of equal keys. Included by join.cpp, behind join_sides.hpp.
//
// The items of B in a group are held if they fit into a window. Otherwise they are read again for each item of A. So memory
// grows neither with the size of a group nor with the number of its pairs.
#pragma once

template <typename Kind>
class Walk final : public Sides<Kind> {
public:
    Walk(const JoinSpec& spec, int64_t room)
        : Sides<Kind>(spec, std::min(room, most_room(spec))), diffs_((spec.shows & JOIN_DIFF) != 0), passes_((spec.shows & JOIN_EACH) == 0)
    {
    }

    void start(const int64_t* ranges, bool check) override
    {
        in_group_ = false;
        changed_ = 0;
        begin(ranges, check);
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
        result.changed = changed_;
        result.over = kind_.out.bytes() < most;
    }

private:
    using typename Sides<Kind>::Item;
    using typename Sides<Kind>::Side;
    using Sides<Kind>::begin, Sides<Kind>::take, Sides<Kind>::enter, Sides<Kind>::step, Sides<Kind>::prepared, Sides<Kind>::give_up;
    using Sides<Kind>::tell, Sides<Kind>::check_, Sides<Kind>::unique_;
    using Sides<Kind>::spec_, Sides<Kind>::keys_, Sides<Kind>::room_, Sides<Kind>::kind_, Sides<Kind>::sides_;
    using Sides<Kind>::held_items_, Sides<Kind>::holding_, Sides<Kind>::far_;

    static constexpr int64_t ROOM_OF_DIFF = 1 << 18;  // no group is held, so windows may stay in the cache of a core

    static int64_t most_room(const JoinSpec& spec) { return spec.shows & JOIN_DIFF ? ROOM_OF_DIFF : INT64_MAX; }

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
        const unsigned char* const from = a.tape.next;
        const ptrdiff_t bytes = same_bytes(from, b.tape.next, most);
        const Passed passed = kind_.pass(a.item(), from, from + bytes, [&](int order, const unsigned char* item) {
            if (order == FAULTY_KEY || (order < 0 && check_)) throw Fault{DISORDER, {0, 0, a.tape.place_of(item)}};
            if (order == 0 && unique_) throw Fault{REPEATED_KEY, {0, 0, a.tape.place_of(item)}};
        });
        if (passed.count == 0) return;
        for (int64_t input = 0; input < 2; ++input) {
            Side& side = sides_[input];
            const unsigned char* const last = side.tape.next + (passed.last - from);
            side.tape.next += passed.end - from;
            side.taken += passed.count - 1;
            enter(input, side, last, side.tape.next);
        }
    }

    // Begins with the group of the current items: goes to its end in B, and holds B's items if they are needed.
    void gather()
    {
        Side& b = sides_[1];
        held_items_.clear();
        holding_ = (spec_.shows & JOIN_PAIRS) != 0;
        far_ = false;
        const int64_t from = b.tape.place_of(kind_.begin_of(b.item()));
        do {
            if (holding_) {
                held_items_.push_back(*prepared(1));
                if (static_cast<int64_t>(held_items_.size() * sizeof(Item)) > room_) give_up();
            }
            step(1);
        } while (b.there && b.same);
        if (holding_ && !kind_.hold(held_items_, room_)) give_up();
        holding_ = false;
        in_group_ = true;
        const int64_t to = b.tape.place_of(b.there ? kind_.begin_of(b.item()) : b.tape.next);
        group_[0] = from;
        group_[1] = to;
        begin_row();
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
        for (; next_b_ < held_items_.size() && kind_.out.bytes() < most; ++next_b_)
            kind_.put_held(sides_[0].item(), held_items_, next_b_);
        return next_b_ == held_items_.size();
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

    const bool diffs_, passes_;
    int64_t changed_ = 0;
    // The current group, which A's current item is of.
    bool in_group_ = false;
    size_t next_b_ = 0;  // the next partner of A's current item
    int64_t group_[2] = {0, 0};  // where the items of B lie in the source
    Side again_;                 // reads them again
};
