/** The warehouse made by 0.2.0, stored in test/fixtures/0.2.0, and the source that it was filled from. */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { postgresOfRun } from '../harness/clones.js'
import { onServer } from '../harness/databases.js'
import type { Address } from '../harness/place.js'
import { scratch } from '../harness/scratch.js'
import type { Kind } from '../harness/warehouse.js'

const read = (name: string): Buffer =>
  gunzipSync(readFileSync(join(import.meta.dirname, '../../fixtures/0.2.0', `${name}.gz`)))

type Records = Record<string, (Record<string, unknown> | string)[]>

/** Fills a sandbox with the source as it was when the fixture was made. */
export function fillAsThen({ store }: Sandbox): void {
  const source = JSON.parse(read('source.json').toString()) as Record<string, Records>
  for (const [id, lists] of Object.entries(source)) {
    const tenant = Number(id)
    store.addTenant({ id: tenant })
    for (const [path, records] of Object.entries(lists)) {
      const resource = path.split('/').at(-1) ?? ''
      const names = records.filter((record) => typeof record === 'string')
      if (names.length > 0) store.tenant(tenant).strings.set(resource, names)
      for (const record of records)
        if (typeof record !== 'string')
          store.put(tenant, resource, record, {
            key: Number(record.id),
            at: String(record.updated_at ?? '2026-10-02T00:00:00Z'),
          })
    }
  }
}

/** The test's own copy of the stored warehouse. On Postgres, it has its own database on the `server`. */
export async function keptWarehouse({ name }: Kind, server?: string): Promise<Address> {
  if (name === 'sqlite') {
    const file = join(scratch(), 'warehouse.db')
    writeFileSync(file, read('warehouse.db'))
    writeFileSync(`${file}.events`, read('warehouse.db.events'))
    return { url: `sqlite:${file}`, schema: 'shopsync' }
  }
  const database = `upgrade_${randomBytes(6).toString('hex')}`
  const home = server ?? postgresOfRun().url
  await onServer(home, `create database ${database}`)
  const url = new URL(home)
  url.pathname = `/${database}`
  await onServer(url.href, read('warehouse.sql').toString())
  return { url: url.href, schema: 'shopsync' }
}
