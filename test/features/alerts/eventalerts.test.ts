/**
 * Incidents of events (eventalerts.txt): who receives them, what waits, what no list shows; and what the listener's check reports
 * and leaves to runs.
 */
import { Stop } from '../../../src/engine/base/errors.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { open, rowsOf } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf } from '../../support/world/alerting.js'
import { EventBench } from '../../support/world/events.js'
import { Steps, storyTests, type WordsOf } from '../../support/world/stories.js'

const sandbox = await sandboxOfFile()

interface Stage {
  readonly world: Awaited<ReturnType<typeof AlertingWorld.of>>
  readonly events: EventBench
  /** When something was told of before, by what it is. */
  readonly moments: Map<string, string>
}

/** A number of seconds before now. */
const ago = ({ world }: Stage, seconds: string | number): string =>
  fromMicros(world.clock.nowMicros() - BigInt(seconds) * 1_000_000n)
const told = ({ world }: Stage): string => world.hook.take().map(lineOf).join('; ') || 'nothing'
const setLease = ({ world }: Stage, lease: object) =>
  world.warehouse.db.updateTable('sync_lease').set(lease).where('name', '=', 'run').execute()

const words: WordsOf<Stage> = {
  look: async (stage) => {
    await stage.world.look()
    return told(stage)
  },
  run: async (stage) => {
    await stage.world.run()
    return told(stage)
  },
  'a listener[ WORD]: REST': (stage, listener_id, text = '') => {
    const columns = text.split(', ').map((part): readonly [string, string | null] => {
      const [name = '', value = ''] = part.split(' ')
      if (name === 'trouble') return [name, value === 'none' ? null : value]
      return [`${name}_at`, ago(stage, value)]
    })
    const row = Object.fromEntries(columns)
    if (row.seen_at) stage.moments.set(row.seen_at, 'when it was seen')
    return stage.events.listens(listener_id === undefined ? row : { listener_id, ...row })
  },
  'of WORD due REST': (stage, resource = '', text = '') => {
    const due_at = text === 'never' ? null : ago(stage, Number(text))
    // It is late after 15 minutes.
    if (due_at !== null)
      stage.moments.set(
        fromMicros(BigInt(Date.parse(due_at) + 900_000) * 1000n).slice(0, 19),
        `late, of ${resource}`,
      )
    return stage.events.putRows([{ resource, received_at: ago(stage, 90_000), due_at }])
  },
  'N of WORD WORD for WORD[ of N]': (stage, amount, resource = '', state, reason, tenant) => {
    const row = { received_at: ago(stage, 2000), settled_at: ago(stage, 1000), due_at: null, state, reason }
    const own = tenant === undefined ? { resource } : { resource, tenant_id: Number(tenant) }
    return stage.events.putRows(Array.from({ length: Number(amount) }, () => ({ ...row, ...own })) as never)
  },
  'nothing is due': ({ events: { inbox } }) =>
    inbox.write([inbox.db.deleteFrom('sync_events').where('due_at', 'is not', null).compile()]),
  'a run works on WORD': async (stage, resource = '') => {
    const run = { owner: 'run-1', command: 'sync', host: 'elsewhere', pid: 1, token: 99 }
    await setLease(stage, { ...run, claimed_at: ago(stage, 3000), expires_at: ago(stage, -30) })
    const page = { run_id: run.owner, way: 'walk', page: 1, rows_written: 1, synced_at: ago(stage, 30) }
    const { db } = stage.world.warehouse
    await db
      .insertInto('sync_requests')
      .values({ tenant_id: 101, resource, ...page })
      .execute()
  },
  'it works on nothing': ({ world }) =>
    world.warehouse.db.deleteFrom('sync_requests').where('run_id', '=', 'run-1').execute(),
  'it has ended': (stage) => setLease(stage, { owner: null }),
  // A run has ended with this.
  'notes WORD[ WORD]': ({ world }, status, reason = null as never) =>
    world.warehouse.db
      .updateTable('sync_cursors')
      .set({ status, reason, last_error: 'no answer' })
      .where('resource', '=', 'notes')
      .execute(),
  'a whole run breaks': async (stage) => {
    const error = new Stop('Something broke', { exitCode: 1 })
    await stage.world.tell({ runId: null, job: null, startedAt: ago(stage, 0), reports: [], error })
    return told(stage)
  },
  'N seconds pass': ({ world }, seconds) => world.clock.sleep(Number(seconds) * 1000),
  incidents: async ({ world, moments }) => {
    const rows = await rowsOf(world.warehouse, 'sync_alerts')
    return rows
      .filter(({ resolved_at }) => resolved_at === null)
      .map(({ since, message, advice }) => {
        const from = moments.get(String(since)) ?? moments.get(String(since).slice(0, 19))
        return `${from === undefined ? '' : `since ${from}: `}${message}. ${advice}`.replace(
          /20\d\d-\S+ \S+ UTC/,
          'MOMENT',
        )
      })
      .sort()
      .join('\n')
  },
}

storyTests('test/features/alerts/eventalerts.txt', new Steps(words), (kind) => async () => {
  const world = await AlertingWorld.of(sandbox, await open(kind), [101])
  await world.run()
  const events = await EventBench.open(sandbox, world.warehouse)
  return { world, events, moments: new Map<string, string>() }
})
