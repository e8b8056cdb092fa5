// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type
/** `shopsync copy` as a shell runs it: a kill and a signal in the middle. Its sentences are in test/transcripts/copy.txt. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Ended, shopsync } from '../../support/harness/call.js'
import { viewedPlace } from '../../support/harness/place.js'
import { spawned } from '../../support/harness/process.js'
import { postgresUrl } from '../../support/harness/warehouse.js'

const here = await viewedPlace({ data: 'none', tenants: 1 })
let file: Sqlite.Database
beforeAll(async () => {
  expect((await here.run('sync', '--quiet')).code).toBe(0)
  file = new Sqlite(join(here.folder, 'data/warehouse.db'))
  // Enough work for a while: rows that are each read, written and compared.
  file.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
    insert into sync_lateness (resource, day, way, up_to_ms, records) select 'notes', '2026-01-01', 'walk', i, 1 from n`)
})
afterAll(() => void file.close())
const env = () => ({ API_SECRET: here.sandbox.secret, POSTGRES: postgresUrl() })

/** Sends the signal as soon as the copy holds the original's lease, before it writes a row. */
async function cutShort(words: readonly string[], signal: NodeJS.Signals): Promise<Ended> {
  const held = file.prepare("select 1 from sync_lease where command = 'copy' and owner is not null")
  let timer: NodeJS.Timeout | undefined
  const ended = await spawned(['copy', ...words], {
    cwd: here.folder,
    env: env(),
    during: (child) => {
      timer = setInterval(() => {
        if (held.get() && child.kill(signal)) clearInterval(timer)
      }, 5)
    },
  })
  clearInterval(timer)
  return ended
}

test.each([
  ['sqlite', 'SIGTERM', ['--to', 'sqlite:./copy.db']],
  ['postgres', 'SIGKILL', ['--to', '${POSTGRES}', '--to-schema', `t_${randomBytes(6).toString('hex')}`]],
] as const)('to %s, %s in the middle, then the same command again: equal', async (_, signal, to) => {
  here.sandbox.resetRequests()
  const ended = await cutShort(to, signal)
  if (signal === 'SIGKILL') expect(ended.signal).toBe(signal)
  else {
    expect(ended.code, ended.stderr).toBe(143)
    expect(ended.stderr).toMatch(/Interrupted; (.*; the same command again resumes there|nothing was copied)/)
  }
  const again = await shopsync(['copy', ...to, '--json'], { cwd: here.folder, env: env() })
  expect(again.code, again.stderr).toBe(0)
  const { tables, ...report } = again.json<{ tables: { table: string }[] }>()
  expect(report).toMatchObject({ status: 'ok', quarantined: 0, left_out: [] })
  expect(tables).toContainEqual(expect.objectContaining({ table: 'sync_lateness', rows: 5000, equal: true }))
  expect(here.sandbox.requests).toEqual([])
})
