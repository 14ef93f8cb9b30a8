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
  byId("traffic-says").textContent = `Each kernel with the sizes nearest to the chosen launch. An access is one load or store of a warp. `
    + `An item has ${data.size} bytes, so a sector holds ${Math.max(1, SECTOR / data.size)}. Bytes that caches save are not counted.`
    + (now.traffic.length ? "" : ` The accesses of "${now.kernel}" are not modelled here: choose another kernel to see them.`);
}

// The accesses that are shown: those of the warp, or of one phase of it.
function stepsNow() {
  const warp = launchNow().warps[state.warp];
  return warp ? warp.steps.filter(step => state.phase === "all" || step.phase === state.phase) : [];
}

const activeOf = step => step.lanes.map((at, lane) => ({ at, lane })).filter(one => one.at >= 0);

// The sectors of global memory that a step touches.
function touched(step) {
  const found = new Set();
  if (step.memory === "shared") return found;
  for (const { at } of activeOf(step))
    for (let sector = Math.floor(at * step.unit / SECTOR); sector <= Math.floor((at * step.unit + step.unit - 1) / SECTOR); ++sector)
      found.add(sector);
  return found;
}

function accessWords(step, at, count) {
  const active = activeOf(step), different = new Set(active.map(one => one.at)).size;
  const fewest = Math.ceil(different * step.unit / SECTOR);
  const words = [html("b", {}, `${at + 1} of ${count}. `), `${{ search: "Search", stage: "Copy", merge: "Merge" }[step.phase]}: `,
    `${active.length} of 32 lanes ${step.store ? "store to" : "load from"} ${step.memory === "shared" ? "shared memory" : step.memory}. `];
  if (step.memory === "shared") words.push("No sector of global memory moves.");
  else {
    const sum = { asked: active.length * step.unit, sectors: step.sectors };
    words.push(`They ask for ${sum.asked} bytes, and ${counted(sum.sectors, "sector")} of 32 bytes ${sum.sectors === 1 ? "moves" : "move"}: ${bytesUsed(sum)} used. `);
    if (active.length > 1)
      words.push(step.sectors <= fewest + 1 ? html("span", { class: "good" }, "Coalesced.") : html("span", { class: "bad" }, "Scattered."));
  }
  if (active.length < 32 && active.length < step.lanes.length) words.push(" The other lanes wait: the warp diverges.");
  return words;
}

function drawLanes(step) {
  const lanes = [];
  for (let lane = 0; lane < WARP; ++lane) {
    const there = lane < step.lanes.length, at = there ? step.lanes[lane] : -1;
    const name = step.memory === "shared" ? `s[${at}]` : `${step.memory === "out" ? "o" : step.memory}[${at}]`;
    lanes.push(html("div", { class: `lane${at >= 0 ? " active" : there ? "" : " absent"}` }, html("small", {}, `${lane}`),
      at >= 0 ? name : there ? "·" : "–"));
  }
  byId("lanes").replaceChildren(...lanes);
}

// A row of sectors, or of places in shared memory. asked: how the step touches them.
function arrayOf(name, title, labels, step, perSector) {
  const asked = new Set(step.memory === name ? activeOf(step).map(one => one.at) : []);
  const fetched = step.memory === name ? touched(step) : new Set(), sectors = [];
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
    const places = Array.from({ length: launch.kernel === "tiled exact" ? launch.tile : 2 * launch.tile }, (_, place) => `${place}`);
    arrays.push(arrayOf("shared", "Shared memory of the block, by place", places, step, launch.tile));
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
