// The level and the version of the library. The build defines LEVEL and VERSION.
#include "entries.h"

const char* gm_level(void) { return LEVEL; }
const char* gm_version(void) { return VERSION; }
