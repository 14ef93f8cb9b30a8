// The cut at rank k: the point on the path, its neighbours, the two conditions, and the search.
let moved = null;  // sets the moving parts of the picture
// Items on either side of a cut.
const SHOWN = Math.max(...labelsA.map(label => label.length), ...labelsB.map(label => label.length), 0) > 6 ? 3 : 8;

function drawCutPlot() {
  const picture = drawGrid(byId("cut-plot"), (picture, { x, y, cell, points }) => {
    const taken = svg("polyline", { class: "path taken" });
    const diagonal = svg("line", { class: "diagonal" }), range = svg("line", { class: "candidates" });
    const probeCell = svg("rect", { class: "probe-cell", width: cell, height: cell });
    const probe = svg("circle", { class: "probe", r: 6 }), point = svg("circle", { class: "point", r: 9 });
    const grip = svg("circle", { class: "grip", r: 26 });
    picture.append(diagonal, range, taken, probeCell, probe, point, grip);
    const line = (element, rank, low, high) => {
      for (const [name, value] of [["x1", x(rank - low)], ["y1", y(low)], ["x2", x(rank - high)], ["y2", y(high)]])
        element.setAttribute(name, value);
    };
    const put = (circle, i, j) => { circle.setAttribute("cx", x(j)); circle.setAttribute("cy", y(i)); };
    moved = (rank, found, step) => {
      taken.setAttribute("points", points.slice(0, rank + 1).join(" "));
      line(diagonal, rank, Math.max(0, rank - n), Math.min(rank, m));
      line(range, rank, step ? step.low : found.i, step ? step.high : found.i);
      put(point, found.i, found.j);
      put(grip, found.i, found.j);
      for (const one of [probe, probeCell]) one.setAttribute("visibility", step ? "visible" : "hidden");
      point.setAttribute("visibility", step ? "hidden" : "visible");
      if (step) {
        put(probe, step.i, step.j);
        probeCell.setAttribute("x", x(step.j - 1));
        probeCell.setAttribute("y", y(step.i));
      }
      picture.setAttribute("aria-valuenow", rank);
      picture.setAttribute("aria-valuetext", `k ${rank}: ${found.i} of A and ${found.j} of B`);
    };
    const rankAt = event => {
      const box = picture.getBoundingClientRect(), scale = box.width / picture.viewBox.baseVal.width;
      const j = ((event.clientX - box.left) / scale - x(0)) / cell, i = ((event.clientY - box.top) / scale - y(0)) / cell;
      return Math.max(0, Math.min(total, Math.round(i + j)));
    };
    let dragging = false;
    picture.addEventListener("pointerdown", event => {
      dragging = event.pointerType === "mouse" || event.target === grip;
      if (dragging) picture.setPointerCapture(event.pointerId);
      else return;
      setRank(rankAt(event));
      event.preventDefault();
      picture.focus({ preventScroll: true });
    });
    picture.addEventListener("pointermove", event => { if (dragging) setRank(rankAt(event)); });
    // A finger on the point drags it, and elsewhere scrolls the page.
    picture.addEventListener("touchmove", event => { if (dragging) event.preventDefault(); }, { passive: false });
    picture.addEventListener("pointerup", () => { dragging = false; });
    picture.addEventListener("pointercancel", () => { dragging = false; });
    picture.addEventListener("click", event => setRank(rankAt(event)));
  });
  const names = { tabindex: 0, role: "slider", "aria-label": "Cut at rank k", "aria-valuemin": 0, "aria-valuemax": total };
  filled(picture, names, []);
  picture.addEventListener("keydown", event => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -total, End: total };
    if (event.key in steps) {
      setRank(Math.max(0, Math.min(total, state.rank + steps[event.key])));
      event.preventDefault();
    }
  });
}

function setRank(rank) {
  if (rank !== state.rank) change({ rank, step: coRank(rank).steps.length });
}

function strip(name, labels, taken, kind) {
  const first = Math.max(0, taken - SHOWN), last = Math.min(labels.length, taken + SHOWN), parts = [];
  if (first > 0) parts.push(html("span", { class: "more" }, `${first} more`));
  for (let at = first; at < last; ++at) {
    if (at === taken) parts.push(html("span", { class: "cut-mark" }));
    const near = at === taken || at === taken - 1 ? " beside" : "";
    parts.push(html("span", { class: `cell${at < taken ? ` taken-${kind}` : ""}${near}` }, labels[at]));
  }
  if (taken === last) parts.push(html("span", { class: "cut-mark" }));
  if (last < labels.length) parts.push(html("span", { class: "more" }, `${labels.length - last} more`));
  return html("div", { class: "strip" }, html("b", { class: kind }, name), html("div", { class: "cells" }, ...parts));
}

// One of the two conditions of a cut. Where an item is missing, nothing can be out of order.
function condition(words, left, sign, right, holds) {
  const here = left === undefined || right === undefined ? "no such item" : `${left} ${sign} ${right}`;
  return html("tr", {}, html("td", {}, words), html("td", {}, here),
    html("td", { class: holds ? "good" : "bad" }, holds ? "✓ yes" : "✗ no"));
}

function drawCut() {
  const { rank } = state, found = coRank(rank), { i, j, steps } = found;
  const at = Math.min(state.step, steps.length), step = steps[at];
  const [hereI, hereJ] = step ? [step.i, step.j] : [i, j];
  moved(rank, found, step);
  byId("rank").value = rank;
  byId("rank-less").disabled = rank === 0;
  byId("rank-more").disabled = rank === total;
  byId("sum").replaceChildren(`k = ${rank} = `, inA(`${hereI}`), " + ", inB(`${hereJ}`), step ? "?" : "",
    html("span", { class: "quiet" }, "  k = i + j"));
  byId("strips").replaceChildren(strip("A", labelsA, hereI, "a"), strip("B", labelsB, hereJ, "b"));
  const aFits = hereI === 0 || hereJ === n || codesA[hereI - 1] <= codesB[hereJ];
  const bFits = hereJ === 0 || hereI === m || codesB[hereJ - 1] < codesA[hereI];
  byId("conditions").replaceChildren(
    condition("A[i−1] ≤ B[j]", labelsA[hereI - 1], "≤", labelsB[hereJ], aFits),
    condition("B[j−1] < A[i]", labelsB[hereJ - 1], "<", labelsA[hereI], bFits));
  byId("search-back").disabled = at === 0;
  byId("search-next").disabled = at === steps.length;
  byId("search-first").disabled = at === 0;
  byId("search-says").replaceChildren(...searchWords(step, at, found));
  byId("search-steps").replaceChildren(...steps.map((one, number) =>
    html("tr", { class: number === at ? "now" : number > at ? "later" : "" },
      ...(number > at ? [number + 1, "", "", "", "", ""] : [number + 1, one.low, one.high, one.i, one.j,
        `${labelsB[one.j - 1]} < ${labelsA[one.i]}: ${one.bFirst ? "yes, high = i" : "no, low = i + 1"}`])
        .map(text => html("td", {}, `${text}`)))));
}

function searchWords(step, at, { i, j, steps }) {
  if (!step) return [`Found after ${counted(steps.length, "step")}: `, inA(`i = ${i}`), ", ", inB(`j = ${j}`), "."];
  const verdict = step.bFirst
    ? ` goes before A[${step.i}] = ${labelsA[step.i]}, so it is among the first k, and i is ${step.i} at most.`
    : ` does not go before A[${step.i}] = ${labelsA[step.i]}, so this item of A is among the first k, and i is ${step.i + 1} at least.`;
  return [`Step ${at + 1}: i lies between ${step.low} and ${step.high}; try i = ${step.i}, j = ${step.j}. `,
    `B[${step.j - 1}] = ${labelsB[step.j - 1]}${verdict}`];
}

function startCut() {
  const slider = byId("rank");
  slider.max = total;
  slider.addEventListener("input", () => setRank(Number(slider.value)));
  byId("rank-less").addEventListener("click", () => setRank(Math.max(0, state.rank - 1)));
  byId("rank-more").addEventListener("click", () => setRank(Math.min(total, state.rank + 1)));
  const last = () => coRank(state.rank).steps.length;
  byId("search-first").addEventListener("click", () => change({ step: 0 }));
  byId("search-back").addEventListener("click", () => change({ step: Math.max(0, state.step - 1) }));
  byId("search-next").addEventListener("click", () => change({ step: Math.min(last(), state.step + 1) }));
  playing(byId("search-play"), first => {
    const step = first && state.step >= last() ? 0 : first ? state.step : state.step + 1;
    change({ step });
    return step < last();
  }, 1400);
  drawCutPlot();
  whenChanged(["rank", "step"], drawCut);
}
