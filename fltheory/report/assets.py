"""The style and the script of the HTML page, kept inline so that the page is one file."""

# The hues are those of Okabe and Ito, darkened or lightened until text on them has enough contrast.
STYLE = """
:root {
  --ink: #1b1b1b; --soft: #595959; --paper: #fdfdfb; --rule: #d9d7d0; --panel: #f4f3ee; --link: #0b4f83;
  --true: #00614a; --true-bg: #dff2ea; --support: #0b4f83; --support-bg: #e0eef8;
  --false: #9c3200; --false-bg: #fbe6da; --error: #6b4e00; --error-bg: #fbf0cf;
  --finding: #7a2f60; --finding-bg: #f7e6f0; --neutral: #4d4d4d; --neutral-bg: #ebebe8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e8e6e1; --soft: #a9a6a0; --paper: #161719; --rule: #3a3b3e; --panel: #202225; --link: #8cc4f0;
    --true: #7fdcbc; --true-bg: #10372c; --support: #8cc4f0; --support-bg: #12304a;
    --false: #ffab7d; --false-bg: #472008; --error: #f0cf70; --error-bg: #3d3108;
    --finding: #eab0d3; --finding-bg: #44193a; --neutral: #c4c2bd; --neutral-bg: #303236;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.6 Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif; }
main { max-width: 68rem; margin: 0 auto; padding: 3rem 2rem 5rem; overflow-wrap: break-word; }
h1, h2, h3, h4 { line-height: 1.25; font-weight: 600; text-wrap: balance; }
h1 { font-size: 2.1rem; margin: 0 0 1.2rem; }
h2 { font-size: 1.45rem; margin: 3.5rem 0 1rem; padding-bottom: .3rem; border-bottom: 1px solid var(--rule); }
h3 { font-size: 1.2rem; margin: 0; overflow-wrap: anywhere; }
h4 { font-size: 1rem; margin: 0 0 .4rem; }
a { color: var(--link); text-underline-offset: .15em; }
h3 a { color: inherit; text-decoration: none; } h3 a:hover { text-decoration: underline; }
h3 .paper { color: var(--soft); font-weight: 400; }
p { margin: .6rem 0; }
.lead { font-size: 1.25rem; }
.papers, .cases { padding-left: 1.2rem; } .papers li { margin: .8rem 0; } .cases li { margin: .9rem 0; max-width: 52rem; }
h2 + .note { color: var(--soft); } .found { color: var(--soft); } .cases .meta { margin-left: .4rem; }
.shares { display: flex; flex-wrap: wrap; gap: 3px; font-size: .82rem; margin: .45rem 0 0; line-height: 1.4; }
.share { padding: .3rem .5rem; text-decoration: none; white-space: nowrap; max-width: 100%; overflow: hidden; text-overflow: ellipsis; border-radius: 3px; border-bottom: 3px solid currentColor;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; } .share:hover { text-decoration: underline; }
.share.true { color: var(--true); background: var(--true-bg); } .share.support { color: var(--support); background: var(--support-bg); }
.share.false { color: var(--false); background: var(--false-bg); } .share.error { color: var(--error); background: var(--error-bg); }
.share.neutral { color: var(--neutral); background: var(--neutral-bg); }
.contents { font: .85rem/1.9 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
.answer { padding-left: 1.2rem; max-width: 50rem; } .answer li { margin: .7rem 0; } .answer s { color: var(--soft); }
h2 + .note + h3, .answer + h3 { margin-top: 1.2rem; }
.refs { font: .76rem/1.7 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
.ref { display: inline-block; padding: 0 .4rem; border-radius: 3px; text-decoration: none; max-width: 100%; overflow-wrap: anywhere;
  background: var(--panel); color: var(--neutral); } a.ref:hover { text-decoration: underline; }
.ref.true { color: var(--true); background: var(--true-bg); } .ref.support { color: var(--support); background: var(--support-bg); }
.ref.false { color: var(--false); background: var(--false-bg); } .ref.finding { color: var(--finding); background: var(--finding-bg); }
.ref.error { color: var(--error); background: var(--error-bg); }
.plain-words { max-width: 46rem; } .cite { font-size: .82rem; color: var(--soft); overflow-wrap: anywhere; }
.copy { user-select: all; -webkit-user-select: all; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.meta, .label, .near, .says, .back, footer, figcaption { color: var(--soft); }
.cite, .shares, .folds, table, .chip, dl.facts, .controls, .meta, .label, summary, .bars, footer, .back, .unexpected {
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
.meta, .back, footer { font-size: .85rem; } .meta { margin: .2rem 0 .6rem; }
.label { font-size: .8rem; margin: .9rem 0 .2rem; font-weight: 600; }
code, pre, .num { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { font-size: .88em; overflow-wrap: anywhere; }
.num { font-size: .92em; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.whole { white-space: nowrap; overflow-wrap: normal; }
.num[title] { text-decoration: underline dotted; cursor: help; }
pre { background: var(--panel); border: 1px solid var(--rule); padding: .8rem 1rem; margin: .4rem 0; max-height: 34rem;
  overflow: auto; font-size: .8rem; line-height: 1.45; }
pre code { font-size: inherit; overflow-wrap: normal; }
pre.output { border-left: 4px solid var(--soft); }
.entry { margin: 2.8rem 0; padding-top: 1.6rem; border-top: 1px solid var(--rule); scroll-margin-top: .5rem; }
h2 + .entry { border-top: 0; margin-top: 0; padding-top: .4rem; }
.entry:target > h3 { text-decoration: underline; text-decoration-thickness: 3px; }
.statement { margin: 1.1rem 0; padding: .1rem 0 .1rem 1.2rem; border-left: 3px solid var(--rule); max-width: 46rem; }
/* Browsers do not break lines inside formulas: a long one scrolls in its own block, not the page. */
.display, .statement p, .doubt p, .verdict, dd, .says { overflow-x: auto; overflow-y: hidden; }
/* A shadow at an edge says that the formula goes on there. */
.display, .scroll { padding: .3rem 0; background: linear-gradient(to right, var(--paper) 40%, transparent) left / 2.5rem 100% no-repeat local,
  linear-gradient(to left, var(--paper) 40%, transparent) right / 2.5rem 100% no-repeat local,
  linear-gradient(to right, var(--rule), transparent) left / .8rem 100% no-repeat scroll,
  linear-gradient(to left, var(--rule), transparent) right / .8rem 100% no-repeat scroll; }
.doubt .display { background: none; }
math { font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math", "DejaVu Math TeX Gyre", math; }
mtd[style*=right] { padding-right: 0; } mtd[style*=left] { padding-left: .1em; }
code.tex.display { display: block; white-space: pre-wrap; }
.chip { display: inline-block; padding: .05rem .55rem; border: 1px solid currentColor; border-left-width: 4px;
  border-radius: 3px; font-size: .78rem; font-weight: 600; letter-spacing: .02em; line-height: 1.5; white-space: nowrap; max-width: 100%; overflow: hidden; text-overflow: ellipsis; vertical-align: bottom; }
.chip.true { color: var(--true); background: var(--true-bg); }
.chip.support { color: var(--support); background: var(--support-bg); }
.chip.false { color: var(--false); background: var(--false-bg); }
.chip.error { color: var(--error); background: var(--error-bg); }
.chip.finding { color: var(--finding); background: var(--finding-bg); }
.chip.neutral { color: var(--neutral); background: var(--neutral-bg); }
.chip.plain { border-color: transparent; padding-left: 0; border-left-width: 0; font-weight: 400; }
.verdict .chip { font-size: .92rem; margin-right: .5rem; } .scope { color: var(--soft); }
.unexpected { font-weight: 700; font-size: .82rem; color: var(--false); }
.alarm, .doubt { border: 2px solid var(--false); border-radius: 4px; padding: 1rem 1.3rem; margin: 1.4rem 0; }
.alarm h2 { border: 0; margin: 0; padding: 0; font-size: 1.15rem; }
.alarm ul { margin: .5rem 0 0; padding-left: 1.2rem; overflow-wrap: anywhere; }
.doubt { border: 1px solid var(--soft); border-left: 6px solid var(--false); background: var(--panel); max-width: 52rem; }
dl.facts { margin: 1rem 0; font-size: .88rem; }
dl.facts > div { display: grid; grid-template-columns: 11rem 1fr; gap: .2rem 1rem; padding: .22rem 0; }
dl.facts dt { color: var(--soft); } dl.facts dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
details { margin: 1rem 0; } summary { cursor: pointer; font-size: .92rem; font-weight: 600; padding: .25rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .84rem; line-height: 1.45; margin: .4rem 0; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 2px solid var(--rule); vertical-align: bottom; }
td { border-bottom: 1px solid var(--rule); vertical-align: top; }
th, td { padding: .45rem .9rem .45rem 0; } th:last-child, td:last-child { padding-right: 0; }
th button { all: unset; cursor: pointer; } th button:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
th[aria-sort=ascending] button::after { content: " ▲"; } th[aria-sort=descending] button::after { content: " ▼"; }
#claims td:first-child, #findings td:first-child { overflow-wrap: break-word; min-width: 17rem; } #claims { scroll-margin-top: 6rem; } .controls { scroll-margin-top: 1rem; }
.says { display: block; font-size: .92em; min-width: 9rem; }
.near { font-size: .92em; }
.controls { display: flex; flex-wrap: wrap; gap: .7rem 1.2rem; align-items: end; font-size: .85rem; margin: 1rem 0; }
.controls[hidden] { display: none; }
.controls label { display: grid; grid-template-columns: minmax(0, auto); gap: .15rem; color: var(--soft); min-width: 0; max-width: 100%; }
.controls .check { display: flex; gap: .4rem; align-items: center; padding-bottom: .35rem; }
.controls button { font: inherit; height: 2.1rem; padding: 0 .8rem; color: var(--ink); background: var(--panel);
  border: 1px solid var(--soft); border-radius: 3px; cursor: pointer; } .controls > a { padding-bottom: .35rem; }
.controls input[type=search], .controls select { font: inherit; padding: 0 .45rem; height: 2.1rem; color: var(--ink); max-width: 100%;
  background: var(--paper); border: 1px solid var(--soft); border-radius: 3px; }
.controls output { padding-bottom: .35rem; color: var(--soft); }
.bars { margin: .5rem 0; font-size: .84rem; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.3rem; padding: 0; margin: .5rem 0 .8rem; }
.legend li { max-width: 100%; overflow-wrap: anywhere; }
.legend .seg { display: inline-block; width: 1.5rem; height: 1.3rem; }
.row { margin: .6rem 0; break-inside: avoid; } .row .near { font-size: .78rem; }
.bar { position: relative; display: flex; height: 1.5rem; background: var(--panel); outline: 1px solid var(--rule); }
.seg { text-align: center; font-size: .75rem; font-weight: 600; line-height: 1.3rem; overflow: hidden; color: #111;
  border: 1px solid #fff; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.bar .seg { height: 1.5rem; line-height: 1.4rem; }
.s0 { background: #56b4e9; } .s1 { background: #e69f00; } .s2 { background: #35c09a; } .s3 { background: #f0e442; }
.s4 { background: #d98cb5; } .s5 { background: #6fa8d6; } .s6 { background: #f08a4b; } .s7 { background: #c8c8c8; }
.tick { position: absolute; top: -.25rem; bottom: -.25rem; width: 3px; margin-left: -1.5px; background: var(--ink);
  outline: 1px solid var(--paper); print-color-adjust: exact; -webkit-print-color-adjust: exact; }
footer { margin-top: 4rem; padding-top: 1rem; border-top: 1px solid var(--rule); overflow-wrap: anywhere; }
@media screen and (max-width: 46rem) {
  body { font-size: 16px; } main { padding: 1.6rem 1.1rem 3rem; } h1 { font-size: 1.6rem; }
  dl.facts > div { grid-template-columns: 1fr; gap: 0; padding: .35rem 0; }
  .alarm, .doubt { padding: .8rem .9rem; } .share { flex-grow: 0 !important; } /* in several lines widths compare nothing */
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, tr, td { display: block; width: 100%; } tr { padding: .7rem 0; border-bottom: 1px solid var(--rule); }
  tr[hidden] { display: none; }
  td { border: 0; padding: .12rem 0; display: grid; grid-template-columns: 6.2rem 1fr; gap: .6rem; }
  td > div { min-width: 0; overflow-wrap: anywhere; }
  td::before { content: attr(data-label); color: var(--soft); font-size: .92em; }
  td.empty { display: none; } .says { min-width: 0; } #claims td:first-child, #findings td:first-child { min-width: 0; }
  #claims td:first-child, .stack td:first-child { grid-template-columns: 1fr; }
  /* A hundred claims: one or two lines each, instead of one line per column. */
  #claims td:not(.empty) { display: inline-block; width: auto; margin-right: .9rem; vertical-align: top; }
  #claims td:first-child { display: block !important; margin: 0; } #claims td::before { display: none; }
  #claims td[data-label=Looseness]::before, #claims td[data-label^=Mutants]::before { display: inline; content: attr(data-label) " "; }
  #claims td[data-label=Looseness] > div, #claims td[data-label^=Mutants] > div { display: inline; }
  .stack td:first-child::before { display: none; } .stack td:first-child > div > a { font-weight: 600; }
}
@media print {
  :root { --ink: #000; --soft: #444; --paper: #fff; --panel: #fff; --rule: #bbb; --link: #000; }
  body { font-size: 10.5pt; } main { max-width: none; padding: 0; } .controls, .back { display: none !important; }
  .display, .scroll { background: none; } pre { max-height: none; white-space: pre-wrap; } .scroll, .display, .statement p, .doubt p, .verdict, dd, .says { overflow: visible; }
  h2, h3, summary { break-after: avoid; } tr, .doubt { break-inside: avoid; } table { font-size: 8.5pt; }
}
"""

SCRIPT = """
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
  // Entries stand on the pages of their papers; an address from the time of a single page leads there.
  const follow = () => {
    const mark = location.hash;
    if (!get('claims') || !mark.includes('/')) return;
    const away = [...document.links].find(a => a.hash === mark && a.pathname !== location.pathname);
    if (away) location.replace(away.href);
  };
  follow();
  addEventListener('hashchange', follow);
  const table = get('claims');
  if (!table) return;
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const text = get('f-text'), paper = get('f-paper'), word = get('f-word'), sort = get('f-sort');
  const only = get('f-unexpected'), count = get('f-count'), link = get('f-link');
  const names = heads.map(head => head.textContent.toLowerCase().replace(/\\W+/g, '-'));
  let column = 0, sign = 1;
  const filter = () => {
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    rows.forEach(row => {
      const data = row.dataset;
      row.hidden = !((!wanted || row.textContent.toLowerCase().includes(wanted))
        && (!paper.value || data.paper === paper.value) && (!word.value || data.word === word.value)
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
"""
