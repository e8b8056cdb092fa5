/** What a transcript can't show: what the machine refuses, programs that stay up, output that can't be written. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Call, shopsync } from '../support/harness/call.js'
import { type Place, viewedPlace } from '../support/harness/place.js'
import { freePort } from '../support/harness/postgres.js'
import { program } from '../support/harness/process.js'

let here: Place
beforeAll(async () => {
  here = await viewedPlace({ tenants: 1, repairOrders: 3 })
  expect((await here.run('sync', '--quiet')).code).toBe(0)
})
afterAll(() => here.remove())

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

/** A sandbox that is stopped by a signal. */
const sandbox = (words: string, during: (call: Call) => unknown) =>
  shopsync(['sandbox', '--size', 'small', ...words.split(' ')], { cwd: here.folder, during })
const stopAt =
  (isUp: (text: string) => boolean) =>
  (call: Call): void =>
    call.onText((text) => isUp(text) && call.kill('SIGINT'))

test('the sandbox prints how to reach it, one document with --json, nothing with --quiet, and ends cleanly', async () => {
  const flags = '--port 0 --tenants 12 --rate-limit 3 --read-only-tenant 102'
  const told = await sandbox(
    flags,
    stopAt((text) => text.includes('Ctrl-C')),
  )
  expect(told).toMatchObject({ code: 0, stderr: '' })
  for (const said of [
    /sandbox +http:\/\/127\.0\.0\.1:\d+/,
    /"baseUrl"/,
    /tenants +101, 102 \(read only\), 103,/,
  ])
    expect(told.stdout).toMatch(said)
  expect(told.stdout).toMatch(/\nrate limit +3 requests a minute/)
  const json = await sandbox(
    '--port 0 --tenants 1 --json',
    stopAt((text) => text.trimEnd().endsWith('\n}')),
  )
  expect(json.json()).toMatchObject({
    url: expect.stringMatching(/^http:/),
    tenants: [101],
    config: { api: { partnerId: expect.anything() } },
  })
  const port = await freePort()
  const answers = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}`).then(
      () => true,
      () => false,
    )
  const quiet = await sandbox(`--port ${port} --quiet`, async (call) => {
    while (!(await answers())) await sleep(50)
    call.kill('SIGTERM')
  })
  expect(quiet).toMatchObject({ stdout: '', stderr: '' })
})
