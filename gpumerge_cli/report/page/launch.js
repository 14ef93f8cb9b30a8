// The choice of a launch among those that Python counted.
const SIZES = ["threads", "items", "tile", "blocks"];
const launchNow = () => data.launches[state.launch];
const { kernels } = data;

// The launch of a kernel that is most like `wanted`. Sizes that are named count most.
function nearestLaunch(kernel, wanted, first = SIZES) {
  const order = [...first, ...SIZES.filter(size => !first.includes(size))];
  const distance = one => order.map(size => Math.abs(one[size] - wanted[size]));
  const less = (x, y) => { for (let at = 0; at < x.length; ++at) if (x[at] !== y[at]) return x[at] < y[at]; return false; };
  let best = -1;
  data.launches.forEach((one, at) => {
    if (one.kernel === kernel && (best < 0 || less(distance(one), distance(data.launches[best])))) best = at;
  });
  return best;
}

function chooseLaunch(launch) {
  change({ launch, warp: 0, access: 0, round: 0, bug: "none", phase: "all" });
}

function drawLaunch() {
  const now = launchNow(), same = data.launches.filter(one => one.kernel === now.kernel);
  setOptions(byId("kernel"), kernels, now.kernel);
  for (const size of SIZES) {
    const values = [...new Set(same.map(one => one[size]))].sort((x, y) => x - y);
    setOptions(byId(size), values, now[size], value => value === 0 ? "–" : `${value}`);
  }
  byId("launch-says").textContent = `${now.launch}. A launch decides all pictures below.`;
}

function startLaunch() {
  byId("kernel").addEventListener("change", event => chooseLaunch(nearestLaunch(event.target.value, launchNow())));
  for (const size of SIZES)
    byId(size).addEventListener("change", event => {
      const wanted = { ...launchNow(), [size]: Number(event.target.value) };
      chooseLaunch(nearestLaunch(wanted.kernel, wanted, [size]));
    });
  whenChanged(["launch"], drawLaunch);
}
