/**
 * A change that a run makes first, on a table that the database doesn't let be changed: the lists whose rows go there wait,
 * with the reason and what to type, and every other list goes on.
 */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { RunReport } from '../../../src/engine/run/runreport.js'
import type { Warehouse } from '../../../src/engine/warehouse/warehouse.js'
import { template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/call.js'
import { writePrivacy } from '../../support/hidden.js'
import { type Address, configure } from '../../support/place.js'
import { sandboxOfFile } from '../../support/sandbox.js'
import { bothWarehouses, type Kind, reopen, rowsOf } from '../../support/warehouse.js'

const key = Buffer.alloc(32, 3).toString('base64')
const lists = ['customers', 'notes']
const at = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

const nick = { columns: { nick: 'text' } }

/** What the configuration asks of the rows of `customers`. */
const changes: readonly [name: string, more: object, privacy?: object][] = [
  ['a history', { resources: { customers: { history: true } } }],
  ['stricter privacy', {}, { preset: 'pseudonymous', key }],
]

/** Somebody's trigger that raises whenever a row is updated. */
async function addTrigger(
  kind: Kind,
  { db, dialect }: Warehouse,
  name: string,
): Promise<() => Promise<unknown>> {
  const table = dialect.views().sql.table(name)
  const run = (text: string): Promise<unknown> => sql.raw(text).execute(db)
  if (kind.name === 'sqlite') {
    await run(`create trigger guard before update on ${table} begin select raise(abort, 'no'); end`)
    return () => run('drop trigger guard')
  }
  const stop = `${table.slice(0, table.lastIndexOf('.'))}.stop`
  await run(`create function ${stop}() returns trigger language plpgsql as $$ begin raise 'no'; end $$`)
  await run(`create trigger guard before update on ${table} for each row execute function ${stop}()`)
  return () => run(`drop trigger guard on ${table}`)
}

async function begun(kind: Kind, before: object = {}) {
  const sandbox = await sandboxOfFile()
  sandbox.store.addTenant({ id: 1 })
  for (const name of lists)
    for (const id of [1, 2])
      sandbox.store.put(1, name, {
        ...template(name, id, at(id * 600)),
        ...(name === 'customers' && { nick: `n${id}` }),
      })
  const address: Address = await kind.viewed()
  const call = async (words: readonly string[], more: object = {}, privacy?: object) => {
    const config = configure(sandbox, address, lists, more)
    if (privacy) writePrivacy(config, privacy)
    const { code, stdout, stderr } = await shopsync([...words, '--json', '--config', config])
    return { code, stderr, report: JSON.parse(stdout || '{}') as RunReport }
  }
  expect((await call(['sync'], before)).code).toBe(0)
  const look = await reopen(address)
  const of = ({ report }: { report: RunReport }, name: string) =>
    report.cursors.find(({ resource }) => resource === name)
  return { sandbox, call, look, of }
}

describe.each(bothWarehouses())('$name', (kind) => {
  it.each(changes)(
    '%s on a table whose trigger raises keeps back its lists alone',
    async (_, more, privacy) => {
      const { call, look, of, sandbox } = await begun(kind)
      const emails = async () => (await rowsOf(look, 'customers')).map(({ email }) => email).sort()
      const before = await emails()
      const remove = await addTrigger(kind, look, 'customers')
      sandbox.store.put(1, 'notes', { ...template('notes', 3, at(1800)), id: 3 })
      const kept = await call(['sync'], more, privacy)
      expect([kept.code, kept.stderr]).toEqual([1, expect.any(String)])
      expect(of(kept, 'customers')).toMatchObject({
        status: 'failed',
        completeness: 'unproven',
        reason: 'not_migrated',
        requests: 0,
        error: expect.stringContaining('guard'),
      })
      expect(of(kept, 'notes')).toMatchObject({ status: 'ok', rows_upserted: 1 })
      await remove()
      const next = await call(['sync'], more, privacy)
      expect([next.code, next.report.status]).toEqual([0, 'ok'])
      // What was kept back is made up for.
      for (const email of before) expect((await emails()).includes(email)).toBe(privacy === undefined)
      await look.close()
    },
  )

  const history = { history: true }
  it.runIf(kind.name === 'postgres').each([
    ['a promoted column', 'customers', {}, nick],
    ['a history', 'customers', {}, history],
    ['a promoted column of ended versions', 'customers_history', history, { ...history, ...nick }],
  ])(
    '%s on a table that an idle transaction holds keeps back its lists alone',
    async (_, name, before, now) => {
      const { call, look, of } = await begun(kind, { resources: { customers: before } })
      const more = { resources: { customers: now } }
      const table = look.dialect.views().sql.table(name)
      await look.db.connection().execute(async (held) => {
        await sql.raw('begin').execute(held)
        await sql.raw(`select 1 from ${table}`).execute(held)
        const kept = await call(['sync'], more)
        expect(kept.code).toBe(1)
        expect(of(kept, 'customers')).toMatchObject({
          status: 'failed',
          reason: 'not_migrated',
          requests: 0,
          error: expect.stringMatching(/pid \d+\) holds a lock on it/),
        })
        expect(of(kept, 'notes')).toMatchObject({ status: 'ok' })
        await sql.raw('rollback').execute(held)
      })
      expect((await call(['sync'], more)).code).toBe(0)
      await look.close()
    },
    60_000,
  )
})
