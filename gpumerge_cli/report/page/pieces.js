// The pieces that blocks and threads merge, on the path and in the output.
let owners = [];  // of each output: its finest piece
let pieceMarks = [];  // of each piece: what is outlined

function piecesOf(launch) {
  const finest = launch.levels[launch.levels.length - 1];
  const holders = launch.levels.map(([what, starts]) => ({ what, starts, at: -1, inside: 0 }));
  return finest[1].map((start, number) => {
    const stop = number + 1 < finest[1].length ? finest[1][number + 1] : total;
    let fresh = false;
    const names = holders.map((holder, depth) => {
      if (fresh) holder.inside = -1;
      while (holder.at + 1 < holder.starts.length && holder.starts[holder.at + 1] <= start) {
        ++holder.at;
        ++holder.inside;
        if (depth === 0) holder.inside = holder.at;
        fresh = true;
      }
      return `${holder.what} ${holder.inside}`;
    });
    return { start, stop, names, block: holders[0].at, thread: holders[holders.length - 1].inside };
  });
}

const colourOf = piece => `p${piece.block % 6}${piece.thread % 3}`;
const rangeText = (from, to) => from === to ? "none" : from + 1 === to ? `${from}` : `${from} to ${to - 1}`;

function drawPieces() {
  const pieces = piecesOf(launchNow());
  owners = [];
  pieces.forEach((piece, number) => { for (let k = piece.start; k < piece.stop; ++k) owners[k] = number; });
  const lines = [];
  drawGrid(byId("pieces-plot"), (picture, { x, y, points }) => {
    for (const rank of launchNow().levels[0][1].slice(1)) {
      const low = Math.max(0, rank - n), high = Math.min(rank, m);
      picture.append(svg("line", { class: "block-cut", x1: x(rank - low), y1: y(low), x2: x(rank - high), y2: y(high) }));
    }
    for (const piece of pieces) {
      const line = svg("polyline",
        { class: `piece ${colourOf(piece)}`, points: points.slice(piece.start, piece.stop + 1).join(" ") });
      lines.push(line);
      picture.append(line);
    }
    filled(picture, { role: "img", "aria-label": `The path in ${counted(pieces.length, "piece")}` }, []);
  });
  const cells = merged.map((origin, k) =>
    html("span", { class: `cell piece-cell ${colourOf(pieces[owners[k]])}`, title: `output ${k}: ${nameOf(origin)}` }, labelOf(origin)));
  byId("output").replaceChildren(...cells);
  const rows = pieces.map(piece => html("tr", {},
    html("td", {}, html("span", { class: `swatch ${colourOf(piece)}` }), piece.names.join(", ")),
    html("td", {}, rangeText(piece.start, piece.stop)),
    html("td", {}, rangeText(cuts[piece.start], cuts[piece.stop])),
    html("td", {}, rangeText(piece.start - cuts[piece.start], piece.stop - cuts[piece.stop]))));
  byId("piece-rows").replaceChildren(...rows);
  pieceMarks = pieces.map((piece, number) => ({ piece, line: lines[number], row: rows[number], cells: cells.slice(piece.start, piece.stop) }));
  marked = null;
  drawOwner();
}

let marked = null, scrolling = null;

// Scrolls the list to the outlined piece, once the cut rests: a layout in each frame would hold up a drag.
function showRow() {
  if (marked) marked.row.closest(".scroll").scrollTop = marked.row.offsetTop - 60;
}

// Outlines the piece that holds output k, or the last one.
function drawOwner() {
  const now = total === 0 ? null : pieceMarks[owners[Math.min(state.rank, total - 1)]];
  if (now !== marked) {
    for (const [mark, on] of [[marked, false], [now, true]]) {
      if (!mark) continue;
      mark.line.classList.toggle("mine", on);
      mark.row.classList.toggle("now", on);
      for (const cell of mark.cells) cell.classList.toggle("mine", on);
    }
    marked = now;
    clearTimeout(scrolling);
    scrolling = setTimeout(showRow, 150);
  }
  if (!now) return byId("owner").replaceChildren("Both inputs are empty.");
  const { start, stop, names } = now.piece, k = Math.min(state.rank, total - 1);
  byId("owner").replaceChildren(`Output ${k} is ${nameOf(merged[k])} = ${labelOf(merged[k])}. `,
    html("b", {}, names.join(", ")), ` writes it: ${counted(stop - start, "output")}, `,
    inA(`${cuts[stop] - cuts[start]} from A`), ", ", inB(`${stop - start - cuts[stop] + cuts[start]} from B`), ".");
}

function startPieces() {
  whenChanged(["launch"], drawPieces);
  whenChanged(["rank"], drawOwner);
}
