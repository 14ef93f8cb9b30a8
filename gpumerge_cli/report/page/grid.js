// The grid of a merge: A downwards, B to the right, and the path between them.
const LETTER = 7.6, LEAST_KEYS = 15;

// Draws into `place`, as wide as it is, and returns where points lie.
function drawGrid(place, layers) {
  const longest = labels => Math.max(1, ...labels.map(label => label.length)) * LETTER;
  const room = Math.max(220, place.clientWidth) - 8;
  const left = 26 + longest(labelsA);
  const cell = Math.max(2, Math.min(46, (room - left - 8) / Math.max(1, n), 620 / Math.max(1, m)));
  const upright = longest(labelsB) > cell - 3;
  const top = 28 + (upright ? longest(labelsB) : 14);
  const width = Math.max(left + n * cell + 10, 200), height = top + m * cell + 12;
  const x = j => left + j * cell, y = i => top + i * cell;
  const points = cuts.map((i, rank) => `${x(rank - i)},${y(i)}`);
  const corner = (j, i) => `${x(j)},${y(i)}`;
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` },
    svg("polygon", { class: "ground-a", points: [...points, corner(n, 0)].join(" ") }),
    svg("polygon", { class: "ground-b", points: [...points, corner(0, m)].join(" ") }));
  if (cell > 6) {
    for (let j = 1; j < n; ++j) picture.append(svg("line", { class: "lines", x1: x(j), x2: x(j), y1: y(0), y2: y(m) }));
    for (let i = 1; i < m; ++i) picture.append(svg("line", { class: "lines", x1: x(0), x2: x(n), y1: y(i), y2: y(i) }));
  }
  const every = Math.ceil(LEAST_KEYS / cell);
  for (let i = 0; i < m; i += every)
    picture.append(svg("text", { class: "axis-a", x: left - 8, y: y(i + 0.5) + 4.5, "text-anchor": "end" }, labelsA[i]));
  for (let j = 0; j < n; j += every) {
    const at = x(j + 0.5);
    picture.append(svg("text", upright
      ? { class: "axis-b", x: at + 4.5, y: top - 7, transform: `rotate(-90 ${at + 4.5} ${top - 7})` }
      : { class: "axis-b", x: at, y: top - 7, "text-anchor": "middle" }, labelsB[j]));
  }
  picture.append(svg("text", { class: "name axis-b", x: left, y: 14 }, "B →"));
  picture.append(svg("text", { class: "name axis-a", x: left - 8, y: top - 7, "text-anchor": "end" }, "A ↓"));
  picture.append(svg("polyline", { class: "path", points: points.join(" ") }));
  layers(picture, { x, y, cell, points });
  place.replaceChildren(picture);
  return picture;
}
