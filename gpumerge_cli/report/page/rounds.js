// Shared memory round by round, and what bugs of printed kernels break.
const BUGS = {
  none: "none: as the kernel is",
  refill: "wrong refill: the ring is filled from the first unread item on, not behind those that it still holds",
  count: "stale count: the items that a round used are counted in the whole buffers, with those that earlier rounds left there",
  ties: "tie rule: the search puts equal items of B first, the merge those of A",
};
const roundsNow = () => state.bug === "none" ? launchNow().rounds : launchNow().bugs[state.bug];

// The ranks at which a bug writes another item, and the items that it loses or writes twice.
function breakage(rounds) {
  const written = rounds.flatMap(round => round.origins), wrong = [];
  written.forEach((origin, k) => { if (origin !== merged[k]) wrong.push(k); });
  const times = new Map();
  for (const origin of written) times.set(origin, (times.get(origin) ?? 0) + 1);
  return { written, wrong, lost: merged.filter(origin => !times.has(origin)), twice: merged.filter(origin => times.get(origin) > 1) };
}

function listOf(origins) {
  const shown = origins.slice(0, 6).map(origin => `${nameOf(origin)} = ${labelOf(origin)}`).join(", ");
  return origins.length > 6 ? `${shown} and ${origins.length - 6} more` : shown;
}

function brokenWords({ written, wrong, lost, twice }) {
  if (state.bug === "none") return ["All outputs are correct."];
  if (wrong.length === 0) return ["This bug does not show in this launch on these items. That makes it worse: a test can miss it. Try another tile."];
  const k = wrong[0], words = [html("span", { class: "bad" }, "Wrong. "), `Output ${k} is ${nameOf(written[k])} = ${labelOf(written[k])}`,
    `, and should be ${nameOf(merged[k])} = ${labelOf(merged[k])}. `];
  if (lost.length) words.push(`Lost: ${listOf(lost)}. `);
  if (twice.length) words.push(`Written twice or more: ${listOf(twice)}.`);
  if (!lost.length && !twice.length) words.push("No item is lost, but equal items are out of their order: the merge is not stable.");
  return words;
}

function drawRounds() {
  const launch = launchNow(), there = launch.rounds.length > 0;
  byId("with-rounds").hidden = !there;
  byId("no-rounds").hidden = there;
  if (!there) {
    const choose = kernel => html("button", { type: "button", class: "link", onclick: () => chooseLaunch(nearestLaunch(kernel, launch)) }, kernel);
    const known = kernels.filter(kernel => data.launches.some(one => one.kernel === kernel && one.rounds.length));
    return byId("no-rounds").replaceChildren(`The launch "${launch.launch}" has no rounds to show. Choose `,
      ...known.flatMap((kernel, at) => [at ? " or " : "", choose(kernel)]), ".");
  }
  const rounds = roundsNow(), at = Math.min(state.round, rounds.length - 1), round = rounds[at];
  byId("bugs").replaceChildren(...["none", ...Object.keys(launch.bugs)].map(bug => html("label", {},
    html("input", { type: "radio", name: "bug", value: bug, checked: bug === state.bug, onchange: () => change({ bug }) }), BUGS[bug])));
  const slider = byId("round-at");
  slider.max = rounds.length - 1;
  slider.value = at;
  byId("round-back").disabled = at === 0;
  byId("round-next").disabled = at === rounds.length - 1;
  byId("round-says").replaceChildren(html("b", {}, `Round ${at + 1} of ${rounds.length}. `),
    `Block ${round.block} writes outputs ${rangeText(round.first, round.first + round.origins.length)}.`);
  const ring = launch.kernel === "circular";
  byId("buffers").replaceChildren(drawnBuffer("A", labelsA, rounds, at, ring), drawnBuffer("B", labelsB, rounds, at, ring));
  const broken = breakage(rounds), last = round.first + round.origins.length;
  byId("written").replaceChildren(...broken.written.slice(0, last).map((origin, k) => {
    const kind = origin !== merged[k] ? "wrong" : origin >= 0 ? "taken-a" : "taken-b";
    return html("span", { class: `cell ${kind}${k >= round.first ? " mine" : ""}`, title: `output ${k}: ${nameOf(origin)}` }, labelOf(origin));
  }));
  byId("broken").replaceChildren(...brokenWords(broken));
}

function startRounds() {
  const go = round => change({ round: Math.max(0, Math.min(roundsNow().length - 1, round)) });
  byId("round-at").addEventListener("input", event => go(Number(event.target.value)));
  byId("round-back").addEventListener("click", () => go(state.round - 1));
  byId("round-next").addEventListener("click", () => go(state.round + 1));
  playing(byId("round-play"), first => {
    go(first && state.round >= roundsNow().length - 1 ? 0 : state.round + 1);
    return state.round < roundsNow().length - 1;
  }, 1200);
  whenChanged(["launch", "round", "bug"], drawRounds);
}
