/** The data dictionary's page in a real browser, at desktop and phone widths, in light and dark. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  chromiumPath,
  desk,
  expectKeyboardReachesAll,
  inPage,
  looks,
  openPage,
  overflow,
  phone,
  startBrowser,
} from '../support/harness/browser.js'
import { dictionaryAs } from '../support/harness/dictionary.js'
import { scratch } from '../support/harness/scratch.js'

describe.skipIf(chromiumPath === undefined)('the dictionary', () => {
  let browser: Browser
  let address = ''

  beforeAll(async () => {
    const folder = scratch()
    writeFileSync(join(folder, 'dictionary.html'), await dictionaryAs('html'))
    address = pathToFileURL(join(folder, 'dictionary.html')).href
    browser = await startBrowser()
  })
  afterAll(() => browser?.close())

  /** Which parts of the dictionary are visible: the names of its relations, and whether the first page is. */
  const shown = (page: Page) =>
    inPage<{ pages: string[]; home: boolean; title: string }>(
      page,
      `({ pages: [...document.querySelectorAll('section.table')].filter(one => one.checkVisibility()).map(one => one.id),
          home: document.getElementById('home').checkVisibility(), title: document.title })`,
    )
  const on = (...pages: string[]) => ({
    pages,
    home: pages.length === 0,
    title: pages.length === 0 ? 'Data dictionary' : `${pages[0]} · Data dictionary`,
  })

  it.each(looks)('$width pixels wide, $scheme: every page within the window', async (look) => {
    const { page, troubles } = await openPage(browser, address, look)
    expect(await overflow(page)).toBeLessThanOrEqual(0)
    const names = await inPage<string[]>(
      page,
      "[...document.querySelectorAll('section.table')].map(one => one.id)",
    )
    expect(names.length).toBeGreaterThan(90)
    for (const name of names) {
      await inPage(
        page,
        `new Promise(done => { addEventListener('hashchange', done, { once: true }); location.hash = '${name}' })`,
      )
      await inPage(page, "document.querySelectorAll('details').forEach(one => { one.open = true })")
      expect(await overflow(page), name).toBeLessThanOrEqual(0)
      await expect.poll(() => shown(page)).toMatchObject({ pages: [name], home: false })
    }
    expect(troubles).toEqual([])
  })

  it('is a page for each relation: links lead from one to the next, and back', async () => {
    const { page, troubles } = await openPage(browser, address, desk)
    await expect.poll(() => shown(page)).toEqual(on())
    await page.getByRole('navigation').getByRole('link', { name: 'orders', exact: true }).click()
    await expect.poll(() => shown(page)).toEqual(on('orders'))
    await page.evaluate('scrollTo(0, 500)')
    await expect.poll(() => inPage(page, 'history.state?.y')).toBe(500)
    await page.locator('#orders').getByRole('link', { name: 'dim_customers' }).first().click()
    await expect.poll(() => shown(page)).toEqual(on('dim_customers'))
    expect(await inPage(page, 'scrollY')).toBe(0)
    await page.goBack()
    await expect.poll(() => shown(page)).toEqual(on('orders'))
    expect(await inPage(page, 'scrollY')).toBe(500)
    await page.goBack()
    await expect.poll(() => shown(page)).toEqual(on())
    await page.goForward()
    await expect.poll(() => shown(page)).toEqual(on('orders'))
    await page.getByRole('link', { name: 'Data dictionary' }).click()
    await expect.poll(() => shown(page)).toEqual(on())
    expect(troubles).toEqual([])
  })

  it('a figure has a page, and its relation leads to it', async () => {
    const { page } = await openPage(browser, `${address}#orders`, desk)
    await page.locator('#orders .facts').getByRole('link', { name: 'Gross margin' }).click()
    await expect
      .poll(() => shown(page))
      .toEqual({
        pages: ['figure-gross_margin'],
        home: false,
        title: 'Gross margin · Data dictionary',
      })
    await page.locator('#figure-gross_margin').getByRole('link', { name: 'orders', exact: true }).click()
    await expect.poll(() => shown(page)).toEqual(on('orders'))
  })

  it('an address can point to a relation, or to one of its columns', async () => {
    const { page } = await openPage(browser, `${address}#orders.closed_hour`, desk)
    await expect.poll(() => shown(page)).toEqual(on('orders'))
    const top = await inPage<number>(
      page,
      "document.getElementById('orders.closed_hour').getBoundingClientRect().top",
    )
    expect(top).toBeGreaterThanOrEqual(0)
    expect(top).toBeLessThan(1000)
  })

  it('an address of a page starts at its top', async () => {
    const { page } = await openPage(browser, `${address}#figure-gross_margin`, phone)
    await page.waitForLoadState('load')
    await expect.poll(() => inPage(page, 'scrollY')).toBe(0)
  })

  it('the search shows matches from all pages; Enter opens the first, Esc goes back', async () => {
    const { page } = await openPage(browser, `${address}#orders`, desk)
    await page.keyboard.press('/')
    await page.keyboard.type('below_min')
    const found = await shown(page)
    expect(found.pages).toContain('inventory_value')
    expect(found.pages).not.toContain('orders')
    await page.keyboard.press('Escape')
    await expect.poll(() => shown(page)).toEqual(on('orders'))
    await page.keyboard.type('off_by_rounding')
    await page.keyboard.press('Enter')
    await expect.poll(() => inPage(page, 'location.hash')).toBe('#totals_check')
    await expect.poll(() => shown(page)).toEqual(on('totals_check'))
    await page.keyboard.press('/')
    await page.keyboard.type('orders')
    await page.keyboard.press('Enter')
    await expect.poll(() => shown(page)).toEqual(on('orders'))
  })

  it('the skip link leads to the content of the current page', async () => {
    const { page } = await openPage(browser, `${address}#orders`, desk)
    await inPage(page, 'document.activeElement.blur()')
    await page.locator('.skip').focus()
    await page.keyboard.press('Enter')
    expect(await inPage(page, 'document.activeElement.id')).toBe('content')
    await expect.poll(() => shown(page)).toEqual(on('orders'))
  })

  it('prints the current relation with its examples, and nothing else', async () => {
    const { page } = await openPage(browser, `${address}#orders`, desk)
    await page.emulateMedia({ media: 'print' })
    await inPage(page, "dispatchEvent(new Event('beforeprint'))")
    const seen = await inPage<string[]>(
      page,
      "[...document.querySelectorAll('nav, header, section.table, #orders pre')].filter(one => one.checkVisibility()).map(one => one.id || one.tagName)",
    )
    expect(seen).toEqual(['orders', 'PRE'])
  })

  it('on a phone the list of pages is folded until it is opened', async () => {
    const { page } = await openPage(browser, address, phone)
    const list = page.getByRole('navigation')
    expect(await list.isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Contents' }).click()
    expect(await list.isVisible()).toBe(true)
    await list.getByRole('link', { name: 'orders', exact: true }).click()
    expect(await list.isVisible()).toBe(false)
    await expect.poll(() => shown(page)).toEqual(on('orders'))
  })

  it('everything can be read without a script', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(`${address}#orders`)
    for (const name of ['orders', 'repair_orders', 'sync_runs'])
      expect(await page.locator(`#${name}`).isVisible()).toBe(true)
    expect(await page.locator('#home').isVisible()).toBe(true)
    await context.close()
  })

  it.each(['', '#orders'])('all of it can be reached with the keyboard%s', async (hash) => {
    const { page } = await openPage(browser, address + hash, desk)
    await expectKeyboardReachesAll(page)
  })
})
