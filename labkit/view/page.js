// Draws every figure and board, those in the window first; again in the other colours for night and for paper.
const NIGHT = [['"white"', '"#16181c"'], ['#1D1D1F', '#e6e6e8'], ['#2a3f5f', '#e6e6e8'], ['#5A5A5A', '#a9adb3'],
               ['#ECECEC', '#2c3036'], ['#F3F1E7', '#23221c'], ['"#000000"', '"#f2f2f2"']];
const PAPER = 680;  // pixels: the width of a chart on a printed page
const night = matchMedia('(prefers-color-scheme: dark)');
let dark = night.matches;  // asked in its event only: a browser that was asked before leaves out the event
let printing = false;

// A figure in the colours of the hour.
function tinted(figure) {
  if (!dark || printing) return figure;
  return JSON.parse(NIGHT.reduce((text, [day, late]) => text.replaceAll(day, late), JSON.stringify(figure)));
}

function paint(place, figure) {
  let {data, layout} = tinted(figure);
  if (printing) layout = {...layout, width: PAPER};
  return Plotly.react(place, data, layout, {responsive: true, displayModeBar: false});
}

function inWindow({element}) {
  const {top, bottom} = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

(async () => {
  await library(bytesOf(document.getElementById('plotly').textContent));
  const all = [...document.querySelectorAll('.figure')].map(element => ({element, draw: () =>
    paint(element.querySelector('div'), JSON.parse(element.querySelector('script').textContent))}));
  for (const [i, element] of [...document.querySelectorAll('.board')].entries())
    all.push({element, draw: await board(element, i ? `${i + 1}.` : '')});
  const seen = all.filter(inWindow);
  for (const {draw} of seen) await draw();
  document.body.dataset.ready = 'seen';
  await new Promise(done => setTimeout(done));  // what is seen is painted before the rest is drawn
  for (const {draw} of all.filter(one => !seen.includes(one))) await draw();

  const again = () => all.forEach(({draw}) => draw());
  night.addEventListener('change', () => { dark = night.matches; again(); });
  for (const [event, on] of [['beforeprint', true], ['afterprint', false]])
    addEventListener(event, () => { printing = on; again(); });
  document.body.dataset.ready = 'yes';
})();
