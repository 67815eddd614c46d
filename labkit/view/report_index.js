// Shows the reports of the chosen target; the choice is in the address, so that a link carries it.
const choice = document.getElementById('target');
const show = () => document.querySelectorAll('tbody tr').forEach(row => {
  row.hidden = Boolean(choice.value) && row.dataset.target !== choice.value;
});
const read = () => {
  const asked = new URLSearchParams(location.hash.slice(1)).get('target') ?? '';
  if ([...choice.options].some(option => option.value === asked)) choice.value = asked;
  show();
};
choice.addEventListener('change', () => {
  show();
  history.replaceState(null, '', '#' + new URLSearchParams({target: choice.value}));
});
addEventListener('hashchange', read);
read();
