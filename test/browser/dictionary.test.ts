/** The page of the data dictionary in a real browser, at the widths of a desk and of a phone, by day and by night. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  chromiumPath,
  expectKeyboardReachesAll,
  inPage,
  looks,
  openPage,
  overflow,
  startBrowser,
} from '../support/browser.js'
import { Program, program } from '../support/process.js'
import { scratch } from '../support/scratch.js'

describe.skipIf(chromiumPath === undefined)('the dictionary', () => {
  let browser: Browser
  let address = ''

  beforeAll(async () => {
    const folder = scratch()
    const { code, stdout, stderr } = await new Program(program, ['dictionary', '--format', 'html'], {
      cwd: folder,
    }).ended
    expect(code, stderr).toBe(0)
    writeFileSync(join(folder, 'dictionary.html'), stdout)
    address = pathToFileURL(join(folder, 'dictionary.html')).href
    browser = await startBrowser()
  })
  afterAll(() => browser?.close())

  it.each(looks)('$width pixels wide, $scheme: whole, still and within the window', async (look) => {
    const { page, troubles } = await openPage(browser, address, look)
    expect(await overflow(page)).toBeLessThanOrEqual(0)
    await inPage(page, "document.querySelectorAll('details').forEach(one => { one.open = true })")
    expect(await overflow(page)).toBeLessThanOrEqual(0)
    const heading = page.getByRole('heading', { name: 'repair_orders', exact: true })
    expect(await heading.count()).toBe(1)
    expect(troubles).toEqual([])
    await page.close()
  })

  it('is reached by the keyboard, all of it', async () => {
    const { page } = await openPage(browser, address, { width: 1440, scheme: 'light' })
    await expectKeyboardReachesAll(page)
    await page.close()
  })
})
