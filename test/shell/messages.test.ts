/** What a transcript can't show: what the machine refuses, programs that stay up, a server. */
import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ended, shopsync } from '../support/harness/call.js'
import { postgresStarted } from '../support/harness/clones.js'
import { type Place, place, viewedPlace } from '../support/harness/place.js'
import { freePort } from '../support/harness/postgres.js'
import { program } from '../support/harness/process.js'
import { postgresUrl } from '../support/harness/warehouse.js'

let here: Place
beforeAll(async () => {
  here = await viewedPlace({ tenants: 1, repairOrders: 3 })
  expect((await here.run('sync', '--quiet')).code).toBe(0)
})
afterAll(() => here.remove())

/** Ended as for wrong usage, with these words and without a stack trace. */
function refused(ended: Ended, said: RegExp, code = 2): void {
  expect(ended.stderr).toMatch(said)
  expect(ended.stderr).not.toMatch(/should not have happened|^\s+at /m)
  expect(ended.code).toBe(code)
}

test('a word as long as a page is not searched for', async () => {
  for (const words of [
    ['why', 'x'.repeat(100_000), '1'],
    ['run', 'y'.repeat(100_000)],
  ])
    refused(await here.run(...words), /expected one of/i)
})

describe('what the machine refuses is not called a bug', () => {
  const inBash = async (before: string, ...words: string[]) => {
    const run = new Promise<string>((resolve) => {
      const args = ['-c', `${before}; exec "$0" "$@"`, process.execPath, '--', program, ...words]
      execFile('bash', args, { cwd: here.folder }, (_error, _stdout, stderr) => resolve(stderr))
    })
    const text = await run
    expect(text).not.toContain('should not have happened')
    return text
  }

  test('too many open files', async () => {
    // Node itself needs some, and not the same number in each version.
    const texts = await Promise.all([20, 24, 28, 32].map((files) => inBash(`ulimit -n ${files}`, 'sync')))
    expect(texts.join('')).toMatch(/The machine refused something: EMFILE.*ulimit -n 1024/)
  })

  test('the working directory was removed', async () => {
    expect(await inBash('mkdir gone && cd gone && rmdir ../gone', 'status')).toMatch(/is gone. Type cd/)
  })
})

describe('the sandbox', () => {
  const stopped = (words: readonly string[], until: (text: string) => boolean): Promise<Ended> =>
    shopsync(['sandbox', '--port', '0', '--tenants', '1', '--size', 'small', ...words], {
      cwd: here.folder,
      during: (call) => call.onText((text) => until(text) && call.kill('SIGTERM')),
    })

  test('--json prints one document', async () => {
    const ended = await stopped(['--json'], (text) => text.trimEnd().endsWith('\n}'))
    expect(ended.json()).toMatchObject({
      url: expect.stringMatching(/^http:/),
      tenants: [101],
      config: { api: { partnerId: expect.anything() } },
    })
    expect(ended.code).toBe(0)
  })

  test('--quiet prints nothing', async () => {
    const port = await freePort()
    const answers = async (): Promise<boolean> =>
      fetch(`http://127.0.0.1:${port}`).then(
        () => true,
        () => false,
      )
    const ended = await shopsync(['sandbox', '--port', String(port), '--size', 'small', '--quiet'], {
      cwd: here.folder,
      during: async (call) => {
        while (!(await answers())) await sleep(50)
        call.kill('SIGTERM')
      },
    })
    expect(ended).toMatchObject({ stdout: '', stderr: '' })
  })
})

describe('postgres', () => {
  test('sslmode=require on a server without SSL reports that', async () => {
    await postgresStarted()
    const elsewhere = await place({ tenants: 1 })
    const url = `${postgresUrl()}?sslmode=require`
    elsewhere.configure({ warehouse: { url, schema: 'no_ssl' } })
    refused(await elsewhere.run('sync'), /cannot be reached over TLS.*ssl = on/s, 3)
    await elsewhere.remove()
  })
})
