/** `shopsync runs`: what ran and what failed, as recorded in the warehouse. */
import { describe, expect, it } from 'vitest'
import type { PastRun } from '../../../src/features/runs/work.js'
import { template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { syncInOrder } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { openAt, warehouses } from '../../support/harness/warehouse.js'

const resources = ['categories', 'notes']
const sandbox = await sandboxOfFile()
for (const id of [1, 2]) {
  sandbox.store.addTenant({ id })
  for (const resource of resources)
    sandbox.store.put(id, resource, template(resource, 1, '2026-01-01T00:00:00Z'))
}

describe.each(warehouses())('$name', (kind) => {
  it('lists what ran, newest last, with what failed and why', async () => {
    const address = kind.address()
    const config = configure(sandbox, address, resources)
    const runs = async (...words: string[]): Promise<PastRun[]> => {
      const ended = await shopsync(['runs', '--json', '--config', config, ...words])
      expect(ended.code, ended.stderr).toBe(0)
      return ended.json<{ runs: PastRun[] }>().runs
    }
    const nothing = await shopsync(['runs', '--config', config])
    expect(nothing).toMatchObject({ code: 0, stdout: expect.stringContaining('There is no warehouse yet') })

    const warehouse = await openAt(address)
    await syncInOrder(sandbox, warehouse, { resources })
    sandbox.script([{ when: { resource: 'notes', tenant: 2 }, fault: { kind: 'status', status: 500 } }])
    await syncInOrder(sandbox, warehouse, { resources })
    sandbox.script([])
    await syncInOrder(sandbox, warehouse, { resources })
    // A killed run records no end, and holds no valid lease.
    const { run_id } = await warehouse.db
      .selectFrom('sync_runs')
      .select('run_id')
      .orderBy('started_at', 'desc')
      .limit(1)
      .executeTakeFirstOrThrow()
    await warehouse.db
      .updateTable('sync_runs')
      .set({ status: 'running', finished_at: null })
      .where('run_id', '=', run_id)
      .execute()
    await warehouse.close()

    const all = await runs()
    expect(all.map(({ status }) => status)).toEqual(['interrupted', 'partial', 'ok'])
    expect(all[2]).toMatchObject({ records: 4, cursors: { ok: 4 }, failures: [], requests: 5 })
    expect(all[1]?.failures).toMatchObject([{ tenant_id: 2, resource: 'notes', status: 'failed' }])
    expect(all[1]?.failures[0]?.error).toContain('500')
    expect(await runs('--failed')).toHaveLength(2)
    expect(await runs('--last', '1')).toMatchObject([{ run_id }])
    expect(await runs('--failed', '--tenant', '1', '--resource', 'notes')).toMatchObject([{ run_id }])
    expect(await runs('--since', '7d')).toHaveLength(3)
    expect(await runs('--since', '7d', '--last', '1')).toMatchObject([{ run_id }])
    expect(await runs('--since', all[1]?.started_at ?? '')).toMatchObject([{ run_id }, { status: 'partial' }])
    expect(await runs('--since', '0s')).toEqual([])
    const { stdout } = await shopsync(['runs', '--config', config])
    expect(stdout.indexOf(all[2]?.run_id ?? '?')).toBeLessThan(stdout.indexOf(run_id))
    expect(stdout).toMatch(/tenant 2, notes: failed: .*500/)
    const wrong = await shopsync(['runs', '--last', 'many', '--config', config])
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('expected a whole number') })
  })
})
