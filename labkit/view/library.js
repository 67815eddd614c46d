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

const KEPT = 32;  // drawn charts of a place, the shown one among them

function part(className) {
  return Object.assign(document.createElement('div'), {className});
}

// A chart of a board: {title, mark}, and {html} or what plotly draws, {key, figure()}: charts of one key are drawn alike.
// Its title and the mark of the chosen setting are HTML around plotly's drawing, so that a move which changes nothing
// else draws nothing anew, and a drawing is kept, so that going back only puts it back. `look`: what the drawing depends
// on besides the chart.
async function show(place, chart, look, draw) {
  if (!place.kept) {
    place.kept = new Map();
    place.append(part('labkit-title'), part('labkit-frame'));
    place.lastChild.append(part('labkit-plot'), part('labkit-line'), part('labkit-ring'));
  }
  const [heading, frame] = place.children;
  if (heading.textContent !== chart.title) heading.textContent = chart.title;
  place.mark = chart.mark;
  if (chart.html === undefined) await put(place, chart, look, draw);
  else if (place.html !== chart.html) frame.firstChild.innerHTML = place.html = chart.html;
  point(place);
}

// The drawing of a chart where the shown one is: the kept one, or the shown one drawn anew.
async function put(place, chart, look, draw) {
  const name = JSON.stringify([look, chart.key]), shown = place.lastChild.firstChild, known = used(place, name);
  if (!known) await drawn(place, shown, name, chart, draw);
  else if (known !== shown) shown.replaceWith(known);
}

// Draws a chart that may be wanted next, out of sight; tells whether there was anything to draw.
async function ahead(place, chart, look, draw) {
  const name = JSON.stringify([look, chart.key]), frame = place.lastChild;
  if (chart.html !== undefined || used(place, name)) return false;
  const oldest = [...place.kept.values()].find(plot => plot !== frame.firstChild);
  const plot = place.kept.size < KEPT ? part('labkit-plot') : oldest;
  plot.classList.add('labkit-ahead');
  frame.append(plot);
  try {
    await drawn(place, plot, name, chart, draw);
  } finally {
    plot.classList.remove('labkit-ahead');
    if (plot !== frame.firstChild) plot.remove();
  }
  return true;
}

// The kept drawing of a name, which makes it the last that will be given up.
function used({kept}, name) {
  const plot = kept.get(name);
  if (plot) kept.delete(name), kept.set(name, plot);
  return plot;
}

async function drawn(place, plot, name, chart, draw) {
  const {kept} = place, forget = () => kept.forEach((one, old) => one === plot && kept.delete(old));
  forget();
  kept.set(name, plot);
  try {
    await draw(plot, chart.figure());
  } catch (error) { forget(); throw error; }
  if (plot.followed) return;
  plot.on('plotly_afterplot', () => point(place));
  // Whoever zooms in, and goes, and comes back, finds the whole; plotly itself only makes it as wide as its place.
  plot.on('plotly_relayout', changes => 'autosize' in changes || forget());
  plot.followed = true;
}

// Gives up what is kept of a place and not shown: its width is another now.
function forgetHidden(place) {
  for (const [name, plot] of place.kept ?? []) if (plot !== place.lastChild.firstChild) {
    place.kept.delete(name);
    Plotly.purge(plot);
  }
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
