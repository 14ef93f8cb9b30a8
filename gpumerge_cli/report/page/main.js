// Starts all panels.
byId("live").hidden = false;
startCut();
startLaunch();
startPieces();
startMemory();
startRounds();
drawTimes();
startQuestions();
state.rank = rankOfAddress() ?? state.rank;
state.step = coRank(state.rank).steps.length;
drawAll();

addEventListener("hashchange", () => {
  const rank = rankOfAddress();
  if (rank !== null) setRank(rank);
});

// Pictures are as wide as their places.
let width = document.documentElement.clientWidth;
addEventListener("resize", () => {
  if (width === document.documentElement.clientWidth) return;
  width = document.documentElement.clientWidth;
  drawCutPlot();
  drawCut();
  drawPieces();
});
