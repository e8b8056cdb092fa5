/**
 * The report's pages in a real browser, at desktop and phone widths, in light and dark: made by the demo, as users
 * first see it. `SCREENSHOTS=docs npm run test:apart -- browser` also writes the pictures in README.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  chromiumPath,
  cutTables,
  desk,
  expectKeyboardReachesAll,
  inPage,
  looks,
  openPage,
  overflow,
  pageHeight,
  phone,
  seenFigures,
  startBrowser,
} from '../support/harness/browser.js'
import { shopsync } from '../support/harness/call.js'
import { configure } from '../support/harness/place.js'
import { scratch } from '../support/harness/scratch.js'
import { root } from '../support/harness/tree.js'

if (chromiumPath === undefined)
  console.warn(
    'Skipped: found no Chromium, expected /usr/bin/chromium or its path in SHOPSYNC_CHROMIUM (Debian: apt install chromium)',
  )

const unused = { url: 'https://api.example.com', partnerId: '1', secret: 'not used' }

describe.skipIf(chromiumPath === undefined)('the report', () => {
  let browser: Browser
  let address = ''
  let operations = ''

  beforeAll(async () => {
    const folder = scratch()
    const warehouse = { url: `sqlite:${join(folder, 'demo/warehouse.db')}`, schema: '' }
    const config = configure(unused, warehouse, [], { sync: { resources: 'all' } })
    const out = join(folder, 'operations.html')
    for (const words of [['demo'], ['report', '--operations', '--out', out, '--config', config]]) {
      const { code, stderr } = await shopsync(words, { cwd: folder })
      expect(code, stderr).toBe(0)
    }
    address = pathToFileURL(join(folder, 'demo/report.html')).href
    operations = pathToFileURL(out).href
    browser = await startBrowser()
  })
  afterAll(() => browser?.close())

  it.each(looks)('$width pixels wide, $scheme: complete, still and within the window', async (look) => {
    const { page, troubles } = await openPage(browser, address, look)
    expect(await overflow(page)).toBeLessThanOrEqual(0)
    expect(await cutTables(page)).toEqual([])
    if (look.width === 390) {
      // Everything below the first answers is closed, and opens.
      expect(await pageHeight(page)).toBeLessThan(6000)
      await inPage(page, "document.querySelectorAll('details.part').forEach(one => { one.open = true })")
    }
    const charts = await seenFigures(page)
    expect(charts.length).toBeGreaterThanOrEqual(9)
    for (const chart of charts) {
      if (chart.drawings === 0) continue
      expect(chart).toMatchObject({ drawings: 1, isLarge: true, cut: 0, colorless: 0 })
      expect(chart.marks, chart.id).toBeGreaterThan(0)
    }
    expect(charts.filter(({ drawings }) => drawings === 0).length).toBeLessThanOrEqual(1)
    expect(troubles).toEqual([])
    if (process.env.SCREENSHOTS && look.scheme === 'light') {
      const height = look.width === 390 ? 1500 : 1480
      const path = join(root, process.env.SCREENSHOTS, `report-${look.width}.png`)
      await page.screenshot({ path, clip: { x: 0, y: 0, width: look.width, height }, fullPage: true })
    }
  })

  it.each([desk, phone])(
    '$width pixels wide: the keyboard reaches everything, including what unfolds',
    async (look) => {
      const { page } = await openPage(browser, address, look)
      await expectKeyboardReachesAll(page)
      await inPage(page, "document.querySelectorAll('details').forEach(one => { one.open = true })")
      expect(await overflow(page)).toBeLessThanOrEqual(0)
      expect(await cutTables(page)).toEqual([])
    },
  )

  it.each(looks)('the operator’s page, $width pixels wide, $scheme: nothing is cut off', async (look) => {
    const { page, troubles } = await openPage(browser, operations, look)
    if (look.width === 390) expect(await pageHeight(page)).toBeLessThan(6000)
    await inPage(page, "document.querySelectorAll('details').forEach(one => { one.open = true })")
    expect([await overflow(page), await cutTables(page), troubles]).toEqual([0, [], []])
  })

  it('exports the numbers of a chart as CSV, with amounts as plain numbers', async () => {
    const context = await browser.newContext({
      viewport: { width: 1440, height: 1000 },
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const page = await context.newPage()
    await page.goto(address)
    const figure = page.locator('#all-sales')
    await figure.locator('summary').click()
    await figure.locator('[data-csv="copy"]').click()
    await expect.poll(() => page.locator('#all-sales [data-csv="copy"]').textContent()).toBe('Copied')
    const copied = await inPage<string>(page, 'navigator.clipboard.readText()')
    const [head = '', first = ''] = copied.split('\r\n')
    expect(head).toMatch(/^month,.*Gross profit,Gross margin,Invoices/)
    expect(first).toMatch(/^\w{3} \d{4}[^,]*(,-?\d*(\.\d+)?)+$/)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      figure.locator('[data-csv="save"]').click(),
    ])
    expect(download.suggestedFilename()).toBe('sales.csv')
    expect(readFileSync(await download.path(), 'utf8').replaceAll('\r', '')).toBe(copied.replaceAll('\r', ''))
    // A ranking shows whole dollars but exports cents.
    await page.locator('#all-advisors-last-month [data-csv="copy"]').click()
    await expect
      .poll(() => page.locator('#all-advisors-last-month [data-csv="copy"]').textContent())
      .toBe('Copied')
    const ranked = await inPage<string>(page, 'navigator.clipboard.readText()')
    expect(ranked.split('\r\n')[1]).toMatch(/^[^,]+,\d+\.\d\d,\d+\.\d\d,/)
    await context.close()
  })

  it('shows the numbers of the mark under the pointer, from the table below the chart', async () => {
    const { page, troubles } = await openPage(browser, address, desk)
    const mark = page.locator('#all-sales .full [data-s="0"][data-i="3"]').first()
    await mark.scrollIntoViewIfNeeded()
    await mark.hover()
    const row = await inPage<string[]>(
      page,
      "[...document.querySelectorAll('#all-sales tbody tr')[3].cells].map(cell => cell.textContent)",
    )
    const tip = page.locator('.tip')
    expect(await tip.isVisible()).toBe(true)
    const text = (await tip.textContent()) ?? ''
    for (const cell of row) expect(text).toContain(cell)
    await page.mouse.move(2, 2)
    expect(await tip.isVisible()).toBe(false)
    expect(troubles).toEqual([])
  })

  it('shows the selected shop and period, and keeps the selection in the address', async () => {
    const { page, troubles } = await openPage(browser, address, desk)
    const values = (pick: string): Promise<string[]> =>
      inPage(page, `[...document.querySelectorAll('[data-pick="${pick}"] option')].map(one => one.value)`)
    const shown = (name: string): Promise<string[]> =>
      inPage(
        page,
        `[...new Set([...document.querySelectorAll('[data-${name}]')].filter(one => one.checkVisibility()).map(one => one.dataset.${name}))]`,
      )
    const [scopes, periods] = [await values('scope'), await values('period')]
    // On the first day of a month, nothing of it has passed.
    expect(periods.filter((id) => id !== 'month-to-date')).toEqual(['last-month', 'last-12-months'])
    expect([await shown('scope'), await shown('period')]).toEqual([['all'], ['last-month']])
    const shop = scopes.find((id) => id.startsWith('shop-')) ?? ''
    await page.locator('[data-pick="scope"]').selectOption(shop)
    await page.locator('[data-pick="period"]').selectOption('last-12-months')
    expect([await shown('scope'), await shown('period')]).toEqual([[shop], ['last-12-months']])
    const asked = await inPage<string[]>(
      page,
      "[...document.querySelectorAll('.question h2')].filter(one => one.checkVisibility()).map(one => one.textContent)",
    )
    // On the day after a closed one, the first question names the last open day.
    expect(asked).toEqual([
      ...[expect.stringMatching(/^How was \w+\?$/), 'What needs attention today?'],
      ...['How were the last 12 months?', 'Can I trust it?'],
    ])
    await page.reload()
    expect([await shown('scope'), await shown('period')]).toEqual([[shop], ['last-12-months']])
    expect(troubles).toEqual([])
  })

  it('works without its script', async () => {
    const context = await browser.newContext({
      javaScriptEnabled: false,
      viewport: { width: 1440, height: 1000 },
    })
    const page = await context.newPage()
    await page.goto(address)
    expect(await page.locator('.question').count()).toBeGreaterThanOrEqual(3)
    for (const question of await page.locator('.question').all())
      expect(await question.isVisible()).toBe(true)
    await context.close()
  })

  it('prints in print colors, without screen-only parts', async () => {
    const { page } = await openPage(browser, address, { width: 1440, scheme: 'dark' })
    await page.emulateMedia({ media: 'print' })
    const paper = await inPage(page, "getComputedStyle(document.querySelector('.panel')).backgroundColor")
    expect(paper).toBe('rgb(255, 255, 255)')
    expect(await page.locator('[data-pick="scope"]').isVisible()).toBe(false)
    expect(await page.locator('summary').first().isVisible()).toBe(false)
    expect(await page.locator('.tasks > summary').first().isVisible()).toBe(true)
    expect((await page.pdf({ format: 'A4' })).length).toBeGreaterThan(20_000)
  })
})
