import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, test } from 'vitest'
import { describeError, Stop } from '../../../src/engine/base/errors.js'
import { cronProblem } from '../../../src/engine/config/cron.js'
import { lastDays } from '../../../src/engine/config/duration.js'
import { jobNames, readJob } from '../../../src/features/jobs/jobfile.js'
import { kinds } from '../../support/harness/checks.js'
import { scratch } from '../../support/harness/scratch.js'

const shipped = fileURLToPath(new URL('../../../jobs', import.meta.url))
const around = { environment: {}, kinds }
let own: string

beforeEach(() => {
  own = scratch()
})

function refused(name: string, content?: object): string {
  if (content) writeFileSync(join(own, `${name}.json`), JSON.stringify(content))
  try {
    readJob(name, [own, shipped], around)
  } catch (error) {
    expect(error).toBeInstanceOf(Stop)
    expect((error as Stop).exitCode).toBe(2)
    return describeError(error)
  }
  throw new Error('the job was accepted')
}

describe('jobs', () => {
  test('every shipped one is valid, and has a schedule, except those to be called by hand or copied', () => {
    const names = jobNames([shipped])
    expect(names).toEqual(['backfill', 'due', 'hourly', 'nightly', 'weekly-verify'])
    for (const name of names)
      expect(readJob(name, [shipped], around)).toMatchObject({
        name,
        ...(name !== 'backfill' && name !== 'due' && { schedule: expect.any(String) }),
      })
  })

  test('those beside the configuration come first', () => {
    writeFileSync(
      join(own, 'hourly.json'),
      '{"description":"Mine.","steps":[{"command":"sync","tenants":[9007199254740993]}]}',
    )
    const job = readJob('hourly', [own, shipped], around)
    expect(job.description).toBe('Mine.')
    expect(job.steps).toEqual([
      { command: 'sync', tenants: [9007199254740993n], resources: 'all', full: false, due: false },
    ])
  })

  test('an unknown one lists the existing ones', () => {
    const message = refused('hourlyy')
    expect(message).toContain('expected one of backfill, due, hourly, nightly')
    expect(message).toContain('Did you mean hourly?')
  })

  test("a name can't lead out of the folder", () => {
    expect(refused('../../package')).toContain('Found no job')
  })

  test('a heartbeat over plain http is refused, unless the configuration allows it; no message shows it', () => {
    const steps = [{ command: 'sync' }]
    const job = (heartbeat: string): object => ({ description: 'A.', steps, heartbeat })
    const message = refused('a', job('http://beats.example.com/hidden'))
    expect(message).toMatch(/heartbeat.*http:\/\/ \(not shown\), expected.*https:\/\/.*allowInsecure/)
    expect(message).not.toContain('hidden')
    expect(readJob('a', [own], { ...around, allowInsecure: true }).heartbeat).toBeDefined()
    for (const [name, address] of Object.entries({
      b: 'http://127.0.0.1/x',
      c: 'https://beats.example.com/x',
    })) {
      writeFileSync(join(own, `${name}.json`), JSON.stringify(job(address)))
      expect(readJob(name, [own], around).heartbeat?.reveal()).toBe(address)
    }
    expect(refused('d', job('hidden'))).not.toContain('hidden')
  })

  test('mistakes are reported like those in the configuration', () => {
    const step = { command: 'sync' }
    expect(refused('a', { description: 'A.', steps: [{ command: 'synk' }] })).toMatch(
      /steps\[0\]\.command.*expected "sync"/,
    )
    expect(refused('b', { description: 'A.', step: [step] })).toContain('The nearest known key is "steps"')
    expect(refused('c', { description: 'A.', steps: [step], schedule: '61 * * * *' })).toMatch(
      /schedule.*"61 \* \* \* \*", expected five fields.*Invalid value for minute: 61/,
    )
    const wrong = [
      [{ command: 'sync', sample: 3 }, /sample.*only verify/],
      [{ command: 'reconcile', last: 'P30D' }, /last.*only backfill has a range/],
      [
        { command: 'sync', due: true, from: '2026-01-31T00:00:00Z' },
        /found "2026-01-31T00:00:00Z", expected none: only backfill has a range\. Leave "from" out, or move it to a step with "command": "backfill"/,
      ],
      [{ command: 'sync', last: 'P3D' }, /Leave "last" out, or move it to a step with "command": "backfill"/],
      [{ command: 'sync', out: 'a.html' }, /Leave "out" out, or move it to a step with "command": "report"/],
      [
        { command: 'backfill', from: '2026-01-01T00:00:00Z' },
        /\.to: missing; expected both ends of the range\. Type "to": "2026-01-31T00:00:00Z"/,
      ],
      [{ command: 'backfill' }, /last.*"last", such as "P30D", or "from" and "to"/],
      [
        { command: 'backfill', last: 'P1D', from: '2026-01-01T00:00:00Z' },
        /either last, or from and to\. Leave "last" out, or leave "from" and "to" out/,
      ],
      [{ command: 'backfill', last: 'PT6H' }, /last.*"PT6H", expected whole days such as "P30D"/],
      [{ command: 'backfill', last: 'P0D' }, /expected whole days/],
      [{ command: 'backfill', last: 'P1D', full: true }, /full.*a backfill reads its range/],
      [{ command: 'snapshot', full: true }, /full.*a snapshot is always complete/],
      [{ command: 'snapshot', resources: ['customers'] }, /resources.*a snapshot covers whole shops/],
      [{ command: 'verify', sample: -1 }, /sample.*a whole number/],
    ] as const
    for (const [step, message] of wrong)
      expect(refused('e', { description: 'A.', steps: [step] })).toMatch(message)
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
  ['5/10 * * * *', true],
  ['0 0 L * *', false],
  ['0 0 * * mon#2', false],
  ['? * * * *', false],
  ['0 0 * * +1', false],
  ['2026-01-01T00:00:00Z', false],
  ['0 0 0 1 1 *', false],
])('the schedule "%s" is valid: %s', (expression, valid) => {
  expect(cronProblem(expression) === undefined).toBe(valid)
})

test.each([
  ['P30D', '2026-02-13T00:00:00.000Z'],
  ['P2W', '2026-03-01T00:00:00.000Z'],
  ['P1M', '2026-02-15T00:00:00.000Z'],
])('the last %s end when today began', (text, from) => {
  const range = lastDays(text, new Date('2026-03-15T17:20:00Z'))
  expect([range.from.toISOString(), range.to.toISOString()]).toEqual([from, '2026-03-15T00:00:00.000Z'])
})
