// What the warps of a launch ask of memory: sums for each kernel, and one access at a time.
const MOST_SECTORS = 16;  // of an array that is shown whole
const PHASES = { search: "search", stage: "copy", merge: "merge" };
const bytesUsed = sum => sum.sectors ? `${Math.min(100, Math.round(100 * sum.asked / (SECTOR * sum.sectors)))} %` : "–";

function sumOf(traffic) {
  const sum = { requests: 0, lanes: 0, asked: 0, sectors: 0 };
  for (const one of traffic) for (const name of Object.keys(sum)) sum[name] += one[name];
  return sum;
}

function trafficRow(name, sum, now) {
  const cells = [sum.requests, `${(sum.lanes / sum.requests).toFixed(1)} of 32`, sum.sectors, sum.asked,
    SECTOR * sum.sectors, bytesUsed(sum)];
  return html("tr", { class: now ? "now" : "" }, html("td", {}, name), ...cells.map(cell => html("td", {}, cell.toLocaleString("en"))));
}

function drawTraffic() {
  const now = launchNow(), rows = [];
  for (const kernel of kernels) {
    const at = kernel === now.kernel ? state.launch : nearestLaunch(kernel, now), one = data.launches[at];
    if (one.traffic.length === 0) continue;
    const button = html("button", { type: "button", class: "link", onclick: () => chooseLaunch(at) }, kernel);
    rows.push(trafficRow(button, sumOf(one.traffic), at === state.launch));
    if (at !== state.launch) continue;
    for (const part of one.traffic)
      rows.push(trafficRow(`– ${PHASES[part.phase]}, ${part.store ? "stores" : "loads"}`, part, true));
  }
  byId("traffic").replaceChildren(...rows);
  byId("traffic-says").textContent = `Each row is a kernel, with the sizes nearest to the chosen launch. An access is one load or store of a warp. `
    + `An item has ${data.size} bytes, so a sector holds ${Math.max(1, SECTOR / data.size)}. There is no cache here: a sector counts each time it is touched.`
    + (kernels.includes("path") ? " Another kernel finds the cuts of the path kernel; its accesses are not counted." : "")
    + (now.traffic.length ? "" : ` The accesses of "${now.kernel}" are not modelled here: choose another kernel to see them.`);
}

// The accesses that are shown: those of the warp, or of one phase of it.
function stepsNow() {
  const warp = launchNow().warps[state.warp];
  return warp ? warp.steps.filter(step => state.phase === "all" || step.phase === state.phase) : [];
}

const activeOf = step => step.lanes.map((at, lane) => ({ at, lane })).filter(one => one.at >= 0);

const memoryOf = (step, lane) => lane >= step.bFrom ? "B" : step.memory;

// The pieces of `size` bytes of an array that a step touches: sectors, or items.
function touched(step, memory, size) {
  const found = new Set();
  for (const { at, lane } of activeOf(step)) {
    if (memoryOf(step, lane) !== memory) continue;
    const first = at * step.unit, last = first + step.unit - 1;
    for (let piece = Math.floor(first / size); piece <= Math.floor(last / size); ++piece) found.add(piece);
  }
  return found;
}

// The array in words: "A", "A and B", "the output".
function memoryWords(step) {
  if (step.bFrom < WARP) return "A and B";
  return { shared: "shared memory", out: "the output" }[step.memory] ?? step.memory;
}

// The items of an access, as A[3] or A[4..7].
function accessName(step, lane) {
  const first = Math.floor(step.lanes[lane] * step.unit / data.size), each = Math.max(1, Math.floor(step.unit / data.size));
  const name = { shared: "s", out: "o" }[step.memory] ?? memoryOf(step, lane);
  return each === 1 ? `${name}[${first}]` : `${name}[${first}–${first + each - 1}]`;
}

function accessWords(step, at, count) {
  const active = activeOf(step), different = new Set(active.map(one => `${memoryOf(step, one.lane)}${one.at}`)).size;
  const fewest = Math.ceil(different * step.unit / SECTOR) + (step.bFrom < WARP ? 1 : 0);
  const words = [html("b", {}, `${at + 1} of ${count}. `), `${{ search: "Search", stage: "Copy", merge: "Merge" }[step.phase]}: `,
    `${active.length} of 32 lanes ${step.store ? "store to" : "load from"} ${memoryWords(step)}. `];
  if (step.memory === "shared") words.push("No sector of global memory moves.");
  else {
    const sum = { asked: active.length * step.unit, sectors: step.sectors };
    words.push(`They ask for ${sum.asked} bytes, and ${counted(sum.sectors, "sector")} of 32 bytes ${sum.sectors === 1 ? "moves" : "move"}: ${bytesUsed(sum)} used. `);
    if (active.length > 1)
      words.push(step.sectors <= fewest + 1 ? html("span", { class: "good" }, "Coalesced.") : html("span", { class: "bad" }, "Scattered."));
  }
  if (active.length < 32 && active.length < step.lanes.length) words.push(" Other lanes of the warp take another side of a branch: they wait, unless the compiler predicates both sides.");
  return words;
}

function drawLanes(step) {
  const lanes = [];
  for (let lane = 0; lane < WARP; ++lane) {
    const there = lane < step.lanes.length, at = there ? step.lanes[lane] : -1;
    lanes.push(html("div", { class: `lane${at >= 0 ? " active" : there ? "" : " absent"}` }, html("small", {}, `${lane}`),
      at >= 0 ? accessName(step, lane) : there ? "·" : "–"));
  }
  byId("lanes").replaceChildren(...lanes);
}

// A row of sectors, or of places in shared memory. asked: how the step touches them.
function arrayOf(name, title, labels, step, perSector) {
  const asked = touched(step, name, data.size), fetched = touched(step, name, SECTOR), sectors = [];
  const whole = labels.length <= MOST_SECTORS * perSector || name === "shared";
  let left = 0;
  for (let first = 0; first < labels.length; first += perSector) {
    const number = Math.floor(first * data.size / SECTOR);
    if (!whole && ![-1, 0, 1].some(beside => fetched.has(number + beside))) {
      left += 1;
      continue;
    }
    if (left) sectors.push(html("span", { class: "more" }, `${left} …`));
    left = 0;
    const items = labels.slice(first, first + perSector)
      .map((label, at) => html("span", { class: asked.has(first + at) ? "asked" : "" }, label));
    sectors.push(html("div", { class: `sector${name !== "shared" && fetched.has(number) ? " fetched" : ""}` }, ...items));
  }
  if (left) sectors.push(html("span", { class: "more" }, `${counted(left, "sector")} not touched`));
  return html("div", { class: "array" }, html("p", {}, title), html("div", { class: "sectors" }, ...sectors));
}

function drawAccess() {
  const launch = launchNow();
  byId("access").hidden = launch.warps.length === 0;
  if (launch.warps.length === 0) return;
  const warps = launch.warps.map((_, at) => at);
  setOptions(byId("warp"), warps, state.warp, at => `block ${launch.warps[at].block}, warp ${launch.warps[at].warp}`);
  const phases = [...new Set(launch.warps[state.warp].steps.map(step => step.phase))];
  setOptions(byId("phase"), ["all", ...phases], state.phase, phase => phase === "all" ? "all" : PHASES[phase]);
  const steps = stepsNow(), at = Math.min(state.access, steps.length - 1), step = steps[at];
  const slider = byId("access-at");
  slider.max = steps.length - 1;
  slider.value = at;
  byId("access-back").disabled = at <= 0;
  byId("access-next").disabled = at >= steps.length - 1;
  if (!step) {
    byId("access-says").textContent = "This warp has no work.";
    byId("lanes").replaceChildren();
    return byId("arrays").replaceChildren();
  }
  const left = launch.allWarps - launch.warps.length;
  byId("access-says").replaceChildren(...accessWords(step, at, steps.length),
    left > 0 && at === 0 ? ` The page holds the first ${launch.warps.length} of ${launch.allWarps} warps.` : "");
  drawLanes(step);
  const perSector = Math.max(1, Math.floor(SECTOR / data.size));
  const arrays = [arrayOf("A", "A, in sectors of 32 bytes", labelsA, step, perSector), arrayOf("B", "B", labelsB, step, perSector),
    arrayOf("out", "Output", merged.map(labelOf), step, perSector)];
  if (step.memory === "shared") {
    const places = Array.from({ length: Math.floor(launch.shared / data.size) }, (_, place) => `${place}`);
    arrays.push(arrayOf("shared", "Shared memory of the block, by place", places, step, perSector));
  }
  byId("arrays").replaceChildren(...arrays);
}

function startMemory() {
  byId("warp").addEventListener("change", event => change({ warp: Number(event.target.value), access: 0, phase: "all" }));
  byId("phase").addEventListener("change", event => change({ phase: event.target.value, access: 0 }));
  const go = at => change({ access: Math.max(0, Math.min(stepsNow().length - 1, at)) });
  byId("access-at").addEventListener("input", event => go(Number(event.target.value)));
  byId("access-back").addEventListener("click", () => go(state.access - 1));
  byId("access-next").addEventListener("click", () => go(state.access + 1));
  playing(byId("access-play"), first => {
    go(first && state.access >= stepsNow().length - 1 ? 0 : state.access + 1);
    return state.access < stepsNow().length - 1;
  }, 900);
  whenChanged(["launch"], drawTraffic);
  whenChanged(["launch", "warp", "phase", "access"], drawAccess);
}
