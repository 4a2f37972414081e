'use strict';
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const body = document.body;
  body.classList.add('scripted');
  const nodes = all('svg.plan .node');
  const graph = document.querySelector('.graph');
  const plan = document.querySelector('svg.plan');

  const select = (id, scroll) => {
    all('.selected').forEach((it) => it.classList.remove('selected'));
    all(`[data-node="${CSS.escape(id)}"]`).forEach((it) => it.classList.add('selected'));
    nodes.forEach((it) => it.setAttribute('aria-pressed', String(it.dataset.node === id)));
    if (scroll) document.querySelector('article.selected')?.scrollIntoView({ block: 'nearest' });
  };

  // Arrow keys move to the nearest node in their direction.
  const directions = {
    ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0],
  };
  const place = (node) => {
    const matrix = node.transform.baseVal.consolidate().matrix;
    return [matrix.e, matrix.f];
  };
  const neighbor = (node, [dx, dy]) => {
    const [x, y] = place(node);
    let best = null;
    let least = Infinity;
    for (const other of nodes) {
      const [ox, oy] = place(other);
      const along = (ox - x) * dx + (oy - y) * dy;
      const across = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
      if (along > 0 && along + 2 * across < least) {
        least = along + 2 * across;
        best = other;
      }
    }
    return best;
  };
  const activates = (event) => event.key === 'Enter' || event.key === ' ';
  nodes.forEach((node) => {
    node.addEventListener('click', () => select(node.dataset.node, false));
    node.addEventListener('keydown', (event) => {
      const direction = directions[event.key];
      const next = direction && neighbor(node, direction);
      if (next) next.focus();
      if (activates(event)) select(node.dataset.node, true);
      if (direction || activates(event)) event.preventDefault();
    });
  });
  all('.sorts tbody tr').forEach((row) => {
    row.addEventListener('click', () => select(row.dataset.node, false));
    row.addEventListener('keydown', (event) => {
      if (!activates(event)) return;
      select(row.dataset.node, true);
      event.preventDefault();
    });
  });

  all('.sorts th button').forEach((button) => {
    button.addEventListener('click', () => {
      const header = button.closest('th');
      const table = button.closest('table');
      const column = Number(button.dataset.column);
      const ascending = header.getAttribute('aria-sort') === 'descending';
      all('th', table).forEach((it) => it.removeAttribute('aria-sort'));
      header.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
      const rows = all('tbody tr', table);
      const key = (row) => Number(row.cells[column].dataset.key);
      rows.sort((a, b) => (key(a) - key(b)) * (ascending ? 1 : -1));
      rows.forEach((row) => row.parentNode.append(row));
    });
  });

  let zoom = 1;
  const { width, height } = plan.viewBox.baseVal;
  const show = () => {
    plan.style.width = `${width * zoom}px`;
    plan.style.height = `${height * zoom}px`;
  };
  const fit = () => {
    zoom = Math.min(1, (graph.clientWidth - 2) / width);
    show();
  };
  const actions = {
    in: () => { zoom = Math.min(4, zoom * 1.25); show(); },
    out: () => { zoom = Math.max(0.05, zoom / 1.25); show(); },
    fit,
  };
  all('[data-zoom]').forEach((it) => it.addEventListener('click', actions[it.dataset.zoom]));
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = { '+': 'in', '-': 'out', 0: 'fit' }[event.key];
    if (action) actions[action]();
  });
  fit();
  // The node that took most of the time.
  const share = (node) => Number(/heat(\d)/.exec(node.getAttribute('class'))[1]);
  const first = nodes.reduce((best, it) => (share(it) > share(best) ? it : best), nodes[0]);
  if (first) select(first.dataset.node, false);
})();
