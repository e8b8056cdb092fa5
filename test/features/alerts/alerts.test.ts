/**
 * Incidents from their fault to their end: each kind is reported once within one run of its fault, and resolved once
 * within one run of its end; what follows from a problem of the whole run isn't reported. The mutants show that the
 * story notices.
 */
import { hostname } from 'node:os'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { forgetTenant } from '../../../src/features/forget/work.js'
import { openIncidents } from '../../../src/features/health/openincidents.js'
import { withAlerts } from '../../../src/features/health/tables.js'
import { namedRules } from '../../../src/features/health/telling.js'
import { createSandbox, type Sandbox, template } from '../../../src/sandbox/index.js'
import { depsOf, type RunReport, sync } from '../../support/harness/runs.js'
import { closeAll } from '../../support/harness/server.js'
import { open, rowsOf, startRun, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import {
  AlertingWorld,
  type Bites,
  lineOf,
  receiver,
  ruleOf,
  signingKey,
} from '../../support/world/alerting.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  await closeAll()
})

async function sandboxOfTwo(): Promise<Sandbox> {
  const sandbox = await createSandbox({ data: 'none', tenants: [{ id: 101 }, { id: 102 }] })
  closers.push(() => sandbox.close())
  for (const tenant of [101, 102])
    for (const resource of ['notes', 'payments'])
      sandbox.store.put(tenant, resource, template(resource, tenant, '2026-01-01T00:00:00Z'))
  return sandbox
}

async function worldOf(kind: Parameters<typeof open>[0], bites: Bites = {}) {
  const [sandbox, warehouse, hook] = [await sandboxOfTwo(), await open(kind), await receiver()]
  closers.push(() => warehouse.close())
  const world = new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url, { key: signingKey })], bites)
  return { world, sandbox, warehouse, hook }
}

const failing = [
  { when: { tenant: 101, resource: 'notes' }, fault: { kind: 'status', status: 500 } },
] as const

type Told = [step: string, ...messages: string[]][]

/** Every kind of incident, one after the other: what was reported after each run. */
class Deviation extends Error {}

async function story(kind: Parameters<typeof open>[0], bites: Bites = {}): Promise<Told> {
  const told: Told = []
  await chapters(await worldOf(kind, bites), told).catch((error: unknown) => {
    if (!(error instanceof Deviation)) throw error
  })
  return told
}

async function chapters(
  { world, sandbox, warehouse, hook }: Awaited<ReturnType<typeof worldOf>>,
  told: Told,
): Promise<void> {
  const step = async (name: string, ...run: Parameters<AlertingWorld['run']>): Promise<void> => {
    await world.run(...run)
    told.push([name, ...hook.take().map(lineOf)])
    // A mutant doesn't have to play the rest of the story.
    if (String(told.at(-1)) !== String(expected[told.length - 1])) throw new Deviation()
  }
  const put = (fields: object): void =>
    sandbox.store.put(
      102,
      'payments',
      { ...template('payments', 7, '2026-01-02T00:00:00Z'), ...fields },
      { key: 7 },
    )
  await step('first sync')
  sandbox.script(failing)
  await step('a cursor fails')
  await step('it still fails')
  sandbox.script([])
  await step('it is well again')
  put({ updated_at: 'yesterday' })
  await step('a record that cannot be stored', { mode: 'full' })
  sandbox.store.remove(102, 'payments', 7)
  put({ updated_at: '2026-01-03T00:00:00Z', amount_cents: 12.5 })
  await step('a value that cannot be stored', { mode: 'full' })
  put({ updated_at: '2026-01-04T00:00:00Z', amount_cents: 1250, loyalty: 'gold' })
  await step('a good value, and a new field', { mode: 'full' })
  await step('the new field again', { mode: 'full' })
  sandbox.store.revoke(101)
  await step('a tenant is revoked')
  sandbox.store.grant(101)
  await step('it is granted again')
  await world.pass(2)
  await step('only notes are synced, for two days', { resources: ['notes'] })
  await step('all are')
  await step('deletions are checked', { mode: 'reconcile' })
  await world.pass(4)
  await step('and not for four days')
  await step('and again', { mode: 'reconcile' })
  const wrong = { url: sandbox.url, partnerId: sandbox.partnerId, secret: 'wrong' }
  await world.pass(2)
  await step('the credentials are refused, while all grows stale', {}, wrong)
  await step('and still are', {}, wrong)
  await step('and no longer are')
  for (const tenant of [101, 102]) sandbox.store.revoke(tenant)
  await step('nobody grants anything')
  for (const tenant of [101, 102]) sandbox.store.grant(tenant)
  await step('they do again')
  const killed = { run_id: 'killed', mode: 'sync', status: 'running', started_at: '2999-01-01T00:00:00Z' }
  const started_at = new Date(Number(world.clock.nowMicros() / 1000n)).toISOString().replace('Z', '000Z')
  await warehouse.write([startRun(warehouse.db, { ...killed, started_at })])
  await step('the run before was killed')
  await step('and this one was not')
}

const expected: Told = [
  ['first sync'],
  ['a cursor fails', 'opened: failed 101/notes'],
  ['it still fails'],
  ['it is well again', 'resolved: failed 101/notes'],
  ['a record that cannot be stored', 'opened: quarantine 102/payments, unproven 102/payments'],
  ['a value that cannot be stored', 'resolved: unproven 102/payments'],
  ['a good value, and a new field', 'opened: drift 102/payments', 'resolved: quarantine 102/payments'],
  ['the new field again'],
  ['a tenant is revoked', 'opened: revoked 101'],
  ['it is granted again', 'resolved: revoked 101'],
  ['only notes are synced, for two days', 'opened: stale 101/payments, stale 102/payments'],
  ['all are', 'resolved: stale 101/payments, stale 102/payments'],
  ['deletions are checked'],
  [
    'and not for four days',
    'opened: deletes_unchecked 101/notes, deletes_unchecked 101/payments, deletes_unchecked 102/notes, deletes_unchecked 102/payments',
  ],
  [
    'and again',
    'resolved: deletes_unchecked 101/notes, deletes_unchecked 101/payments, deletes_unchecked 102/notes, deletes_unchecked 102/payments',
  ],
  ['the credentials are refused, while all grows stale', 'opened: failed run'],
  ['and still are'],
  ['and no longer are', 'resolved: failed run'],
  ['nobody grants anything', 'opened: failed run'],
  ['they do again', 'resolved: failed run'],
  ['the run before was killed', 'opened: failed run', 'resolved: failed run'],
  ['and this one was not'],
]

describe.each(warehouses())('$name', (kind) => {
  it('each kind is reported once within a run of its fault, and resolved once within a run of its end', async () => {
    expect(await story(kind)).toEqual(expected)
  })
})

const [anyKind] = warehouses()
const set = (values: object) => (warehouse: Warehouse) =>
  warehouse.write([withAlerts(warehouse.db).updateTable('sync_alerts').set(values).compile()])
const mutants: [name: string, bites: Bites][] = [
  ['what was told is forgotten', { afterwards: set({ told: '{}' }) }],
  ['nothing is ever over', { afterwards: set({ lasts: 'reconcile' }) }],
  ['trouble of the whole run swallows nothing', { ended: ({ error: _error, ...run }) => run }],
  ['what follows from no trouble is swallowed', { ended: (run) => ({ ...run, error: new Error('whole') }) }],
  [
    'news is taken for known',
    {
      afterwards: ({ db, write }) =>
        db
          .deleteFrom('sync_meta')
          .where('name', '=', 'alerts')
          .execute()
          .then(() => write),
    },
  ],
]

describe('the story notices that', () => {
  it.each(mutants)('%s', async (_name, bites) => {
    expect(await story(anyKind!, bites)).not.toEqual(expected)
  })
})

describe.each(warehouses())('reporting, $name', (kind) => {
  it('signs as the Standard Webhooks reference verifies, each message with its own id', async () => {
    const { world, sandbox, hook } = await worldOf(kind)
    await world.run()
    sandbox.script(failing)
    await world.run()
    sandbox.script([])
    await world.run()
    expect(hook.got).toHaveLength(2)
    for (const { headers, body } of hook.got) {
      // The world's clock has skipped nothing yet: the reference only accepts messages from the last minutes.
      expect(new Webhook(signingKey).verify(body, headers)).toEqual(JSON.parse(body))
      const altered = body.replace('101', '102')
      expect(() => new Webhook(signingKey).verify(altered, headers)).toThrow()
      expect(() => new Webhook(`${signingKey.slice(0, -4)}AAAA`).verify(body, headers)).toThrow()
    }
    expect(new Set(hook.got.map(({ headers }) => headers['webhook-id'])).size).toBe(2)
    const [opened] = hook.take()
    expect(opened).toEqual({
      type: 'opened',
      text: expect.stringMatching(
        /^shopsync on \S+: needs attention: tenant 101, notes: failed since \S+ \d\d:\d\d UTC: .*500/,
      ),
      incidents: [
        {
          kind: 'failed',
          tenant_id: 101,
          resource: 'notes',
          since: expect.stringMatching(/^20.*Z$/),
          message: expect.stringContaining('tenant 101, notes: '),
          advice: expect.stringContaining('shopsync check'),
        },
      ],
      run_id: expect.stringMatching(/^\d{8}T\d{6}-/),
      job: null,
      warehouse: 'sqlite:./warehouse.db',
      name: hostname(),
    })
    expect(opened?.text).not.toContain('\n')
  })

  it('the text is for people: which installation, which shop, what, since when, what to do, and no address', async () => {
    const { world, sandbox, hook } = await worldOf(kind)
    world.settings = {
      alerts: { name: 'Berlin <main>', rules: world.rules, heartbeat: undefined },
      tenantNames: { 101: 'Main Street Auto & Sons' },
    }
    await world.run()
    sandbox.script(failing)
    await world.run()
    const [opened] = hook.take()
    expect(opened?.name).toBe('Berlin <main>')
    expect(opened?.text).toMatch(
      /^shopsync on Berlin &lt;main&gt;: needs attention: Main Street Auto &amp; Sons \(tenant 101\), notes: failed since 20\d\d-\d\d-\d\d \d\d:\d\d UTC: Gave up after 3 attempts: the API answered 500, expected 200\. The next run tries again\. Type shopsync check/,
    )
    expect(opened?.text).not.toMatch(/GET|\/api\/|https?:|updated_after/)
    expect(opened?.incidents[0]?.message).toContain('GET /api/')
    sandbox.script([])
    await world.run()
    const [over] = hook.take()
    expect(over?.text).toMatch(
      /^shopsync on Berlin &lt;main&gt;: over: Main Street Auto &amp; Sons .*notes: failed since/,
    )
    expect(over?.text).not.toContain('Type shopsync')
  })

  it('nothing from the source acts as markup in a chat', async () => {
    const { world, sandbox, hook } = await worldOf(kind)
    await world.run()
    const odd = { '<!channel> <https://evil.example|look> & more': true }
    sandbox.store.put(101, 'notes', { ...template('notes', 5, '2026-01-05T00:00:00Z'), ...odd })
    await world.run()
    const [news] = hook.take()
    expect(news?.incidents).toMatchObject([{ kind: 'drift' }])
    expect(news?.text).toContain('&lt;!channel&gt;')
    expect(news?.text).toContain('&amp; more')
    expect(news?.text).not.toMatch(/[<>]|&(?!(?:amp|lt|gt);)/)
  })

  it('a webhook that is down delays nobody who is waiting, and gets the message from the next run', async () => {
    const { world, sandbox, hook } = await worldOf(kind)
    await world.run()
    world.settings = { isAwaited: true, budgetMs: 600_000 }
    sandbox.script(failing)
    hook.status = 503
    const before = world.clock.nowMicros()
    await world.run()
    // Out of the ten minutes that nobody would wait.
    expect(world.clock.nowMicros() - before).toBeLessThan(60_000_000n)
    expect(world.notices).toMatchObject([['An alert was not accepted; the next run tries again', {}]])
    hook.status = 200
    hook.take()
    await world.run()
    expect(hook.take().map(lineOf)).toEqual(['opened: failed 101/notes'])
  })

  it('keeps what nobody accepted, sends it in the next run under the same id, and never sends its end first', async () => {
    const { world, sandbox, warehouse, hook } = await worldOf(kind)
    await world.run()
    hook.status = 503
    sandbox.script(failing)
    await world.run()
    const open = (resources: string[] | null) =>
      openIncidents(warehouse, warehouse.db, { tenants: [101], resources })
    expect(await open(null)).toMatchObject([{ kind: 'failed', tenant_id: 101, resource: 'notes' }])
    expect(await open(['payments'])).toEqual([])
    const name = hook.got[0]?.headers['webhook-id']
    expect(hook.got.length).toBeGreaterThan(1)
    expect(world.notices).toEqual([
      [
        'An alert was not accepted; the next run tries again',
        { rule: 'alerts.rules[0] (webhook)', found: expect.stringMatching(/^it answered 503/), incidents: 1 },
      ],
    ])
    expect(JSON.stringify(world.notices)).not.toContain('hidden-token')
    hook.status = 200
    hook.take()
    await world.run()
    expect(hook.take().map(lineOf)).toEqual(['opened: failed 101/notes'])
    expect(new Set(hook.got.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([name]))
    // A silent receiver delays the run no longer than allowed.
    world.settings = { budgetMs: 300 }
    hook.status = 0
    sandbox.script([])
    await world.run()
    expect(world.notices.at(-1)?.[1]).toMatchObject({
      found: expect.stringMatching(/^no answer came within/),
    })
    hook.status = 410
    sandbox.script([{ ...failing[0], when: { tenant: 102 } }])
    await world.run()
    sandbox.script([])
    hook.status = 200
    hook.take()
    await world.run()
    expect(await open(null)).toEqual([])
    // Nobody hears about a problem that started and ended meanwhile.
    expect(hook.take().map(lineOf)).toEqual(['resolved: failed 101/notes'])
  })

  it("waits as the rule demands, reports each rule's kinds, and reports once even if two runs end together", async () => {
    const { world, sandbox, hook } = await worldOf(kind)
    const late = await receiver()
    world.rules = [ruleOf(hook.url, { on: ['failed'] }), ruleOf(late.url, { after: 7_200_000 })]
    await world.run()
    sandbox.script(failing)
    world.settings = { alerts: { rules: [], heartbeat: undefined } }
    await world.run()
    world.settings = {}
    const ended = { runId: null, job: null, startedAt: '2999-01-01T00:00:00.000000Z', reports: [] }
    await Promise.all([world.tell(ended), world.tell(ended), world.tell(ended)])
    // A rule added after the start of the incident still reports it.
    expect(hook.take().map(lineOf)).toEqual(['opened: failed 101/notes'])
    expect(late.take()).toEqual([])
    await world.clock.sleep(7_200_000)
    await world.run()
    expect([hook.take(), late.take().map(lineOf)]).toEqual([[], ['opened: failed 101/notes']])
    sandbox.script([])
    sandbox.store.revoke(102)
    await world.run()
    expect(hook.take().map(lineOf)).toEqual(['resolved: failed 101/notes'])
    expect(late.take().map(lineOf)).toEqual(['resolved: failed 101/notes'])
  })

  it('differences found by verify last until a comparison finds none; forget erases what is known of a tenant', async () => {
    const { world, warehouse, hook } = await worldOf(kind)
    await world.run()
    await world.run({ mode: 'reconcile' })
    const report = await lastReport(world)
    const cursors = report.cursors.map((cursor) => ({
      ...cursor,
      status: cursor.tenant_id === 101 ? ('failed' as const) : cursor.status,
      error: 'differs: 1 missing',
    }))
    const startedAt = report.started_at
    await world.tell({
      runId: 'v',
      job: 'weekly',
      startedAt,
      reports: [{ ...report, mode: 'verify', cursors }],
    })
    expect(hook.take().map(lineOf)).toEqual(['opened: failed 101/notes, failed 101/payments'])
    await world.run()
    expect(hook.take()).toEqual([])
    const about = async (): Promise<number> =>
      (await rowsOf(warehouse, 'sync_alerts')).filter(({ tenant_id }) => tenant_id === 101).length
    expect(await about()).toBe(2)
    await world.run({ mode: 'reconcile' })
    expect(hook.take().map(lineOf)).toEqual(['resolved: failed 101/notes, failed 101/payments'])
    const { deps, close } = await depsOf(world.sandbox, warehouse)
    await forgetTenant(deps, 101)
    await close()
    expect(await about()).toBe(0)
  })

  it('a message has a size that every receiver accepts, and counts what it does not name', async () => {
    const { world, hook } = await worldOf(kind)
    await world.run()
    await world.run({ mode: 'reconcile' })
    const report = await lastReport(world)
    const [cursor] = report.cursors
    const failing = Array.from({ length: 60 }, (_, tenant) => ({
      ...cursor!,
      tenant_id: 1000 + tenant,
      status: 'failed' as const,
      error: `differs: ${'long '.repeat(5000)}`,
    }))
    const _synced_at = fromMicros(world.clock.nowMicros())
    const rows = failing.map(({ tenant_id }) => ({ tenant_id, _synced_at }))
    await world.warehouse.write([world.warehouse.db.insertInto('tenants').values(rows).compile()])
    const { started_at: startedAt } = report
    const verify = { ...report, mode: 'verify' as const, cursors: failing }
    await world.tell({ runId: 'v', job: null, startedAt, reports: [verify] })
    const [opened] = hook.take()
    expect(hook.got.at(-1)?.body.length).toBeLessThan(16_000)
    expect(opened?.text).toContain(' … and 57 more incidents')
    expect((opened?.incidents.length ?? 0) + (opened?.more ?? 0)).toBe(60)
    // All of them count as told, and all of them are told to be over.
    await world.tell({ runId: 'v', job: null, startedAt, reports: [verify] })
    expect(hook.take()).toEqual([])
    const fine = failing.map((one) => ({ ...one, status: 'ok' as const }))
    await world.tell({ runId: 'w', job: null, startedAt, reports: [{ ...verify, cursors: fine }] })
    const [resolved] = hook.take()
    expect(resolved?.type).toBe('resolved')
    expect((resolved?.incidents.length ?? 0) + (resolved?.more ?? 0)).toBe(60)
    expect(hook.got.at(-1)?.body.length).toBeLessThan(16_000)
  })

  it('what a killed process may have told is told again as it was, under the same id', async () => {
    const { world, sandbox, warehouse, hook } = await worldOf(kind)
    await world.run()
    sandbox.script(failing)
    await world.run()
    const [before] = hook.take()
    // The process died after the message was sent, and before it could record that.
    const [rule] = namedRules(world.rules)
    const claimed = fromMicros(world.clock.nowMicros())
    await set({ told: JSON.stringify({ [rule?.id ?? '']: { claimed } }) })(warehouse)
    await world.clock.sleep(180_000)
    sandbox.script([...failing, { ...failing[0], when: { tenant: 102 } }])
    await world.run()
    const again = hook.take()
    expect(again.map(lineOf)).toEqual([
      'opened: failed 101/notes',
      'opened: failed 102/notes, failed 102/payments',
    ])
    expect(again[0]?.incidents).toEqual(before?.incidents)
    const ids = hook.got.map(({ headers }) => headers['webhook-id'])
    expect([ids[1] === ids[0], ids[2] === ids[0]]).toEqual([true, false])
  })

  it('a warehouse that is down is reported by every run that fails because of it', async () => {
    const { world, hook } = await worldOf(kind)
    const error = new Stop('Could not reach the warehouse', { exitCode: 3, hint: 'Start it' })
    world.settings = { warehouse: () => Promise.reject(error) }
    const ended = { runId: null, job: 'hourly', startedAt: '2026-01-01T00:00:00.000000Z', reports: [], error }
    await world.tell(ended)
    await world.tell(ended)
    const told = hook.take()
    expect(told.map(lineOf)).toEqual(['opened: failed run', 'opened: failed run'])
    expect(told[0]?.incidents).toMatchObject([
      { message: 'Could not reach the warehouse', advice: 'Start it' },
    ])
  })
})

const lastReport = async (world: AlertingWorld): Promise<RunReport> =>
  sync(world.sandbox, world.warehouse, { resources: ['notes', 'payments'], clock: world.clock })
