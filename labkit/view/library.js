// What the panel and a page without a kernel share: plotly.js out of its gzip, once a page, and places for charts.
function bytesOf(base64) {
  return Uint8Array.fromBase64?.(base64) ?? Uint8Array.from(atob(base64), c => c.charCodeAt(0));
}

async function inflate(bytes) {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

function library(bytes) {
  return globalThis.labkitPlotly ??= (async () => {
    if (!globalThis.Plotly) {
      const code = document.createElement('script');
      code.textContent = await inflate(bytes);
      document.head.append(code);
    }
    return globalThis.Plotly;
  })();
}

function places(grid, count) {
  while (grid.children.length < count) grid.append(document.createElement('div'));
  while (grid.children.length > count) grid.lastChild.remove();
  return [...grid.children];
}

const KEPT = 32;  // drawings of a place, the shown one among them

function part(className) {
  return Object.assign(document.createElement('div'), {className});
}

// A chart of a board: {title, mark}, and what plotly draws, {key, figure()}, charts of one key being drawn alike; or
// {html}, always at the same place. Title and the mark of the chosen setting are HTML around the drawing, so that a move
// which changes nothing else draws nothing anew. `look`: what a drawing depends on besides the chart.
async function show(place, chart, look, draw) {
  if (!place.kept) {
    place.kept = new Map();  // drawings by name; the last one was wanted last
    place.append(part('labkit-title'), part('labkit-frame'));
    place.lastChild.append(part('labkit-plot'), part('labkit-line'), part('labkit-ring'));
  }
  const [heading, frame] = place.children;
  if (heading.textContent !== chart.title) heading.textContent = chart.title;
  place.mark = chart.mark;
  if (chart.html === undefined) await replace(place, named(look, chart), chart, draw);
  else if (place.html !== chart.html) frame.firstChild.innerHTML = place.html = chart.html;
  point(place);
}

function named(look, {key}) {
  return JSON.stringify([look, key]);
}

// Shows the drawing of that name where it was made ahead; else draws over the shown one.
async function replace(place, name, chart, draw) {
  const shown = place.lastChild.firstChild, known = kept(place, name);
  if (known === shown) return;
  if (!known) return drawOn(shown, place, name, chart, draw);
  Plotly.Fx.unhover(shown);
  shown.replaceWith(known);
  if (shown.touched || shown.stale) giveUp(place, shown);
}

// Draws a chart that may be wanted next, out of sight.
async function ahead(place, name, chart, draw) {
  const frame = place.lastChild, oldest = [...place.kept.values()].find(plot => plot !== frame.firstChild);
  const plot = place.kept.size < KEPT ? part('labkit-plot') : oldest;
  plot.classList.add('labkit-ahead');
  frame.append(plot);
  try {
    await drawOn(plot, place, name, chart, draw);
  } finally {
    plot.classList.remove('labkit-ahead');
    if (plot !== frame.firstChild) plot.remove();
  }
}

// The drawing of that name, which is now wanted last.
function kept({kept}, name) {
  const plot = kept.get(name);
  if (plot) kept.delete(name), kept.set(name, plot);
  return plot;
}

async function drawOn(plot, place, name, chart, draw) {
  forget(place, plot);
  place.kept.set(name, plot);
  plot.touched = false;
  try {
    await draw(plot, chart.figure());
  } catch (error) { giveUp(place, plot); throw error; }
  if (plot.followed) return;
  plot.followed = true;
  plot.on('plotly_afterplot', () => point(place));
  // Whoever zooms in, or hides a trace, keeps that while it is shown; and finds the whole who comes back.
  plot.on('plotly_relayout', changes => { if ('autosize' in changes) plot.stale = false; else plot.touched = true; });
  plot.on('plotly_restyle', () => { plot.touched = true; });
}

function forget({kept}, plot) {
  kept.forEach((one, name) => one === plot && kept.delete(name));
}

function giveUp(place, plot) {
  forget(place, plot);
  Plotly.purge(plot);
}

// Gives up what a place keeps out of sight, as it has another width now. The shown drawing gets that from plotly, a moment
// later: if it is still shown then.
function resized(place) {
  if (!place.kept) return;
  const shown = place.lastChild.firstChild;
  new Set(place.kept.values()).forEach(plot => plot !== shown && giveUp(place, plot));
  shown.stale = true;
}

// Puts the mark of a chart where its axes are now.
function point(place) {
  const {mark} = place, [plot, line, ring] = place.lastChild.children, {xaxis, yaxis} = plot._fullLayout ?? {};
  const at = (axis, value) => {
    const pixel = axis && value != null ? axis.d2p(value) : -1;
    return pixel >= 0 && pixel <= axis._length ? `${axis._offset + pixel}px` : '';
  };
  const left = mark ? at(xaxis, mark.x) : '', top = left && at(yaxis, mark.y);
  for (const [one, known] of [[line, left], [ring, top]]) if (one.hidden !== !known) one.hidden = !known;
  if (left) Object.assign(line.style, {left, top: `${yaxis._offset}px`, height: `${yaxis._length}px`});
  if (top) Object.assign(ring.style, {left, top, borderColor: mark.colour});
}

// Shows a card anew, with its reasons open where they were.
function fill(card, html) {
  const open = card.querySelector('details')?.open;
  card.innerHTML = html;
  if (open && card.querySelector('details')) card.querySelector('details').open = true;
}

// Waits for charts that are being drawn; what goes wrong with one is said in the card.
async function settled(card, drawing) {
  for (const {reason} of await Promise.allSettled(drawing)) if (reason)
    card.append(Object.assign(document.createElement('p'), {className: 'labkit-missing', textContent: String(reason)}));
}
