/**
 * The page's own script, as text: one page at a time, search, phone menu. Without it, all pages are
 * shown one below the other.
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
  head: element.id + ' ' + text(element.matches('.figure') ? element : element.querySelector('.about')),
  rows: all('tbody tr', element).map((row) => ({ row, text: element.id + ' ' + text(row) })),
}))
const groups = all('[data-part]').map((element) => ({ element, sections: all('section.table', element) }))
const lists = all('[data-list]', nav).map((element) => ({ element, items: all('li', element) }))
const resting = byId('home'), title = document.title
const wordsOf = () => box.value.toLowerCase().split(/\\s+/).filter(Boolean)
const targetOf = () => byId(decodeURIComponent(location.hash.slice(1)))

// One page is shown: that of the relation which the address names, else the first one. Without a script all are.
function show() {
  const target = targetOf()
  const page = target && target.closest('section.table')
  for (const { element, rows, link } of tables) {
    element.hidden = element !== page
    element.classList.remove('brief', 'bare')
    for (const { row } of rows) row.hidden = false
    if (link) link.parentElement.hidden = false
    if (link && element === page) link.setAttribute('aria-current', 'page')
    else if (link) link.removeAttribute('aria-current')
  }
  for (const { element, sections } of groups) element.hidden = !sections.includes(page)
  for (const { element } of lists) element.hidden = false
  resting.hidden = Boolean(page)
  document.title = page ? page.querySelector('h3').textContent + ' · ' + title : title
  count.textContent = ''
  mark([])
  return target
}

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
  const words = wordsOf()
  if (words.length === 0) return void show()
  const has = (where) => words.every((word) => where.includes(word))
  let shownTables = 0, shownColumns = 0
  for (const { element, link, head, rows } of tables) {
    const whole = has(head)
    const hits = rows.filter((row) => has(row.text))
    for (const row of rows) row.row.hidden = !hits.includes(row)
    element.hidden = !whole && hits.length === 0
    element.classList.add('brief')
    element.classList.toggle('bare', hits.length === 0)
    if (link) link.parentElement.hidden = element.hidden
    if (!element.hidden) { shownTables += 1; shownColumns += hits.length }
  }
  for (const { element, sections } of groups) element.hidden = sections.every((section) => section.hidden)
  for (const { element, items } of lists) element.hidden = items.every((item) => item.hidden)
  if (box === document.activeElement) scrollTo(0, 0)
  resting.hidden = true
  const plural = (number, word) => number + ' ' + word + (number === 1 ? '' : 's')
  count.textContent = shownTables === 0 ? 'nothing found'
    : plural(shownTables, 'page') + (shownColumns === 0 ? '' : ', ' + plural(shownColumns, 'row'))
  mark(words)
}
const clear = () => { box.value = ''; show() }
box.addEventListener('input', search)
box.form.addEventListener('submit', (event) => {
  event.preventDefault()
  const words = wordsOf()
  const found = tables.filter(({ element }) => words.length > 0 && !element.hidden)
  const best = found.find(({ name }) => name === words.join('_')) ?? found.find(({ name }) => words.every((word) => name.includes(word)))
  if (found.length > 0) go('#' + (best ?? found[0]).name)
})
// The address may be that page's already, and would then change nothing.
const go = (hash) => { if (location.hash === hash) { box.value = ''; lead(show()) } else location.hash = hash }
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

// Where the reader was on a page comes back with the page.
history.scrollRestoration = 'manual'
let kept
addEventListener('scroll', () => {
  clearTimeout(kept)
  kept = setTimeout(() => history.replaceState({ y: scrollY }, ''), 100)
}, { passive: true })

function arrive() {
  clearTimeout(kept)
  box.value = ''
  const target = show()
  const y = history.state && history.state.y
  if (typeof y === 'number') scrollTo(0, y)
  else lead(target)
}
function lead(target) {
  const isPage = target && target.matches('section.table')
  if (target && !isPage) target.scrollIntoView()
  else scrollTo(0, 0)
  const head = target && target.querySelector('h3 a')
  if (head && document.activeElement !== box) head.focus({ preventScroll: true })
}
addEventListener('hashchange', arrive)
document.addEventListener('click', (event) => {
  const link = event.target.closest('a[href^="#"]')
  if (!link) return
  // The content is no page: its address would be that of the first one.
  if (link.matches('.skip')) {
    event.preventDefault()
    byId('content').focus()
  // Where the reader is already, or was before a search.
  } else if (link.hash === location.hash) {
    box.value = ''
    lead(show())
  }
})
show()
// The browser goes to what the address names by itself, and its place is another one since one page is shown.
addEventListener('load', () => { if (targetOf()) arrive(); document.activeElement.blur() })

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

// Paper has no button to open an example with.
let closed = []
addEventListener('beforeprint', () => {
  closed = all('details:not([open])')
  for (const details of closed) details.open = true
})
addEventListener('afterprint', () => { for (const details of closed) details.open = false })
`
