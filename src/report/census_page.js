// The heat map, drawn from the data that stands in the page: kernels × architectures × assemblers.
(() => {
  'use strict';
  const data = JSON.parse(document.getElementById('census-data').textContent);
  const lines = document.getElementById('census-lines').textContent.split('\n');
  const map = document.getElementById('heat'), tip = document.getElementById('tip'), picked = document.getElementById('picked');
  const marks = ['same', 'different', 'lottery', 'failed', 'not expressible here'];
  // A point: [kernel, architecture, assembler, reaction, untreated, treated, difference]; a build:
  // [registers, spilled bytes, code bytes, codes, runs] or [failure].
  const at = new Map(data.points.map(point => [point.slice(0, 3).join(), point]));
  const make = (name, text) => { const node = document.createElement(name); if (text !== undefined) node.textContent = text; return node; };

  const diverging = share => {   // −1 … 1: fewer is blue, more is orange
    const strength = Math.min(1, Math.abs(share)) ** 0.6;
    return `rgba(${share < 0 ? '47,106,181' : '206,98,16'},${(0.12 + 0.88 * strength).toFixed(3)})`;
  };
  const ratio = (a, b) => Math.log2(b / a);
  const modes = {
    reaction: point => 'rgba(var(--different),.75)',
    registers: point => point[4][0] === point[5][0] ? 'rgba(var(--different),.22)' : diverging(ratio(point[4][0], point[5][0]) / 0.6),
    'code size': point => point[4][2] === point[5][2] ? 'rgba(var(--different),.22)' : diverging(ratio(point[4][2], point[5][2]) / 0.3),
    spills: point => point[4][1] === point[5][1] ? 'rgba(var(--different),.15)' : diverging(Math.sign(point[5][1] - point[4][1]) * Math.min(1, Math.abs(point[5][1] - point[4][1]) / 1000 + 0.3)),
  };
  let mode = 'registers', here = null;

  const paint = () => {
    for (const node of map.querySelectorAll('b')) {
      const point = node.point;
      node.style.background = point && point[3] === 1 ? modes[mode](point) : '';
    }
    for (const button of document.querySelectorAll('.modes button')) button.setAttribute('aria-pressed', String(button.dataset.mode === mode));
  };

  const build = list => list.length === 1 ? list[0]
    : `${list[0]} registers, ${list[1]} bytes spilled, ${list[2].toLocaleString('en')} bytes of code` + (list[3] > 1 ? `, ${list[3]} codes in ${list[4]} runs` : '');
  const describe = point => {
    const [kernel, architecture, assembler, reaction, untreated, treated] = point;
    return `${data.kernels[kernel]}\n${data.architectures[architecture]}, ptxas ${data.assemblers[assembler]}: ${marks[reaction]}\n` +
      (reaction === 4 ? untreated[0] : `untreated  ${build(untreated)}\ntreated    ${build(treated)}`);
  };

  const show = node => {
    if (here) here.classList.remove('here');
    here = node;
    node.classList.add('here');
    const point = node.point, [kernel, architecture, assembler, , , , difference] = point;
    picked.replaceChildren(make('h3', `${data.kernels[kernel]} on ${data.architectures[architecture]} by ptxas ${data.assemblers[assembler]}`));
    picked.append(make('pre', describe(point).split('\n').slice(2).join('\n')));
    const version = data.assemblers[assembler];
    const command = `namesake census show --ledger ${data.ledger} --kernel '${data.kernels[kernel]}' --arch ${data.architectures[architecture]} --a ${version},untreated --b ${version},treated --sass`;
    if (difference >= 0) {
      const table = make('table');
      for (const row of data.differences[difference].rows) {
        const line = make('tr');
        if (row.length === 1) {
          const cell = make('td', `⋯ ${row[0]}`);
          cell.colSpan = 2;
          line.className = 'gap';
          line.append(cell);
        } else {
          line.className = {'-': 'm', '+': 'p', '~': 't'}[row[0]] || '';
          line.append(make('td', row[1] < 0 ? '' : lines[row[1]]), make('td', row[2] < 0 ? '' : lines[row[2]]));
        }
        table.append(line);
      }
      const scroll = make('div');
      scroll.className = 'scroll';
      scroll.append(table);
      picked.append(scroll);
      if (data.differences[difference].more) picked.append(make('p', 'The rest is left out to keep this page small. All of it, with scheduling:'));
    } else if (point[3] === 1 || point[3] === 2) {
      picked.append(make('p', 'This difference is not on the page, to keep it small. The ledger has it:'));
    }
    if (point[3] !== 4) picked.append(make('pre', command));
    picked.scrollIntoView({block: 'nearest', behavior: 'smooth'});
  };

  const head = make('tr');
  head.append(make('th', 'kernel'));
  for (const architecture of data.architectures) {
    const cell = make('th', architecture);
    cell.append(make('small', data.span));
    head.append(cell);
  }
  const thead = make('thead'), tbody = make('tbody'), table = make('table');
  thead.append(head);
  data.kernels.forEach((kernel, k) => {
    const row = make('tr'), name = make('th', kernel);
    name.title = kernel;
    row.append(name);
    data.architectures.forEach((_, a) => {
      const cell = make('td');
      data.assemblers.forEach((_, v) => {
        const node = make('b'), point = at.get([k, a, v].join());
        node.point = point;
        node.className = !point || point[3] === 4 ? 'none' : ['', 'different', 'lottery', 'failed'][point[3]];
        if (point && point[3] < 3 && point[5][1] > point[4][1]) node.classList.add('spilled');
        cell.append(node);
      });
      row.append(cell);
    });
    tbody.append(row);
  });
  table.append(thead, tbody);
  map.append(table);

  for (const button of document.querySelectorAll('.modes button')) button.addEventListener('click', () => { mode = button.dataset.mode; paint(); });
  map.addEventListener('mousemove', event => {
    const point = event.target.point;
    tip.style.display = point ? 'block' : 'none';
    if (!point) return;
    tip.textContent = describe(point);
    tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = (event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18) + 'px';
  });
  map.addEventListener('mouseleave', () => { tip.style.display = 'none'; });
  map.addEventListener('click', event => { if (event.target.point) show(event.target); });
  const wanted = /^#(\d+),(\d+),(\d+)$/.exec(location.hash);
  paint();
  if (wanted) for (const node of map.querySelectorAll('b')) if (node.point && node.point.slice(0, 3).join() === wanted.slice(1).join()) show(node);
})();
