/**
 * Whatever people mistype or misplace ends in a sentence that shows what was found, what was expected and what to type.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ended, shopsync } from '../support/harness/call.js'
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

describe('a near name', () => {
  test.each([
    ['a table', ['why', 'repair_order_part', '1'], /Did you mean repair_order_parts\?/],
    ['a job', ['run', 'hourl'], /Did you mean hourly\?/],
    ['a resource', ['sync', '--resource', 'custmers'], /Did you mean customers\?/],
    ['a flag', ['sync', '--tenat', '1'], /Did you mean --tenant\?/],
    ['a new flag', ['verify', '--time-limt', 'PT1M'], /Did you mean --time-limit\?/],
    ['a command', ['stauts'], /Did you mean status\?/],
    ['a costly flag that is one slip away', ['sync', '--ful'], /Did you mean --full\?/],
  ])('of %s is named', async (_what, words, said) => {
    refused(await here.run(...words), said)
  })

  test('for a costly flag is not guessed', async () => {
    const ended = await here.run('sync', '--all')
    refused(ended, /unknown option '--all'/i)
    expect(ended.stderr).not.toContain('--full')
  })

  test('for a word as long as a page is not searched for', async () => {
    for (const words of [
      ['why', 'x'.repeat(100_000), '1'],
      ['run', 'y'.repeat(100_000)],
    ])
      refused(await here.run(...words), /expected one of/i)
  })
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

  test('a folder that cannot be made', async () => {
    here.configure({ warehouse: { url: `sqlite:${join(here.folder, 'config.json')}/a/warehouse.db` } })
    refused(await here.run('migrate'), /cannot be opened: ENOTDIR.*check their owner and permissions/, 3)
    here.configure()
  })

  test('the working directory was removed', async () => {
    expect(await inBash('mkdir gone && cd gone && rmdir ../gone', 'status')).toMatch(/is gone. Type cd/)
  })
})

test('why reports on a part of a record together with its record', async () => {
  const { stdout, code } = await here.run('why', 'repair_order_services', '1', '--tenant', '101')
  expect(stdout).toMatch(/^repair_order_services 1 of repair_orders \d+, tenant 101, position 0: live/)
  expect(code).toBe(0)
})

test('an invalid time limit is rejected before anything is created', async () => {
  const fresh = await place({ tenants: 1 })
  refused(await fresh.run('sync', '--time-limit', '5 minutes'), /Found --time-limit "5 minutes".*PT45M/)
  expect(existsSync(join(fresh.folder, 'data/warehouse.db'))).toBe(false)
  await fresh.remove()
})

describe('the sandbox', () => {
  const stopped = (words: readonly string[], until: (text: string) => boolean): Promise<Ended> =>
    shopsync(['sandbox', '--port', '0', '--tenants', '1', '--size', 'small', ...words], {
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
    const elsewhere = await place({ tenants: 1 })
    const url = `${postgresUrl()}?sslmode=require`
    elsewhere.configure({ warehouse: { url, schema: 'no_ssl' } })
    refused(await elsewhere.run('sync'), /cannot be reached over TLS.*ssl = on/s, 3)
    await elsewhere.remove()
  })
})

describe('a baseUrl that leads elsewhere', () => {
  const page = '<!doctype html><title>Sign in</title>'
  const answers: Record<string, [status: number, headers: Record<string, string>]> = {
    '/html': [200, { 'content-type': 'text/html' }],
    '/login': [302, { location: '/sign-in', 'content-type': 'text/html' }],
    '/nothing': [404, { 'content-type': 'text/html' }],
  }
  const server = createServer((request, response) => {
    const [, name = ''] = (request.url ?? '').split('/')
    const [status, headers] = answers[`/${name}`] ?? [404, {}]
    response.writeHead(status, headers).end(page)
  })
  let elsewhere = ''
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    elsewhere = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.close()
    here.configure()
  })

  test.each([
    [
      'a wrong path',
      () => `${here.sandbox.url}/wrong`,
      /Check api\.baseUrl: the API answers below its api\/v1\//,
    ],
    ['a page answered with 200', () => `${elsewhere}/html`, /Check api\.baseUrl|check api\.baseUrl/],
    ['a redirect to a login', () => `${elsewhere}/login`, /Redirects are not followed; set api\.baseUrl/],
    ['a page answered with 404', () => `${elsewhere}/nothing`, /Check api\.baseUrl: the API answers below/],
  ])('%s', async (_what, baseUrl, said) => {
    here.configure({ api: { baseUrl: baseUrl() }, warehouse: { url: 'sqlite:./data/elsewhere.db' } })
    const ended = await here.run('sync')
    refused(ended, said, 3)
    expect(ended.stderr).not.toMatch(/not granted|Sign in/)
  })

  test.each(['/api', '/api/v1', '/api/v1/'])('%s is refused when it is read', async (path) => {
    here.configure({ api: { baseUrl: `${here.sandbox.url}${path}` } })
    refused(await here.run('sync'), /expected the address without api\/v1, which shopsync adds/)
  })

  test('a slash at its end changes nothing', async () => {
    here.configure({ api: { baseUrl: `${here.sandbox.url}/` } })
    expect((await here.run('sync')).code).toBe(0)
  })
})
