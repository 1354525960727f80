#include "assay/report/html_script.h"

namespace assay::inline v0_2::report {

const char* const kGateStyle = R"css(
.facts { display:grid; grid-template-columns:max-content 1fr; gap:.15rem 1.2rem; margin:.6rem 0; }
.facts dt { color:var(--soft); } .facts dd { margin:0; min-width:0; }
.operators { width:auto; margin:.3rem 0 1rem; }
.operators td,.operators th { padding-right:1.6rem; }
summary { cursor:pointer; font-weight:600; margin:1rem 0 .3rem; }
.controls { display:flex; flex-wrap:wrap; gap:.6rem; align-items:center; margin:.6rem 0; }
.controls input[type=search] { flex:1 1 16rem; min-width:10rem; }
#cases table { min-width:70rem; font-size:14px; }
#cases th.num { white-space:normal; min-width:3.8rem; } #cases td,#cases th { padding-right:.7rem; }
#cases th button { border:0; background:none; padding:0; font-weight:600; text-align:inherit; }
#cases th button::after { content:"\2195"; color:var(--soft); padding-left:.15em;
  font-weight:400; font-size:11px; }
#cases th[aria-sort=ascending] button::after { content:"\2191"; color:var(--ink); }
#cases th[aria-sort=descending] button::after { content:"\2193"; color:var(--ink); }
#cases th.name { min-width:13rem; } #cases th.bound { min-width:16rem; }
#cases td.text,#cases tr.group button,.operators a { overflow-wrap:anywhere; }
#cases th.text { min-width:6rem; } .controls select { max-width:16rem; }
#cases td.name button { border:0; background:none; padding:0; text-align:left; color:var(--link); }
#cases td.name button::before { content:"\25b8"; display:inline-block; width:1.1em; }
#cases td.name button[aria-expanded=true]::before { content:"\25be"; }
#cases td.name code.plain { padding-left:1.1em; display:inline-block; }
#cases td.name .file { padding-left:1.1rem; overflow-wrap:anywhere; font-size:13px; }
#cases td.word { white-space:nowrap; font-weight:600; }
#cases tr.group td { background:var(--panel); padding:.45rem .6rem;
  border-top:1px solid var(--line); }
#cases tr.group button { border:0; background:none; padding:0; font-weight:600; text-align:left; }
#cases tr.group button::before { content:"\25b8"; display:inline-block; width:1.2em; }
#cases tr.group button[aria-expanded=true]::before { content:"\25be"; }
#cases tr.group span { margin-left:1rem; white-space:nowrap; }
#cases tr.detail>td { padding:.2rem 0 1rem 1.1rem; }
.inside { position:sticky; left:1.1rem; width:calc(min(100vw,90rem) - 5rem);
  border-left:3px solid var(--line); padding:.1rem 0 .1rem 1rem; }
.inside table { min-width:0; width:auto; } .inside th { position:static; font-weight:600; }
#cases .inside table { min-width:0; }
.inside .why { font-weight:600; overflow-wrap:anywhere; unicode-bidi:plaintext; }
.inside .pictures { display:flex; flex-wrap:wrap; gap:1.2rem; align-items:flex-start;
  margin:.6rem 0; }
.inside figure { margin:0; }
.inside figcaption { font-size:13px; color:var(--soft); max-width:21rem; }
.repro { display:flex; gap:.6rem; align-items:flex-start; margin-top:.5rem; }
.repro pre { margin:0; flex:1; } .repro button { flex:none; }
.worst code { white-space:nowrap; }
svg text { fill:var(--ink); font:12px ui-monospace,monospace; }
svg .frame { fill:none; stroke:var(--line); } svg .tick { stroke:var(--grid); }
svg .bar { fill:var(--series-1); } svg.heat rect { shape-rendering:crispEdges; }
svg .cell { fill:var(--heat); }
.more { margin:.7rem 0; }
)css";

const char* const kGateScript = R"js(
'use strict';
(() => {
  // The index of each value in a row of the data. report/html_data.cc writes the rows.
  const NAME = 0, FILE = 1, OPERATOR = 2, OUTCOME = 3, OUTPUT = 4, PRODUCER = 5, MISMATCHES = 6,
        BLIND = 8, METRICS = 9;
  const data = JSON.parse(document.getElementById('data').textContent);
  const {strings, rows, details} = data;
  const BOUND = METRICS + data.metrics.length, NOTES = BOUND + 1, RANK = NOTES + 1,
        KIND = NOTES + 2, DETAIL = NOTES + 3;
  const KINDS = ['pass', 'warn', 'fail'], PASSES = 5;
  const CHUNK = 200;  // rows that are drawn at a time
  const OPENED = 5;   // explanations that are open at first
  const FEW = 200;    // groups of more rows start closed, unless one of their rows failed

  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const drawn = (tag, attributes, text) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const grouped = n => String(n).replace(/\B(?=(\d{3})+$)/g, ' ');
  const plural = (n, word) => grouped(n) + ' ' + word + (n === 1 ? '' : 's');

  // The number that a cell's text stands for, by which its column is sorted. A text that is not a
  // number gives NaN, which sorts last.
  const values = new Map();
  const value = text => {
    if (!values.has(text)) {
      const t = text.replace(/ /g, '').toLowerCase();
      const special = {inf: Infinity, '-inf': -Infinity}[t];
      values.set(text, special === undefined ? parseFloat(t) : special);
    }
    return values.get(text);
  };

  // The columns of the table.
  const ALL = [
    {place: NAME, words: 'case', kind: 'name'}, {place: OUTCOME, words: 'outcome', kind: 'word'},
    {place: OPERATOR, words: 'operator', kind: 'text'}, {place: OUTPUT, words: 'dtype, shape', kind: ''},
    {place: PRODUCER, words: 'producer', kind: 'text'}, {place: MISMATCHES, words: 'mismatches', kind: 'num'},
    {place: MISMATCHES + 1, words: 'max/bound', kind: 'num'},
    {place: BLIND, words: 'blind', kind: 'num'},
    ...data.metrics.map((words, i) => ({place: METRICS + i, words, kind: 'num'})),
    {place: BOUND, words: 'bound', kind: 'bound'}
  ];
  // If rows are grouped, the operator stands above its group. Otherwise it has a column.
  const columns = () => ALL.filter(({place}) => place !== OPERATOR || !state.grouped);
  const state = {
    text: '',
    outcome: '',
    operator: '',
    sort: null,
    down: false,
    grouped: true,
    limit: CHUNK,
    closed: new Map(),
    open: new Set()
  };
  rows.forEach((row, i) => {
    if (state.open.size < OPENED && row[DETAIL] >= 0 && row[RANK] < 4) state.open.add(i);
  });

  // Compares two rows. Without a chosen column, failures come first, in the order of the report.
  const compare = () => {
    const column = state.sort, sign = state.down ? -1 : 1;
    if (column === null) return (a, b) => rows[a][RANK] - rows[b][RANK] || a - b;
    if (column.place === OUTCOME) {
      return (a, b) => sign * (rows[a][RANK] - rows[b][RANK]) || a - b;
    }
    if (column.kind !== 'num')
      return (a, b) => sign * (rows[a][column.place] - rows[b][column.place]) || a - b;
    return (a, b) => {
      const x = value(strings[rows[a][column.place]]), y = value(strings[rows[b][column.place]]);
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a - b;
      return x === y ? a - b : sign * (x < y ? -1 : 1);
    };
  };
  const SEARCHED = [NAME, FILE, OPERATOR, OUTCOME, OUTPUT, PRODUCER, BOUND, NOTES];
  const haystacks = [];
  const haystack = i => haystacks[i] = haystacks[i] ||
      (SEARCHED.map(place => strings[rows[i][place]]).join('\n') + '\n' +
       (rows[i][DETAIL] < 0 ? '' : (details[rows[i][DETAIL]].why || '')))
          .toLowerCase();
  const chosen = () => {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    for (let i = 0; i < rows.length; ++i) {
      if (state.outcome !== '' && strings[rows[i][OUTCOME]] !== state.outcome) continue;
      if (state.operator !== '' && rows[i][OPERATOR] !== +state.operator) continue;
      if (words.length && !words.every(word => haystack(i).includes(word))) continue;
      found.push(i);
    }
    return found.sort(compare());
  };

  // Draws a histogram whose bars are octaves. The data are the title, the number of values below the
  // first octave, and [octave, count] for each bar.
  const sizeText = x => x === 0 ? '0' :
      x >= 0.001 && x < 1e5     ? String(+x.toPrecision(3)) :
                                  x.toExponential(1).replace('.0', '');
  const histogram = ([title, below, octaves]) => {
    const WIDE = 340, HIGH = 200, LEFT = 62, RIGHT = 12, TOP = 10, BOTTOM = 34;
    const first = octaves.length ? octaves[0][0] : 0,
          last = octaves.length ? octaves[octaves.length - 1][0] : 0;
    const gap = below > 0 ? 2 : 0, slots = gap + (octaves.length ? last - first + 1 : 0);
    const slot = (WIDE - LEFT - RIGHT) / Math.max(slots, 8);
    const most = Math.max(below, ...octaves.map(([, n]) => n), 1),
          decades = Math.max(Math.ceil(Math.log10(most)), 1);
    const floor = HIGH - BOTTOM,
          y = n => floor - (floor - TOP) * (Math.log10(n) + 0.15) / (decades + 0.15);
    const svg = drawn('svg', {
      viewBox: `0 0 ${WIDE} ${HIGH}`,
      width: WIDE,
      height: HIGH,
      role: 'img',
      'aria-label': 'histogram of ' + title,
      class: 'histogram',
      style: 'max-width:100%'
    });
    const step = Math.ceil(decades / 4);
    for (let d = 0; d <= decades; d += step) {
      const at = y(10 ** d);
      svg.append(
          drawn('line', {x1: LEFT, x2: WIDE - RIGHT, y1: at, y2: at, class: 'tick'}),
          drawn(
              'text', {x: LEFT - 6, y: at + 4, 'text-anchor': 'end'},
              d < 5 ? grouped(10 ** d) : '1e' + d));
    }
    const bar = (place, n, words) => {
      const rect = drawn('rect', {
        x: LEFT + slot * place + 0.5,
        y: y(n),
        width: Math.max(slot - 1, 1),
        height: floor - y(n),
        class: 'bar'
      });
      rect.append(drawn('title', {}, words + ': ' + plural(n, 'element')));
      svg.append(rect);
    };
    if (below > 0) bar(0, below, title.includes('ulp') ? '0' : '0, or next to it');
    for (const [octave, n] of octaves)
      bar(gap + octave - first, n, `${sizeText(2 ** octave)} to ${sizeText(2 ** (octave + 1))}`);
    svg.append(
        drawn('line', {x1: LEFT, x2: WIDE - RIGHT, y1: floor, y2: floor, stroke: 'currentColor'}));
    // A label that would touch the one before is left out. No label goes beyond the picture.
    let free = 0;
    const label = (x, text) => {
      const half = 3.7 * text.length, at = Math.min(Math.max(x, half), WIDE - half);
      if (at - half < free) return;
      free = at + half + 10;
      svg.append(drawn('text', {x: at, y: floor + 16, 'text-anchor': 'middle'}, text));
    };
    if (below > 0) label(LEFT + slot / 2, '0');
    // The axis is marked at powers of ten if at least four of them fit, otherwise at powers of two.
    const tens = [], log2of10 = Math.log2(10);
    for (let d = Math.ceil(first / log2of10); d * log2of10 <= last + 1; ++d) tens.push(d);
    const every = Math.ceil(tens.length / 6);
    const ticks = !octaves.length ? [] : tens.length >= 4 ?
        tens.filter(d => d % every === 0).map(d => [d * log2of10, sizeText(10 ** d)]) :
        Array.from({length: last - first + 2}, (_, i) => [first + i, sizeText(2 ** (first + i))]);
    for (const [octave, text] of ticks) label(LEFT + slot * (gap + octave - first), text);
    svg.append(
        drawn('text', {x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 2, 'text-anchor': 'middle'}, title));
    const figure = make('figure', {}, svg);
    figure.append(make(
        'figcaption', {}, 'elements by ' + title + ', an octave a bar; both axes are logarithmic'));
    return figure;
  };
  const mismatchesText = n => grouped(n) + (n === 1 ? ' mismatch' : ' mismatches');
  // Draws the map of mismatches. The data are the matrix's rows and columns, the rows and columns of a
  // block, the number of blocks in a row of blocks, and a list of block, mismatches, block, ...
  const heat = ([high, wide, blockHigh, blockWide, across, cells]) => {
    const down = Math.ceil(high / blockHigh), most = blockHigh * blockWide;
    const cell = Math.max(6, Math.min(12, Math.floor(320 / across), Math.floor(320 / down)));
    const tall = down === 1 ? 3 * cell : cell;
    const LEFT = 14 + 7.4 * String(high - 1).length, TOP = 20;
    const width = LEFT + cell * across + Math.max(40, 7.4 * String(wide - 1).length),
          height = TOP + tall * down + 8;
    const svg = drawn('svg', {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: 'img',
      'aria-label': 'mismatches by rows and columns',
      class: 'heat',
      style: 'max-width:100%'
    });
    svg.append(drawn('text', {x: LEFT, y: TOP - 6}, '0'));
    if (wide > 1)
      svg.append(drawn(
          'text',
          {x: LEFT + cell * across, y: TOP - 6, 'text-anchor': across > 4 ? 'end' : 'start'},
          String(wide - 1)));
    svg.append(drawn('text', {x: LEFT - 6, y: TOP + 11, 'text-anchor': 'end'}, '0'));
    if (down > 1)
      svg.append(drawn(
          'text', {x: LEFT - 6, y: TOP + tall * down - 1, 'text-anchor': 'end'}, String(high - 1)));
    let largest = 0;
    for (let i = 1; i < cells.length; i += 2) largest = Math.max(largest, cells[i]);
    const range = (word, from, size, end) =>
        size === 1 ? `${word} ${from}` : `${word}s ${from} to ${Math.min(from + size, end) - 1}`;
    for (let i = 0; i < cells.length; i += 2) {
      const r = Math.floor(cells[i] / across), c = cells[i] % across, n = cells[i + 1];
      const rect = drawn('rect', {
        x: LEFT + cell * c,
        y: TOP + tall * r,
        width: cell,
        height: tall,
        class: 'cell',
        'fill-opacity': (0.25 + 0.75 * Math.log1p(n) / Math.log1p(largest)).toFixed(2)
      });
      rect.append(drawn(
          'title', {},
          `${range('row', r * blockHigh, blockHigh, high)}, ${
              range('column', c * blockWide, blockWide, wide)}: ${mismatchesText(n)}`));
      svg.append(rect);
    }
    svg.append(drawn(
        'rect', {x: LEFT, y: TOP, width: cell * across, height: tall * down, class: 'frame'}));
    const block = most === 1 ?
        'a cell is an element' :
        `a cell is ${blockHigh} x ${blockWide} elements, the fullest has ${mismatchesText(largest)}`;
    return make(
        'figure', {}, svg,
        make(
            'figcaption', {},
            `where the mismatches are: ${grouped(high)} x ${
                grouped(wide)}, all dimensions but the last down; ${block}`));
  };

  // Copies the command line that repeats a case to the clipboard, and says so on the button.
  const copied = (button, line, box) => {
    const done = worked => {
      button.textContent = worked ? 'copied' : 'select and copy';
      setTimeout(() => {
        button.textContent = 'copy';
      }, 2000);
    };
    const byHand = () => {
      const range = document.createRange();
      range.selectNodeContents(box);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      done(document.execCommand('copy'));
    };
    if (navigator.clipboard)
      navigator.clipboard.writeText(line).then(() => done(true), byHand);
    else
      byHand();
  };
  const detailOf = detail => {
    const inside = make('div', {class: 'inside'});
    const paragraph = (label, text) => inside.append(make('p', {}, make('b', {}, label), text));
    if (detail.remark) inside.append(make('p', {class: 'why'}, detail.remark));
    if (detail.why) inside.append(make('p', {class: 'why'}, detail.why));
    for (const [label, text] of detail.lines || [])
      if (label === 'where: ') paragraph(label, text);
    if (detail.text) inside.append(make('pre', {}, detail.text));
    if (detail.worst) {
      const body = make('tbody');
      for (const cells of detail.worst[1]) {
        body.append(make(
            'tr', {},
            ...cells.map(
                (cell, i) => make(
                    'td', i < 3 ? {} : {class: 'num'}, i < 3 ? make('code', {}, cell) : cell))));
      }
      const heads = [detail.worst[0], 'actual', 'expected', 'error', 'bound', 'ulp'];
      inside.append(make(
          'div', {class: 'scroll'},
          make(
              'table', {class: 'worst'},
              make(
                  'thead', {},
                  make(
                      'tr', {},
                      ...heads.map((head, i) => make('th', i < 3 ? {} : {class: 'num'}, head)))),
              body)));
    }
    const pictures =
        [...(detail.map ? [heat(detail.map)] : []), ...(detail.histograms || []).map(histogram)];
    if (pictures.length) inside.append(make('div', {class: 'pictures'}, ...pictures));
    for (const [label, text] of detail.lines || [])
      if (label !== 'where: ') paragraph(label, text);
    if (detail.reproduce) {
      const box = make('pre', {}, detail.reproduce),
            button = make('button', {type: 'button'}, 'copy');
      button.addEventListener('click', () => copied(button, detail.reproduce, box));
      inside.append(make('div', {class: 'repro'}, box, button));
    }
    return make('tr', {class: 'detail'}, make('td', {colspan: columns().length}, inside));
  };

  // Lets a long name break into lines after each / and _.
  const breakable = name =>
      name.split(/(?<=[\/_])/).flatMap((part, i) => i === 0 ? [part] : [make('wbr'), part]);
  const rowOf = i => {
    const row = rows[i], text = place => strings[row[place]];
    const has = row[DETAIL] >= 0;
    const element = make('tr', {class: 'row'});
    for (const {place, kind} of columns()) {
      const cell = make('td', kind ? {class: kind} : {});
      if (place === NAME) {
        if (has) {
          const button = make(
              'button', {type: 'button', 'aria-expanded': state.open.has(i)},
              make('code', {}, ...breakable(text(NAME))));
          button.addEventListener('click', () => {
            if (state.open.delete(i)) {
              element.nextSibling.remove();
            } else {
              state.open.add(i);
              element.after(detailOf(details[row[DETAIL]]));
            }
            button.setAttribute('aria-expanded', state.open.has(i));
          });
          cell.append(button);
        } else {
          cell.append(make('code', {class: 'plain'}, ...breakable(text(NAME))));
        }
        if (data.several_files) cell.append(make('div', {class: 'file soft'}, text(FILE)));
      } else if (place === OUTCOME) {
        cell.classList.add(KINDS[row[KIND]]);
        cell.append(text(OUTCOME));
      } else if (place === BOUND) {
        cell.append(text(BOUND));
        for (const note of text(NOTES).split('\n').filter(Boolean))
          cell.append(make('div', {class: 'soft'}, note));
      } else {
        cell.append(text(place));
      }
      element.append(cell);
    }
    return element;
  };

  // The body of the table. Groups and rows are one list, of which only the first part is drawn until
  // the reader asks for more.
  const body = make('tbody'), shown = make('span', {class: 'soft', id: 'shown', role: 'status'});
  const more = make('button', {type: 'button', class: 'more', hidden: ''});
  let items = [], next = 0;
  const groupOf = group => {
    const button = make(
        'button', {type: 'button', 'aria-expanded': !group.closed},
        strings[group.operator] || '(no operator)');
    button.addEventListener('click', () => {
      state.closed.set(group.operator, !group.closed);
      show(true);
    });
    const cell = make(
        'td', {colspan: columns().length}, button,
        make('span', {class: 'soft'}, plural(group.rows.length, 'row')));
    for (const [word, count] of group.counts) {
      cell.append(make('span', {class: KINDS[count.kind]}, grouped(count.n) + ' ' + word));
    }
    return make('tr', {class: 'group'}, cell);
  };
  const draw = () => {
    const part = document.createDocumentFragment();
    for (; next < items.length && next < state.limit; ++next) {
      const item = items[next];
      if (typeof item !== 'number') {
        part.append(groupOf(item));
        continue;
      }
      part.append(rowOf(item));
      if (state.open.has(item)) part.append(detailOf(details[rows[item][DETAIL]]));
    }
    body.append(part);
    more.hidden = next >= items.length;
    more.textContent = `show ${grouped(Math.min(CHUNK, items.length - next))} more of ${
        grouped(items.length - next)}`;
  };
  const drawMore = () => {
    state.limit = next + CHUNK;
    draw();
  };
  const show = keep => {
    const found = chosen();
    if (!keep) state.limit = CHUNK;
    items = found;
    if (state.grouped) {
      const groups = new Map();
      for (const i of found) {
        const operator = rows[i][OPERATOR];
        if (!groups.has(operator))
          groups.set(operator, {operator, rows: [], counts: new Map(), worst: PASSES});
        const group = groups.get(operator), word = strings[rows[i][OUTCOME]];
        group.rows.push(i);
        group.worst = Math.min(group.worst, rows[i][RANK]);
        if (!group.counts.has(word)) group.counts.set(word, {n: 0, kind: rows[i][KIND]});
        ++group.counts.get(word).n;
      }
      items = [];
      // Groups with failures come first, then groups are sorted by the operator's name.
      const inOrder = [...groups.values()].sort(
          (a, b) => Math.min(a.worst, 4) - Math.min(b.worst, 4) || a.operator - b.operator);
      for (const group of inOrder) {
        group.closed = state.closed.has(group.operator) ?
            state.closed.get(group.operator) :
            group.rows.length > FEW && group.worst === PASSES && groups.size > 1;
        items.push(group);
        if (!group.closed)
          for (const i of group.rows) items.push(i);
      }
    }
    shown.textContent = `${grouped(found.length)} of ${plural(rows.length, 'row')}`;
    const focused = document.activeElement,
          at = [...heads.children].findIndex(head => head.contains(focused));
    heads.replaceChildren(...columns().map(headOf));
    if (at >= 0 && heads.children[at]) heads.children[at].firstChild.focus();
    body.replaceChildren();
    next = 0;
    draw();
  };

  // The controls above the table: the search, the choices and the grouping.
  const search = make('input', {
    type: 'search',
    id: 'search',
    placeholder: 'names, standards, reasons',
    'aria-label': 'search'
  });
  search.addEventListener('input', () => {
    state.text = search.value;
    show();
  });
  const select = (id, all, options, change) => {
    const element = make('select', {id, 'aria-label': id}, make('option', {value: ''}, all));
    for (const [key, text] of options) element.append(make('option', {value: key}, text));
    element.addEventListener('change', () => {
      change(element.value);
      show();
    });
    return element;
  };
  const counted = place => {
    const counts = new Map();
    for (const row of rows) counts.set(row[place], (counts.get(row[place]) || 0) + 1);
    return [...counts].sort((a, b) => a[0] - b[0]);
  };
  const outcomes = select(
      'outcome', 'all outcomes',
      counted(OUTCOME).map(([s, n]) => [strings[s], `${strings[s]} (${grouped(n)})`]), v => {
        state.outcome = v;
      });
  const operators = select(
      'operator', 'all operators',
      counted(OPERATOR).map(([s, n]) => [s, `${strings[s] || '(no operator)'} (${grouped(n)})`]),
      v => {
        state.operator = v;
      });
  const by = make('input', {type: 'checkbox', id: 'grouped', checked: ''});
  by.addEventListener('change', () => {
    state.grouped = by.checked;
    show();
  });
  const heads = make('tr'), table = make('table', {}, make('thead', {}, heads), body);
  const headOf = column => {
    const button = make('button', {type: 'button'}, column.words),
          head = make('th', {class: column.kind, scope: 'col'}, button);
    button.addEventListener('click', () => {
      const again = state.sort === column;
      // The first click on a column of numbers sorts the largest first. The third click on any column
      // goes back to failures first.
      const firstDown = column.kind === 'num';
      if (again && state.down !== firstDown) {
        state.sort = null;
        state.down = false;
      } else {
        state.down = again ? !state.down : firstDown;
        state.sort = column;
      }
      show();
    });
    if (state.sort === column)
      head.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
    return head;
  };
  more.addEventListener('click', drawMore);
  if (window.IntersectionObserver) {
    new IntersectionObserver(entries => {
      if (entries.some(entry => entry.isIntersecting) && !more.hidden) drawMore();
    }, {rootMargin: '600px'}).observe(more);
  }
  document.getElementById('cases').append(make('h2', {}, 'Cases'),
      make(
          'div', {class: 'controls'}, search, outcomes, operators,
          make('label', {}, by, ' by operator'), shown),
      make('div', {class: 'scroll'}, table), more);
  for (const link of document.querySelectorAll('[data-operator]')) {
    const at = strings.indexOf(link.dataset.operator);
    link.addEventListener('click', () => {
      operators.value = String(at);
      state.operator = String(at);
      show();
      document.getElementById('cases').scrollIntoView();
    });
  }
  show();
})();
)js";

}  // namespace assay::report
