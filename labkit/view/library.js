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
