/**
 * The states of a cursor (faces.txt), and what the four faces make of each: `status` its line and exit code, alerts their
 * incidents, the metrics their counts, and the report its answer to "Can I trust it?".
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import { done, shopsync } from '../../support/harness/call.js'
import { metricsOf } from '../../support/harness/metrics.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { restoreTimeOfDay, setTimeOfDay } from '../../support/harness/shiftedclock.js'
import { reopen, type Warehouse } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf, receiver, ruleOf } from '../../support/world/alerting.js'
import { Steps, storyTests, type WordsOf } from '../../support/world/stories.js'

/** Every story begins at this moment; so many hours before it. */
const now = Date.parse('2026-11-20T12:00:00Z')
const ago = (hours: number): string => fromMicros(BigInt(now - Math.round(hours * 3_600_000)) * 1000n)
setTimeOfDay(now)

// No figure of the report depends on notes.
const resources = ['customers', 'notes', 'payments']
const sandbox = await sandboxOfFile()
for (const tenant of [101, 102]) {
  sandbox.store.addTenant({ id: tenant })
  for (const resource of resources)
    sandbox.store.put(tenant, resource, template(resource, tenant, '2026-01-01T00:00:00Z'))
}
afterAll(restoreTimeOfDay)

const well = {
  status: 'ok',
  completeness: 'proven',
  watermark: ago(3),
  last_success_at: ago(2),
  complete_through: ago(2),
  deletes_checked_at: ago(2),
}
type Cursor = Readonly<Record<string, string | null>>

/** What is said of a cursor besides its columns. */
const phrases: Readonly<Record<string, Cursor>> = {
  'never read': Object.fromEntries(Object.keys(well).map((name) => [name, null])),
  down: { status: 'failed', reason: 'unreachable', last_error: 'GET payments answered 500' },
}

/** `down, read 73 hours ago, refill a column was added`; a number is of hours, before now. */
function cursorOf(text: string): Cursor {
  const parts = text.split(', ').map((part): Cursor => {
    const [, name = '', value = ''] = /^(\S+) (.*)$/.exec(part) ?? []
    const shown = /^-?[\d.]+ hours ago$/.test(value) ? ago(Number.parseFloat(value)) : value
    const columns = name === 'read' ? ['last_success_at', 'complete_through'] : [name]
    const given = columns.map((column) => [column, shown === 'never' ? null : shown])
    return phrases[part] ?? Object.fromEntries(given)
  })
  return Object.assign({}, ...parts)
}

interface Stage {
  readonly warehouse: Warehouse
  does(...statements: readonly string[]): Promise<void>
  configured(settings?: object): string
  settings: object
  except: readonly number[]
}

/** A run has been at work for so many hours. */
const works = ({ does }: Stage, command: string, hours: string, lease = 'run'): Promise<void> =>
  does(
    `update @sync_lease set owner = 'a run', command = '${command}', host = 'elsewhere', claimed_at = '${ago(Number(hours))}', expires_at = '${ago(-1 / 60)}' where name = '${lease}'`,
  )

const words: WordsOf<Stage> = {
  'N WORD: no run has begun it': ({ does }, tenant, list) =>
    does(`delete from @sync_cursors where tenant_id = ${tenant} and resource = '${list}'`),
  'N WORD: REST': ({ warehouse }, tenant, list, text) =>
    warehouse.db
      .updateTable('sync_cursors')
      .set(cursorOf(String(text)))
      .where('tenant_id', '=', Number(tenant))
      .where('resource', '=', String(list))
      .execute(),
  '(sync|listen) is at work for N hours': (stage, command = '', hours = '') => works(stage, command, hours),
  // The lease of the shard 0/2 doesn't have tenant 101.
  'a shard of other tenants is at work': async (stage) => {
    await stage.does("insert into @sync_lease (name, token) values ('0/2', 0)")
    await works(stage, 'sync', '1', '0/2')
  },
  'N is not granted any more': ({ does }, tenant) =>
    does(`update @tenants set revoked_at = '${ago(20)}' where tenant_id = ${tenant}`),
  'N is forgotten': ({ does }, tenant) =>
    does(
      `delete from @sync_cursors where tenant_id = ${tenant}`,
      `delete from @tenants where tenant_id = ${tenant}`,
      `insert into @sync_forgotten (tenant_id, forgotten_at) values (${tenant}, '${ago(1)}')`,
    ),
  'a value is set aside': ({ does }) =>
    does(
      `insert into @sync_quarantine (tenant_id, resource, record_id, path, value, reason, first_seen_at, last_seen_at) values (101, 'payments', '1', 'amount_cents', '12.5', 'fraction', '${ago(0)}', '${ago(0)}')`,
    ),
  'the configuration leaves N out': (stage, tenant) => {
    stage.except = [Number(tenant)]
    stage.settings = { sync: { exceptTenants: stage.except } }
  },
  'the configuration names another source': (stage) => {
    stage.settings = { api: { baseUrl: 'http://127.0.0.1:9' } }
  },
  look: (stage) => look(stage),
}

const states = 'ok stale failed unproven late unavailable never loading revoked excepted'.split(' ')
/** What any face says of late records; undefined if nothing. */
const lateIn = (text: string): string | undefined =>
  /[a-z_, ]+ may lack late records since \w+ \d+/.exec(text)?.[0].trim()

/** What a receiver of alerts is told, and what the metrics count then. */
async function watched({ warehouse, except }: Stage) {
  const options = {
    resources,
    exceptTenants: except,
    staleAfterMs: 26 * 3_600_000,
    deletesUncheckedAfterMs: 72 * 3_600_000,
    nowMicros: BigInt(Date.now()) * 1000n,
  }
  const hook = await receiver()
  const world = new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url)])
  world.settings = options
  await world.look()
  const opened = hook.take().filter(({ type }) => type === 'opened')
  return { opened: opened.map(lineOf).join('; '), metrics: await metricsOf(warehouse, options) }
}

/** All faces, in lines: an open incident is one more reason for `status` to end with 1. */
async function look(stage: Stage): Promise<string> {
  const config = stage.configured(stage.settings)
  const run = (...words: string[]) => shopsync([...words, '--config', config])
  const before = await run('status', '--json')
  const { headline, cursors } = before.json<{
    readonly headline: string
    readonly cursors: readonly Readonly<Record<string, unknown>>[]
  }>()
  const shown = cursors.find(({ tenant_id, resource }) => tenant_id === 101 && resource === 'payments')
  const late = lateIn(headline)
  if (late !== undefined) {
    const page = join(scratch(), 'page.html')
    await run('report', '--operations', '--out', page)
    for (const text of [readFileSync(page, 'utf8'), (await run('status')).stdout])
      expect(lateIn(text)).toBe(late)
  }
  const { opened, metrics } = await watched(stage)
  const after = await run('status', '--quiet')
  const report = (await run('report', '--json', '--out', '/dev/null')).json<{
    readonly answers: readonly { readonly tone: string; readonly answer: string }[]
  }>()
  const { tone, answer } = report.answers[0]!
  expect({
    ...Object.fromEntries(states.map((state) => [state, metrics.sum('cursors', { state })])),
    unchecked: metrics.sum('cursors_deletes_unchecked'),
    open: metrics.sum('incidents_open'),
  }).toEqual({
    ...Object.fromEntries(
      states.map((state) => [state, cursors.filter((one) => one.state === state).length]),
    ),
    unchecked: cursors.filter((one) => one.deletes_unchecked).length,
    open: Number(/(\d+) incidents? (?:is|are) open/.exec(answer)?.[1] ?? 0),
  })
  const quiet = after.stderr.trimEnd().replaceAll(/^shopsync: status: /gm, '')
  const said: readonly (readonly [face: string, text: string | undefined])[] = [
    ['state', `${shown?.state ?? 'none'}${shown?.deletes_unchecked ? ', deletions unchecked' : ''}`],
    ['exit code', before.code === after.code ? `${before.code}` : `${before.code}, later ${after.code}`],
    ['headline', late],
    ['status', quiet.replace(/since \S+ \S+ UTC/, 'since MOMENT')],
    ['alerts', opened],
    ['report', `${tone}: ${answer}`],
  ]
  return said
    .flatMap(([face, text]) => (text ? [`${face}: ${text.replaceAll(sandbox.url, 'URL')}`] : []))
    .join('\n')
}

storyTests('test/features/health/faces.txt', new Steps(words), (kind) => {
  let warehouse: Warehouse
  let schema = ''
  let configured: Stage['configured']

  beforeAll(async () => {
    const address = await kind.viewed()
    schema = kind.name === 'sqlite' ? '' : `"${address.schema}".`
    const report = { tenantNames: { 101: 'Main' } }
    configured = (settings) => configure(sandbox, address, resources, { report, ...settings })
    await done(configured(), 'sync')
    warehouse = await reopen(address)
  })

  const does: Stage['does'] = async (...statements) => {
    for (const one of statements) await sql.raw(one.replaceAll('@', schema)).execute(warehouse.db)
  }

  /** Everything is well. */
  return async () => {
    setTimeOfDay(now)
    const tables = ['sync_alerts', 'sync_quarantine', 'sync_forgotten', 'tenants', 'sync_cursors']
    await does(
      ...tables.map((table) => `delete from @${table}`),
      "delete from @sync_lease where name <> 'run'",
      'update @sync_lease set owner = null, command = null',
      'insert into @tenants (tenant_id) values (101), (102)',
    )
    const cursors = [101, 102].flatMap((tenant_id) =>
      resources.map((resource) => ({ tenant_id, resource, ...well })),
    )
    await warehouse.db.insertInto('sync_cursors').values(cursors).execute()
    return { warehouse, does, configured, settings: {}, except: [] }
  }
})
