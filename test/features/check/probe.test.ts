/** What the probe of `check` finds out about sources that behave differently, and what it costs. */
import { expect, it } from 'vitest'
import { type Rule, type Sandbox, type SandboxOptions, template } from '../../../src/sandbox/index.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { kept, warehouses } from '../../support/harness/warehouse.js'
import { clockAgrees, probed, usualWays } from '../../support/world/probe.js'

const [kind] = warehouses()
const stock = kept(kind!)

/** 150 notes, three for each time, with fractions of a second that aren't zero. */
async function source(options: SandboxOptions = {}, script: readonly Rule[] = []): Promise<Sandbox> {
  const sandbox = await sandboxOfFile({ data: 'none', ...options })
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= 150; id++) {
    const second = String(Math.floor(id / 3)).padStart(2, '0')
    sandbox.store.put(1, 'notes', template('notes', id, `2026-01-01T00:00:${second}.654321Z`))
  }
  sandbox.script(script)
  return sandbox
}

const when = { kind: 'list' } as const
const early = { early: true }
interface Case {
  readonly options?: SandboxOptions
  readonly rule?: Rule
  /** Whether there is a record from before 1970. */
  readonly early?: boolean
  /** The earliest time that the API accepts. */
  readonly first?: string
}

it.each<[name: string, of: Case, found: object, exitCode?: number]>([
  ['the documented behavior', {}, {}],
  ['seconds', { options: { timestamps: { digits: 0 } } }, { precision: 'seconds', filter: 'finer' }],
  [
    'milliseconds',
    { options: { timestamps: { digits: 3 } } },
    { precision: 'milliseconds', filter: 'finer' },
  ],
  ['compressed answers', { options: { gzip: true } }, { gzip: 'sent' }],
  [
    'another order',
    { rule: { when, before: { kind: 'order', by: 'oldest' } } },
    { order: 'other', updated_after: null, filter: null },
  ],
  [
    'no total',
    { rule: { when, fault: { kind: 'total', remove: true } } },
    { totals: 'missing', beyond_end: null, updated_after: null, filter: null },
  ],
  // A filter that begins before year 1 shows it, if the API accepts one.
  ['a record from before 1970', early, {}],
  ['one that no filter shows', { ...early, first: '1970' }, { totals: 'more_without_filter' }, 1],
  [
    'an id that gives no 404',
    { rule: { when: { kind: 'item', id: 1_000_150 }, fault: { kind: 'status', status: 403 } } },
    { by_id: 'shows_what_is_not_there' },
    1,
  ],
])('finds %s', async (_name, { options, rule, early: isEarly, first }, found, exitCode = 0) => {
  const sandbox = await source(options, rule ? [rule] : [])
  if (isEarly) sandbox.store.put(1, 'notes', template('notes', 500, '1969-01-01T00:00:00Z'))
  const { answers, ...probe } = await probed(sandbox, await stock.open(), first)
  expect(answers).toEqual({ ...usualWays, ...found })
  expect(probe.exitCode).toBe(exitCode)
  expect(sandbox.requests.length).toBeLessThanOrEqual(15)
  expect(probe.requests).toBe(sandbox.requests.length)
  // What the document forbids isn't tried.
  for (const { per_page, updated_after } of sandbox.requests) {
    expect(per_page ?? 1).toBeLessThanOrEqual(100)
    if (updated_after !== null) expect(updated_after).toMatch(/(Z|[+-]\d\d:\d\d)$/)
  }
})

it('goes on when every second response fails, and keeps to its requests', async () => {
  const sandbox = await source({}, [{ when: { every: 2 }, fault: { kind: 'status', status: 500 } }])
  const { requests } = await probed(sandbox, await stock.open())
  expect(requests).toBeGreaterThan(10)
  expect(requests).toBeLessThanOrEqual(15)
})

it('compares the clocks before it tries the tenants, which takes minutes if there are many', async () => {
  const sandbox = await source()
  let late = 0n
  sandbox.onRequest(({ resource }) => {
    if (resource === 'notes') late += 300_000_000n
  })
  expect(await clockAgrees(sandbox, await stock.open(), () => late)).toBe(true)
  expect(late).toBeGreaterThan(0n)
})
