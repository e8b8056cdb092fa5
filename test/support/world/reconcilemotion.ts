/**
 * Law 6, extended: whatever happens at the source while reconcile counts, lists and asks, it never marks a live record
 * deleted; and once the source stops changing, a sync and a reconcile leave the warehouse equal to it. Rows are lost
 * from the warehouse, records come late, beyond the overlap, and lists temporarily hide existing records: there is
 * always something to find, and something to be wrong about.
 *
 * A failure prints the seed of its scenario: MOTION_SEED=… MOTION_RUNS=1 plays it again. To be called by a test file.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { type ApiRecord, createSandbox, type Sandbox, template } from '../../../src/sandbox/index.js'
import { Confirmation, type Source, sync } from '../harness/runs.js'
import { type Kind, open, rowsOf, type Warehouse, warehouses } from '../harness/warehouse.js'
import { Between } from './between.js'
import { HandClock } from './clocks.js'
import { base, live, lose, only, reconcile } from './notes.js'
import { randomFrom } from './random.js'

const start = base + 400_000_000_000n
const clock = new HandClock(fromMicros(start), 1n)
const sandboxes = new Map<number, Sandbox>()
beforeAll(async () => {
  for (const digits of [0, 3, 6] as const)
    sandboxes.set(digits, await createSandbox({ data: 'none', timestamps: { digits }, clock }))
})
afterAll(async () => {
  for (const sandbox of sandboxes.values()) await sandbox.close()
})

type Random = () => number
const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)]!

/** A source that moves with every request, and remembers when each record existed. */
class Moving {
  readonly sandbox: Sandbox
  readonly #random: Random
  readonly #buried: ApiRecord[] = []
  /** Ids that came back after they were deleted, and when. */
  readonly restored = new Map<number, bigint>()
  /** Chance of something happening before a request is answered. */
  chance = 0
  #nextId = 100_000

  constructor(sandbox: Sandbox, random: Random) {
    this.sandbox = sandbox
    this.#random = random
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    this.#fill()
    sandbox.onRequest(({ resource }) => {
      clock.micros += 40_000n
      sandbox.store.grant(1)
      if (resource === 'notes' && random() < this.chance) this.move()
    })
  }

  /** Lists that omit a record for a while. */
  around(source: Source): Source {
    let hidden = { id: 0, updatedAt: '', left: 0 }
    return new Between(source, async (request, ask) => {
      const page = await ask()
      if (this.chance > 0 && hidden.left-- <= 0 && page.records.length > 0) {
        const record = pick(this.#random, page.records) as { id: number; updated_at: string }
        hidden = {
          id: record.id,
          updatedAt: padded(record.updated_at),
          left: Math.floor(this.#random() * 60),
        }
      }
      if (hidden.left <= 0 || hidden.updatedAt <= request.updatedAfter) return page
      const records = page.records.filter((record) => (record as { id: number }).id !== hidden.id)
      return { ...page, records, total: page.total - 1 }
    })
  }

  #fill(): void {
    const count = 650 + Math.floor(this.#random() * 1200)
    let micros = start - 390_000_000_000n
    for (let id = 1; id <= count; id++) {
      // Bulk updates stamp many records with the same time; the others are spread unevenly.
      if (this.#random() < 0.9) micros += BigInt(Math.floor(this.#random() ** 4 * 600_000_000))
      this.#put(id, micros)
    }
    if (this.#random() < 0.5) this.sandbox.store.shuffleTies = true
  }

  #put(id: number, micros: bigint): void {
    const time = fromMicros(micros)
    this.sandbox.store.put(1, 'notes', { ...template('notes', id, time), description: `${id} ${micros}` })
  }

  /** Whether a record exists and did not only come back after that moment. */
  isThereSince(id: number, moment: string): boolean {
    const back = this.restored.get(id)
    const isThere = this.sandbox.store.collection(1, 'notes').get(id) !== undefined
    return isThere && (back === undefined || back < microsOf(moment))
  }

  move(): void {
    const { store } = this.sandbox
    const ids = store.ids(1, 'notes')
    const id = ids.length > 0 ? pick(this.#random, ids) : 0
    const what = this.#random()
    if (what < 0.3) this.#put(id, this.#stamp())
    else if (what < 0.5) this.#put(this.#nextId++, this.#stamp())
    else if (what < 0.75) this.#remove(id)
    else if (what < 0.85) this.#restore()
    // Late: with an updated_at of hours ago, far below every watermark.
    else if (what < 0.91) this.#put(this.#nextId++, this.#past(start - 300_000_000_000n))
    else if (what < 0.995) this.#put(id, this.#past(store.collection(1, 'notes').get(id)?.micros ?? start))
    else store.revoke(1)
  }

  /** No two versions share a time by accident. */
  #stamp(): bigint {
    clock.micros += 1n
    return clock.micros
  }

  #past(after: bigint): bigint {
    return after + BigInt(Math.floor(this.#random() * Number(clock.micros - after)))
  }

  #remove(id: number): void {
    const record = this.sandbox.store.stored(1, 'notes', id)
    if (!record) return
    this.#buried.push(record)
    this.sandbox.store.remove(1, 'notes', id)
  }

  #restore(): void {
    const record = this.#buried.pop()
    if (!record) return
    const id = Number(record.id)
    this.restored.set(id, clock.micros)
    if (this.#random() < 0.5) this.#put(id, this.#stamp())
    else this.sandbox.store.put(1, 'notes', record)
  }
}

const microsOf = (time: unknown): bigint =>
  BigInt(Date.parse(`${String(time).slice(0, 19)}Z`)) * 1000n + BigInt(String(time).slice(20, 26))

type Ask = Confirmation['ask']

/** Checks the source at the moment when records are declared gone. */
function watch(ask: Ask, source: () => Moving): { wrong: string[]; restore: () => void } {
  const wrong: string[] = []
  const spy = vi.spyOn(Confirmation.prototype, 'ask').mockImplementation(async function (
    this: Confirmation,
    candidates,
  ) {
    const answer = await ask.call(this, candidates)
    for (const { id, askedAt } of answer.gone)
      if (source().isThereSince(Number(id), askedAt)) wrong.push(`Record ${id} is there and was called gone`)
    return answer
  })
  return { wrong, restore: () => spy.mockRestore() }
}

/** No row is marked deleted if its record existed all the time since. */
async function judge(warehouse: Warehouse, moving: Moving): Promise<void> {
  for (const row of await rowsOf(warehouse, 'notes'))
    if (row._deleted_at !== null && moving.isThereSince(Number(row.id), String(row._deleted_at)))
      throw new Error(`Record ${row.id} is there and was marked deleted at ${row._deleted_at}`)
}

let current: Moving

async function scenario(warehouse: Warehouse, seed: number): Promise<void> {
  const random = randomFrom(seed)
  clock.micros = start
  const moving = new Moving(sandboxes.get(pick(random, [0, 3, 6]))!, random)
  current = moving
  await empty(warehouse)
  const around = (source: Source): Source => moving.around(source)
  const options = { clock, overlapMs: 1000, concurrency: 1, acceptDeletes: true, random, around }
  const ask = { ...options, resources: ['notes'] }
  await sync(moving.sandbox, warehouse, ask)
  const rows = [...(await live(warehouse)).keys()]
  await lose(warehouse, [0, ...rows.filter(() => random() < 0.003)])
  moving.chance = pick(random, [0.05, 0.2, 0.6])
  for (let n = 0; n < 2; n++) {
    await reconcile(moving.sandbox, warehouse, options)
    await judge(warehouse, moving)
  }
  moving.chance = 0
  for (let n = 0; n < 5; n++) moving.move()
  moving.sandbox.store.grant(1)
  // Differences that cancel out between two cut points are found by another sync, since each cuts elsewhere, or by
  // --full.
  for (let attempt = 0; ; attempt++) {
    const synced = await sync(moving.sandbox, warehouse, ask)
    const report = await reconcile(moving.sandbox, warehouse, { ...options, full: attempt > 2 })
    await judge(warehouse, moving)
    const [there, here] = [standing(moving.sandbox), await live(warehouse)]
    const isEqual = there.size === here.size && [...there].every(([id, time]) => here.get(id) === time)
    if (isEqual && synced.status === 'ok' && only(report)?.status === 'ok') break
    const differ = [...new Set([...there.keys(), ...here.keys()])]
      .filter((id) => there.get(id) !== here.get(id))
      .map((id) => `${id}: ${there.get(id)} there, ${here.get(id)} here`)
    expect(attempt, `${differ.join('; ')} ${JSON.stringify([synced.cursors, report.cursors])}`).toBeLessThan(
      4,
    )
  }
}

const standing = (sandbox: Sandbox): Map<number, string> =>
  new Map(
    sandbox.store
      .all(1, 'notes')
      .map((record) => [Number(record.id), fromMicros(microsOf(padded(String(record.updated_at))))]),
  )
const padded = (time: string): string => {
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? ''
  return `${time.slice(0, 19)}.${fraction.padEnd(6, '0')}Z`
}

async function empty(warehouse: Warehouse): Promise<void> {
  const tables = [
    'notes',
    'tenants',
    'sync_cursors',
    'sync_walk_parts',
    'sync_runs',
    'sync_run_cursors',
    'sync_source',
  ] as const
  await warehouse.write(tables.map((table) => warehouse.db.deleteFrom(table).compile()))
}

/** This many scenarios on each warehouse, and the mutant that they have to notice. */
export function reconcileMotion(scenariosOn: Readonly<Record<Kind['name'], number>>): void {
  describe.each(warehouses())('$name', (kind) => {
    let warehouse: Warehouse
    beforeAll(async () => {
      warehouse = await open(kind)
    })
    afterAll(() => warehouse.close())

    const scenarios = Number(process.env.MOTION_RUNS ?? scenariosOn[kind.name])
    const first = Number(process.env.MOTION_SEED ?? 1000)
    it(`holds for ${scenarios} scenarios`, { timeout: 3_600_000 }, async () => {
      const { wrong, restore } = watch(Confirmation.prototype.ask, () => current)
      for (let seed = first; seed < first + scenarios; seed++) {
        await scenario(warehouse, seed).catch((error: unknown) => {
          throw new Error(`MOTION_SEED=${seed}: ${error instanceof Error ? error.stack : error}`)
        })
        expect(wrong, `MOTION_SEED=${seed}`).toEqual([])
      }
      restore()
    })

    it('catches a reconcile that believes its lists without asking', async () => {
      const believe: Ask = async (candidates) => ({
        gone: candidates.map((one) => ({ ...one, askedAt: fromMicros(clock.nowMicros()) })),
        moved: [],
      })
      const { wrong, restore } = watch(believe, () => current)
      for (let seed = 1; seed <= 20 && wrong.length === 0; seed++)
        await scenario(warehouse, seed).catch(() => undefined)
      restore()
      expect(wrong).not.toEqual([])
    })
  })
}
