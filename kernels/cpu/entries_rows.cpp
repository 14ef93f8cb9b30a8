// Single items, and workspaces of rows.
#include "compare.hpp"
#include "fault.hpp"
#include "rows_kinds.hpp"

int64_t gm_locale(const char* name) { return open_locale(name); }

int64_t gm_locale_word(const char* name, int64_t word, unsigned char* out, int64_t room)
{
    return word_of_locale(name, word, out, room);
}

int64_t gm_compare(const OrderSpec* order, const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size)
{
    return compare_items(*order, a, a_size, b, b_size);
}

void gm_key_bounds(const OrderSpec* order, int64_t number, const unsigned char* line, int64_t size, int64_t* bounds)
{
    const Bytes key = key_in_line(*order, number, {line, size});
    bounds[0] = key.at - line;
    bounds[1] = key.at + key.size - line;
}

int64_t gm_is_invalid(const OrderSpec* order, int64_t number, const unsigned char* line, int64_t size)
{
    return is_invalid_key(*order, number, {line, size});
}

int64_t gm_read_time(const OrderSpec* order, int64_t number, const unsigned char* line, int64_t size, int64_t* found)
{
    return read_time(*order, number, {line, size}, found);
}

int64_t gm_text_ranks(const OrderSpec* order, const unsigned char* texts, int64_t width, int64_t count, int64_t* ranks,
    int64_t threads, Failure* failure)
{
    return stopped_by(failure, [&] {
        const int64_t fault = rank_texts(*order, texts, width, count, ranks, static_cast<int>(threads));
        if (fault < count) throw Fault{DISORDER, {0, 0, fault}};
    });
}

std::unique_ptr<Workspace> make_rows(const OrderSpec& order, int threads)
{
    return order.kind == RECORDS ? make_record_rows(order, threads) : make_line_rows(order, threads);
}
