/**
 * The script of every page: selects a shop and a period, shows all of the comparison and searches it, folds long parts on a phone, copies
 * tables, and shows the numbers of the mark under the pointer. The numbers come from the table below the chart: every
 * mark has the positions of its series and category. The page works without the script.
 */
export const pageScript = `(() => {
const all = (query, of = document) => [...of.querySelectorAll(query)]
document.documentElement.classList.add('js')
const isNarrow = matchMedia('(max-width: 640px)').matches
${choosing()}
${folding()}
${copying()}
${pointing()}
})()`

/** The selection is in the address, so a page can be reloaded or bookmarked. */
function choosing(): string {
  return `
const picks = all('[data-pick]')
const show = () => {
  const chosen = new URLSearchParams()
  for (const pick of picks) {
    const name = pick.dataset.pick
    chosen.set(name, pick.value)
    for (const one of all('[data-' + name + ']')) one.hidden = one.dataset[name] !== pick.value
  }
  return chosen
}
if (picks.length > 0) {
  const named = new URLSearchParams(location.hash.slice(1))
  for (const pick of picks) {
    const value = named.get(pick.dataset.pick)
    if (all('option', pick).some(option => option.value === value)) pick.value = value
    pick.addEventListener('change', () => history.replaceState(null, '', '#' + show()))
  }
  show()
}
const search = document.querySelector('[data-search]')
const showAll = document.querySelector('[data-all]')
const uncut = () => {
  for (const table of all('[data-searched]')) table.classList.remove('cut')
  showAll.parentElement.hidden = true
}
if (showAll) showAll.addEventListener('click', uncut)
if (search) search.addEventListener('input', () => {
  const wanted = search.value.trim().toLowerCase()
  uncut()
  for (const row of all('[data-searched] tbody tr')) row.hidden = !row.dataset.name.includes(wanted)
})
for (const time of all('time[data-clock]'))
  time.textContent += ', ' + new Date(time.dateTime).toLocaleTimeString('en-US', { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' })`
}

/** On a phone, the parts below the first answers are closed, and every table cell shows its heading. */
function folding(): string {
  return `
if (isNarrow) for (const part of all('details.part')) part.open = false
for (const table of all('table.stack')) {
  const heads = all('thead th', table).map(head => head.textContent)
  for (const row of table.tBodies[0].rows) all('td', row).forEach((cell, i) => { cell.dataset.label = heads[i + 1] })
}
addEventListener('beforeprint', () => { for (const part of all('details.part')) part.open = true })`
}

/** Amounts are copied as plain numbers. A name that a spreadsheet would take for a formula is copied as text. */
function copying(): string {
  return `
const plain = text => {
  const number = text.replace('\\u2212', '-').replace(/[$,]/g, '').replace(/%$/, '')
  if (/^-?\\d+(\\.\\d+)?$/.test(number)) return number
  if (text === '\\u2013') return ''
  const safe = /^[=+@\\t-]/.test(text) ? "'" + text : text
  return /[",\\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe
}
const csv = table => [...table.rows].map(row => [...row.cells].map(cell => plain(cell.dataset.value ?? cell.textContent.trim())).join(',')).join('\\r\\n') + '\\r\\n'
const save = (text, name) => {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  link.download = name + '.csv'
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}
document.addEventListener('click', async event => {
  const button = event.target.closest ? event.target.closest('[data-csv]') : null
  if (!button) return
  const text = csv(button.closest('.table').querySelector('table'))
  if (button.dataset.csv === 'save') return save(text, button.dataset.name)
  const was = button.textContent
  try { await navigator.clipboard.writeText(text); button.textContent = 'Copied' }
  catch { save(text, button.dataset.name) }
  setTimeout(() => { button.textContent = was }, 1500)
})`
}

function pointing(): string {
  return `
const tip = document.querySelector('.tip')
const say = (text, tag, parent) => { const node = document.createElement(tag); node.textContent = text; parent.append(node); return node }
const point = event => {
  const mark = event.target.closest ? event.target.closest('[data-i]') : null
  const table = mark && mark.closest('figure').querySelector('table')
  const row = table && table.tBodies[0].rows[mark.dataset.i]
  if (!row) { tip.hidden = true; return }
  const heads = [...table.tHead.rows[0].cells], cells = [...row.cells]
  tip.replaceChildren()
  say(cells[0].textContent, 'b', tip)
  cells.slice(1).forEach((cell, i) => {
    const line = say('', 'div', tip)
    if (i === +mark.dataset.s) line.className = 'here'
    say(heads[i + 1].textContent, 'span', line)
    say(cell.textContent, 'span', line)
  })
  tip.hidden = false
  const { width, height } = tip.getBoundingClientRect()
  const left = Math.min(Math.max(8, event.clientX + 14), innerWidth - width - 8)
  const top = event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18
  tip.style.left = left + 'px'
  tip.style.top = Math.max(8, top) + 'px'
}
addEventListener('pointermove', point)
addEventListener('pointerdown', point)
addEventListener('scroll', () => { tip.hidden = true }, { passive: true })`
}
