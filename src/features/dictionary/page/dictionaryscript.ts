/**
 * The page's own script, as text: the search, the menu of a phone, the diagram's lines. The page is whole without it.
 */
export const dictionaryScript = `
const all = (selector, within = document) => [...within.querySelectorAll(selector)]
const byId = (id) => document.getElementById(id)
document.documentElement.classList.add('js')
const box = byId('search-box'), count = byId('search-count'), nav = byId('tables'), menu = byId('menu')

const links = new Map(all('a', nav).map((link) => [link.hash.slice(1), link]))
const text = (element) => element.textContent.toLowerCase()
const tables = all('section.table').map((element) => ({
  element, name: element.id, link: links.get(element.id),
  head: element.id + ' ' + text(element.querySelector('.about')),
  rows: all('tbody tr', element).map((row) => ({ row, text: element.id + ' ' + text(row) })),
}))
const groups = all('[data-part]').map((element) => ({ element, sections: all('section.table', element) }))
const lists = all('[data-list]', nav).map((element) => ({ element, items: all('li', element) }))
const resting = all('[data-resting]')

function mark(words) {
  if (!window.Highlight) return
  const ranges = []
  if (words.length > 0) for (const { element } of tables) {
    if (element.hidden) continue
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const found = node.data.toLowerCase()
      for (const word of words) for (let at = found.indexOf(word); at >= 0; at = found.indexOf(word, at + word.length)) {
        const range = new Range()
        range.setStart(node, at)
        range.setEnd(node, at + word.length)
        ranges.push(range)
      }
    }
  }
  CSS.highlights.set('hit', new Highlight(...ranges))
}

function search() {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean)
  const has = (where) => words.every((word) => where.includes(word))
  let shownTables = 0, shownColumns = 0
  for (const { element, link, head, rows } of tables) {
    const whole = has(head)
    const hits = rows.filter((row) => has(row.text))
    for (const row of rows) row.row.hidden = !whole && !hits.includes(row)
    element.hidden = !whole && hits.length === 0
    element.classList.toggle('brief', words.length > 0 && !whole)
    if (link) link.parentElement.hidden = element.hidden
    if (!element.hidden) { shownTables += 1; shownColumns += whole ? rows.length : hits.length }
  }
  for (const { element, sections } of groups) element.hidden = sections.every((section) => section.hidden)
  for (const { element, items } of lists) element.hidden = items.every((item) => item.hidden)
  if (words.length > 0 && box === document.activeElement) scrollTo(0, 0)
  for (const element of resting) element.hidden = words.length > 0
  const plural = (number, word) => number + ' ' + word + (number === 1 ? '' : 's')
  count.textContent = words.length === 0 ? '' : shownTables === 0 ? 'nothing found'
    : plural(shownTables, 'table') + ', ' + plural(shownColumns, 'column')
  mark(words)
}
const clear = () => { box.value = ''; search() }
box.addEventListener('input', search)
box.form.addEventListener('submit', (event) => {
  event.preventDefault()
  const first = tables.find(({ element }) => !element.hidden)
  if (first) first.element.querySelector('h3 a').focus()
})
document.addEventListener('keydown', (event) => {
  const typing = event.target.closest('input, textarea, select')
  if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault()
    box.focus()
    box.select()
  } else if (event.key === 'Escape') {
    if (box.value === '') box.blur()
    clear()
    openMenu(false)
  }
})

function openMenu(open) {
  nav.classList.toggle('open', open)
  menu.setAttribute('aria-expanded', String(open))
}
menu.addEventListener('click', () => openMenu(!nav.classList.contains('open')))
nav.addEventListener('click', (event) => { if (event.target.closest('a')) openMenu(false) })

// What a link leads to may be hidden by the search.
function arrive() {
  const target = byId(decodeURIComponent(location.hash.slice(1)))
  if (!target || (!target.hidden && !target.closest('[hidden]'))) return
  clear()
  target.scrollIntoView()
}
addEventListener('hashchange', arrive)

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) {
    for (const link of links.values()) link.removeAttribute('aria-current')
    const link = links.get(target.id)
    if (link) link.setAttribute('aria-current', 'true')
  }
}, { rootMargin: '-15% 0px -75% 0px' })
for (const { element } of tables) seen.observe(element)

const map = document.querySelector('.diagram')
function choose(name) {
  for (const element of all('.hot', map)) element.classList.remove('hot')
  map.classList.toggle('chosen', name !== undefined)
  if (name === undefined) return
  const near = new Set([name])
  for (const line of all('.line', map)) {
    const { from, to } = line.dataset
    if (from !== name && to !== name) continue
    line.classList.add('hot')
    near.add(from).add(to)
  }
  for (const box of all('.box', map)) if (near.has(box.dataset.name)) box.classList.add('hot')
}
if (map) for (const box of all('.box', map)) {
  for (const event of ['pointerenter', 'focus']) box.addEventListener(event, () => choose(box.dataset.name))
  for (const event of ['pointerleave', 'blur']) box.addEventListener(event, () => choose(undefined))
}

if (navigator.clipboard) for (const figure of all('.sql')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(figure.querySelector('pre').textContent)
    button.textContent = 'Copied'
    setTimeout(() => { button.textContent = 'Copy' }, 1500)
  })
  figure.append(button)
}

// Terminal has no button to open an example with.
let closed = []
addEventListener('beforeprint', () => {
  closed = all('details:not([open])')
  for (const details of closed) details.open = true
})
addEventListener('afterprint', () => { for (const details of closed) details.open = false })
`
