/**
 * A killed walk continues where it stopped: at most two pages are fetched again, whatever happened to the list
 * meanwhile.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Book } from '../../src/engine/list/books.js'
import { Reading } from '../../src/engine/list/reading.js'
import { Killed, type Page } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { someOf } from '../support/harness/size.js'
import { bothWarehouses, rowsOf } from '../support/harness/warehouse.js'
import { Between } from '../support/world/between.js'
import { at } from '../support/world/notes.js'
import { OneList } from '../support/world/onelist.js'

const records = 1000
const read = 500
const sandbox = await sandboxOfFile()

type Change = (list: OneList) => void
const create =
  (n: number): Change =>
  (list) => {
    for (let id = 5001; id <= 5000 + n; id++) list.put(id, at(100_000 + id))
  }
/** Ids increase with time: those over `read` were read before the kill. */
const remove =
  (from: number, n: number): Change =>
  (list) =>
    list.remove(...Array.from({ length: n }, (_, i) => from + i))
const update =
  (from: number, n: number): Change =>
  (list) => {
    for (let id = from; id < from + n; id++) list.put(id, at(200_000 + id), { created_at: at(id) })
  }

const meanwhile: [name: string, changes: Change[], tied?: boolean][] = [
  ['nothing', []],
  ['a hundred and fifty created', [create(150)]],
  ['a hundred and fifty of those read deleted', [remove(700, 150)]],
  ['a hundred and fifty of those to come deleted', [remove(200, 150)]],
  ['a hundred and fifty of those to come updated', [update(100, 150)]],
  ['three hundred of those read updated', [update(600, 300)]],
  ['all of it at once', [create(90), remove(300, 60), remove(900, 70), update(450, 100)]],
  ['nothing, and all records share one updated_at', [], true],
  ['some created, and the others share one updated_at', [create(130)], true],
  ['some deleted, and all share one updated_at', [remove(800, 60)], true],
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

/** Where a walk continues follows from what is stored, which the dialects' tests show to be the same. */
const ofKind = (name: string) => someOf(name === 'sqlite' ? 2 : 4, meanwhile)

describe.each(bothWarehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind, { readAhead: 0, concurrency: 1 })

  /**
   * A walk is killed when half of the list has been read; something happens; the next walk continues as the law says, or
   * this throws.
   */
  async function law(changes: readonly Change[], tied = false): Promise<void> {
    await list.begin(0)
    for (let id = 1; id <= records; id++) list.put(id, tied ? at(0) : at(id))
    let asked = 0
    await list.cut({
      around: (source) =>
        new Between(source, async (_request, ask) => {
          if (++asked > read / 100) throw new Killed()
          return ask()
        }),
    })
    const versions = async (): Promise<Set<string>> =>
      new Set((await rowsOf(list.warehouse, 'notes')).map((row) => `${row.id} ${row.updated_at}`))
    const before = await versions()
    expect(before.size).toBe(read)
    for (const change of changes) change(list)
    const watch = new Watch()
    const around = (source: ConstructorParameters<typeof Between>[0]) =>
      new Between(source, async (request, ask) => watch.seen(await ask(), request))
    await list.sync({ status: 'ok' }, { around, lacks: null })
    const again = watch.pages
      .flatMap((page) => page.records as { id: number; updated_at: string }[])
      .filter(({ id, updated_at }) => before.has(`${id} ${updated_at}`))
    expect(watch.pages.length).toBeGreaterThan(2)
    expect(watch.isAgain && !tied, 'the books close').toBe(false)
    expect(again.length, 'records fetched again').toBeLessThanOrEqual(200)
    const after = await versions()
    const all = sandbox.store.all(1, 'notes')
    expect(all.filter(({ id, updated_at }) => !after.has(`${id} ${updated_at}`))).toEqual([])
  }

  it.each(ofKind(kind.name))('meanwhile %s', (_name, changes, tied) => law(changes, tied))

  describe.runIf(kind.name === 'sqlite')('the law notices', () => {
    afterEach(() => vi.restoreAllMocks())

    it('a walk that continues two pages too late', async () => {
      const { goTo } = Reading.prototype
      vi.spyOn(Reading.prototype, 'goTo').mockImplementation(function (this: Reading<unknown>, next, last) {
        return goTo.call(this, next > 2 ? next + 2 : next, last)
      })
      await expect(law([])).rejects.toThrow()
    })

    it('a walk that starts over', async () => {
      vi.spyOn(Book, 'restored').mockImplementation((floor, { progress }) => {
        const { first: total, ceiling } = progress
        return new Book({ floor, total, ceiling })
      })
      await expect(law([])).rejects.toThrow()
    })
  })
})
