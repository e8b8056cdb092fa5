/** A tenant that is forgotten while its events arrive: nothing of them stays. */
import { existsSync, readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { createSandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { eventBody, syncedTenants, TestReceiver } from '../../support/harness/receiver.js'
import { sync } from '../../support/harness/runs.js'
import { bothWarehouses, reopen } from '../../support/harness/warehouse.js'

const mark = 'hushed-event'
const shops = await createSandbox({ tenants: 2, scale: 0.02, seed: 6 })
afterAll(() => shops.close())

/** How often an event's id is in the files of a SQLite warehouse. */
function bytesOf({ url }: Address): number {
  const path = url.slice('sqlite:'.length)
  const files = ['', '-wal', '.events', '.events-wal'].map((end) => `${path}${end}`).filter(existsSync)
  return files.reduce((sum, file) => sum + readFileSync(file, 'latin1').split(mark).length - 1, 0)
}

describe.each(bothWarehouses())('on $name', (kind) => {
  it('keeps none of its events, whenever they arrive, and may be forgotten again', async () => {
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    await sync(shops, warehouse, { resources: ['notes'] })
    // Nobody tells this receiver that the tenant is forgotten.
    const receiver = await TestReceiver.open(address, warehouse, { synced: syncedTenants(101, 102) })
    const config = configure(shops, address, ['notes'])
    const forget = async () => {
      const ended = await shopsync(['forget', '--tenant', '101', '--yes', '--json', '--config', config])
      expect(ended.code, ended.stderr).toBe(0)
      return ended.json<{ rows: number; tables: object[] }>()
    }
    const kept: string[] = []
    const post = async (): Promise<string> => {
      const { status, text } = await receiver.send(eventBody({ id: `${mark} ${kept.length}` }))
      expect(status).toBe(200)
      kept.push(text)
      return text
    }
    let isOver = false
    const posted = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!isOver) await post()
      }),
    )
    while (kept.length < 20) await new Promise((resolve) => setImmediate(resolve))
    const gone = await forget()
    expect(gone.tables).toContainEqual({ table: 'sync_events', rows: expect.any(Number) })
    expect(await post()).toBe('{"stored":false}')
    expect((await receiver.send(eventBody({ id: 'of the other', tenant: 102 }))).text).toBe('{"stored":true}')
    isOver = true
    await posted
    expect(kept[0]).toBe('{"stored":true}')
    expect(new Set((await receiver.rows()).map(({ tenant_id }) => tenant_id))).toEqual(new Set([102]))
    expect(await receiver.counted()).toMatchObject({ forgotten: expect.any(Number) })

    const again = await forget()
    expect(again).toMatchObject({ rows: 0, tables: [], traces_left: null })
    await receiver.close()
    await warehouse.close()
    if (kind.name === 'sqlite') expect(bytesOf(address)).toBe(0)
  })
})
