// A board without a kernel: controls choose a point of a grid that was answered beforehand (labkit/view/packed.py).
function grow(pool, place, lists) {
  const entry = pool[place];
  if (!Array.isArray(entry)) return entry;
  const [kind, ...rest] = entry;
  if (kind === 2 && lists) return lists[place] ??= rest;
  if (kind === 2) return rest;
  if (kind === 0) return rest.map(part => grow(pool, part, lists));
  const keys = grow(pool, rest[0]);
  return Object.fromEntries(keys.map((key, i) => [key, grow(pool, rest[i + 1], key === 'layout' ? null : lists)]));
}

// A chart of the pool, its mark and HTML in the colours of the hour; plotly's part gets them when it is painted.
function chartOf(pool, place, lists) {
  const [, keys, ...values] = pool[place], {data, layout, ...rest} =
    Object.fromEntries(pool[keys].slice(1).map((key, i) => [key, values[i]]));
  const said = Object.fromEntries(Object.entries(rest).map(([key, at]) => [key, grow(pool, at)]));
  const figure = () => ({data: grow(pool, data, lists), layout: grow(pool, layout)});
  return {...tinted(said), key: [data, layout], figure};
}

const [idly, notNow] = globalThis.requestIdleCallback ? [requestIdleCallback, cancelIdleCallback]
  : [task => setTimeout(task, 100), clearTimeout];

// Makes `element` live; returns what draws it anew, and what draws the settings next to the chosen one while nothing else
// is to be done, so that they are there when they are wanted.
async function board(element, prefix) {
  const {controls: axes, packed} = JSON.parse(element.querySelector('script').textContent);
  const {pool, roots} = JSON.parse(await inflate(bytesOf(packed)));
  const controls = [...element.querySelectorAll('.controls select, .controls input')];
  const card = element.querySelector('.card'), charts = element.querySelector('.charts');
  const lists = [];  // lists of data are the same array whenever they are drawn: so plotly sees what did not change
  let waiting = false, task, turns = 0;

  // The selection is in the address, so that a link carries it; what it does not name stays as it is.
  const read = () => {
    const link = new URLSearchParams(location.hash.slice(1));
    let named = false;
    axes.forEach(([name, values], i) => {
      const at = values.findIndex(value => String(value) === link.get(prefix + name));
      if (at < 0) return;
      controls[i].value = at;
      named = true;
    });
    if (named) element.scrollIntoView();
  };
  const write = () => {
    const link = new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '');
    axes.forEach(([name, values], i) => link.set(prefix + name, values[controls[i].value]));
    history.replaceState(null, '', '#' + link);
  };
  const chosen = () => controls.map(control => Number(control.value));
  const answer = values => roots[axes.reduce((at, [, all], i) => at * all.length + values[i], 0)];
  const look = () => [dark, printing];
  const draw = async () => {
    waiting = false;
    const [wanted, parts] = answer(chosen());
    axes.forEach(([, , texts], i) => {
      if (controls[i].type === 'range') controls[i].nextElementSibling.value = texts[controls[i].value];
    });
    fill(card, parts.map(part => pool[part]).join(''));
    await settled(card, places(charts, wanted.length).map((place, i) =>
      show(place, chartOf(pool, wanted[i], lists), look(), paint)));
    element.dataset.drawn = String(Number(element.dataset.drawn || 0) + 1);
    if (document.body.dataset.ready === 'yes') lookAhead();
  };
  // One control moved, to the next values first.
  const nearby = () => {
    const at = chosen(), moves = axes.flatMap(([, all], i) => all.map((_, value) => [Math.abs(value - at[i]), i, value]));
    const near = moves.filter(([far]) => far).sort(([one], [other]) => one - other).slice(0, KEPT / 2);
    return near.map(([, i, value]) => answer(at.map((old, j) => j === i ? value : old))[0]);
  };
  const lookAhead = () => {
    notNow(task);
    const turn = ++turns, left = nearby().flatMap(drawn => drawn.map((at, i) => [charts.children[i], at]));
    const next = async () => {
      while (left.length && turn === turns) {
        const [place, at] = left.shift();
        // What fails here fails again, and is said, when it is chosen.
        if (place && await ahead(place, chartOf(pool, at, lists), look(), paint).catch(() => true)) break;
      }
      if (left.length && turn === turns) task = idly(next);
    };
    if (!printing) task = idly(next);
  };
  const moved = () => {
    if (!waiting) requestAnimationFrame(draw);  // of a drag only the last value is drawn
    waiting = true;
    write();
  };
  controls.forEach(control => control.addEventListener('input', moved));
  addEventListener('hashchange', () => { read(); draw(); });
  read();
  addEventListener('resize', () => { [...charts.children].forEach(forgetHidden); lookAhead(); });
  return {draw, lookAhead};
}
