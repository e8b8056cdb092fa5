/**
 * Whatever goes wrong between the API and us: a sync either succeeds with the right rows, or fails only where the fault
 * is. Once the fault is over, one more sync makes everything equal.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Fault, type Rule, template } from '../../src/sandbox/index.js'
import { known, type RunOptions, syncInOrder } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { someOf } from '../support/harness/size.js'
import { contents, open, rowsOf, type Warehouse, warehouses } from '../support/harness/warehouse.js'
import { HandClock } from '../support/world/clocks.js'
import { wipe } from '../support/world/through.js'

const clock = new HandClock('2026-03-01T00:00:00Z', 1n)
const options: RunOptions = {
  resources: ['notes', 'categories'],
  clock: clock.skewed,
  readAhead: 0,
  timeoutMs: 150,
  maxBodyBytes: 400_000,
}
const time = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

const sandbox = await sandboxOfFile({ data: 'none', clock })

const tables = ['notes', 'categories'].map((name) => known.tableByName.get(name)!)
const held = (warehouse: Warehouse): Promise<unknown> => contents(warehouse, known, tables)

function fill(): void {
  sandbox.reset()
  for (const tenant of [1, 2]) {
    sandbox.store.addTenant({ id: tenant })
    // The list that is struck has four pages.
    for (let id = 1; id <= (tenant === 1 ? 350 : 50); id++)
      sandbox.store.put(tenant, 'notes', template('notes', id, time(id)))
    for (let id = 1; id <= 5; id++)
      sandbox.store.put(tenant, 'categories', template('categories', id, time(id)))
  }
}

/** One for each thing that the client can make of a response (engine/source/faults.test.ts), and what it can't tell. */
const faults: [string, Fault][] = [
  ['the connection is dropped', { kind: 'drop' }],
  ['status 403', { kind: 'status', status: 403 }],
  ['half a body comes', { kind: 'stall', part: 'body' }],
  ['an empty list', { kind: 'empty' }],
  ['the body is cut', { kind: 'cut', fraction: 0.7 }],
  ['the page before comes, as the one asked for', { kind: 'page', page: 'previous', claim: 'asked' }],
  ['the body has no end', { kind: 'huge', bytes: 2_000_000 }],
  ['a total that is too low', { kind: 'total', by: -7 }],
  ['HTML comes with status 200', { kind: 'html' }],
  ['a clock a day slow', { kind: 'skew', seconds: -86_400 }],
  ['status 503', { kind: 'status', status: 503, retryAfter: 1 }],
  ['status 429 without headers', { kind: 'status', status: 429, rateHeaders: false }],
  ['status 429 with Retry-After', { kind: 'status', status: 429, retryAfter: 2 }],
  ['the body is some other JSON', { kind: 'text', text: '{"ok":true}' }],
  ['gzip that ends early', { kind: 'gzip', how: 'truncated' }],
  ['a redirect', { kind: 'redirect', to: 'http://127.0.0.1:1/' }],
  ['the page before comes, and says so', { kind: 'page', page: 'previous' }],
  ['a total that is too high', { kind: 'total', by: 7 }],
  ['a clock two hours fast', { kind: 'skew', seconds: 7200 }],
  ['no rate-limit headers', { kind: 'rate', remove: true }],
]

describe.each(warehouses())('$name', (kind) => {
  let warehouse: Warehouse
  let wanted: unknown
  beforeAll(async () => {
    warehouse = await open(kind)
    fill()
    expect((await syncInOrder(sandbox, warehouse, options)).status).toBe('ok')
    wanted = await held(warehouse)
  })
  afterAll(() => warehouse.close())

  const isStruck = (one: Record<string, unknown>): boolean => one.tenant_id === 1 && one.resource === 'notes'
  const watermark = async () => (await rowsOf(warehouse, 'sync_cursors')).find(isStruck)?.watermark ?? null
  const whole = { tenant: 1, resource: 'notes' }
  const late = { ...whole, page: [3, 4], perPage: 100 }

  /** One failed attempt differs little from another: most are left to `npm run test:long`. */
  it.each(someOf(3, faults))(
    'once %s',
    async (_name, fault) => void (await law({ when: late, fault, times: 1 })),
  )
  it.each(someOf(2, faults))('for good %s', async (_name, fault) => void (await law({ when: late, fault })))

  it.each([
    ['a full walk that finds nothing', 'full', whole],
    ['a full walk whose list empties under it', 'full', { ...whole, from: 3 }],
    ['a first load whose list empties under it', 'sync', { ...whole, from: 3 }],
  ] as const)('%s is not trusted', async (_name, mode, when) => {
    const error = expect.stringContaining('which is not plausible')
    const struck = await law({ when, fault: { kind: 'empty' } }, mode)
    expect(struck).toMatchObject({ status: 'failed', completeness: 'unproven', error })
  })

  /**
   * A fault strikes a first load, or a full walk after one: all is well, or only what it struck has failed, and nothing is
   * lost. Once it is over, all is well.
   */
  async function law(rule: Rule, mode: 'sync' | 'full' = 'sync') {
    await wipe(warehouse)
    fill()
    if (mode === 'full') await syncInOrder(sandbox, warehouse, options)
    const before = await watermark()
    sandbox.script([rule])
    const { status, cursors } = await syncInOrder(sandbox, warehouse, { ...options, mode })
    const struck = cursors.find((cursor) => isStruck({ ...cursor }))
    if (struck?.status === 'failed') expect(struck.error).not.toBe('')
    for (const cursor of cursors.filter((one) => one !== struck))
      expect(cursor, 'the others go on').toMatchObject({ status: 'ok', completeness: 'proven' })
    if (status === 'ok') expect(await held(warehouse)).toEqual(wanted)
    else expect(await watermark()).toBe(before)
    const rows = await rowsOf(warehouse, 'notes')
    expect(rows.every((row) => row._deleted_at === null)).toBe(true)
    sandbox.script([])
    expect((await syncInOrder(sandbox, warehouse, options)).status).toBe('ok')
    expect(await held(warehouse)).toEqual(wanted)
    return struck
  }

  it.each([
    ['does not answer at its address', async () => sandbox.down(), {}],
    ['has no address', async () => {}, { baseUrl: 'https://shopsync.invalid' }],
  ] as const)(
    'an API that %s stops the run before it begins, and leaves the next one unharmed',
    async (_name, strike, change) => {
      await wipe(warehouse)
      fill()
      await strike()
      await expect(syncInOrder(sandbox, warehouse, { ...options, ...change })).rejects.toThrow()
      await sandbox.up()
      expect((await syncInOrder(sandbox, warehouse, options)).status).toBe('ok')
      expect(await held(warehouse)).toEqual(wanted)
    },
  )

  describe('a clock that was hours off', () => {
    const only: RunOptions = { ...options, resources: ['notes'] }
    /** The same updated_at each time, like a source that prints whole seconds: the later request has to win. */
    async function stores(description: string): Promise<void> {
      sandbox.store.put(1, 'notes', { ...template('notes', 350, time(350)), description })
      await syncInOrder(sandbox, warehouse, only)
      const rows = await rowsOf(warehouse, 'notes')
      expect(rows.find((row) => row.tenant_id === 1 && row.id === 350)).toMatchObject({ description })
    }
    beforeEach(async () => {
      await wipe(warehouse)
      fill()
    })

    it.each([7n, -7n])('by %i, and is corrected during a run, rolls nothing back', async (hours) => {
      clock.skew = hours * 3_600_000_000n
      await stores('first')
      let requests = 0
      const off = sandbox.onRequest(() => {
        if (++requests === 2) clock.skew = 0n
      })
      await stores('second')
      off()
      await stores('third')
    })

    it('and is set back after the run was killed, rolls nothing back', async () => {
      clock.skew = 7n * 3_600_000_000n
      await stores('first')
      // What a killed process leaves behind: rows, and a run that hasn't ended.
      const killed = warehouse.db.updateTable('sync_runs').set({ status: 'running', finished_at: null })
      const unsaid = warehouse.db.updateTable('sync_cursors').set({ last_success_at: null })
      await warehouse.write([killed.compile(), unsaid.compile()])
      clock.skew = 0n
      await stores('second')
    })
  })
})
