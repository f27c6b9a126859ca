// Sorting, filtering, folding, hovering, keys. The page is whole without it: all of this only hides or orders.
'use strict';
(() => {
  const root = document.documentElement;
  root.classList.add('js');
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
  const cards = all('.fn');

  // ---- sorting: the matrix by name or by size of change on one architecture
  for (const head of all('.matrix thead th')) {
    head.tabIndex = 0;
    head.title = 'sort by this column';
    const sort = () => {
      const column = head.cellIndex, text = head.dataset.kind === 'text';
      const ascending = head.getAttribute('aria-sort') ? head.getAttribute('aria-sort') === 'descending' : text;
      all('.matrix thead th').forEach(other => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
      const body = head.closest('table').tBodies[0];
      const key = row => text ? row.cells[column].textContent : Number(row.cells[column].dataset.sort);
      const rows = Array.from(body.rows, row => [key(row), row]);
      rows.sort(([x], [y]) => (text ? x.localeCompare(y) : x - y) * (ascending ? 1 : -1));
      body.append(...rows.map(([, row]) => row));
    };
    head.addEventListener('click', sort);
    head.addEventListener('keydown', event => { if (event.key === 'Enter') sort(); });
  }

  // ---- filtering: words that must all occur in the name, and the verdicts that are switched on
  const filter = document.getElementById('filter');
  const chips = all('.chip');
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const on = new Set(chips.filter(chip => chip.getAttribute('aria-pressed') === 'true').map(chip => chip.dataset.verdict));
    const wanted = (text, verdicts) => words.every(word => text.includes(word)) && verdicts.some(verdict => on.has(verdict));
    for (const row of all('.matrix tbody tr')) {
      const head = row.cells[0];
      row.classList.toggle('hidden', !wanted((head.title + ' ' + head.textContent).toLowerCase(), row.dataset.verdicts.split(' ')));
    }
    for (const card of cards) {
      const name = card.querySelector('.name');
      const text = name.title + ' ' + card.querySelector('.arch').textContent;
      card.classList.toggle('hidden', !wanted(text.toLowerCase(), [card.dataset.verdict]));
    }
  };
  if (filter) {
    filter.addEventListener('input', apply);
    for (const chip of chips) {
      chip.addEventListener('click', event => {
        // With Shift: this verdict alone.
        if (event.shiftKey) chips.forEach(other => other.setAttribute('aria-pressed', String(other === chip)));
        else chip.setAttribute('aria-pressed', String(chip.getAttribute('aria-pressed') !== 'true'));
        apply();
      });
    }
  }

  // ---- folding: runs of instructions without a change
  const unfold = (button, open) => button.closest('tbody').nextElementSibling.classList.toggle('open', open);
  document.addEventListener('click', event => {
    const button = event.target.closest('.sass .f button');
    if (button) unfold(button);
  });

  // ---- hovering: what the scheduling fields in front of an instruction say
  const explained = fields => {
    const match = /^B(.*):R(.):W(.):(.):S(\d+)$/.exec(fields);
    if (!match) return '';
    const [, waits, read, write, yields, stall] = match;
    const mask = Array.from(waits).filter(digit => digit !== '-');
    const parts = [`stall ${Number(stall)} cycle${Number(stall) === 1 ? '' : 's'}`];
    if (mask.length) parts.push(`waits for scoreboard ${mask.join(', ')}`);
    if (write !== '-') parts.push(`sets scoreboard ${write} when the result is written`);
    if (read !== '-') parts.push(`sets scoreboard ${read} when the operands are read`);
    if (yields === 'Y') parts.push('yields to another warp');
    return parts.join('; ');
  };
  document.addEventListener('mouseover', event => {
    const cell = event.target.closest('.sass .s');
    if (cell && !cell.title) cell.title = explained(cell.textContent);
  });

  // ---- going: a cell of the matrix opens its function
  let here = -1;
  const go = index => {
    if (cards[here]) cards[here].classList.remove('here');
    here = index;
    cards[here].classList.add('here');
    cards[here].scrollIntoView({block: 'start'});
  };
  const open = () => {
    const card = /^#f\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    if (!card) return;
    card.open = true;
    card.classList.remove('hidden');
    go(cards.indexOf(card));
  };
  window.addEventListener('hashchange', open);
  document.addEventListener('click', event => {
    const link = event.target.closest('.v a');
    if (link && link.hash === location.hash) open();
  });
  open();

  // ---- keys
  const step = direction => {
    for (let i = here + direction; i >= 0 && i < cards.length; i += direction) {
      if (!cards[i].classList.contains('hidden')) return go(i);
    }
  };
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === filter) {
      if (event.key === 'Escape') { filter.value = ''; apply(); filter.blur(); }
      return;
    }
    const card = cards[here];
    if (event.key === '/' && filter) { event.preventDefault(); filter.focus(); }
    else if (event.key === 'j') step(1);
    else if (event.key === 'k') step(-1);
    else if (event.key === 'o' && card) card.open = !card.open;
    else if (event.key === 'e' && card) {
      const folds = all('.fold', card), shut = folds.some(fold => !fold.classList.contains('open'));
      folds.forEach(fold => fold.classList.toggle('open', shut));
    }
  });
})();
