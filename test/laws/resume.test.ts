/**
 * A killed walk continues where it stopped: at most two pages are fetched again, whatever happened to the list
 * meanwhile.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { fromMicros } from '../../src/engine/base/timestamp.js'
import { Book } from '../../src/engine/list/books.js'
import { Reading } from '../../src/engine/list/reading.js'
import { template } from '../../src/sandbox/index.js'
import { Killed, type Page, syncInOrder } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { someOf } from '../support/harness/size.js'
import { bothWarehouses, open, rowsOf, type Warehouse } from '../support/harness/warehouse.js'
import { Between } from '../support/world/between.js'
import { wipe } from '../support/world/through.js'

const records = 1000
const read = 500
const base = 1_767_225_600_000_000n
const at = (n: number): string => fromMicros(base + BigInt(n) * 1_000_000n)

const sandbox = await sandboxOfFile()

const put = (id: number, time: string, createdAt = time): void =>
  sandbox.store.put(1, 'notes', { ...template('notes', id, time), created_at: createdAt })
const create = (n: number): void => {
  for (let id = 5001; id <= 5000 + n; id++) put(id, at(100_000 + id))
}
/** Ids increase with time: those over `read` were read before the kill. */
const remove = (from: number, n: number): void => {
  for (let id = from; id < from + n; id++) sandbox.store.remove(1, 'notes', id)
}
const update = (from: number, n: number): void => {
  for (let id = from; id < from + n; id++) put(id, at(200_000 + id), at(id))
}

interface Meanwhile {
  readonly tied?: boolean
  readonly happens: () => void
}

const meanwhile: [string, Meanwhile][] = [
  ['nothing', { happens: () => {} }],
  ['a hundred and fifty created', { happens: () => create(150) }],
  ['a hundred and fifty of those read deleted', { happens: () => remove(700, 150) }],
  ['a hundred and fifty of those to come deleted', { happens: () => remove(200, 150) }],
  ['a hundred and fifty of those to come updated', { happens: () => update(100, 150) }],
  ['three hundred of those read updated', { happens: () => update(600, 300) }],
  [
    'all of it at once',
    {
      happens: () => {
        create(90)
        remove(300, 60)
        remove(900, 70)
        update(450, 100)
      },
    },
  ],
  ['nothing, and all records share one updated_at', { tied: true, happens: () => {} }],
  ['some created, and the others share one updated_at', { tied: true, happens: () => create(130) }],
  ['some deleted, and all share one updated_at', { tied: true, happens: () => remove(800, 60) }],
]

/** What a run reads downwards, before it checks the first page again. */
class Watch {
  readonly pages: Page[] = []
  /** Whether the list was read again, with pages of another size. */
  isAgain = false
  #isClosing = false

  seen(page: Page, asked: { page: number; perPage: number }): Page {
    if (asked.perPage !== 100 && asked.perPage > 1) this.isAgain = true
    if (asked.perPage === 100 && asked.page === 1) this.#isClosing = true
    if (asked.perPage === 100 && !this.#isClosing) this.pages.push(page)
    return page
  }
}

const stored = async (warehouse: Warehouse): Promise<Set<string>> =>
  new Set((await rowsOf(warehouse, 'notes')).map((row) => `${row.id} ${row.updated_at}`))

/**
 * A walk is killed when half of the list has been read; something happens; the next walk continues as the law says, or
 * this throws.
 */
async function law(warehouse: Warehouse, { tied = false, happens }: Meanwhile): Promise<void> {
  await wipe(warehouse)
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= records; id++) put(id, tied ? at(0) : at(id))
  const options = { resources: ['notes'], readAhead: 0 }
  let asked = 0
  const dying = syncInOrder(sandbox, warehouse, {
    ...options,
    around: (source) =>
      new Between(source, async (_request, ask) => {
        if (++asked > read / 100) throw new Killed()
        return ask()
      }),
  })
  await expect(dying).rejects.toThrow(Killed)
  const before = await stored(warehouse)
  expect(before.size).toBe(read)
  happens()
  const watch = new Watch()
  const report = await syncInOrder(sandbox, warehouse, {
    ...options,
    around: (source) => new Between(source, async (request, ask) => watch.seen(await ask(), request)),
  })
  expect(report.status).toBe('ok')
  const known = watch.pages
    .flatMap((page) => page.records as { id: number; updated_at: string }[])
    .filter(({ id, updated_at }) => before.has(`${id} ${updated_at}`))
  expect(watch.pages.length).toBeGreaterThan(2)
  expect(watch.isAgain && !tied, 'the books close').toBe(false)
  expect(known.length, 'records fetched again').toBeLessThanOrEqual(200)
  const rows = await stored(warehouse)
  const lost = sandbox.store.all(1, 'notes').filter(({ id, updated_at }) => !rows.has(`${id} ${updated_at}`))
  expect(lost.map(({ id }) => id)).toEqual([])
}

const opened = new Map<string, Warehouse>()
beforeAll(async () => {
  for (const kind of bothWarehouses()) opened.set(kind.name, await open(kind))
})
afterAll(async () => {
  for (const warehouse of opened.values()) await warehouse.close()
})

describe.each(bothWarehouses())('$name', ({ name }) => {
  /** Where a walk continues follows from what is stored, which the dialects' tests show to be the same. */
  it.each(name === 'sqlite' ? meanwhile : someOf(3, meanwhile))('meanwhile %s', (_name, change) =>
    law(opened.get(name)!, change),
  )
})

describe('the law notices', () => {
  const nothing = { happens: () => {} }
  afterEach(() => vi.restoreAllMocks())

  it('a walk that continues two pages too late', async () => {
    const { goTo } = Reading.prototype
    vi.spyOn(Reading.prototype, 'goTo').mockImplementation(function (this: Reading<unknown>, next, last) {
      return goTo.call(this, next > 2 ? next + 2 : next, last)
    })
    await expect(law(opened.get('sqlite')!, nothing)).rejects.toThrow()
  })

  it('a walk that starts over', async () => {
    vi.spyOn(Book, 'restored').mockImplementation((floor, { progress }) => {
      const { first: total, ceiling } = progress
      return new Book({ floor, total, ceiling })
    })
    await expect(law(opened.get('sqlite')!, nothing)).rejects.toThrow()
  })
})
