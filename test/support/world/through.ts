import { known } from '../harness/runs.js'
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

/** The same warehouse with some of its dialect's methods replaced. */
export function through(warehouse: Warehouse, instead: Partial<Dialect>, Kind = Warehouse): Warehouse {
  return new Kind({
    dialect: { ...warehouse.dialect, ...instead },
    model: known,
    retryWaits: [0, 0, 0, 0],
  })
}

/** Empties tables, by default all: faster than making a warehouse again. */
export async function wipe(warehouse: Warehouse, tables?: readonly string[]): Promise<void> {
  const names = tables ?? warehouse.tables.map((table) => table.name).filter((name) => name !== 'sync_meta')
  await warehouse.write(names.map((name) => warehouse.db.deleteFrom(name as 'tenants').compile()))
}
