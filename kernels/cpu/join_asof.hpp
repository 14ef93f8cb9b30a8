// As-of joins: each item of A with the nearest item of B, ahead of it or behind it. Included by join.cpp.
//
// The candidates of an item of A are the last item of B that was passed, and the next one. They may lie next to the range of B, so
// these two are read, too. A candidate is a partner if all keys but the last are equal, and its distance is not above the tolerance.
// Keys tell which items are there: see LineAsof and RecordAsof.
#pragma once

template <typename Kind, typename Keys>
class AsofWalk final : public Sides<Kind> {
public:
    AsofWalk(const JoinSpec& spec, int64_t room)
        : Sides<Kind>(spec, room), asof_(spec), descending_(spec.asof->descending != 0), direction_(direction_of(*spec.asof)),
          keeps_equal_(direction_ == ASOF_FORWARD || (direction_ == ASOF_NEAREST && descending_)),
          values_(direction_ == ASOF_NEAREST || spec.asof->limited != 0)
    {
    }

    void start(const int64_t* ranges, bool check) override
    {
        const int64_t from = ranges[2];
        behind_at_ = ranges[3];
        has_a_ = ranges[1] > ranges[0];
        before_ = nullptr;
        behind_.there = behind_.known = false;
        begin(ranges, check);
        if (direction_ != ASOF_FORWARD && has_a_ && from > 0) find_before(from);
        known_[0] = known_[1] = false;
        if (sides_[1].there && asof_.is_gap(sides_[1].item())) skip_gaps();
    }

    void next(int64_t most, JoinResult& result) override
    {
        kind_.out.begin(most);
        try {
            while (kind_.out.bytes() < most && put_row()) {}
        } catch (SurplusFields& found) {
            if (found.failure.input == 1 && ahead_.holds(found.at)) found.failure.position = ahead_.place;
            else if (found.failure.input == 1 && behind_.holds(found.at)) found.failure.position = behind_.place;
            else found.failure.position = sides_[found.failure.input].tape.place_of(found.at);
            throw;
        }
        tell(result);
        result.over = kind_.out.bytes() < most;
    }

private:
    using typename Sides<Kind>::Item;
    using typename Sides<Kind>::Side;
    using Sides<Kind>::begin, Sides<Kind>::step, Sides<Kind>::tell;
    using Sides<Kind>::spec_, Sides<Kind>::keys_, Sides<Kind>::kind_, Sides<Kind>::sides_, Sides<Kind>::window_;

    // An item of B that no window holds. place: where it lies in the source.
    struct Kept {
        Item item;
        Buffer room, made;
        int64_t place = -1, size = 0;
        bool there = false, known = false;

        bool holds(const unsigned char* at) const { return there && at >= room.data() && at < room.data() + size; }
    };

    // The side of A's item on which the partner lies in the order of items.
    static int64_t direction_of(const AsofSpec& asof)
    {
        if (asof.descending == 0 || asof.direction == ASOF_NEAREST) return asof.direction;
        return asof.direction == ASOF_BACKWARD ? ASOF_FORWARD : ASOF_BACKWARD;
    }

    // Puts out A's current item. False if no item of A or B is left.
    bool put_row()
    {
        Side &a = sides_[0], &b = sides_[1];
        if (!a.there) {
            if (!b.there) return false;
            step(1);
            return true;
        }
        Item* found = nullptr;
        if (asof_.has_value(a.item())) {
            while (b.there) {
                const int order = kind_.compare(b.item(), a.item());
                if (order > 0 || (order == 0 && keeps_equal_)) break;
                pass();
            }
            found = partner();
        }
        kind_.prepare(0, a.item());
        if (found != nullptr) kind_.prepare(1, *found);
        kind_.put(&a.item(), found);
        step(0);
        return true;
    }

    // Passes B's current item, which becomes the candidate ahead.
    void pass()
    {
        Side& b = sides_[1];
        step(1);
        before_ = b.there ? &b.items[b.current ^ 1] : &b.item();
        std::swap(read_[0], read_[1]);
        known_[0] = known_[1];
        known_[1] = false;
        if (b.there && asof_.is_gap(b.item())) [[unlikely]] skip_gaps();
    }

    // Passes items that are no candidates. The one ahead of them stays one, and so is copied.
    __attribute__((noinline)) void skip_gaps()
    {
        Side& b = sides_[1];
        if (before_ != nullptr && before_ != &ahead_.item) {
            ahead_.place = b.tape.place_of(kind_.begin_of(*before_));
            ahead_.size = asof_.copy(*before_, ahead_.room);
            ahead_.there = true;
            const unsigned char* const at = ahead_.room.data();
            kind_.read(1, at, at + ahead_.size, ahead_.item, ahead_.made);
            before_ = &ahead_.item;
        }
        while (b.there && asof_.is_gap(b.item())) step(1);
    }

    // The candidate that is A's partner; null if there is none.
    Item* partner()
    {
        Item& a = sides_[0].item();
        Item* before = direction_ == ASOF_FORWARD ? nullptr : before_;
        Item* behind = direction_ == ASOF_BACKWARD ? nullptr : candidate_behind();
        if (before != nullptr && !may_pair(a, *before)) before = nullptr;
        if (behind != nullptr && !may_pair(a, *behind)) behind = nullptr;
        if (!values_ || (before == nullptr && behind == nullptr)) return before != nullptr ? before : behind;
        asof_.read(a, own_);
        if (before != nullptr) read(*before, 0);
        if (behind != nullptr) read(*behind, 1);
        if (before != nullptr && behind != nullptr) {
            const bool low_is_nearer = asof_.distances.is_nearer(read_[descending_], own_, read_[!descending_]);
            if (low_is_nearer != descending_) behind = nullptr;
            else before = nullptr;
        }
        const AsofValue& other = read_[before == nullptr];
        const bool other_is_low = (before != nullptr) != descending_;
        const bool within = other_is_low ? asof_.distances.within(other, own_) : asof_.distances.within(own_, other);
        return !within ? nullptr : before != nullptr ? before : behind;
    }

    bool may_pair(const Item& a, const Item& b) const { return asof_.same_others(a, b) && asof_.has_value(b); }

    // Reads the value of the candidate ahead (0) or behind (1), unless it is known.
    void read(const Item& item, int which)
    {
        if (!known_[which]) asof_.read(item, read_[which]);
        known_[which] = true;
    }

    Item* candidate_behind()
    {
        if (sides_[1].there) return &sides_[1].item();
        if (!behind_.known) find_behind();
        return behind_.there ? &behind_.item : nullptr;
    }

    // Finds the last candidate ahead of a place in B.
    void find_before(int64_t at)
    {
        Items items(spec_.sources[1], keys_, 1, window_);
        ahead_.there = false;
        while (!ahead_.there && at > 0) {
            const int64_t end = at;
            at = items.start_before(at);
            keep(ahead_, at, end);
        }
        before_ = ahead_.there ? &ahead_.item : nullptr;
    }

    // Finds the first candidate behind B's range.
    __attribute__((noinline)) void find_behind()
    {
        Items items(spec_.sources[1], keys_, 1, window_);
        behind_.known = true;
        known_[1] = false;
        for (int64_t at = behind_at_; !behind_.there && at < items.size();) {
            const int64_t end = items.end_of(at);
            keep(behind_, at, end);
            at = end;
        }
    }

    // Reads an item of B, which is there unless it is no candidate.
    void keep(Kept& kept, int64_t place, int64_t end)
    {
        kept.place = place;
        kept.size = end - place;
        unsigned char* const at = kept.room.reserve(static_cast<size_t>(kept.size));
        read_source(spec_.sources[1], keys_, 1, place, at, kept.size);
        kind_.read(1, at, at + kept.size, kept.item, kept.made);
        kept.there = !asof_.is_gap(kept.item);
    }

    Keys asof_;
    const bool descending_;
    const int64_t direction_;
    const bool keeps_equal_;  // whether items of B that equal that of A lie behind it, and not ahead of it
    const bool values_;  // whether distances matter
    bool has_a_ = false;
    int64_t behind_at_ = 0;  // where B's range ends
    Item* before_ = nullptr;  // the last item of B that was passed
    Kept ahead_, behind_;
    AsofValue own_, read_[2];
    bool known_[2] = {false, false};
};
