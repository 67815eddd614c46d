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

// A chart whose mark and bars have the colours of the hour; plotly's part gets them when it is painted.
function inked(chart) {
  const {data, layout, ...rest} = chart;
  return {...tinted(rest), data, layout};
}

// Makes `element` live; returns what draws it anew, whatever is drawn already.
async function board(element, prefix) {
  const {controls: axes, packed} = JSON.parse(element.querySelector('script').textContent);
  const {pool, roots} = JSON.parse(await inflate(bytesOf(packed)));
  const controls = [...element.querySelectorAll('.controls select, .controls input')];
  const card = element.querySelector('.card'), charts = element.querySelector('.charts');
  const lists = [];  // lists of data are the same array whenever they are drawn: so plotly sees what did not change
  let shown = [], waiting = false;

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
  const draw = async () => {
    waiting = false;
    const [drawn, parts] = roots[axes.reduce((at, [, values], i) => at * values.length + Number(controls[i].value), 0)];
    const old = shown;
    shown = drawn;
    axes.forEach(([, , texts], i) => {
      if (controls[i].type === 'range') controls[i].nextElementSibling.value = texts[controls[i].value];
    });
    fill(card, parts.map(part => pool[part]).join(''));
    await settled(card, places(charts, drawn.length).map((place, i) =>
      drawn[i] !== old[i] && show(place, inked(grow(pool, drawn[i], lists)), [night.matches, printing], paint)));
    element.dataset.drawn = String(Number(element.dataset.drawn || 0) + 1);
  };
  const moved = () => {
    if (!waiting) requestAnimationFrame(draw);  // of a drag only the last value is drawn
    waiting = true;
    write();
  };
  controls.forEach(control => control.addEventListener('input', moved));
  addEventListener('hashchange', () => { read(); draw(); });
  read();
  return () => { shown = []; return draw(); };
}
