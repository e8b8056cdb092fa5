/**
 * The whole life of a warehouse through PgBouncer in transaction mode, which lends a session for one transaction and
 * gives it to somebody else after it. PgBouncer comes from the system (Debian: apt-get install pgbouncer); where it is
 * lacking, the suite says so and is skipped.
 */
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseAt, postgresUrlOf } from '../support/harness/databases.js'
import { place } from '../support/harness/place.js'
import { freePort } from '../support/harness/postgres.js'
import { until } from '../support/harness/scheduler.js'
import { scratch } from '../support/harness/scratch.js'
import { postgresUrl } from '../support/harness/warehouse.js'
import { Planted } from '../support/world/planted.js'

const isThere = spawnSync('pgbouncer', ['--version']).status === 0
if (!isThere) console.warn('The pooler was not run: pgbouncer is lacking (Debian: apt-get install pgbouncer)')

/** PgBouncer refuses to run as root; `nobody` exists wherever root does. */
const nobody = 65534
const isRoot = process.getuid?.() === 0

interface Bouncer {
  readonly url: string
  stop(): void
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false)).once('connect', () => socket.end(() => resolve(true)))
  })

async function startBouncer(server: string): Promise<Bouncer> {
  const { hostname, port: serverPort } = new URL(server)
  const port = await freePort()
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${serverPort} user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'auth_type = any',
    'pool_mode = transaction',
    // Fewer sessions than the program opens: two of its connections share one.
    'default_pool_size = 3',
    'unix_socket_dir =',
  ]
  const folder = scratch()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, `${lines.join('\n')}\n`)
  if (isRoot) for (const path of [folder, file]) chownSync(path, nobody, nobody)
  const identity = isRoot ? { uid: nobody, gid: nobody } : {}
  const child = spawn('pgbouncer', ['--quiet', file], { stdio: 'ignore', ...identity })
  const stop = (): void => void child.kill('SIGKILL')
  process.once('exit', stop)
  await until(() => isListening(port))
  return { url: postgresUrlOf(port), stop }
}

const here = await place({ tenants: 2 })

describe.skipIf(!isThere)('a pooler in transaction mode', () => {
  let bouncer: Bouncer
  const schema = 'through_pooler'
  const through = (url = bouncer.url): void =>
    here.configure({ warehouse: { url, schema, pooler: true }, workers: { listen: false } })

  beforeAll(async () => {
    bouncer = await startBouncer(postgresUrl())
    through()
  })
  afterAll(() => bouncer?.stop())

  test('carries every command, twice and side by side', async () => {
    const lines = `plan; sync; sync; sync --full; reconcile; verify --full --sample 5; run nightly
      backfill --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z; why repair_orders 1; quarantine list; runs; status
      report --out report.html; check; migrate; copy --to ${bouncer.url} --to-schema ${schema}_copy; forget --tenant 102 --yes`
    for (const line of lines.split(/; |\n +/)) {
      const { code, stdout, stderr } = await here.run(...line.split(' '))
      expect([line, code, code === 0 ? '' : stdout + stderr]).toEqual([line, 0, ''])
    }
    const side = await Promise.all([here.run('sync'), here.run('reconcile')])
    expect(side.map(({ code }) => code).sort()).toEqual([0, 4])
  })

  test('calls nothing that a stranger planted under a name that we use', async () => {
    const planted = await Planted.start(postgresUrl(), 'planted_behind_pooler')
    await planted.plant()
    through(databaseAt(bouncer.url, new URL(planted.url).pathname.slice(1)))
    const lines = 'check; sync; sync; reconcile; status; run hourly --enqueue 2; worker --once; migrate'
    for (const line of lines.split('; '))
      expect([line, await here.run(...line.split(' ')), await planted.wasCalled()]).toMatchObject([
        line,
        { code: 0 },
        false,
      ])
    through()
    await planted.stop()
  })

  test('keeps nothing of ours in a session', async () => {
    const session = new pg.Client({ connectionString: bouncer.url })
    await session.connect()
    const found: unknown[] = []
    for (let i = 0; i < 12; i++) {
      const text = `select (select count(*) from pg_prepared_statements) + (select count(*) from pg_locks
        where locktype = 'advisory') as left, current_setting('lock_timeout') as waits,
        current_setting('enable_seqscan') as scans, current_setting('search_path') as path`
      found.push((await session.query(text)).rows[0])
    }
    await session.end()
    for (const row of found)
      expect(row).toEqual({ left: '0', waits: '0', scans: 'on', path: '"$user", public' })
  })

  test('is reported if the configuration does not name it', async () => {
    here.configure({ warehouse: { url: bouncer.url, schema } })
    const { code, stderr } = await here.run('status')
    expect(code).toBe(3)
    expect(stderr).toMatch(/behind a pooler.*"pooler": true/s)
    through()
  })
})
