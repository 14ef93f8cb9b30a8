// The search for a cut, as in kernels/corank.cuh. Its steps lead to i; j is rank - i.
function coRank(rank) {
  let low = Math.max(0, rank - n), high = Math.min(rank, m);
  const steps = [];
  while (low < high) {
    const i = (low + high) >> 1, j = rank - i;
    const bFirst = codesB[j - 1] < codesA[i];
    steps.push({ low, high, i, j, bFirst });
    if (bFirst) high = i;
    else low = i + 1;
  }
  return { i: low, j: rank - low, steps };
}

// The merged items by their origin, and for each rank its i.
const { merged, cuts } = (() => {
  const merged = [], cuts = [0];
  for (let i = 0, j = 0; i < m || j < n;) {
    if (j < n && (i === m || codesB[j] < codesA[i])) merged.push(-1 - j++);
    else merged.push(i++);
    cuts.push(i);
  }
  return { merged, cuts };
})();
