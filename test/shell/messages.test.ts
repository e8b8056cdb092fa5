/** What a transcript can't show: what the machine refuses, output that can't be written, a word as long as a page. */
import { execFile } from 'node:child_process'
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { viewedPlace } from '../support/harness/place.js'
import { program } from '../support/harness/process.js'

const here = await viewedPlace({ tenants: 1, repairOrders: 3 })
beforeAll(async () => {
  expect((await here.run('sync', '--quiet')).code).toBe(0)
})

test('a word as long as a page is not searched for', async () => {
  for (const words of [
    ['why', 'x'.repeat(100_000), '1'],
    ['run', 'y'.repeat(100_000)],
  ]) {
    const { code, stderr } = await here.run(...words)
    expect([code, stderr]).toEqual([2, expect.stringMatching(/expected one of/i)])
  }
})

/** Runs a line in which `shopsync` is the program; resolves to what it wrote to stderr, and its exit code. */
const inBash = (line: string): Promise<{ code: number; text: string }> =>
  new Promise((resolve) => {
    const script = `shopsync() { "${process.execPath}" "${program}" "$@"; }; ${line}`
    const env = { ...process.env, API_SECRET: here.sandbox.secret }
    execFile('bash', ['-c', script], { cwd: here.folder, env }, (error, _stdout, text) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), text }),
    )
  })

test('what the machine refuses is not called a bug', async () => {
  // Node itself needs some files, and not the same number in each version.
  const few = await Promise.all([20, 24, 28, 32].map((files) => inBash(`ulimit -n ${files}; shopsync sync`)))
  const texts = few.map(({ text }) => text).join('')
  expect(texts).toMatch(/The machine refused something: EMFILE.*ulimit -n 1024/)
  const gone = await inBash('mkdir gone && cd gone && rmdir ../gone && shopsync status')
  expect(gone.text).toMatch(/is gone. Type cd/)
  expect(texts + gone.text).not.toContain('should not have happened')
})

test('an answer that could not be written completely exits with 1', async () => {
  for (const line of ['shopsync dictionary >/dev/full', 'ulimit -f 10; shopsync dictionary >part.md'])
    expect(await inBash(line)).toEqual({
      code: 1,
      text: expect.stringMatching(/The output could not be written \(E(NOSPC|FBIG)\)/),
    })
  expect(await inBash('shopsync dictionary >whole.md')).toEqual({ code: 0, text: '' })
  expect(readFileSync(join(here.folder, 'whole.md'), 'utf8')).toMatch(/^#.*\n$/s)
})

test('files with customer data are only for their owner, and stay as open as somebody made them', async () => {
  const modeOf = (name: string): number => statSync(join(here.folder, name)).mode & 0o777
  expect(await here.run('copy', '--to', 'sqlite:./copy.db')).toMatchObject({ code: 0 })
  for (const mode of [0o600, 0o644]) {
    expect(await here.run('report')).toMatchObject({ code: 0 })
    expect(['data/warehouse.db', 'copy.db', 'report.html'].map(modeOf)).toEqual([0o600, 0o600, mode])
    chmodSync(join(here.folder, 'report.html'), 0o644)
  }
})
