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

// Read together, before anything is drawn: asked for between two drawings each would lay out the whole page anew.
function widths(places) {
  return places.map(place => place.clientWidth || 480);  // of a page that is not shown yet none is known
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

// `fresh`, where a part equals that of `old` with the old part itself: plotly takes another list for changed data.
function kept(old, fresh) {
  if (typeof old !== 'object' || typeof fresh !== 'object' || !old || !fresh) return fresh;
  let same = Object.keys(old).length === Object.keys(fresh).length;
  for (const key of Object.keys(fresh)) {
    fresh[key] = kept(old[key], fresh[key]);
    same &&= fresh[key] === old[key];
  }
  return same ? old : fresh;
}
