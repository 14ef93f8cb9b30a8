// What the reader chose, and who redraws when it changes.
const state = { rank: data.rank, step: 0, launch: 0, warp: 0, phase: "all", access: 0, round: 0, bug: "none" };
const drawers = [];

// draw(changed) runs with drawAll, and after every change to one of `names`.
function whenChanged(names, draw) {
  drawers.push({ names, draw });
}

// Browsers refuse hundreds of addresses in a few seconds, so it is written once the cut rests.
let addressing = null;

function writeAddress() {
  history.replaceState(null, "", `#k=${state.rank}`);
}

const canHaveFocus = within => [...within.querySelectorAll("button, input, select, [tabindex='0']")];

// Redraws. If that replaces or disables the element with the focus, the one in its place gets it.
function redraw(draw) {
  const own = document.activeElement, place = own.parentElement?.closest("[id]");
  const at = place ? canHaveFocus(place).indexOf(own) : -1;
  draw();
  if (at < 0 || (own.isConnected && !own.disabled)) return;
  const row = own.isConnected ? canHaveFocus(own.parentElement) : canHaveFocus(place);
  const found = row[own.isConnected ? 0 : at];
  (found && !found.disabled ? found : row.find(one => !one.disabled))?.focus({ preventScroll: true });
}

function change(values) {
  const names = Object.keys(values).filter(name => state[name] !== values[name]);
  Object.assign(state, values);
  if ("rank" in values) {
    clearTimeout(addressing);
    addressing = setTimeout(writeAddress, 200);
  }
  redraw(() => {
    for (const one of drawers) if (one.names.some(name => names.includes(name))) one.draw(names);
  });
}

function rankOfAddress() {
  const found = /^#k=(\d+)$/.exec(location.hash);
  return found ? Math.min(total, Number(found[1])) : null;
}

function drawAll() {
  for (const one of drawers) one.draw(["all"]);
}
