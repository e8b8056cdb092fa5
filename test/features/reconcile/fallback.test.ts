/** Sources that don't answer by id, or that answer 404 for other reasons than a deletion. */
import { describe, expect, it } from 'vitest'
import { type Reply, type Source, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { atSource, fill, liveIds, only, reconcile } from '../../support/world/notes.js'

const sandbox = await sandboxOfFile()

/** A source whose lists lack a certain record, wherever it is. */
const hiding =
  (id: number) =>
  (source: Source): Source =>
    new Between(source, async ({ updatedAfter }, ask) => {
      const page = await ask()
      const records = page.records.filter((record) => (record as { id: number }).id !== id)
      const at = String(sandbox.store.stored(1, 'notes', id)?.updated_at)
      return { ...page, records, total: page.total - (at > updatedAfter ? 1 : 0) }
    })

const noItems = { when: { kind: 'item' as const }, fault: { kind: 'status' as const, status: 404 } }

describe.each(warehouses())('$name', (kind) => {
  async function prepared(count: number, resource: string): Promise<Warehouse> {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    sandbox.store.addTenant({ id: 2 })
    fill(sandbox, count, { resource })
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { resources: [resource] })
    sandbox.resetRequests()
    return warehouse
  }

  it.each([300, 3000])('of %i records without an answer by id, a second list confirms', async (count) => {
    const warehouse = await prepared(count, 'vehicles')
    const ids = [5, 6, count - 60, count - 2]
    for (const id of ids) sandbox.store.remove(1, 'vehicles', id)
    sandbox.script([noItems])
    const notices: [string, Record<string, unknown>][] = []
    const report = await reconcile(sandbox, warehouse, { resources: ['vehicles'], notices })
    expect(only(report, 'vehicles')).toMatchObject({ status: 'ok', rows_deleted: 4 })
    expect(await liveIds(warehouse, 'vehicles')).toEqual(atSource(sandbox, 'vehicles'))
    expect(notices.map(([message]) => message).join()).toContain('does not answer by id')
    await warehouse.close()
  })

  it("a record that the list hides but that answers by id isn't marked deleted, and nothing is called equal", async () => {
    const warehouse = await prepared(3000, 'notes')
    const report = await reconcile(sandbox, warehouse, { around: hiding(1234) })
    expect(only(report)).toMatchObject({ status: 'failed', completeness: 'unproven', rows_deleted: 0 })
    expect(await liveIds(warehouse)).toContain(1234)
    await warehouse.close()
  })

  it("nor is one that the list counts but doesn't show, if the source doesn't answer by id", async () => {
    const warehouse = await prepared(300, 'vehicles')
    sandbox.store.collection(1, 'vehicles').odd.hidden.add(50)
    sandbox.script([noItems])
    const report = await reconcile(sandbox, warehouse, { resources: ['vehicles'], full: true })
    expect(only(report, 'vehicles')).toMatchObject({ rows_deleted: 0 })
    expect(await liveIds(warehouse, 'vehicles')).toContain(50)
    await warehouse.close()
  })

  it('a tenant that is revoked while records are requested loses none of them', async () => {
    const warehouse = await prepared(3000, 'notes')
    sandbox.store.remove(1, 'notes', 17)
    sandbox.onRequest(({ id }) => {
      if (id !== null) sandbox.store.revoke(1)
    })
    const report = await reconcile(sandbox, warehouse)
    expect(only(report)).toMatchObject({ status: 'skipped', reason: 'revoked', rows_deleted: 0 })
    expect(await liveIds(warehouse)).toHaveLength(3000)
    const tenants = await rowsOf(warehouse, 'tenants')
    expect(tenants.find((row) => row.tenant_id === 1)?.revoked_at).not.toBeNull()
    const later = await reconcile(sandbox, warehouse)
    expect(only(later)).toMatchObject({ status: 'skipped', requests: 0 })
    await warehouse.close()
  })

  it('a record that moved between the list and the request is stored, not buried', async () => {
    const warehouse = await prepared(3000, 'notes')
    const items: Reply[] = []
    // Lists don't show its new position yet; requested by its id, it is found.
    const late = (source: Source): Source =>
      Object.assign(hiding(700)(source), {
        tagged: () => late(source.tagged()),
        item: async (request: Parameters<Source['item']>[0]) => {
          if (request.id === 700) sandbox.store.change(1, 'notes', 700, { description: 'moved' })
          const item = await source.item(request)
          if (item) items.push(item)
          return item
        },
      })
    await reconcile(sandbox, warehouse, { around: late })
    expect(items.length).toBeGreaterThan(0)
    const row = (await rowsOf(warehouse, 'notes')).find((note) => note.id === 700)
    expect(row).toMatchObject({ description: 'moved', _deleted_at: null })
    await warehouse.close()
  })
})
