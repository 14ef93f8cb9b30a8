// A question for each panel, to answer before the panel shows it.
function choicesAround(right, least, most) {
  const found = [right];
  for (let far = 1; found.length < 4 && far <= 8; ++far)
    for (const value of [right - far, right + far])
      if (found.length < 4 && value >= least && value <= most) found.push(value);
  return found.sort((x, y) => x - y);
}

const QUESTIONS = {
  cut() {
    const rank = Math.round(total * 0.7), { i, j } = coRank(rank);
    return {
      asks: `Predict: how many of the first ${rank} outputs come from A?`, right: i,
      choices: choicesAround(i, Math.max(0, rank - n), Math.min(rank, m)),
      why: `The first ${rank} outputs are ${i} items of A and ${j} of B. The page now shows this cut.`,
      show: () => change({ rank, step: coRank(rank).steps.length }),
    };
  },
  pieces() {
    const at = nearestLaunch("basic", { threads: 4, items: 2, tile: 0, blocks: 0 }), one = data.launches[at];
    if (!one) return null;
    const blocks = one.levels[0][1].length;
    return {
      asks: `Predict: ${total} outputs, ${one.threads} threads a block, ${counted(one.items, "item")} a thread. How many blocks does the basic kernel need?`,
      right: blocks, choices: choicesAround(blocks, 1, total),
      why: `A block writes ${one.threads} × ${one.items} = ${one.threads * one.items} outputs, so ${total} take ${blocks}. The page now shows this launch.`,
      show: () => chooseLaunch(at),
    };
  },
  memory() {
    const at = nearestLaunch("basic", { threads: 32, items: 4, tile: 0, blocks: 0 }), one = data.launches[at];
    if (!one || !one.warps.length) return null;
    const steps = one.warps[0].steps, access = steps.findIndex(step => step.phase === "merge" && step.store && activeOf(step).length > 1);
    if (access < 0) return null;
    const step = steps[access], lanes = activeOf(step).length;
    return {
      asks: `Predict: in the basic kernel with ${counted(one.items, "item")} a thread, ${lanes} lanes store their first output at once. How many sectors do they touch?`,
      right: step.sectors, choices: choicesAround(step.sectors, 1, Math.max(4, lanes)),
      why: `The first outputs of two threads lie ${one.items} items or more apart, which is ${one.items * data.size} bytes. So these lanes touch ${counted(step.sectors, "sector")}. The page now shows this access.`,
      show: () => { chooseLaunch(at); change({ access }); },
    };
  },
  rounds() {
    const find = kernel => nearestLaunch(kernel, { threads: 4, items: 1, tile: 4, blocks: 2 });
    const tiled = data.launches[find("tiled full")], at = find("circular"), ring = data.launches[at];
    if (!tiled || !ring || !ring.rounds.length || !tiled.rounds.length) return null;
    const loads = one => one.rounds.reduce((sum, round) => sum + round.a.loaded + round.b.loaded, 0);
    const right = loads(ring), most = loads(tiled);
    return {
      asks: `Predict: with tiles of ${tiled.tile} and ${counted(tiled.blocks, "block")}, the tiled kernel loads ${counted(most, "item")} to merge ${total}. How many does the circular kernel load?`,
      right, choices: [...new Set([...choicesAround(right, 0, 2 * total).slice(0, 3), right, most])].sort((x, y) => x - y),
      why: `Unused items stay in the ring, so it loads each item of a section once: ${right}. The page now shows its rounds.`,
      show: () => chooseLaunch(at),
    };
  },
};

function startQuestions() {
  for (const place of document.querySelectorAll(".question")) {
    const question = total > 0 ? QUESTIONS[place.dataset.question]() : null;
    place.hidden = question === null;
    if (question === null) continue;
    const answer = html("p", { role: "status" });
    const buttons = question.choices.map(choice => html("button", {
      type: "button", onclick: () => {
        buttons.forEach((button, at) => {
          if (question.choices[at] === question.right) button.className = "correct";
          else if (question.choices[at] === choice) button.className = "wrong";
        });
        answer.replaceChildren(html("b", {}, choice === question.right ? "Correct. " : `No, it is ${question.right}. `), question.why);
        question.show();
      },
    }, choice.toLocaleString("en")));
    place.replaceChildren(html("p", {}, question.asks), html("div", { class: "row" }, ...buttons), answer);
  }
}
