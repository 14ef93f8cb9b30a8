// Measured times, where the page was made with them.
function drawTimes() {
  const { compared } = data;
  if (!compared) return;
  byId("times").hidden = false;
  byId("times-says").textContent = compared.says;
  const longest = Math.max(...compared.rows.map(row => row.seconds));
  byId("times-bars").replaceChildren(...compared.rows.map(row => html("div", { class: `bar ${row.role}` }, html("span", {}, row.name),
    svg("svg", { "aria-hidden": "true" }, svg("rect", { width: `${100 * row.seconds / longest}%`, height: "100%", rx: 3 })),
    html("span", {}, row.text))));
}
