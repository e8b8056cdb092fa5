/** metrics.textfile, as cron's runs and `schedule` write it: after each run, whole, readable, and never a reason to fail. */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Metrics } from '../../support/metrics.js'
import { type Place, place } from '../../support/place.js'

let here: Place
const file = 'collected/shopsync.prom'

beforeAll(async () => {
  here = await place({ repairOrders: 2 })
  mkdirSync(join(here.folder, 'collected'))
})
afterAll(() => here.remove())

const configure = (textfile: string): void =>
  here.configure({ sync: { resources: ['notes', 'statuses'] }, metrics: { textfile } })
const written = (): Metrics => new Metrics(readFileSync(join(here.folder, file), 'utf8'))

test('is written after each run, goes on where the process before left off, and is whole and readable to others', async () => {
  configure(file)
  const umask = process.umask(0o077)
  try {
    expect((await here.run('sync')).code).toBe(0)
  } finally {
    process.umask(umask)
  }
  expect((statSync(join(here.folder, file)).mode & 0o777).toString(8)).toBe('644')
  const first = written()
  // Whoever reads it while the next one is written, reads all of this one.
  const reading = openSync(join(here.folder, file), 'r')
  expect((await here.run('run', 'hourly')).code).toBe(0)
  const second = written()
  expect(readFileSync(reading, 'utf8')).toBe(first.text)
  closeSync(reading)
  expect(second.all('runs_total').map(({ labels, value }) => [labels, value])).toEqual([
    [{ job: 'hourly', outcome: 'ok' }, 1],
    [{ job: 'sync', outcome: 'ok' }, 1],
  ])
  expect(second.sum('api_requests_total')).toBeGreaterThan(first.sum('api_requests_total') ?? 0)
  expect(second.text).not.toContain(here.sandbox.secret)
  // Nothing is left beside it.
  expect(readdirSync(join(here.folder, 'collected'))).toEqual(['shopsync.prom'])
  // Commands that only read, and what is refused before it begins, leave it alone.
  const before = statSync(join(here.folder, file)).mtimeMs
  await here.run('status')
  await here.run('sync', '--resource', 'nonsense')
  expect(statSync(join(here.folder, file)).mtimeMs).toBe(before)
})

test('tells of a run that failed, and of a tenant that is forgotten no more', async () => {
  configure(file)
  here.sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
  expect((await here.run('sync')).code).toBe(1)
  here.sandbox.script([])
  expect(written().sum('cursors', { state: 'failed' })).toBe(2)
  expect(written().sum('runs_total', { outcome: 'partial' })).toBe(1)
  const [tenant] = here.sandbox.tenantIds
  expect(written().all('cursor_watermark_timestamp_seconds', { tenant: String(tenant) })).not.toEqual([])
  expect((await here.run('forget', '--tenant', String(tenant), '--yes')).code).toBe(0)
  expect(written().all('cursor_watermark_timestamp_seconds', { tenant: String(tenant) })).toEqual([])
})

test('a file that cannot be written is warned about, and the run is as good as it was', async () => {
  configure('nowhere/shopsync.prom')
  const gone = await here.run('sync')
  expect([gone.code, existsSync(join(here.folder, 'nowhere'))]).toEqual([0, false])
  expect(gone.stderr).toMatch(/The metrics were not written: expected a file in a folder/)
  const missing = await here.run('check')
  expect([missing.code, existsSync(join(here.folder, 'nowhere'))]).toEqual([1, false])
  expect(missing.stdout + missing.stderr).toMatch(
    /found no folder \S*nowhere that this user may write.*mkdir -p/s,
  )
  configure('collected/shopsync.txt')
  const unnamed = await here.run('check')
  expect(unnamed.code).toBe(1)
  expect(unnamed.stdout + unnamed.stderr).toMatch(/does not end in \.prom/)
  // A folder that stands in its place.
  mkdirSync(join(here.folder, 'collected/taken.prom'))
  writeFileSync(join(here.folder, 'collected/taken.prom/a'), '')
  configure('collected/taken.prom')
  const taken = await here.run('sync')
  const beside = readdirSync(join(here.folder, 'collected')).filter((name) => name !== 'shopsync.prom')
  expect([taken.code, beside]).toEqual([0, ['taken.prom']])
  expect(taken.stderr).toContain('metrics.textfile')
})
