/* `shopsync events ring`: makes lists due as an event would, and waits until they have been read. */
import { randomUUID } from 'node:crypto'
import { Stop } from '../../engine/base/errors.js'
import { count, plural } from '../../engine/base/format.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { sourceAddress } from '../../engine/config/sourceaddress.js'
import { LeaseHeld } from '../../engine/warehouse/lease/holder.js'
import { type CursorKey, cursorName, listCursors, rowName } from '../../engine/warehouse/state/cursors.js'
import { checkSourceIdentity } from '../../engine/warehouse/state/sourceidentity.js'
import type { CommandContext } from '../../shell/command.js'
import { eventParts } from './events.js'
import { Inbox } from './inbox.js'
import { RingMemory } from './ringmemory.js'
import { eventSettings } from './settings.js'
import { isSynced, readSynced } from './synced.js'
import { takeTurn } from './turn.js'

/** How long to wait for lists, and between two checks, in milliseconds. */
const patience = 60_000
const betweenLooks = 500

/** The JSON document of `events ring`. */
interface RungByHand {
  /** How many lists were made due. */
  readonly rung: number
  /** How many of them a walk has read since. */
  readonly settled: number
  /** Lists that haven't been read yet. */
  readonly waiting: number
}

export async function ringByHand(context: CommandContext): Promise<RungByHand> {
  const { config, clock, invocation, choice } = context
  const { signal } = invocation.signals
  const warehouse = await context.open('write')
  // Before anything is stored: its own listener would take it for a ring of its own.
  await checkSourceIdentity(warehouse, sourceAddress(config.api))
  const there = await Inbox.there(warehouse, { clock, signal })
  if (!there)
    throw new Stop('Nobody has received events for this warehouse yet', {
      exitCode: 2,
      hint: 'Type shopsync sync, with --tenant and --resource, to read lists now; shopsync listen receives events',
    })
  await there.close()
  // No listener of this version may have upgraded it yet.
  const inbox = await Inbox.open(warehouse, { clock, signal })
  context.onClose(() => inbox.close())
  const synced = await readSynced(config, warehouse)
  const { tenants, resources } = choice
  const cursors = new Set((await listCursors(warehouse, [])).map(rowName))
  const keys = [...synced.tenants].flatMap((tenantId) =>
    [...synced.resources.keys()].flatMap((resource): CursorKey[] => {
      const isChosen = (tenants?.includes(tenantId) ?? true) && (resources?.includes(resource) ?? true)
      const key = { tenantId, resource }
      const of = isChosen && cursors.has(cursorName(key)) ? isSynced(synced, key).resource : undefined
      return of?.resource.list === 'records' ? [key] : []
    }),
  )
  const now = fromMicros(clock.nowMicros())
  const event_id = `by-hand-${randomUUID()}`
  const rows = keys.map(({ tenantId, resource }) => ({
    tenant_id: tenantId,
    event_id,
    resource,
    type: '',
    action: '',
    record_id: 0,
    received_at: now,
    deliveries: 1,
    state: 'waiting',
    tries: 0,
    due_at: now,
  }))
  if (rows.length > 0) await inbox.insert(rows, [])
  await settle(context, inbox, event_id)
  return readRung(inbox, event_id)
}

/** Takes turns while nobody holds the lease, and otherwise waits for its holder, until no list waits. */
async function settle(context: CommandContext, inbox: Inbox, eventId: string): Promise<void> {
  const { clock, invocation } = context
  const { signal } = invocation.signals
  const deps = await context.dependencies(await context.open('write'))
  const settings = { ...eventSettings(context.config), settle: 0 }
  const until = clock.nowMicros() + BigInt(patience) * 1000n
  for (;;) {
    const { waiting } = await readRung(inbox, eventId)
    if (waiting === 0 || signal.aborted || clock.nowMicros() >= until) return
    try {
      await takeTurn({ deps, inbox, settings, memory: new RingMemory(), asksAuthorizations: false })
    } catch (error) {
      if (!(error instanceof LeaseHeld)) throw error
    }
    if ((await readRung(inbox, eventId)).waiting > 0) await clock.sleep(betweenLooks, signal)
  }
}

/** What has become of the lists, as the inbox has it. */
async function readRung(inbox: Inbox, eventId: string): Promise<RungByHand> {
  const rows = await eventParts(inbox, ['state'], { eventId })
  const inState = (wanted: string): number => rows.filter(({ state }) => state === wanted).length
  return { rung: rows.length, settled: inState('settled'), waiting: inState('waiting') }
}

export function rungText({ rung, settled, waiting }: RungByHand): string {
  if (rung === 0) return 'No list was made due: the flags choose no list that is synced.'
  if (settled === rung) return `${plural(rung, 'list')} made due and read.`
  const made = `${plural(rung, 'list')} made due, ${count(settled)} read`
  if (waiting === 0) return `${made}; the others were not: shopsync events list`
  return `${made}; ${count(waiting)} still wait: shopsync events list --state waiting`
}
