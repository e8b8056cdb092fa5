/** What a person mistypes on the first day: the right word is suggested, and never an expensive one. */
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ended, shopsync } from '../support/harness/call.js'
import { type Place, place } from '../support/harness/place.js'
import { scratch } from '../support/harness/scratch.js'

let here: Place
beforeAll(async () => {
  here = await place({ tenants: 2 })
  here.configure({ sync: { resources: ['repair_orders', 'notes'] } })
  expect((await here.run('sync', '--quiet')).code).toBe(0)
})
afterAll(() => here.remove())

function refused({ stderr, code }: Ended, said: RegExp): void {
  expect(stderr).toMatch(said)
  expect(stderr).not.toMatch(/should not have happened|shopsync run backfill|Did you mean "text"/)
  expect(code).toBe(2)
}

test.each([
  ['help of no command', ['help', 'foo'], /unknown command 'foo'/i],
  ['help of a command that is nearly one', ['help', 'stauts'], /Did you mean shopsync help status\?/],
  ['help of help', ['help', '--help'], /'--help'\. Type shopsync --help/],
  ['tenants in one word', ['sync', '--tenant', '101,102'], /Type --tenant 101 --tenant 102/],
  ['resources in one word', ['plan', '--resource', 'notes,shops'], /Type --resource notes --resource shops/],
  [
    'status of a tenant that nobody knows',
    ['status', '--tenant', '999'],
    /The warehouse has no tenant 999\b[\s\S]*Expected one of 101, 102/,
  ],
  ['runs of one', ['runs', '--tenant', '999'], /The warehouse has no tenant 999\b/],
  ['the quarantine of one', ['quarantine', 'list', '--tenant', '999'], /has no tenant 999\b/],
  ['the end of a name', ['sync', '--resource', 'order'], /Did you mean repair_orders\?/],
  ['a view', ['why', 'orders', '8'], /orders is a view, expected a table\. Did you mean repair_orders\?/],
  ['a job like no other', ['run', 'foo'], /expected one of .*Type shopsync jobs list/],
  ['the file of such a job', ['jobs', 'show', 'foo'], /Type shopsync jobs list/],
  ['a copy into no folder', ['copy', '--to', 'sqlite:./none/copy.db'], /there is no .*none.*mkdir -p/],
])('%s', async (_what, words, said) => {
  refused(await here.run(...words), said)
  expect(existsSync(join(here.folder, 'none'))).toBe(false)
})

test('help of a command is its help, and so is help of nothing', async () => {
  const [own, its, all] = await Promise.all([
    shopsync(['sync', '--help']),
    shopsync(['help', 'sync']),
    shopsync(['help']),
  ])
  expect(its).toMatchObject({ code: 0, stdout: own.stdout, stderr: '' })
  expect(all).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ {2}help \[command\]/m) })
})

test('every document of --json is an object', async () => {
  expect((await here.run('quarantine', 'list', '--json')).json<object>()).toEqual({ values: [] })
  expect((await here.run('quarantine', 'replay', '--json')).json<object>()).toEqual({ records: [] })
})

describe('why for a row that does not exist', () => {
  test('for an unknown tenant names the known ones', async () => {
    const { stdout, code } = await here.run('why', 'repair_orders', '1', '--tenant', '9')
    expect(stdout.trim()).toBe('The warehouse has no tenant 9. It has 101, 102.')
    expect(code).toBe(1)
  })

  test('requests only its own list', async () => {
    const { stdout, code } = await here.run('why', 'repair_order_parts', '999999', '--tenant', '101')
    expect(stdout).toContain('shopsync reconcile --resource repair_orders fetches it')
    expect(code).toBe(1)
  })
})

test('a mistyped tenant is not a failed run', async () => {
  const before = (await here.run('runs', '--json')).json<{ runs: unknown[] }>()
  refused(await here.run('sync', '--tenant', '9'), /Tenant 9 is not granted.*Granted tenants: 101, 102/)
  refused(await here.run('reconcile', '--tenant', '9'), /Tenant 9 is not granted/)
  expect((await here.run('runs', '--json')).json()).toEqual(before)
  expect((await here.run('status')).stdout).not.toContain('failed')
})

test('a job whose file names a tenant that is not granted stays on record', async () => {
  mkdirSync(join(here.folder, 'jobs'))
  const job = { description: 'Mistyped.', steps: [{ command: 'sync', tenants: [9] }] }
  writeFileSync(join(here.folder, 'jobs/mistyped.json'), JSON.stringify(job))
  refused(await here.run('run', 'mistyped'), /Tenant 9 is not granted/)
  const { runs } = (await here.run('runs', '--last', '1', '--json')).json<{ runs: object[] }>()
  expect(runs).toMatchObject([{ job: 'mistyped', status: 'failed' }])
})

test('without a configuration, every command names the one that makes it', async () => {
  const cwd = scratch()
  for (const words of [['sync'], ['status'], ['why', 'notes', '1'], ['check'], ['schedule'], ['run', 'x']]) {
    const { code, stdout, stderr } = await shopsync(words, { cwd })
    expect(stdout + stderr, words.join(' ')).toContain('Type shopsync init')
    expect(code).toBe(2)
  }
})

describe('files with customer data', () => {
  const modeOf = (name: string): number => statSync(join(here.folder, name)).mode & 0o777

  test('are only for their owner', async () => {
    expect((await here.run('report')).code).toBe(0)
    expect((await here.run('copy', '--to', 'sqlite:./copy.db')).code).toBe(0)
    expect(['data/warehouse.db', 'copy.db', 'report.html'].map(modeOf)).toEqual([0o600, 0o600, 0o600])
  })

  test('stay as open as they were made', async () => {
    chmodSync(join(here.folder, 'report.html'), 0o644)
    expect((await here.run('report')).code).toBe(0)
    expect(modeOf('report.html')).toBe(0o644)
  })
})
