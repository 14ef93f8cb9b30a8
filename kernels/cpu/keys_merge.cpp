#include "keys_merge.hpp"

void KeyMerge::merge(const std::vector<Run>& runs, Byte* out) const
{
    const KeyKind kind{order, keys};
    Merging<KeyKind>{kind, width, launch, team, spare}.merge(runs, out);
}
