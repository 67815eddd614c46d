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

// A chart of a board. Its title and the mark of the chosen setting are HTML around what `draw` makes plotly draw, so
// that a move which changes nothing else draws nothing anew. `look`: what the drawing depends on besides the chart.
async function show(place, {title, mark, html, data, layout}, look, draw) {
  const part = className => Object.assign(document.createElement('div'), {className});
  if (!place.firstChild) {
    place.append(part('labkit-title'), part('labkit-frame'));
    place.lastChild.append(part('labkit-plot'), part('labkit-line'), part('labkit-ring'));
  }
  const heading = place.firstChild, plot = place.lastChild.firstChild;
  if (heading.textContent !== title) heading.textContent = title;
  place.mark = mark;
  const wanted = html ?? JSON.stringify([data, layout, look]);
  if (place.drawn !== wanted) try {
    place.drawn = wanted;
    if (html !== undefined) plot.innerHTML = html;
    else {
      await draw(plot, {data, layout});
      if (!place.followed) plot.on('plotly_afterplot', () => point(place));
      place.followed = true;
    }
  } catch (error) { place.drawn = undefined; throw error; }
  point(place);
}

// Puts the mark of a chart where its axes are now.
function point(place) {
  const {mark} = place, [plot, line, ring] = place.lastChild.children, {xaxis, yaxis} = plot._fullLayout ?? {};
  const at = (axis, value) => {
    const pixel = axis && value != null ? axis.d2p(value) : -1;
    return pixel >= 0 && pixel <= axis._length ? `${axis._offset + pixel}px` : '';
  };
  const left = mark ? at(xaxis, mark.x) : '', top = left && at(yaxis, mark.y);
  line.hidden = !left;
  ring.hidden = !top;
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
