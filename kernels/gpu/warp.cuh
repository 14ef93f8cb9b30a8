// The threads of a warp.
#pragma once

constexpr int WARP = 32;
constexpr unsigned ALL = 0xffffffffu;  // all lanes of a warp
