/** `shopsync jobs`: the existing jobs, when they are due, and whether their files are valid. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { JobFile } from '../../../src/features/jobs/jobfiles.js'
import { shopsync } from '../../support/harness/call.js'
import { scratch } from '../../support/harness/scratch.js'

const folder = scratch()
mkdirSync(join(folder, 'jobs'))
writeFileSync(
  join(folder, 'jobs', 'mine.json'),
  JSON.stringify({
    description: 'Two lists, each quarter of an hour.',
    schedule: '*/15 * * * *',
    steps: [
      { command: 'sync', resources: ['notes', 'payments'] },
      { command: 'verify', sample: 5 },
    ],
  }),
)
const jobs = (...words: string[]) => shopsync(['jobs', ...words], { cwd: folder })

test('list: those of the working directory and those that come with shopsync', async () => {
  const { code, json } = await jobs('list', '--json')
  expect(code).toBe(0)
  const files = json<{ jobs: JobFile[] }>().jobs
  expect(files.map(({ name }) => name)).toEqual([
    'backfill',
    'due',
    'hourly',
    'mine',
    'nightly',
    'weekly-verify',
  ])
  for (const { job, next, problem } of files) {
    expect(problem).toBeNull()
    expect(next).toHaveLength(job?.schedule === undefined ? 0 : 5)
    expect(next.every((at) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000000Z$/.test(at))).toBe(true)
  }
  expect((await jobs('list')).stdout).toMatch(/mine +\*\/15 \* \* \* \* .*Two lists/)
})

test('show: steps and the next instants; suggests a similar name for an unknown one', async () => {
  const { code, stdout } = await jobs('show', 'mine')
  expect(code).toBe(0)
  expect(stdout).toContain('1. sync, resources ["notes","payments"]')
  expect(stdout).toContain('2. verify, sample 5')
  expect(stdout.match(/:(00|15|30|45):00 UTC/g)).toHaveLength(5)
  expect(await jobs('show', 'mune')).toMatchObject({ code: 2, stderr: expect.stringContaining('mine') })
  expect(await jobs('show')).toMatchObject({ code: 2, stderr: expect.stringContaining('jobs list') })
  expect(await jobs('sow')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('list, show or validate'),
  })
})

test('list: a wrong configuration is reported, and a missing one is not', async () => {
  const wrong = join(folder, 'wrong.json')
  writeFileSync(wrong, '{"schedule": {"timeZone": "Mars/Olympus"}}')
  const { code, stdout, stderr } = await jobs('list', '--config', wrong)
  expect(code).toBe(0)
  expect(stdout).toContain('mine')
  expect(stderr).toMatch(/schedule\.timeZone.*found "Mars\/Olympus"[\s\S]*without it, in UTC/)
  const nowhere = await jobs('list', '--config', join(folder, 'nowhere.json'))
  expect(nowhere.stderr).toContain('Found no configuration')
  expect((await jobs('list')).stderr).toBe('')
})

test('validate: reports what is wrong with a file, and exits with 1', async () => {
  expect(await jobs('validate')).toMatchObject({ code: 0 })
  writeFileSync(
    join(folder, 'jobs', 'bad.json'),
    '{"description": "x", "schedule": "99 * * * *", "steps": []}',
  )
  const { code, stdout } = await jobs('validate')
  expect(code).toBe(1)
  expect(stdout).toMatch(/✓ mine/)
  expect(stdout).toMatch(/✗ bad: .*schedule/s)
  expect(await jobs('validate', 'mine')).toMatchObject({ code: 0 })
  expect(await jobs('list')).toMatchObject({ code: 0, stdout: expect.stringContaining('✗') })
})
