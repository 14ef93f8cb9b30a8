// The two kinds of rows.
#pragma once

#include <memory>

#include "workspace.hpp"

std::unique_ptr<Workspace> make_line_rows(const OrderSpec& order, int threads);
std::unique_ptr<Workspace> make_record_rows(const OrderSpec& order, int threads);

// Fills `ranks` as gm_text_ranks does. Returns the first text with an invalid key; `count` if there is none. Throws std::bad_alloc.
int64_t rank_texts(const OrderSpec& order, const unsigned char* texts, int64_t width, int64_t count, int64_t* ranks, int threads);

// A workspace for lines or records.
std::unique_ptr<Workspace> make_rows(const OrderSpec& order, int threads);
