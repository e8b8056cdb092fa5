/**
 * The page's script: chooses a tenant, searches the comparison, and shows the numbers of a mark that is pointed at. The
 * numbers are those of the table below the chart: ECharts writes the places of series and category on every mark. The
 * page is whole without the script.
 */
export const pageScript = `(() => {
const all = (query, of = document) => [...of.querySelectorAll(query)]
const choice = document.querySelector('[data-choice]')
const scopes = all('[data-scope]')
const show = id => { for (const scope of scopes) scope.hidden = scope.dataset.scope !== id }
if (choice) {
  const named = decodeURIComponent(location.hash.slice(1))
  if (scopes.some(scope => scope.dataset.scope === named)) choice.value = named
  show(choice.value)
  choice.addEventListener('change', () => { show(choice.value); history.replaceState(null, '', '#' + choice.value) })
}
const search = document.querySelector('[data-search]')
if (search) search.addEventListener('input', () => {
  const wanted = search.value.trim().toLowerCase()
  for (const row of all('[data-searched] tbody tr')) row.hidden = !row.dataset.name.includes(wanted)
})
const tip = document.querySelector('.tip')
const say = (text, tag, parent) => { const node = document.createElement(tag); node.textContent = text; parent.append(node); return node }
const point = event => {
  const mark = event.target.closest ? event.target.closest('[ecmeta_data_index]') : null
  const table = mark && mark.closest('figure').querySelector('table')
  const row = table && table.tBodies[0].rows[mark.getAttribute('ecmeta_data_index')]
  if (!row) { tip.hidden = true; return }
  const heads = [...table.tHead.rows[0].cells], cells = [...row.cells]
  tip.replaceChildren()
  say(cells[0].textContent, 'b', tip)
  cells.slice(1).forEach((cell, i) => {
    const line = say('', 'div', tip)
    if (i === +mark.getAttribute('ecmeta_series_index')) line.className = 'here'
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
addEventListener('scroll', () => { tip.hidden = true }, { passive: true })
})()`
