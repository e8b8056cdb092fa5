/** A Postgres that goes silent: the run notices, and no wait ignores a signal. */
import { connect, createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withJobs } from '../../../src/features/schedule/tables.js'
import { template } from '../../../src/sandbox/index.js'
import type { Ended } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { startPostgres, type TestPostgres } from '../../support/harness/postgres.js'
import { Program, program } from '../../support/harness/process.js'
import { known } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { onlyJob, startScheduler } from '../../support/harness/scheduler.js'
import { migrate, openAt, openWarehouse } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })
for (let id = 1; id <= 450; id++) sandbox.store.put(1, 'notes', template('notes', id, '2026-01-01T00:00:00Z'))

/** A connection to a server that can go silent: bytes are swallowed, connections stay open. */
async function line(port: number) {
  const ends: Socket[] = []
  let isSilent = false
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    for (const end of [client, upstream]) end.on('error', () => {})
    client.on('data', (data) => void (isSilent || upstream.write(data)))
    upstream.on('data', (data) => void (isSilent || client.write(data)))
    client.on('close', () => upstream.destroy())
    ends.push(client, upstream)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `postgres://postgres@127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/postgres`,
    silence: (to: boolean) => {
      isSilent = to
    },
    close: () => {
      for (const end of ends) end.destroy()
      server.close()
    },
  }
}

describe('postgres', () => {
  let postgres: TestPostgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())

  it('a silent connection is given up, and the work continues on another one', async () => {
    const { url, silence, close } = await line(postgres.port)
    const warehouse = await openWarehouse({ url, schema: 'silent', model: known, silentMs: 200 })
    await migrate(warehouse)
    let attempts = 0
    const answer = await warehouse.read(async (db) => {
      silence(++attempts === 1)
      return sql`select 1 as one`.execute(db)
    })
    expect(answer.rows).toEqual([{ one: 1 }])
    expect(attempts).toBeGreaterThan(1)
    await warehouse.close()
    close()
  })

  it('a running statement is waited for, however long it is silent', async () => {
    const warehouse = await openWarehouse({ url: postgres.url, schema: 'slow', model: known, silentMs: 100 })
    let attempts = 0
    await warehouse.read((db) => {
      attempts++
      return sql`select pg_sleep(1)`.execute(db)
    })
    expect(attempts).toBe(1)
    await warehouse.close()
  })

  /** Before the fifth list request, something happens to the server, and then SIGTERM comes. */
  async function terminated(schema: string, happens: () => Promise<void> | void): Promise<Ended> {
    let lists = 0
    const off = sandbox.onRequest(async ({ resource }) => {
      if (resource !== 'notes' || ++lists !== 3) return
      await happens()
      await sleep(100)
      run.kill('SIGTERM')
    })
    const config = configure(sandbox, { url: postgres.url, schema }, ['notes'])
    const run = new Program(program, ['sync', '--config', config])
    const begun = run.ended.finally(off)
    return begun
  }

  /** A wait that ignores the signal takes longer than this: minutes. */
  const inTime = 40_000
  const saysWhere = /Interrupted; .*the next run/s

  it(
    'SIGTERM immediately ends a run whose server was frozen',
    async () => {
      const { code, stderr } = await terminated('paused', () => postgres.pause())
      postgres.resume()
      expect(code, stderr).toBe(143)
      expect(stderr).toMatch(saysWhere)
    },
    inTime,
  )

  it(
    'shopsync schedule answers monitoring while its server is frozen, and SIGTERM ends it during a job',
    async () => {
      const address = { url: postgres.url, schema: 'staying' }
      const config = configure(sandbox, address, ['notes'], { schedule: { listen: { port: 0 } } })
      onlyJob(dirname(config), 'mine', { schedule: '0 4 1 1 *' })
      const warehouse = await openAt(address)
      const planned_at = '2026-01-01T04:00:00.000000Z'
      const missed = { job: 'mine', schedule: '0 4 1 1 *', time_zone: 'UTC', planned_at }
      await warehouse.write([withJobs(warehouse.db).insertInto('sync_jobs').values(missed).compile()])
      await warehouse.close()
      const off = sandbox.onRequest(async ({ resource }) => {
        if (resource !== 'notes') return
        postgres.pause()
        const { url } = await starting
        const signal = AbortSignal.timeout(8000)
        answers = await Promise.all(
          ['ready', 'metrics', 'metrics', 'health'].map(async (path) => {
            const answer = await fetch(`${url}/${path}`, { signal })
            return `${path} ${answer.status} ${answer.status === 200 ? '' : await answer.text()}`
          }),
        ).catch((error: unknown) => [String(error)])
        run.kill('SIGTERM')
      })
      let answers: string[] = []
      const starting = startScheduler(dirname(config))
      const { run } = await starting
      const { code, stderr } = await run.ended
      off()
      postgres.resume()
      const away = 'The warehouse does not answer. Check its server and the network'
      expect(answers).toEqual([
        expect.stringMatching(new RegExp(`^ready 503 .*${away}`)),
        `metrics 503 {"error":"${away}"}`,
        `metrics 503 {"error":"${away}"}`,
        'health 200 ',
      ])
      expect(code, stderr).toBe(143)
      expect(stderr).toMatch(/the warehouse did not answer in time.*expires within a minute/)
    },
    inTime,
  )

  it(
    'SIGTERM immediately ends a run whose server was shut down',
    async () => {
      const { code, stderr } = await terminated('down', () => postgres.crash())
      await postgres.start()
      expect(code, stderr).toBe(143)
      expect(stderr).toMatch(saysWhere)
    },
    inTime,
  )
})
