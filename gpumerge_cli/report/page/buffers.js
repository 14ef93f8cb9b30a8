// A buffer in shared memory: a tile as a row of places, a ring as a circle.
const SLOT = { wide: 40, high: 36, apart: 48 };  // pixels
const MOST_IN_CIRCLE = 16;

// What earlier rounds of the block left at places without an unread item; -1 for nothing.
function leftOver(rounds, at, name) {
  const left = rounds[at][name].places.map(() => -1);
  for (let before = 0; before < at; ++before) {
    if (rounds[before].block !== rounds[at].block) continue;
    rounds[before][name].places.forEach((index, place) => { if (index >= 0) left[place] = index; });
  }
  return left;
}

// For each place: its classes, the name of its item, and the item.
function slotsOf(name, labels, buffer, left) {
  return buffer.places.map((index, place) => {
    const kind = buffer.kinds[place], stale = kind === "." ? left[place] : index;
    const classes = [kind === "." ? "free" : "", "fF".includes(kind) ? "fresh" : "", "Fu".includes(kind) ? "used" : ""];
    const label = stale === undefined || stale < 0 ? "·" : labels[stale];
    return { style: classes.filter(Boolean).join(" "), name: label === "·" ? `${place}` : `${name}[${stale}]`, label };
  });
}

function rowOf(slots) {
  return html("div", { class: "slots" }, ...slots.map(slot =>
    html("div", { class: `slot ${slot.style}` }, html("small", {}, slot.name), slot.label)));
}

function circleOf(slots, buffer, name) {
  const longest = Math.max(...slots.map(slot => Math.max(slot.label.length, slot.name.length - 1)));
  const wide = Math.max(SLOT.wide, 9 + longest * 8), count = slots.length;
  const radius = Math.max(52, count * (Math.max(wide, SLOT.apart) + 6) / (2 * Math.PI));
  const side = 2 * radius + wide + 16, centre = side / 2;
  const at = place => {
    const angle = 2 * Math.PI * place / count - Math.PI / 2;
    return [centre + radius * Math.cos(angle), centre + radius * Math.sin(angle)];
  };
  const parts = slots.map((slot, place) => {
    const [x, y] = at(place);
    return svg("g", { class: `ring-slot ${slot.style}` },
      svg("rect", { x: x - wide / 2, y: y - SLOT.high / 2, width: wide, height: SLOT.high, rx: 6 }),
      slot.style.includes("used") ? svg("rect", { class: "merged", x: x - wide / 2 + 2, y: y + SLOT.high / 2 - 6, width: wide - 4, height: 4, rx: 2 }) : null,
      svg("text", { class: "small", x, y: y - 5, "text-anchor": "middle" }, slot.name),
      svg("text", { x, y: y + 9, "text-anchor": "middle" }, slot.label));
  });
  const [x, y] = at(buffer.head), reach = (radius - SLOT.high / 2 - 9) / radius;
  const tip = [centre + (x - centre) * reach, centre + (y - centre) * reach];
  return svg("svg", { class: "ring", width: side, height: side, viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": `Ring of ${name}` },
    svg("circle", { class: "rim", cx: centre, cy: centre, r: radius }),
    svg("line", { class: "pointer", x1: centre, y1: centre, x2: tip[0], y2: tip[1] }),
    svg("circle", { class: "hub", cx: centre, cy: centre, r: 5 }), ...parts);
}

// ring: the buffer is a ring, whose first unread item the hand points to.
function drawnBuffer(name, labels, rounds, at, ring) {
  const buffer = rounds[at][name.toLowerCase()];
  const slots = slotsOf(name, labels, buffer, leftOver(rounds, at, name.toLowerCase()));
  const rest = buffer.stay > 0 ? `, ${buffer.stay} stay` : buffer.dropped > 0 ? `, ${buffer.dropped} are dropped and loaded again` : "";
  const head = html("p", {}, html("b", { class: name.toLowerCase() }, `${ring ? "Ring" : "Tile"} of ${name}`),
    `: ${buffer.loaded} loaded, ${buffer.used} merged${rest}`);
  const circle = ring && slots.length <= MOST_IN_CIRCLE;
  return html("div", { class: "array" }, head, circle ? circleOf(slots, buffer, name) : rowOf(slots));
}
