import { Killed, known } from '../harness/runs.js'
import { type Dialect, type Session, Warehouse } from '../harness/warehouse.js'

type Call = (...given: unknown[]) => unknown

/** A session whose calls can be replaced one by one. */
export const sessionOf = (session: Session, instead: Partial<Session>): Session =>
  new Proxy(session, {
    get: (target, name: keyof Session) => instead[name] ?? (target[name] as Call).bind(target),
  })

/** A session that calls `moment` before and after each statement. */
export const watched = (session: Session, moment: () => void): Session =>
  new Proxy(session, {
    get:
      (target, name: keyof Session) =>
      async (...given: unknown[]) => {
        moment()
        const result = await (target[name] as Call).apply(target, given)
        moment()
        return result
      },
  })

/** Kills at the nth moment, and at all that come after it. */
export function killsAt(at: number, onMoment: (n: number) => void = () => {}): () => void {
  let n = 0
  return () => {
    onMoment(++n)
    if (n >= at) throw new Killed(`at moment ${at}`)
  }
}

/** The same warehouse with some of its dialect's methods replaced. */
export function through(warehouse: Warehouse, instead: Partial<Dialect>, Kind = Warehouse): Warehouse {
  return new Kind({
    dialect: { ...warehouse.dialect, ...instead },
    model: known,
    retryWaits: [0, 0, 0, 0],
  })
}

/**
 * The same database, at whose every moment something may happen: before and after each statement, and after each commit
 * (`isCommit`). Of a page that the writer thread stores, only after its commit.
 */
export function atEachMoment(dialect: Dialect, moment: (isCommit: boolean) => void): Dialect {
  const { bulk, transaction } = dialect
  const { offload } = bulk
  const committed = <T>(result: T): T => {
    moment(true)
    return result
  }
  return {
    ...dialect,
    bulk: offload ? { ...bulk, offload: (...given) => offload(...given)?.then(committed) } : bulk,
    transaction: (work) =>
      transaction((session) => work(watched(session, () => moment(false)))).then(committed),
  }
}

/** What the operating system does for a process that died: nobody with its pid, which is this one's, holds the lease. */
export const bury = (warehouse: Warehouse): Promise<number> =>
  warehouse.write([warehouse.db.updateTable('sync_lease').set({ owner: null }).compile()])

/** Empties tables, by default all: faster than making a warehouse again. */
export async function wipe(warehouse: Warehouse, tables?: readonly string[]): Promise<void> {
  const names = tables ?? warehouse.tables.map((table) => table.name).filter((name) => name !== 'sync_meta')
  await warehouse.write(names.map((name) => warehouse.db.deleteFrom(name as 'tenants').compile()))
}
