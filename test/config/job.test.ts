import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cronProblem } from '../../src/config/cron.js'
import { jobNames, readJob } from '../../src/config/job.js'
import { Stop } from '../../src/errors.js'

const shipped = fileURLToPath(new URL('../../jobs', import.meta.url))
let own: string

beforeEach(() => {
  own = mkdtempSync(join(tmpdir(), 'shopsync-jobs-'))
})
afterEach(() => rmSync(own, { recursive: true }))

function refused(name: string, content?: object): string {
  if (content) writeFileSync(join(own, `${name}.json`), JSON.stringify(content))
  try {
    readJob(name, [own, shipped])
  } catch (error) {
    expect(error).toBeInstanceOf(Stop)
    expect((error as Stop).exitCode).toBe(2)
    return (error as Stop).message
  }
  throw new Error('the job was accepted')
}

describe('jobs', () => {
  test('every shipped one is sound, and has a schedule', () => {
    const names = jobNames([shipped])
    expect(names).toEqual(['hourly', 'nightly'])
    for (const name of names)
      expect(readJob(name, [shipped])).toMatchObject({ name, schedule: expect.any(String) })
  })

  test('those of the working directory come first', () => {
    writeFileSync(
      join(own, 'hourly.json'),
      '{"description":"Mine.","steps":[{"command":"sync","tenants":[9007199254740993]}]}',
    )
    const job = readJob('hourly', [own, shipped])
    expect(job.description).toBe('Mine.')
    expect(job.steps).toEqual([
      { command: 'sync', tenants: [9007199254740993n], resources: 'all', full: false },
    ])
  })

  test('an unknown one lists those there are', () => {
    const message = refused('hourlyy')
    expect(message).toContain('expected one of hourly, nightly')
    expect(message).toContain('Did you mean shopsync run hourly?')
  })

  test('a name cannot lead out of the folder', () => {
    expect(refused('../package')).toContain('Found no job')
  })

  test('mistakes are named like those of the configuration', () => {
    const step = { command: 'sync' }
    expect(refused('a', { description: 'A.', steps: [{ command: 'synk' }] })).toMatch(
      /steps\[0\]\.command.*expected "sync"/,
    )
    expect(refused('b', { description: 'A.', step: [step] })).toContain('The nearest known key is "steps"')
    expect(refused('c', { description: 'A.', steps: [step], schedule: '61 * * * *' })).toMatch(
      /schedule.*"61 \* \* \* \*", expected a minute from 0 to 59/,
    )
    expect(refused('d', { description: 'A.', steps: [] })).toContain('at least one step')
  })
})

test.each([
  ['0 * * * *', true],
  ['*/15 0-6,22-23 1 jan-mar mon,wed', true],
  ['30 2 * * 7', true],
  ['* * * *', false],
  ['@hourly', false],
  ['0 24 * * *', false],
  ['5-1 * * * *', false],
  ['*/0 * * * *', false],
  ['1/2/3 * * * *', false],
  ['0 0 0 * *', false],
])('the schedule "%s" is valid: %s', (expression, valid) => {
  expect(cronProblem(expression) === undefined).toBe(valid)
})
