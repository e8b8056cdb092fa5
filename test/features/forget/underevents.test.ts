/** A tenant that is forgotten while its events arrive: nothing of them stays. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Desk } from '../../support/harness/desk.js'
import type { Address } from '../../support/harness/place.js'
import { eventBody, syncedTenants, TestReceiver } from '../../support/harness/receiver.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, reopen } from '../../support/harness/warehouse.js'

const mark = 'hushed-event'
const shops = await sandboxOfFile({ tenants: 2, data: 'none' })

/** How often an event's id is in the files of a SQLite warehouse. */
function bytesOf({ url }: Address): number {
  const path = url.slice('sqlite:'.length)
  const files = ['', '-wal', '.events', '.events-wal'].map((end) => `${path}${end}`).filter(existsSync)
  return files.reduce((sum, file) => sum + readFileSync(file, 'latin1').split(mark).length - 1, 0)
}

describe.each(bothWarehouses())('on $name', (kind) => {
  it('keeps none of its events, whenever they arrive, and may be forgotten again', async () => {
    const address = await kind.viewed()
    const desk = new Desk(shops, address, ['notes'])
    await desk.done('sync')
    const warehouse = await reopen(address)
    // Nobody tells this receiver that the tenant is forgotten.
    const receiver = await TestReceiver.open(address, warehouse, { synced: syncedTenants(101, 102) })
    const forget = async () =>
      (await desk.done('forget --tenant 101 --yes --json')).json<{ rows: number; tables: object[] }>()
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
