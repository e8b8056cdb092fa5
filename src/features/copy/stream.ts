/**
 * Two sides of one table, read together in key order, a few thousand rows at a time. Copying a table and finding where
 * an interrupted copy continues are the same work: existing rows of the target are compared, not trusted.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Tuple, Value } from '../../engine/model/flatten/batch.js'
import type { Table } from '../../engine/model/table.js'

export type Rowlists = AsyncIterable<readonly Tuple[]>

/** Rows from a list of lists, one by one; `fill` waits for the next list when one has ended. */
class Rows {
  readonly #lists: AsyncIterator<readonly Tuple[]>
  #next: Promise<IteratorResult<readonly Tuple[]>>
  #rows: readonly Tuple[] = []
  #at = 0
  #ended = false

  constructor(lists: Rowlists) {
    this.#lists = lists[Symbol.asyncIterator]()
    this.#next = this.#ask()
  }

  get head(): Tuple | undefined {
    return this.#rows[this.#at]
  }

  get isDry(): boolean {
    return !this.#ended && this.head === undefined
  }

  step(): void {
    this.#at++
  }

  /** Already requests the list after the next one: one side reads while the other writes. */
  async fill(): Promise<void> {
    while (this.isDry) {
      const { done, value } = await this.#next
      if (done) this.#ended = true
      else {
        this.#rows = value
        this.#at = 0
        this.#next = this.#ask()
      }
    }
  }

  async close(): Promise<void> {
    await this.#next.catch(() => {})
    await this.#lists.return?.()
  }

  #ask(): Promise<IteratorResult<readonly Tuple[]>> {
    const next = this.#lists.next()
    // If it fails, the error is thrown where it is awaited.
    next.catch(() => {})
    return next
  }
}

/** Compares text by its bytes, as both databases were told to order it. */
function compareValues(a: Value | undefined, b: Value | undefined): number {
  if (a === b || a === undefined || b === undefined || a === null || b === null) return 0
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return a < b ? -1 : a > b ? 1 : 0
}

/** What has to be done to give the target the source's rows. */
export interface RowChange {
  /** The target's rows to delete: the source no longer has them, or has them with other values. */
  readonly gone: readonly Tuple[]
  readonly added: readonly Tuple[]
  /** Rows of the source read so far. */
  readonly read: number
}

interface Sides {
  readonly table: Table
  /** The rows in the form that the target holds. */
  readonly source: Rowlists
  readonly target: Rowlists
  /** Whether both hold the same values. */
  readonly isSame: (a: Tuple, b: Tuple) => boolean
  readonly rowsAtOnce: number
}

/** Lets timers and signals run: reading two SQLite files never waits. */
const breathe = (): Promise<void> => turn()

/** The changes in key order, this many rows at a time. */
export async function* changesOf({
  table,
  source,
  target,
  isSame,
  rowsAtOnce,
}: Sides): AsyncGenerator<RowChange> {
  const places = table.key.map((name) => table.columns.findIndex((column) => column.name === name))
  const order = (a: Tuple, b: Tuple): number => {
    for (const place of places) {
      const found = compareValues(a[place], b[place])
      if (found !== 0) return found
    }
    return 0
  }
  const [wanted, had] = [new Rows(source), new Rows(target)]
  let read = 0
  try {
    for (;;) {
      const gone: Tuple[] = []
      const added: Tuple[] = []
      let steps = 0
      while (steps++ < rowsAtOnce) {
        if (wanted.isDry) await wanted.fill()
        if (had.isDry) await had.fill()
        const [mine, theirs] = [wanted.head, had.head]
        if (!mine && !theirs) break
        const side = !mine ? 1 : !theirs ? -1 : order(mine, theirs)
        const isKept = side === 0 && mine && theirs && isSame(mine, theirs)
        if (mine && side <= 0) {
          if (!isKept) added.push(mine)
          read++
          wanted.step()
        }
        if (theirs && side >= 0) {
          if (!isKept) gone.push(theirs)
          had.step()
        }
      }
      await breathe()
      yield { gone, added, read }
      if (!wanted.head && !had.head && !wanted.isDry && !had.isDry) return
    }
  } finally {
    await wanted.close()
    await had.close()
  }
}

/** Maps lists through a function, without the rows of `isNotCopied`. */
export async function* mapRows(
  lists: Rowlists,
  isNotCopied: (tuple: Tuple) => boolean,
  change: (tuple: Tuple) => Tuple,
): AsyncGenerator<readonly Tuple[]> {
  for await (const rows of lists) {
    const kept = rows.filter((tuple) => !isNotCopied(tuple))
    if (kept.length > 0) yield kept.map(change)
    await breathe()
  }
}
