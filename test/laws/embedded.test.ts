/**
 * Pages of several lists store the same rows at the same moment: tags have a list of their own, and come inside other
 * records, too. The database's guard decides between them. No load fails for it, and none needs a second attempt.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { resources as declared } from '../../schema/index.js'
import { model } from '../../src/engine/model/registry.js'
import { template } from '../../src/sandbox/index.js'
import { known, sync } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { sized } from '../support/harness/size.js'
import { bothWarehouses, open, rowsOf, type Session, typed, Warehouse } from '../support/harness/warehouse.js'
import { randomFrom } from '../support/world/random.js'
import { sessionOf, wipe } from '../support/world/through.js'

const embedding = ['customers', 'notes', 'repair_orders', 'vehicles']
const resources = ['integrator_tags', ...embedding]
const ids = Array.from({ length: 12 }, (_, i) => i + 1)
const at = (second: number): string => `2026-03-01T00:00:${String(second).padStart(2, '0')}.000000Z`

const sandbox = await sandboxOfFile()
beforeAll(() => {
  sandbox.store.addTenant({ id: 1 })
  const tag = (id: number, version: number) => ({
    ...template('integrator_tags', id, at(id + version)),
    name: `version ${version}`,
  })
  for (const id of ids) sandbox.store.put(1, 'integrator_tags', tag(id, 1))
  for (const [turn, resource] of embedding.entries())
    for (const id of ids) {
      // Each list shows the tags in another order. Their own shows an earlier version than some, and a later one than others.
      const shown = [0, 1, 2].map((more) => ((id * (turn + 5) + more * 5) % ids.length) + 1)
      const integrator_tags = shown.map((of) => tag(of, turn < 2 ? 0 : 2))
      sandbox.store.put(1, resource, { ...template(resource, id, at(id)), integrator_tags })
    }
})

/** The same warehouse, which waits before it writes tags. It makes one attempt only. */
function slow({ dialect, model: of }: Warehouse, random: () => number): Warehouse {
  const delayed = (session: Session): Session =>
    sessionOf(session, {
      upsert: async (table, ...given) => {
        if (table.name === 'integrator_tags') await sleep(Math.floor(random() * 4))
        return session.upsert(table, ...given)
      },
    })
  return new Warehouse({
    dialect: { ...dialect, transaction: (work) => dialect.transaction((session) => work(delayed(session))) },
    model: of,
    retryWaits: [],
  })
}

describe.each(bothWarehouses())('$name', (kind) => {
  it.each([
    ['', known],
    [', and keep their versions', model(declared, { integrator_tags: { history: true } })],
  ])(
    'no first load fails because several lists show the same tags%s',
    { timeout: 600_000 },
    async (_, of) => {
      const warehouse = await open(kind, of)
      for (let seed = 1; seed <= sized(kind.name === 'sqlite' ? 2 : 4, 200); seed++) {
        await wipe(warehouse)
        const how = { resources, pageSizes: [3], known: of }
        const report = await sync(sandbox, slow(warehouse, randomFrom(seed)), how)
        expect(report.cursors.filter(({ status }) => status !== 'ok')).toEqual([])
        const stored = await rowsOf(warehouse, 'integrator_tags')
        expect(stored.map(({ id, name }) => [id, name])).toEqual(ids.map((id) => [id, 'version 2']))
      }
    },
  )

  it('a trigger that leaves out a tag is found by each list that shows it', async () => {
    const warehouse = await open(kind)
    const plant =
      kind.name === 'sqlite'
        ? 'create trigger troubled before insert on integrator_tags when new.id = 5 begin select raise(ignore); end'
        : `create function troubled() returns trigger language plpgsql as $$ begin return null; end $$;
           create trigger troubled before insert on integrator_tags for each row when (new.id = 5) execute function troubled()`
    await typed(warehouse, plant)
    const { cursors } = await sync(sandbox, slow(warehouse, Math.random), { resources })
    for (const { error } of cursors)
      expect(error).toMatch(/left out 1 row of integrator_tags.*trigger troubled/)
    expect(cursors).toHaveLength(resources.length)
  })
})
