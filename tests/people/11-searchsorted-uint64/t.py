import numpy as np

import gpumerge_cli as g

a = np.arange(2**62, 2**62 + 100, dtype=np.uint64)
print(g.rank_of([a], [2**62 + 25]).tolist(), g.rank_of([a], np.array([2**62 + 25], dtype=np.int64)).tolist())
b = np.array([1.0, 2.0, np.nan])
print(g.rank_of([b], [np.nan, np.inf]).tolist(), g.rank_of([b], [np.nan], side="right").tolist())
