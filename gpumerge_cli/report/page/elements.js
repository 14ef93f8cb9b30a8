// Elements of the page. Text never becomes markup.
const byId = id => document.getElementById(id);

function filled(element, attributes, parts) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.setAttribute("class", value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...parts.filter(part => part !== null));
  return element;
}

const html = (name, attributes = {}, ...parts) => filled(document.createElement(name), attributes, parts);
const svg = (name, attributes = {}, ...parts) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, parts);

const inA = text => html("span", { class: "a" }, text);
const inB = text => html("span", { class: "b" }, text);
const counted = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

function setOptions(select, values, chosen, textOf = String) {
  select.replaceChildren(...values.map(value => html("option", { value, selected: value === chosen }, textOf(value))));
  select.disabled = values.length < 2;
}

// A button that goes on by itself until `next` returns false or it is pressed again.
function playing(button, next, milliseconds) {
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    button.textContent = "Play";
  };
  button.addEventListener("click", () => {
    if (timer !== null) return stop();
    button.textContent = "Stop";
    if (!next(true)) return stop();
    timer = setInterval(() => { if (!next(false)) stop(); }, milliseconds);
  });
}
