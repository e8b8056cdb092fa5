/** The operator's page: of a warehouse in which all is well, and of one in which it isn't. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { Page } from './reportpage.js'

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 6, seed: 5 })
const evil = '<script>alert(1)</script>'

describe.each(warehouses())('$name', (kind) => {
  let well: Page
  let ill: Page

  beforeAll(async () => {
    const address = await kind.viewed()
    const configured = (api: object): string =>
      configure(sandbox, address, ['notes', 'customers', 'shops'], { targets: { notes: 'PT15M' }, api })
    const sync = async (code: number, api = {}): Promise<Page> => {
      const synced = await shopsync(['sync', '--config', configured({})])
      expect(synced.code, synced.stdout + synced.stderr).toBe(code)
      const file = join(scratch(), 'page.html')
      const made = await shopsync(['report', '--operations', '--out', file, '--config', configured(api)])
      expect(made.code, made.stderr).toBe(0)
      return new Page(readFileSync(file, 'utf8'))
    }
    const when = { resource: 'customers' }
    sandbox.script([{ when, fault: { kind: 'fields', name: 'novelty', value: 1 } }])
    well = await sync(0)
    for (const tenant of [101, 102])
      for (const id of sandbox.store.ids(tenant, 'customers'))
        sandbox.store.change(tenant, 'customers', id, {})
    sandbox.script([
      { when, fault: { kind: 'fields', name: evil, value: evil } },
      { when, fault: { kind: 'alter', path: 'marketing_ok', to: 'maybe' } },
      { when: { tenant: 101, resource: 'notes' }, fault: { kind: 'status', status: 500 } },
    ])
    ill = await sync(1, { baseUrl: 'http://127.0.0.1:9' })
  })

  const headlineOf = ({ html }: Page): string => /<p class="headline">(.*?)<\/p>/.exec(html)?.[1] ?? ''

  it('has a part for each thing that an operator looks after', () => {
    const headings = well.headings('3')
    expect(headings.slice(0, -1)).toEqual([
      'Incidents',
      'Freshness by resource',
      'Targets, last 24 hours',
      'Runs by day',
      'Requests and rate limit',
      'Last runs',
      'Quarantine',
    ])
    expect(headings.at(-1)).toMatch(/^Drift: \d+ kinds, none since the first load$/)
    expect(headlineOf(well)).toMatch(/^6 of 6 lists proven · oldest [^·]+ · no incident$/)
    // What the first load saw is folded.
    expect(/<summary>Drift: \d+ kinds, all seen by the first load/.test(well.html)).toBe(true)
    const notes = well.rows('freshness').get('notes')
    expect(notes?.slice(3)).toEqual(['2', '0', '0', '0', '0', '0'])
    expect(well.rows('last-runs').size).toBe(1)
  })

  it('shows incidents, the tenants that need attention, and what could not be stored', () => {
    const headings = ill.headings('3')
    expect(headings.slice(0, 2)).toEqual(['Source', expect.stringMatching(/^Incidents: \d open$/)])
    expect(headings).toContain('Tenants that need attention: 1')
    expect(headings.at(-1)).toMatch(/^Drift: \d+ kinds, \d since the first load$/)
    expect(/<summary>Drift/.test(ill.html)).toBe(false)
    expect(headlineOf(ill)).toMatch(/^\d of 6 lists proven · oldest [^·]+ · \d incidents? open$/)
    const failed = ill.table('incidents').find(([name]) => name === 'failed')
    expect(failed?.slice(1, 3)).toEqual(['101', 'notes'])
    // A request is named by its list.
    expect(failed?.at(-1)).toContain('GET notes answered 500')
    expect(ill.html.includes('updated_after')).toBe(false)
    expect(ill.table('tenants')[1]?.slice(0, 3)).toEqual(['tenant 101', '3', '1'])
    expect([...ill.rows('quarantine').keys()]).toEqual(['customers'])
    expect(ill.table('last-runs')[1]?.[0]).toMatch(/20\d{6}T\d{6}-\w+/)
  })

  it('says that the configuration names another source', () => {
    for (const part of [`✗ Source: ${sandbox.url}`, 'so runs are refused', 'shopsync adopt --same-data'])
      expect([part, ill.html.includes(part)]).toEqual([part, true])
    expect(well.html.includes('so runs are refused')).toBe(false)
  })

  it('shows what the source sends as text, and is in UTC', () => {
    expect(ill.html.split('<script').length - 1).toBe(1)
    expect(ill.html.includes('&lt;script&gt;alert(1)')).toBe(true)
    expect(ill.html.includes('All times are UTC.')).toBe(true)
  })
})
