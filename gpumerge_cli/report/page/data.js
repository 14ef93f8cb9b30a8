// The results that the page shows. Python counted them; scripts draw them.
const data = JSON.parse(document.getElementById("data").textContent);
const [labelsA, labelsB] = data.labels;
const [codesA, codesB] = data.codes;
const m = codesA.length, n = codesB.length, total = m + n;
const SECTOR = 32, WARP = 32;

// Items by their origin: i for A[i], -1 - j for B[j], null for memory that no item was loaded to.
const labelOf = origin => origin === null ? "?" : origin >= 0 ? labelsA[origin] : labelsB[-1 - origin];
const nameOf = origin => origin === null ? "nothing" : origin >= 0 ? `A[${origin}]` : `B[${-1 - origin}]`;
