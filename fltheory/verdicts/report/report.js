(() => {
  'use strict';
  const get = id => document.getElementById(id);
  // Folded parts are printed as they are seen; who wants everything on paper unfolds it first.
  const unfold = get('unfold');
  if (unfold) {
    get('folds').hidden = false;
    unfold.addEventListener('click', () => {
      const all = [...document.querySelectorAll('details')], open = all.some(d => !d.open);
      all.forEach(d => { d.open = open; });
      unfold.textContent = open ? 'Fold everything' : 'Unfold everything';
    });
  }
  // The search box of a paper's page and of its sections: entries, and lines of the contents.
  const find = get('find');
  if (find) {
    const field = get('find-text'), lines = [...document.querySelectorAll('.toc > li, .cases > li, #findings tbody tr')];
    // The answer stands above the contents: what is found there would otherwise be out of sight.
    const answers = [...document.querySelectorAll('.answer')], told = answers.flatMap(list => [...list.children]);
    const entries = [...document.querySelectorAll('.entry')], parts = [...document.querySelectorAll('.part')];
    const narrow = () => {
      const wanted = field.value.trim().toLowerCase();
      [...lines, ...told, ...entries].forEach(item => { item.hidden = !item.textContent.toLowerCase().includes(wanted); });
      parts.forEach(part => { part.hidden = [...part.querySelectorAll('.toc > li')].every(line => line.hidden); });
      answers.forEach(list => {
        const head = list.previousElementSibling;
        if (head && head.matches('h3')) head.hidden = [...list.children].every(line => line.hidden);
      });
      const counted = entries.length ? entries : lines;
      get('find-count').textContent = wanted ? counted.filter(item => !item.hidden).length + ' of ' + counted.length : '';
      const state = new URLSearchParams();
      if (wanted) state.set('q', field.value.trim());
      if (find.dataset.paper) state.set('paper', find.dataset.paper);
      get('find-all').hash = '#claims' + (state.toString() ? '?' + state : '');
    };
    field.addEventListener('input', narrow);
    find.addEventListener('submit', event => event.preventDefault());
    // Who follows a link to an entry that the search hides wants to see it.
    addEventListener('hashchange', () => { if (field.value) { field.value = ''; narrow(); } });
    find.hidden = false;
  }
  // An address names the paper's page or, from the time of a single page, the index; the entry may stand on another page.
  const follow = () => {
    const mark = location.hash;
    if (!mark.includes('/')) return;
    let at = null;
    try { at = get(decodeURIComponent(mark.slice(1))); } catch { /* no address of ours */ }
    if (at && at.matches('.entry')) return;
    const links = [...document.links].filter(a => a.pathname !== location.pathname);
    const away = links.find(a => a.hash === mark);
    if (away) { location.replace(away.href); return; }
    const paper = '/' + mark.slice(1).split('/')[0].toLowerCase() + '.html';
    const page = links.find(a => !a.hash && a.pathname.endsWith(paper));
    if (page) location.replace(page.href + mark);
  };
  follow();
  addEventListener('hashchange', follow);
  const table = get('claims');
  if (!table) return;
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const text = get('f-text'), paper = get('f-paper'), word = get('f-word'), sort = get('f-sort');
  const only = get('f-unexpected'), count = get('f-count'), link = get('f-link');
  const names = heads.map(head => head.textContent.toLowerCase().replace(/\W+/g, '-'));
  let column = 0, sign = 1;
  const filter = () => {
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    rows.forEach(row => {
      const data = row.dataset;
      row.hidden = !((!wanted || (row.textContent + (data.says || '')).toLowerCase().includes(wanted))
        && (!paper.value || data.paper === paper.value) && (!word.value || data.word === word.value || data.tally === word.value)
        && (!only.checked || data.unexpected));
      shown += row.hidden ? 0 : 1;
    });
    count.textContent = shown + ' of ' + rows.length + ' shown';
  };
  const order = () => {
    const key = 'k' + column;
    const compare = (a, b) => {
      const x = a.dataset[key], y = b.dataset[key];
      // Rows without a value stay last in both directions.
      if (x === '' || y === '') return (x === '') - (y === '');
      const both = x - y;
      return sign * (Number.isNaN(both) ? x.localeCompare(y, 'en', {numeric: true}) : both);
    };
    body.append(...rows.sort((a, b) => compare(a, b) || a.dataset.k0 - b.dataset.k0));
    heads.forEach((head, at) => {
      if (at === column) head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
      else head.removeAttribute('aria-sort');
    });
    sort.value = column;
  };
  // The view is kept in the address, so that a filtered and sorted table can be sent to somebody.
  const VIEW = '#claims?';
  const remember = () => {
    const state = new URLSearchParams();
    if (text.value.trim()) state.set('q', text.value.trim());
    if (paper.value) state.set('paper', paper.value);
    if (word.value) state.set('verdict', word.value);
    if (only.checked) state.set('unexpected', '1');
    if (column || sign < 0) state.set('sort', (sign < 0 ? '-' : '') + names[column]);
    const view = state.toString() ? VIEW + state : '#claims';
    link.href = view;
    try { history.replaceState(null, '', view); } catch { /* a sandbox without history: the link still works */ }
  };
  const choose = (field, value) => { field.value = [...field.options].some(o => o.value === value) ? value : ''; };
  const recall = () => {
    if (!location.hash.startsWith(VIEW)) return;
    const state = new URLSearchParams(location.hash.slice(VIEW.length));
    const by = state.get('sort') || '', at = names.indexOf(by.replace(/^-/, ''));
    text.value = state.get('q') || '';
    choose(paper, state.get('paper') || '');
    choose(word, state.get('verdict') || '');
    only.checked = state.get('unexpected') === '1';
    column = Math.max(at, 0);
    sign = at >= 0 && by.startsWith('-') ? -1 : 1;
    order();
    filter();
    link.href = location.hash;
    get('controls').scrollIntoView();
  };
  const show = change => { change(); order(); filter(); remember(); };
  heads.forEach((head, at) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener('click', () => show(() => { sign = at === column ? -sign : 1; column = at; }));
  });
  sort.addEventListener('change', () => show(() => { column = Number(sort.value); sign = 1; }));
  [text, paper, word, only].forEach(field => field.addEventListener('input', () => show(() => {})));
  const clear = () => { text.value = ''; paper.value = ''; word.value = ''; only.checked = false; };
  get('f-reset').addEventListener('click', () => show(() => { clear(); column = 0; sign = 1; }));
  // The counts on the front lead to the table, filtered by what was counted.
  document.querySelectorAll('a.share').forEach(a => a.addEventListener('click', () => {
    clear();
    choose(paper, a.dataset.paper);
    choose(word, a.dataset.word);
    setTimeout(() => { show(() => {}); get('controls').scrollIntoView(); });
  }));
  get('controls').addEventListener('submit', event => event.preventDefault());
  get('controls').hidden = false;
  order();
  filter();
  recall();
  addEventListener('hashchange', recall);
})();
