/** What a list shows is live here, whatever stamps say about the future: the stories of shownislive.txt. */
import { sql } from 'kysely'
import { expect } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { addMicros, fromMicros } from '../../../src/engine/base/timestamp.js'
import { known, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { contents, type Kept, kept, rowsOf, type Warehouse } from '../../support/harness/warehouse.js'
import { EventBench } from '../../support/world/events.js'
import type { Words } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'
import { OneList } from '../../support/world/onelist.js'
import { jsonOr } from '../../support/world/stories.js'

const sandbox = await sandboxOfFile()
const names = 'customer_payment_types'
const hourAhead = (): string => addMicros(fromMicros(systemClock.nowMicros()), 3_600_000_000n)

/** Writes an hour ahead into all rows of a table that have this value. */
const stamped = (warehouse: Warehouse, table: string, column: string, value: unknown, more: object) => {
  const rows = warehouse.db.updateTable(table as 'customers').set({ _synced_at: hourAhead(), ...more })
  return warehouse.write([rows.where(sql.ref(column), '=', value).compile()])
}
const others = new WeakMap<OneList, Kept>()

const words: Words = {
  // As somebody with a database tool might.
  'stamp N[ (\\w+)=REST]': async ({ list }, id, column, value) => {
    const more = column === undefined ? {} : { [column]: value === 'NOW' ? hourAhead() : jsonOr(value!) }
    for (const { name, owner = 'id' } of known.byName.get('customers')!.tables)
      await stamped(list.warehouse, name, owner, Number(id), owner === 'id' ? more : {})
  },
  'lose phones of N': async ({ list }, id) => {
    const phones = list.warehouse.db.deleteFrom('customer_phones' as 'customers')
    await list.warehouse.write([phones.where(sql.ref('customer_id'), '=', Number(id)).compile()])
  },
  'as the source shows it': async ({ list }) => {
    const fresh = await others.get(list)!.open()
    await sync(sandbox, fresh, { resources: ['customers'] })
    expect(await contents(list.warehouse)).toEqual(await contents(fresh))
  },
  'names TEXT': (_, all) => void sandbox.store.tenant(1).strings.set(names, all!.split(' ')),
  'sync names': async ({ list }) => {
    await sync(sandbox, list.warehouse, { resources: [names] })
    const rows = await rowsOf(list.warehouse, names)
    return rows.flatMap(({ name, _deleted_at }) => (_deleted_at === null ? name : [])).join(' ')
  },
  'stamp name WORD (\\w+)=REST': async ({ list }, name, column, value) => {
    await stamped(list.warehouse, names, 'name', name, { [column!]: value === 'NOW' ? hourAhead() : value })
  },
  'an event of N': async ({ list }, id) => {
    const events = await EventBench.open(sandbox, list.warehouse)
    await events.put({ tenant: 1, resource: 'customers', type: 'Customer', id: Number(id) })
    const { by } = await events.turn()
    return `${by}: ${(await events.states()).join(' ')}`
  },
}

// Leases go by the clock of this machine.
stories('test/features/reconcile/shownislive.txt', sandbox, { clock: systemClock }, words, (kind) => {
  const list = new OneList(sandbox, kind, { clock: systemClock }, 'customers')
  others.set(list, kept(kind))
  return list
})
