/** Warehouses that the program has filled from a sandbox. */
import { sql } from 'kysely'
import { createSandbox, type SandboxOptions } from '../src/sandbox/index.js'
import { type Installed, seconds, withOpen } from './kit.js'
import type { BenchWarehouse } from './warehouse.js'

/** Unless it has tenants already: such a warehouse is only migrated. `more`: other parts of the configuration. */
export async function fill(
  { name, url }: BenchWarehouse,
  installed: Installed,
  options: SandboxOptions,
  more: object = {},
): Promise<void> {
  installed.configure(url, { url: 'http://127.0.0.1:1' }, more)
  await installed.run(['migrate'])
  const { rows } = await withOpen(url, ({ db, dialect }) =>
    sql<{ n: number }>`select count(*) as n from ${sql.raw(dialect.views().sql.table('tenants'))}`.execute(
      db,
    ),
  )
  if (Number(rows[0]?.n) > 0) return
  const sandbox = await createSandbox({ ...options, lazy: true })
  try {
    installed.configure(url, sandbox, more)
    const took = await seconds(() => installed.run(['sync', '--quiet']))
    process.stderr.write(`${name}: filled in ${took.toFixed(0)} s\n`)
  } finally {
    await sandbox.close()
  }
}
