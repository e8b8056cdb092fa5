/** A Postgres that goes silent: the run notices, and no wait ignores a signal. */
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { startStaying } from '../../support/harness/listening.js'
import { configure } from '../../support/harness/place.js'
import { startPostgres, type TestPostgres } from '../../support/harness/postgres.js'
import { Program, program } from '../../support/harness/process.js'
import { startSilent } from '../../support/harness/relays.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { onlyJob } from '../../support/harness/scheduler.js'
import { migrate, openAt, reopen } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })
for (let id = 1; id <= 450; id++) sandbox.store.put(1, 'notes', template('notes', id, '2026-01-01T00:00:00Z'))

describe('postgres', () => {
  let postgres: TestPostgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())

  it('a silent connection is given up, and the work continues on another one', async () => {
    const { url, silence } = await startSilent(postgres.url)
    const warehouse = await reopen({ url, schema: 'silent', silentMs: 200 })
    await migrate(warehouse)
    let attempts = 0
    const answer = await warehouse.read(async (db) => {
      silence(++attempts === 1)
      return sql`select 1 as one`.execute(db)
    })
    expect(answer.rows).toEqual([{ one: 1 }])
    expect(attempts).toBeGreaterThan(1)
  })

  it('a running statement is waited for, however long it is silent', async () => {
    const warehouse = await reopen({ url: postgres.url, schema: 'slow', silentMs: 50 })
    let attempts = 0
    await warehouse.read((db) => {
      attempts++
      return sql`select pg_sleep(0.3)`.execute(db)
    })
    expect(attempts).toBe(1)
  })

  /** A wait that ignores the signal takes longer than this: minutes. */
  const inTime = 40_000

  // Of a server that was shut down, retrypolicy.test.ts and test/laws/wentback.test.ts show the same.
  it(
    'SIGTERM ends a run and, during a job, shopsync schedule while their server is frozen; schedule answers monitoring meanwhile',
    async () => {
      const away = 'The warehouse does not answer. Check its server and the network'
      const paused = configure(sandbox, { url: postgres.url, schema: 'paused' }, ['notes'])
      const address = { url: postgres.url, schema: 'staying' }
      const config = configure(sandbox, address, ['notes'], { schedule: { listen: { port: 0 } } })
      onlyJob(dirname(config), 'mine', { schedule: '0 4 1 1 *' })
      const warehouse = await openAt(address)
      const planned_at = '2026-01-01T04:00:00.000000Z'
      const missed = { job: 'mine', schedule: '0 4 1 1 *', time_zone: 'UTC', planned_at }
      const insert = warehouse.db.insertInto('sync_jobs' as 'tenants').values(missed as never)
      await warehouse.write([insert.compile()])
      await warehouse.close()
      // Each waits for the response to its first list request until both do.
      let waiting = 0
      const off = sandbox.onRequest(async ({ resource }) => {
        if (resource !== 'notes') return
        waiting++
        while (waiting < 2) await sleep(10)
        if (waiting === 2) postgres.pause()
        waiting++
      })
      const sync = new Program(program, ['sync', '--config', paused])
      const { run, url } = await startStaying(['schedule'], { cwd: dirname(config) })
      while (waiting < 4) await sleep(10)
      sync.kill('SIGTERM')
      const signal = AbortSignal.timeout(8000)
      const answers = await Promise.all(
        ['ready', 'metrics', 'metrics', 'health'].map(async (path) => {
          const answer = await fetch(`${url}/${path}`, { signal })
          return `${path} ${answer.status} ${answer.status === 200 ? '' : await answer.text()}`
        }),
      ).catch((error: unknown) => [String(error)])
      run.kill('SIGTERM')
      const [synced, scheduled] = await Promise.all([sync.ended, run.ended])
      off()
      postgres.resume()
      expect(synced.code, synced.stderr).toBe(143)
      expect(synced.stderr).toMatch(/Interrupted; .*the next run/s)
      expect(answers).toEqual([
        expect.stringMatching(new RegExp(`^ready 503 .*${away}`)),
        `metrics 503 {"error":"${away}"}`,
        `metrics 503 {"error":"${away}"}`,
        'health 200 ',
      ])
      expect(scheduled.code, scheduled.stderr).toBe(143)
      expect(scheduled.stderr).toMatch(/the warehouse did not answer in time.*expires within a minute/)
    },
    inTime,
  )
})
