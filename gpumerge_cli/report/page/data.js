// The results that the page shows. Python counted them; scripts draw them.
const data = JSON.parse(document.getElementById("data").textContent);
const [labelsA, labelsB] = data.labels;
const [codesA, codesB] = data.codes;
const m = codesA.length, n = codesB.length, total = m + n;
const SECTOR = 32, WARP = 32;

// Items by their origin: i for A[i], -1 - j for B[j], null for memory that no item was loaded to.
const labelOf = origin => origin === null ? "?" : origin >= 0 ? labelsA[origin] : labelsB[-1 - origin];
const nameOf = origin => origin === null ? "nothing" : origin >= 0 ? `A[${origin}]` : `B[${-1 - origin}]`;

// The lists of the file as objects with names.
const PHASE_NAMES = { s: "search", c: "stage", m: "merge" }, MEMORY_NAMES = { A: "A", B: "B", o: "out", s: "shared" };

function stepOf([phase, memory, store, unit, sectors, bFrom, count, ...lanes]) {
  while (lanes.length < count) lanes.push(-1);
  return { phase: PHASE_NAMES[phase], memory: MEMORY_NAMES[memory], store: store === 1, unit, sectors, bFrom, lanes };
}

function bufferFrom([places, kinds, head, loaded, used, stay, dropped]) {
  return { places, kinds, head, loaded, used, stay, dropped };
}

const roundOf = ([block, first, origins, a, b]) => ({ block, first, origins, a: bufferFrom(a), b: bufferFrom(b) });

for (const launch of data.launches) {
  launch.traffic = launch.traffic.map(([phase, store, requests, lanes, asked, sectors]) =>
    ({ phase, store: store === 1, requests, lanes, asked, sectors }));
  launch.warps = launch.warps.map(([block, warp, steps]) => ({ block, warp, steps: steps.map(stepOf) }));
  launch.rounds = launch.rounds.map(roundOf);
  for (const bug of Object.keys(launch.bugs)) launch.bugs[bug] = launch.bugs[bug].map(roundOf);
}
