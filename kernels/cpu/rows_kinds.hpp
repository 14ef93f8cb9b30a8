// The two kinds of rows.
#pragma once

#include <memory>

#include "workspace.hpp"

std::unique_ptr<Workspace> make_line_rows(const OrderSpec& order, int threads);
std::unique_ptr<Workspace> make_record_rows(const OrderSpec& order, int threads);

// A workspace for lines or records.
std::unique_ptr<Workspace> make_rows(const OrderSpec& order, int threads);
