/** The page itself: what stands on it, that it is complete in one file, and where it goes. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { makeReport, type Page } from './reportpage.js'

const evil = '</script><script>alert("x")</script><img src=x onerror=alert(1)>&'
const [kind] = warehouses()
const sandbox = await sandboxOfFile({
  tenants: [{ id: 101, shops: 2, repairOrders: 450, technicians: 1 }],
  seed: 5,
})

/** People and places with names that a page must not take for its own words, and more technicians than lines. */
function disturb(): void {
  const { store } = sandbox
  const named = {
    shops: 'name',
    customers: 'last_name',
    staffs: 'last_name',
    recommendations: 'description',
    appointments: 'title',
    statuses: 'name',
  }
  for (const [resource, field] of Object.entries(named))
    for (const [i, id] of store.ids(101, resource).entries())
      store.change(101, resource, id, { [field]: `${evil} ${i}` })
  for (const { id, services } of store.all(101, 'repair_orders')) {
    const labors = (all: object[]): object[] =>
      all.map((labor) => ({ ...labor, technician_id: 200 + (id % 14) }))
    store.change(101, 'repair_orders', id, {
      services: (services as { labors: object[] }[]).map((service) => ({
        ...service,
        labors: labors(service.labors),
      })),
    })
  }
}

let page: Page
const count = (part: string | RegExp): number => page.html.split(part).length - 1

beforeAll(async () => {
  disturb()
  const report = { timeZone: 'America/Chicago', tenantNames: { 101: evil }, contacts: true }
  const config = configure(sandbox, await kind!.viewed(), [], { sync: { resources: 'all' }, report })
  const synced = await shopsync(['sync', '--config', config])
  expect(synced.code, synced.stderr).toBe(0)
  page = (await makeReport(config)).page
})

describe('the page', () => {
  it('begins with yesterday, today, the month and the trust, before lists and charts', () => {
    const headings = page.headings()
    const asked = headings
      .filter((text) => text.endsWith('?'))
      .map((text) => text.replace(/was \w+\?/, 'was …?'))
    expect(new Set(asked.slice(0, 3))).toEqual(
      new Set(['How was …?', 'What needs attention today?', 'How was last month?']),
    )
    const month = headings.find((text) => text.startsWith('Shops, '))?.replace('Shops, ', '') ?? ''
    const expected = [
      ...[
        'Can I trust it?',
        'Lists to act on',
        `Shops, ${month}`,
        'Sales and gross profit by month and shop',
        'Average repair order',
      ],
      ...[
        `Sales by service category, ${month}`,
        `Gross profit by advisor, ${month}`,
        'Gross profit per hour',
        'Effective labor rate',
      ],
      ...[
        `Hours sold by technician, ${month}`,
        `Parts margin by unit cost, ${month}`,
        'Hours per order',
        'Cycle time',
        'Recommendations',
      ],
      ...[
        'Customers: new and returning',
        'Receivables by age',
        'Customers by their last visit',
        `Every figure, ${month}`,
      ],
    ]
    const places = expected.map((title) => headings.indexOf(title))
    expect(expected.filter((_, i) => places[i] === -1)).toEqual([])
    expect(places.slice(0, 4)).toEqual([...places.slice(0, 4)].sort((a, b) => a - b))
  })

  it('draws every chart for wide and narrow screens, from zero, with incomplete months hatched', () => {
    const [figures, empty] = [count('<figure'), count('<p class="nothing">')]
    expect(count('<svg class="narrow"')).toBeGreaterThanOrEqual(figures - empty)
    expect(count(/<svg class="(?:half|full)"/)).toBe(count('<svg class="narrow"'))
    expect(count('<figcaption>')).toBe(figures)
    expect(page.part('101-average-order')).toMatch(/>\$0<\/text>/)
    expect(page.html.includes('fill="url(#hatch-blue)"')).toBe(true)
    expect(/NaN|undefined|Infinity/.exec(page.html)).toBeNull()
  })

  it('loads nothing from elsewhere, and tells the browser so', () => {
    const addresses = [...page.html.matchAll(/(?:src|href|action)="([^"]*)"/g)].map(
      ([, address = '']) => address,
    )
    expect(addresses.filter((address) => !/^(#|data:,)/.test(address))).toEqual([])
    const named = [...page.html.matchAll(/https?:\/\/[^"'\s<]*/g)].map(([found]) => found)
    expect(named.filter((found) => !found.startsWith('http://www.w3.org/'))).toEqual([])
    expect(page.html.includes('default-src &#39;none&#39;')).toBe(true)
  })

  it('shows names as text, whatever they are', () => {
    expect([count('<script'), count('<img')]).toEqual([1, 0])
    expect(count('&lt;/script&gt;&lt;script&gt;alert')).toBeGreaterThan(30)
  })

  it('has shops to choose, without what only a business has, and no place twice', () => {
    expect(page.choices('scope')).toHaveLength(3)
    const ids = page.ids('')
    expect(new Set(ids).size).toBe(ids.length)
    const ofShop = page.ids('shop-101-1-')
    expect(ofShop).toEqual(expect.arrayContaining(['shop-101-1-sales', 'shop-101-1-advisors-last-month']))
    expect(ofShop.filter((id) => /standing|cycle|shops-/.test(id))).toEqual([])
  })

  it('has a number and no bar for all other people, so that the bars of the first can be seen', () => {
    const rows = page.part('101-technicians-last-month').split('<tr>').slice(2)
    expect(rows).toHaveLength(11)
    expect(rows.map((row) => row.includes('<i style="--part:'))).toEqual([...Array(10).fill(true), false])
    expect([...page.rows('101-technicians-last-month').keys()].at(-1)).toBe('4 other technicians')
  })

  it('tells what each sum leaves out, and in the owner’s words', () => {
    expect(page.caption('101-sales')).toMatch(/Left out: \d+ invoices? without a known cost or price\./)
    expect(count('isn’t comparable with shop systems that subtract pay')).toBeGreaterThanOrEqual(2)
    for (const word of [
      /at_least_due_cents/,
      /[Qq]uarantine/,
      /\d lists?\b/,
      /UTC/,
      /Freshness/,
      /Runs/,
      /rate limit/,
      /Drift/,
    ])
      expect([word, word.test(page.html)]).toEqual([word, false])
  })

  it('lists what to do with whom, by whom', () => {
    expect(page.table('101-to-sell')[0]).toEqual(
      expect.arrayContaining(['order', 'shop', 'customer', 'what', 'amount']),
    )
    expect(page.table('101-overdue')[0]).toEqual(
      expect.arrayContaining(['advisor', 'technician', 'phone', 'email']),
    )
    expect(page.summary('101-to-sell')).toMatch(/\d+ recommendations; the first \d+ below/)
  })
})

describe('its file', () => {
  const folder = scratch()
  const config = configure(sandbox, { url: `sqlite:${join(folder, 'none.db')}`, schema: '' }, ['notes'])

  it('replaces an older one, with its rights, when it is complete, and leaves nothing else', async () => {
    const file = join(folder, 'page.html')
    writeFileSync(file, 'old', { mode: 0o644 })
    const ended = await shopsync(['report', '--out', file, '--config', config])
    expect(ended.code, ended.stderr).toBe(0)
    expect(readFileSync(file, 'utf8')).toContain('No data yet')
    expect(readdirSync(folder)).toEqual(['page.html'])
  })

  it.each<[string, string, number, RegExp]>([
    ['a file in a file', 'page.html/r.html', 2, /Found no folder /],
    ['a device that is full', '/dev/full', 1, /\(ENOSPC\).*disk is full/],
  ])('cannot be %s', async (_, out, code, words) => {
    // Not every system has such a device.
    if (out.startsWith('/dev') && !existsSync(out)) return
    const ended = await shopsync(['report', '--out', out, '--config', config], { cwd: folder })
    expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(words) })
  })
})
