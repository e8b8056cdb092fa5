// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type
/** `shopsync copy` as a shell runs it: a kill, a signal, and the commands on the copy. Its sentences are in test/transcripts/copy.txt. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ended, shopsync } from '../../support/harness/call.js'
import { type Place, viewedPlace } from '../../support/harness/place.js'
import { spawned } from '../../support/harness/process.js'
import { postgresUrl } from '../../support/harness/warehouse.js'

let here: Place
beforeAll(async () => {
  here = await viewedPlace({ until: '2026-01-01T00:00:00Z' })
  here.configure({ status: { staleAfter: 'P3650D' } })
  expect((await here.run('sync', '--quiet')).code).toBe(0)
  mkdirSync(join(here.folder, 'copy-sqlite'))
})
afterAll(() => here.remove())

const raw = (): Sqlite.Database => new Sqlite(join(here.folder, 'data/warehouse.db'))

/** Enough work for a while: rows that are each read, written and compared. */
const rows = 5000
beforeAll(() => {
  const file = raw()
  file.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
    insert into sync_lateness (resource, day, way, up_to_ms, records) select 'notes', '2026-01-01', 'walk', i, 1 from n`)
  file.close()
})

/** Sends the signal as soon as the copy holds the original's lease, before it writes a row. */
async function cutShort(
  words: readonly string[],
  signal: NodeJS.Signals,
  env: Record<string, string>,
): Promise<Ended> {
  const file = raw()
  const held = file.prepare("select 1 from sync_lease where command = 'copy' and owner is not null")
  let timer: NodeJS.Timeout | undefined
  const ended = await spawned(['copy', ...words], {
    cwd: here.folder,
    env: { API_SECRET: here.sandbox.secret, ...env },
    during: (child) => {
      timer = setInterval(() => {
        if (held.get() && child.kill(signal)) clearInterval(timer)
      }, 5)
    },
  })
  clearInterval(timer)
  file.close()
  return ended
}

const run = (words: readonly string[], env: Record<string, string> = {}): Promise<Ended> =>
  shopsync(words, { cwd: here.folder, env: { API_SECRET: here.sandbox.secret, ...env } })

const targets: [string, () => readonly string[]][] = [
  ['sqlite', () => ['--to', 'sqlite:./${COPY}/copy.db']],
  ['postgres', () => ['--to', '${POSTGRES}', '--to-schema', `t_${randomBytes(6).toString('hex')}`]],
]

describe.each(targets)('to %s', (name, words) => {
  const to = words()
  const env = { COPY: `copy-${name}`, POSTGRES: postgresUrl() }
  const [, , , schema = 'shopsync'] = to
  const warehouse =
    name === 'sqlite' ? { url: `sqlite:./${env.COPY}/copy.db` } : { url: env.POSTGRES, schema }
  const onCopy = async (work: () => Promise<void>): Promise<void> => {
    here.configure({ warehouse, status: { staleAfter: 'P3650D' } })
    await work().finally(() => here.configure({ status: { staleAfter: 'P3650D' } }))
  }

  test('a kill in the middle, then the same command again: equal, and reported', async () => {
    here.sandbox.resetRequests()
    const killed = await cutShort(to, 'SIGKILL', env)
    expect(killed.signal).toBe('SIGKILL')
    const again = await run(['copy', ...to, '--json'], env)
    expect(again.code, again.stderr).toBe(0)
    const report = again.json<{ tables: { table: string }[] }>()
    expect(report).toMatchObject({ status: 'ok', quarantined: 0, left_out: [] })
    expect(report.tables.find(({ table }) => table === 'repair_orders')).toMatchObject({
      rows: 24,
      equal: true,
    })
    expect(here.sandbox.requests).toHaveLength(0)
    const refused = await run(['copy', ...to], env)
    expect(refused.code).toBe(2)
    expect(refused.stderr).toMatch(/has [\d,]+ rows in \d+ tables .*expected an empty warehouse/)
    expect(refused.stderr).not.toContain(postgresUrl())
  })

  test('every command works on the copy', () =>
    onCopy(async () => {
      const migrated = await run(['migrate'])
      expect(migrated.stdout).toContain('create view')
      expect((await run(['status'])).code).toBe(0)
      const synced = (await run(['sync', '--json'])).json<{
        requests: number
        cursors: { completeness: string }[]
      }>()
      expect(synced.requests).toBe(1 + 2 * 21)
      expect(new Set(synced.cursors.map(({ completeness }) => completeness))).toEqual(new Set(['proven']))
    }))
})

test('SIGTERM ends it with 143, and it prints what to type', async () => {
  const ended = await cutShort(['--to', 'sqlite:./term.db'], 'SIGTERM', {})
  expect(ended.code, ended.stderr).toBe(143)
  expect(ended.stderr).toMatch(/Interrupted; (.*; the same command again resumes there|nothing was copied)/)
  const again = await run(['copy', '--to', 'sqlite:./term.db'])
  expect(again.code, again.stderr).toBe(0)
  expect(again.stdout).toContain('every value compared')
})
