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

// What a chart is made of, by name: places in the pool.
function partsOf(pool, place) {
  const [, keys, ...values] = pool[place];
  return Object.fromEntries(pool[keys].slice(1).map((key, i) => [key, values[i]]));
}

// What plotly draws of a chart; it gets the colours of the hour when it is painted.
function drawingOf(pool, {data, layout}, lists) {
  return {key: [data, layout], figure: () => ({data: grow(pool, data, lists), layout: grow(pool, layout)})};
}

// A chart, its mark and HTML in the colours of the hour.
function chartOf(pool, place, lists) {
  const {data, layout, ...rest} = partsOf(pool, place);
  const said = Object.fromEntries(Object.entries(rest).map(([key, at]) => [key, grow(pool, at)]));
  return {...tinted(said), ...drawingOf(pool, {data, layout}, lists)};
}

const DRAWING = 12;  // ms that a chart takes, about: a shorter pause is left alone
const [idly, notNow] = globalThis.requestIdleCallback ? [requestIdleCallback, cancelIdleCallback]
  : [task => setTimeout(task, 100), clearTimeout];

// Makes `element` live; returns what draws it anew, whatever is drawn already.
async function board(element, prefix) {
  const {controls: axes, packed} = JSON.parse(element.querySelector('script').textContent);
  const {pool, roots} = JSON.parse(await inflate(bytesOf(packed)));
  const controls = [...element.querySelectorAll('.controls select, .controls input')];
  const card = element.querySelector('.card'), charts = element.querySelector('.charts');
  const lists = [];  // lists of data are the same array whenever they are drawn: so plotly sees what did not change
  let waiting = false, near = false, width = 0, task, turns = 0;

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
    lookAhead();
  };
  // Charts of the settings that one control leads to, the next ones of a slider first, as many as are kept beside those
  // seen before.
  const nearby = () => {
    const at = chosen(), far = (i, value) => controls[i].type === 'range' ? Math.abs(value - at[i]) : 1;
    const moves = axes.flatMap(([, all], i) => all.map((_, value) => [i, value])).filter(([i, value]) => value !== at[i]);
    moves.sort(([i, one], [j, other]) => far(i, one) - far(j, other));
    const roots = moves.slice(0, KEPT / 2).map(([i, value]) => answer(at.map((old, j) => j === i ? value : old))[0]);
    return roots.flatMap(drawn => drawn.map((root, i) => ({place: charts.children[i], parts: partsOf(pool, root)})));
  };
  // Draws them while nothing else is to be done, once somebody comes near: they are there when they are wanted.
  const lookAhead = () => {
    notNow(task);
    const turn = ++turns;
    delete element.dataset.ahead;
    if (!near || printing) return;
    const left = nearby().filter(({place, parts}) => place?.kept && parts.data !== undefined)
      .map(({place, parts}) => ({place, chart: drawingOf(pool, parts, lists)}))
      .filter(({place, chart}) => !kept(place, named(look(), chart)));  // those are given up last
    const next = async pause => {
      if ((pause?.timeRemaining() ?? Infinity) >= DRAWING && left.length) {
        const {place, chart} = left.shift(), name = named(look(), chart);
        // What fails here fails again, and is said, when it is chosen.
        if (!kept(place, name)) await ahead(place, name, chart, paint).catch(() => {});
      }
      if (turn !== turns) return;
      if (left.length) task = idly(next);
      else element.dataset.ahead = 'drawn';
    };
    task = idly(next);
  };
  const moved = () => {
    if (!waiting) requestAnimationFrame(draw);  // of a drag only the last value is drawn
    waiting = true;
    write();
  };
  controls.forEach(control => control.addEventListener('input', moved));
  addEventListener('hashchange', () => { read(); draw(); });
  read();
  for (const kind of ['pointerenter', 'focusin'])
    element.addEventListener(kind, () => { if (!near) { near = true; lookAhead(); } });
  addEventListener('resize', () => {
    if (charts.clientWidth === width) return;
    width = charts.clientWidth;
    [...charts.children].forEach(resized);
    lookAhead();
  });
  width = charts.clientWidth;
  return draw;
}
