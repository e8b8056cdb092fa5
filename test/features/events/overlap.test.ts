/**
 * Rings go back less far than the overlap, and move the watermark. A record that becomes visible late, in a list without its
 * own events or after its event was lost, must reach the warehouse with the next planned walk all the same, and its lateness
 * has to be noticed: the stories of overlap.txt.
 */
import { addMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import { addLateness, rowsOf } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { EventWorld } from '../../support/world/eventworld.js'
import { liveIds, only } from '../../support/world/notes.js'
import { Steps, storyTests } from '../../support/world/stories.js'

const begin = '2026-03-01T00:00:00.000000Z'
const later = (seconds: number): string => addMicros(begin, BigInt(seconds) * 1_000_000n)
const secondsOf = (time: unknown): string =>
  String(time).startsWith('0001')
    ? 'the beginning'
    : `${(Date.parse(String(time)) - Date.parse(begin)) / 1000}`

/** The id of the record that becomes visible late. */
const late = 900

class LateList {
  resource = ''
  overlapMs = 0

  constructor(readonly w: EventWorld) {}

  at(seconds: number): void {
    this.w.clock.micros = BigInt(Date.parse(begin)) * 1000n + BigInt(seconds) * 1_000_000n
  }

  put(id: number, stamp: number): void {
    this.w.sandbox.store.put(1, this.resource, template(this.resource, id, later(stamp)))
  }

  /** From where a planned run reads the list, and what it reports. */
  async plan(mode: 'sync' | 'reconcile'): Promise<string> {
    const { w, resource, overlapMs } = this
    let told = ''
    const floor = await w.floor(async () => {
      const report = await w.sync({ mode, resources: [resource], overlapMs })
      const { status, completeness, requests, records_changed, reconciled } = only(report, resource)!
      const compared = reconciled
        ? `, compared: ${reconciled.stored} stored, ${reconciled.deleted} deleted`
        : ''
      told = `${status} ${completeness}, ${requests} requests, ${records_changed} changed${compared}`
    }, resource)
    return `from ${secondsOf(floor)}: ${told}`
  }

  /** At that time, a record changes and an event announces it. From where its ring reads. */
  async ring(seconds: number): Promise<string> {
    const { w, resource, overlapMs } = this
    this.at(seconds)
    const id = 1000 + seconds
    this.put(id, seconds)
    await w.put({ resource, id, version: later(seconds) })
    return `from ${secondsOf(await w.floor(() => w.turn({ overlapMs }), resource))}`
  }

  async cursor(): Promise<string> {
    const it = (await this.w.cursor(this.resource)) ?? {}
    const isThere = (await liveIds(this.w.warehouse, this.resource)).includes(late)
    const times = ['watermark', 'complete_through', 'walked_at', 'planned_watermark']
    const said = times.map((name) => `${name.replace('_', ' ')} ${secondsOf(it[name])}`)
    const holes = it.remembered === null ? '' : ', remembers a hole'
    return `${it.completeness}, ${said.join(', ')}${holes}; ${isThere ? 'it is here' : 'it is not here'}`
  }

  update(columns: object): Promise<unknown> {
    return this.w.warehouse.db.updateTable('sync_cursors').set(columns).execute()
  }
}

const steps = new Steps<LateList>({
  'WORD, overlap N s': async (list, resource, seconds) => {
    list.resource = resource!
    list.overlapMs = Number(seconds) * 1000
    for (let id = 1; id <= 5; id++) list.put(id, -3600 * id)
    await list.plan('sync')
    const day = { resource: resource!, day: begin.slice(0, 10), way: 'walk' } as const
    const buckets = [{ upToMs: 0, records: 1000, largestMicros: 0 }]
    await list.w.warehouse.write(addLateness(list.w.warehouse.db, day, buckets))
  },
  'at N': (list, seconds) => list.at(Number(seconds)),
  'stamped (-?\\d+), it comes': (list, stamp) => list.put(late, Number(stamp)),
  'ring at N': (list, seconds) => list.ring(Number(seconds)),
  'N s late comes what is stamped N': async (list, lateness, stamped) => {
    const [stamp, comes] = [Number(stamped), Number(stamped) + Number(lateness)]
    await list.ring(comes - 5)
    list.at(comes)
    list.put(late, stamp)
    const overlap = list.overlapMs / 1000
    for (const time of [comes + 15, comes + 20 + overlap]) await list.ring(time)
    list.at(comes + 60 + overlap)
    return list.cursor()
  },
  'a hole from N to N': (list, after, until) => {
    const hole = { after: later(Number(after)), until: later(Number(until)), records: 1 }
    return list.update({ remembered: JSON.stringify({ holes: [hole] }) }).then(() => undefined)
  },
  plan: (list) => list.plan('sync'),
  reconcile: (list) => list.plan('reconcile'),
  cursor: (list) => list.cursor(),
  lateness: async ({ w }) =>
    (await rowsOf(w.warehouse, 'sync_lateness'))
      .map(({ records, largest_us }) => `${records} by ${Number(largest_us) / 1e6} s`)
      .toSorted()
      .join(', '),
  'no planned watermark': (list) => list.update({ planned_watermark: null }).then(() => undefined),
  'no (sync|events) in the history': async ({ w }, mode) => {
    await w.warehouse.db.deleteFrom('sync_run_cursors').where('mode', '=', mode!).execute()
  },
})

storyTests('test/features/events/overlap.txt', steps, (kind) => async () => {
  const clock = new HandClock(begin)
  const w = await EventWorld.open(kind, { data: 'none', tenants: [{ id: 1 }], clock })
  return new LateList(w)
})
