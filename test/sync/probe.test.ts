/** What the probe of `check` finds out about sources with different ways, and what it costs. */
import { afterAll, expect, it } from 'vitest'
import { createSandbox, type Sandbox, type SandboxOptions, template } from '../../src/sandbox/index.js'
import { changesBetween, mostRequests, type Probe, probeSource } from '../../src/sync/ask/probe.js'
import { depsOf, known } from '../support/run.js'
import { open, warehouses } from '../support/warehouse.js'

const made: Sandbox[] = []
afterAll(() => Promise.all(made.map((sandbox) => sandbox.close())))

/** 150 notes, three of each time, whose fractions of a second are not zero. */
async function source(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await createSandbox({ data: 'none', ...options })
  made.push(sandbox)
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= 150; id++) {
    const second = String(Math.floor(id / 3)).padStart(2, '0')
    sandbox.store.put(1, 'notes', template('notes', id, `2026-01-01T00:00:${second}.654321Z`))
  }
  return sandbox
}

async function probe(sandbox: Sandbox): Promise<Probe> {
  const [kind] = warehouses()
  if (!kind) throw new Error('no warehouse')
  const warehouse = await open(kind)
  const { deps, close } = await depsOf(sandbox, warehouse)
  const resource = known.byName.get('notes')
  if (!resource) throw new Error('no notes')
  const { signal, clock } = deps
  sandbox.resetRequests()
  const nowMicros = (): bigint => clock.nowMicros()
  const found = await probeSource({ source: deps.source, tenantId: 1, resource, nowMicros, signal })
  await close()
  await warehouse.close()
  if (!found) throw new Error('the list did not answer')
  expect(sandbox.requests.length).toBeLessThanOrEqual(mostRequests)
  expect(found.requests).toBe(sandbox.requests.length)
  // What the document forbids is not tried.
  for (const { per_page, updated_after } of sandbox.requests) {
    expect(per_page ?? 1).toBeLessThanOrEqual(100)
    if (updated_after !== null) expect(updated_after).toMatch(/Z$/)
  }
  return found
}

const usual = {
  order: 'newest_first',
  beyond_end: 'empty',
  updated_after: 'strict',
  precision: 'microseconds',
  filter: 'as_printed',
  totals: 'equal',
  ties: 'stable',
  by_id: 'works',
  etag: 'stays',
  rate_headers: 'sent',
  date_skew: 'agrees',
  gzip: 'not_sent',
}

it('finds the documented ways', async () => {
  expect((await probe(await source())).answers).toEqual(usual)
})

it.each([
  ['seconds', { timestamps: { digits: 0 } }, { precision: 'seconds', filter: 'finer' }],
  ['milliseconds', { timestamps: { digits: 3 } }, { precision: 'milliseconds', filter: 'finer' }],
  ['compressed answers', { gzip: true }, { gzip: 'sent' }],
] as const)('finds %s', async (_name, options, expected) => {
  expect((await probe(await source(options))).answers).toEqual({ ...usual, ...expected })
})

it('finds a list in another order, and one without a total', async () => {
  const sandbox = await source()
  sandbox.script([{ when: { kind: 'list' }, before: { kind: 'order', by: 'oldest' } }])
  const reversed = (await probe(sandbox)).answers
  expect(reversed).toMatchObject({ order: 'other', updated_after: null })
  sandbox.script([
    { when: { kind: 'list' }, before: { kind: 'heal' }, fault: { kind: 'total', remove: true } },
  ])
  expect((await probe(sandbox)).answers).toMatchObject({ totals: 'missing', order: 'newest_first' })
  expect(changesBetween(reversed, usual as Probe['answers'])).toContainEqual({
    question: 'order',
    before: 'other',
    now: 'newest_first',
  })
})

it('finds records that updated_after never shows, and ids that give no 404', async () => {
  const sandbox = await source()
  sandbox.store.put(1, 'notes', template('notes', 500, '1969-01-01T00:00:00Z'))
  expect((await probe(sandbox)).answers.totals).toBe('more_without_filter')
  sandbox.script([{ when: { kind: 'item', id: 1_000_150 }, fault: { kind: 'status', status: 403 } }])
  expect((await probe(await source())).answers.by_id).toBe('works')
  expect((await probe(sandbox)).answers.by_id).not.toBe('works')
})

it('asks no more when every second answer fails, and says what it could not tell', async () => {
  const sandbox = await source()
  sandbox.script([{ when: { every: 2 }, fault: { kind: 'status', status: 500 } }])
  const { requests } = await probe(sandbox)
  expect(requests).toBeGreaterThan(10)
})
