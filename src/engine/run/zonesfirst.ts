/*
 * On the first load of a tenant the records that rows follow from wait for the list of its shops: their days are those of
 * the shops' zones, and rows of other zones would all be computed anew when the run ends. Nothing else waits, and nothing
 * is asked for that would not be asked for anyway.
 */
import { zoneField } from '../../../schema/naming.js'
import type { Int64 } from '../../../schema/resource.js'
import { settleDerived } from './catchup.js'
import type { Begin, CursorResult } from './cursorwork.js'
import { type CursorContext, type CursorTask, type RunContext, stateOf } from './runcontext.js'

/** A source that answers for the shops late, or never, must not keep orders from coming: computing them anew is cheaper. */
const patienceMs = 20_000

type Context = Pick<CursorContext, 'cursors' | 'besideRows'>

const saysZones = ({ resource }: CursorTask): boolean => resource.name === zoneField.resource

/** Whether rows follow from the records of the cursor, and none of them is stored yet. */
function isFirstLoad(context: Context, task: CursorTask): boolean {
  if (!context.besideRows || task.resource.derived.length === 0) return false
  const state = stateOf(context, task)
  return !state || (state.watermark === null && state.walk === null && !state.refillWalk)
}

/** The cursors in their order, but that of a tenant's shops right before the first that waits for it. */
export function zonesFirst(context: Context, tasks: readonly CursorTask[]): CursorTask[] {
  const shops = new Map(tasks.filter(saysZones).map((task) => [task.tenantId, task]))
  // A set keeps each cursor at its first place.
  const ordered = new Set<CursorTask>()
  for (const task of tasks) {
    const before = isFirstLoad(context, task) ? shops.get(task.tenantId) : undefined
    if (before) ordered.add(before)
    ordered.add(task)
  }
  return [...ordered]
}

/** Works as `begin` does, on cursors in that order. */
export function waitingForZones(context: RunContext, begin: Begin): Begin {
  const shops = new Map<Int64, Promise<unknown>>()
  /** One for all cursors of a tenant: what comes behind it must not be computed with other zones again. */
  const learned = new Map<Int64, Promise<void>>()
  const learn = async (tenantId: Int64, read: Promise<unknown>): Promise<void> => {
    if (await isSoon(context, read)) await learnZones(context, tenantId)
  }
  return (task, source) => {
    const { tenantId } = task
    const work = begin(task, source)
    const run = (): Promise<CursorResult> => {
      if (saysZones(task)) {
        const read = work.run()
        shops.set(tenantId, read)
        return read
      }
      const read = isFirstLoad(context, task) ? shops.get(tenantId) : undefined
      if (!read) return work.run()
      const zones = learned.get(tenantId) ?? learn(tenantId, read)
      learned.set(tenantId, zones)
      return zones.then(() => work.run())
    }
    return {
      run,
      get progress() {
        return work.progress
      },
    }
  }
}

/** Whether the shops have been read before patience, or the run, ends. */
async function isSoon({ clock, signal }: RunContext, read: Promise<unknown>): Promise<boolean> {
  const done = new AbortController()
  const late = clock.sleep(patienceMs, AbortSignal.any([signal, done.signal])).then(() => false)
  const soon = read.then(
    () => true,
    () => false,
  )
  return Promise.race([soon, late]).finally(() => done.abort())
}

/** Takes the tenant's zones for its rules, and notes that it has no rows of other ones. */
async function learnZones(context: RunContext, tenantId: Int64): Promise<void> {
  const { warehouse } = context
  const before = warehouse.rules.textOf(tenantId)
  await warehouse.learnRules(tenantId)
  if (warehouse.rules.textOf(tenantId) !== before) await settleDerived(context)
}
