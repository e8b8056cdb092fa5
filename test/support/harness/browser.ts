/** A real headless Chromium, and what every page of the product must satisfy in it. */
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'

const places = [
  process.env.SHOPSYNC_CHROMIUM ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Where Chromium is; undefined if there is none. */
export const chromiumPath = places.find((path) => path !== '' && existsSync(path))

export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath ?? '', args: ['--no-sandbox'] })

export interface Look {
  readonly width: 1440 | 390
  readonly scheme: 'light' | 'dark'
}

export const desk: Look = { width: 1440, scheme: 'light' }
export const phone: Look = { width: 390, scheme: 'light' }
export const looks: readonly Look[] = [
  desk,
  { width: 1440, scheme: 'dark' },
  phone,
  { width: 390, scheme: 'dark' },
]

/** A page that is open until the test ends, and everything that went wrong on it. */
export interface Opened {
  readonly page: Page
  /** Errors and warnings on the console, exceptions, and requests for anything but the page. */
  readonly troubles: string[]
}

export async function openPage(browser: Browser, address: string, { width, scheme }: Look): Promise<Opened> {
  const page = await browser.newPage({
    viewport: { width, height: width === 390 ? 844 : 1000 },
    colorScheme: scheme,
  })
  onTestFinished(() => page.close())
  const troubles: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) troubles.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => troubles.push(`exception: ${error.message}`))
  page.on('request', (request) => {
    const url = request.url()
    if (url.split('#')[0] !== address && !url.startsWith('data:')) troubles.push(`request: ${url}`)
  })
  await page.goto(address)
  return { page, troubles }
}

/* Code that runs in the page is text: the project's own code knows no window and no document. */

/** By how many pixels the page is wider than the window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')

/** How high the page is. */
export const pageHeight = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollHeight')

/** Tables that can't be seen completely without scrolling sideways. */
export const cutTables = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`[...document.querySelectorAll('.scroll')]
    .filter(one => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
    .map(one => one.textContent.trim().slice(0, 60))`)

/** The look of the first shape within a link in a drawing: that shape shows the focus. */
const lookOf = `one => {
  const style = getComputedStyle(one.querySelector('rect, path, circle') ?? one)
  return [style.stroke, style.strokeWidth, style.fill, style.outlineStyle].join()
}`

/** Numbers everything that can be used with a mouse, and counts it. */
const numberUsable = `(() => {
  const lookOf = ${lookOf}
  const usable = 'a[href], button, summary, select, input, textarea, [tabindex="0"]'
  const seen = [...document.querySelectorAll(usable)].filter(one => one.checkVisibility() && one.tabIndex >= 0)
  seen.forEach((one, i) => { one.dataset.reach = String(i); one.dataset.look = lookOf(one) })
  return seen.length
})()`

interface Focused {
  readonly reach: string | null
  readonly isMarked: boolean
  readonly what: string
}

const focused = `(() => {
  const lookOf = ${lookOf}
  const one = document.activeElement
  const style = getComputedStyle(one)
  const isMarked = style.outlineStyle !== 'none' || style.boxShadow !== 'none' || one.dataset.look !== lookOf(one)
  return { reach: one.dataset.reach ?? null, isMarked, what: one.outerHTML.slice(0, 80) }
})()`

/**
 * Presses Tab until the focus has been everywhere, and checks that everything usable with a mouse is reached and shows
 * the focus.
 */
export async function expectKeyboardReachesAll(page: Page): Promise<void> {
  const wanted = await page.evaluate<number>(numberUsable)
  const reached = new Set<string>()
  const unmarked: string[] = []
  for (let presses = 0; presses < wanted + 3; presses++) {
    await page.keyboard.press('Tab')
    const { reach, isMarked, what } = await page.evaluate<Focused>(focused)
    if (reach === null) continue
    reached.add(reach)
    if (!isMarked) unmarked.push(what)
  }
  expect(unmarked).toEqual([])
  expect(reached.size).toBe(wanted)
}

/** What is visible of each figure on a page. */
export interface SeenFigure {
  readonly id: string
  readonly drawings: number
  readonly isLarge: boolean
  /** Bars and points. */
  readonly marks: number
  /** Texts that extend beyond the drawing. */
  readonly cut: number
  /** Marks with a color that the browser did not understand. */
  readonly colorless: number
}

const figures = `[...document.querySelectorAll('figure')].filter(figure => figure.checkVisibility()).map(figure => {
  const seen = [...figure.querySelectorAll('.plot svg')].filter(svg => svg.checkVisibility())
  const box = seen[0]?.getBoundingClientRect() ?? { width: 0, height: 0, left: 0, right: 0 }
  const marks = [...(seen[0]?.querySelectorAll('[data-i]') ?? [])]
  const texts = [...(seen[0]?.querySelectorAll('text') ?? [])].map(text => text.getBoundingClientRect())
  return {
    id: figure.id,
    drawings: seen.length,
    isLarge: box.width > 250 && box.height > 90,
    marks: marks.length,
    cut: texts.filter(({ left, right }) => right > box.right + 4 || left < box.left - 4).length,
    colorless: marks.filter(mark => getComputedStyle(mark).fill === 'none' && getComputedStyle(mark).stroke === 'none').length,
  }
})`

export const seenFigures = (page: Page): Promise<SeenFigure[]> => page.evaluate<SeenFigure[]>(figures)

/** The value of an expression in the page. */
export const inPage = <T>(page: Page, expression: string): Promise<T> => page.evaluate<T>(expression)
