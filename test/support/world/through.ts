import type { Dialect } from '../../../src/engine/warehouse/dialect.js'
import type { Session } from '../../../src/engine/warehouse/transaction.js'
import { Warehouse } from '../../../src/engine/warehouse/warehouse.js'
import { known } from '../harness/runs.js'

/** A session whose calls can be replaced one by one. */
export function sessionOf(session: Session, instead: Partial<Session>): Session {
  return {
    run: (query) => session.run(query),
    ask: (...given) => session.ask(...given),
    countSettled: (...given) => session.countSettled(...given),
    countOwned: (...given) => session.countOwned(...given),
    versions: (...given) => session.versions(...given),
    upsert: (...given) => session.upsert(...given),
    insert: (...given) => session.insert(...given),
    load: (...given) => session.load(...given),
    confirm: (...given) => session.confirm(...given),
    childrenMatch: (...given) => session.childrenMatch(...given),
    clearQuarantine: (...given) => session.clearQuarantine(...given),
    prune: (...given) => session.prune(...given),
    ...instead,
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

/** A session that calls `moment` before and after each statement. */
export function watched(session: Session, moment: () => void): Session {
  const around =
    <A extends unknown[], R>(call: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      moment()
      const result = await call(...given)
      moment()
      return result
    }
  return {
    run: (query) => around(() => session.run(query))(),
    ask: (text, parameters) => around(() => session.ask(text, parameters))() as never,
    countSettled: around((...given) => session.countSettled(...given)),
    countOwned: around((...given) => session.countOwned(...given)),
    versions: around((...given) => session.versions(...given)),
    upsert: around((...given) => session.upsert(...given)),
    insert: around((...given) => session.insert(...given)),
    load: around((...given) => session.load(...given)),
    confirm: around((...given) => session.confirm(...given)),
    childrenMatch: around((...given) => session.childrenMatch(...given)),
    clearQuarantine: around((...given) => session.clearQuarantine(...given)),
    prune: around((...given) => session.prune(...given)),
  }
}

/** Empties tables, by default all: faster than making a warehouse again. */
export async function wipe(warehouse: Warehouse, tables?: readonly string[]): Promise<void> {
  const names = tables ?? warehouse.tables.map((table) => table.name).filter((name) => name !== 'sync_meta')
  await warehouse.write(names.map((name) => warehouse.db.deleteFrom(name as 'tenants').compile()))
}
