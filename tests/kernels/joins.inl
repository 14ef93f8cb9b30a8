// Included once, inside the namespace of join_runs.cu, behind it: from a case to a launch. A case's fields: a, for each of m
// runs its distance from a vector's boundary and then its bytes; b, the bytes of all runs; out_skew that of the output.

std::string run(const Case& c)
{
    const Header& h = c.header;
    std::vector<long long> told(2 * h.m);
    std::memcpy(told.data(), c.a.data(), h.a_bytes);
    // Exactly as long as the run, so that the sanitizer sees what is read behind it; ahead of it lies what nobody may read.
    std::vector<Output> runs;
    Table table{};
    long long ahead = 0;
    for (int number = 0; number < RUNS; ++number) {
        if (number < h.m) {
            const long long bytes = told[h.m + number];
            runs.emplace_back(bytes, told[number]);
            std::memcpy(runs.back().as<char>(), c.b.data() + ahead, bytes);
            table.from[number] = runs.back().as<unsigned char>();
            ahead += bytes;
        }
        table.ends[number] = ahead;
    }
    Output out(h.n, h.out_skew);
    shim::launch(static_cast<unsigned>(h.blocks), BLOCK_SIZE, 0, [&] { join_runs(table, out.as<unsigned char>()); });
    if (!out.nothing_ahead()) return "bytes ahead were written";
    return std::string(out.as<char>(), h.n);
}
