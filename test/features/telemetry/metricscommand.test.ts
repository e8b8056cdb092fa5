/**
 * metrics.textfile, as written by cron's runs and `schedule`: after each run, complete and readable.
 * test/transcripts/config.txt shows that it is never a reason to fail, and what it has of runs, of failures and of forgotten tenants.
 */
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { viewedPlace } from '../../support/harness/place.js'

const here = await viewedPlace({ repairOrders: 2 })
const file = 'collected/shopsync.prom'
mkdirSync(join(here.folder, 'collected'))
here.configure({ sync: { resources: ['notes', 'statuses'] }, metrics: { textfile: file } })

const written = (): string => readFileSync(join(here.folder, file), 'utf8')

test('is written after each run, and is complete and readable to others', async () => {
  const umask = process.umask(0o077)
  try {
    expect((await here.run('sync')).code).toBe(0)
  } finally {
    process.umask(umask)
  }
  expect((statSync(join(here.folder, file)).mode & 0o777).toString(8)).toBe('644')
  const first = written()
  // A reader that opened it before the next one was written can read all of it.
  const reading = openSync(join(here.folder, file), 'r')
  expect((await here.run('run', 'hourly')).code).toBe(0)
  const second = written()
  expect(readFileSync(reading, 'utf8')).toBe(first)
  closeSync(reading)
  expect(second).not.toBe(first)
  expect(second).not.toContain(here.sandbox.secret)
  // Nothing is left next to it.
  expect(readdirSync(join(here.folder, 'collected'))).toEqual(['shopsync.prom'])
  // Commands that only read, and those refused before they start, leave it alone.
  const before = statSync(join(here.folder, file)).mtimeMs
  await here.run('status')
  await here.run('sync', '--resource', 'nonsense')
  expect(statSync(join(here.folder, file)).mtimeMs).toBe(before)
})
