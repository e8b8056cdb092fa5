/** An error of ours ends with 70, wherever it arises; a machine that can't do the work is found by trying, and named. */
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sendEvent, startListening } from '../support/harness/listening.js'
import { type Place, viewedPlace } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { eventBody } from '../support/harness/receiver.js'
import { onlyJob, startScheduler, until } from '../support/harness/scheduler.js'
import { scratch } from '../support/harness/scratch.js'

let here: Place
const { PATH = '' } = process.env
const settings = {
  sync: { resources: ['notes', 'categories', 'customers'] },
  schedule: { listen: { port: 0 } },
}

beforeAll(async () => {
  here = await viewedPlace({ repairOrders: 2, tenants: 1 })
  here.configure(settings)
  onlyJob(here.folder, 'mine', { schedule: '0 4 1 1 *' })
  expect((await here.run('sync')).code).toBe(0)
})
afterAll(() => here.remove())

/** The environment of a program in which something goes wrong that nothing expects. */
function broken(code: string): Record<string, string> {
  const file = join(scratch(), 'broken.cjs')
  writeFileSync(file, `const { isMainThread } = require('node:worker_threads')\n${code}`)
  return { PATH, API_SECRET: here.sandbox.secret, NODE_OPTIONS: `--require ${file}` }
}

/** Something that happens once this file is there. */
const trigger = join(scratch(), 'trigger')
const whenTold = (where: 'main' | 'thread', code: string): string => `const fs = require('node:fs')
if (isMainThread === ${where === 'main'}) setInterval(() => {
  if (!fs.existsSync('${trigger}')) return
  fs.rmSync('${trigger}')
  ${code}
}, 50)`
const inThread = `if (!isMainThread) setTimeout(() => { throw new TypeError('planted') }, 10)`

describe('an error that nothing has caught ends with 70, told as any other', () => {
  test.each([
    ['an exception', whenTold('main', `throw new TypeError('planted')`)],
    ['a rejection', whenTold('main', `Promise.reject(new TypeError('planted'))`)],
  ])('%s', async (_, code) => {
    // The program waits for an answer when it happens.
    const silent = createServer(() => writeFileSync(trigger, ''))
    const port = await new Promise<number>((resolve) => {
      silent.listen(0, '127.0.0.1', () => resolve((silent.address() as AddressInfo).port))
    })
    const api = { baseUrl: `http://127.0.0.1:${port}`, partnerId: '42', secret: 'any' }
    const config = join(scratch(), 'silent.json')
    const warehouse = { url: `sqlite:${join(scratch(), 'warehouse.db')}` }
    writeFileSync(config, JSON.stringify({ api, warehouse }))
    const run = new Program(program, ['sync', '--json', '--config', config], { env: broken(code) })
    const { code: exit, stdout, stderr } = await run.ended
    silent.close()
    expect([exit, stderr]).toEqual([70, expect.stringContaining('This should not have happened')])
    expect(JSON.parse(stdout)).toEqual({
      error: { message: 'planted', hint: null, exit_code: 70 },
    })
  })

  test('before there is a command that could tell it', async () => {
    const never = 'data:text/javascript,globalThis.setImmediate = () => undefined'
    const call = promisify(execFile)(process.execPath, ['--import', never, program, '--version'])
    expect(await call.catch((error: object) => error)).toMatchObject({
      code: 70,
      stderr: expect.stringContaining('waits for something that will not come'),
    })
  })
})

/** A function of Node's that does something else for paths with this name in them. */
const planted = (name: string, module: string, key: string, instead: string) =>
  broken(`const its = require('${module}'), real = its.${key}
its.${key} = (...given) => { if (String(given[0]).includes('${name}')) ${instead}; return real(...given) }
require('node:module').syncBuiltinESMExports()`)

const builtin = createRequire(import.meta.url)

test.each([
  ['a.html', 'fs/promises', 'writeFile', 'report --out a.html'],
  ['a.html', 'fs', 'openSync', 'report --out a.html'],
  ['folder', 'fs', 'mkdirSync', 'dictionary --format dbt --out folder'],
  ['config.json', 'fs', 'writeFileSync', 'init --sandbox --force --yes'],
  ['secret', 'fs/promises', 'readFile', 'init --secret-file secret --force --yes'],
  ['forgotten.jsonl', 'fs', 'openSync', 'forget --tenant 101 --customer 1 --yes'],
  ['config.json', 'fs', 'readFileSync', 'status'],
  ['a.env', 'fs', 'readFileSync', 'status --env-file a.env'],
])(
  'an error of ours is no trouble with a file: %s, which %s.%s does not take: %s',
  async (name, module, key, line) => {
    const its = builtin(module) as Record<string, (...given: unknown[]) => unknown>
    const real = its[key]!
    const error = new TypeError('planted')
    its[key] = (...given) => {
      if (!String(given[0]).includes(name)) return real(...given)
      if (module === 'fs') throw error
      return Promise.reject(error)
    }
    syncBuiltinESMExports()
    try {
      const stderr = expect.stringMatching(/planted(.|\n)*This should not have happened/)
      expect(await here.run(...line.split(' '))).toMatchObject({ code: 70, stderr })
    } finally {
      its[key] = real
      syncBuiltinESMExports()
    }
  },
)

test('nor in a thread of its own', async () => {
  const env = planted('a.pem', 'fs', 'readFileSync', `throw new TypeError('planted')`)
  const words = ['listen', '--tls-cert', 'a.pem', '--tls-key', 'a.pem']
  const { code, stderr } = await new Program(program, words, { cwd: here.folder, env }).ended
  expect([code, stderr]).toEqual([70, expect.stringMatching(/planted(.|\n)*This should not have happened/)])
})

test('a command that waits for nothing prints its document all the same', async () => {
  const env = planted('a.html', 'fs/promises', 'writeFile', 'return new Promise(() => {})')
  const run = new Program(program, ['report', '--out', 'a.html', '--json'], { cwd: here.folder, env })
  const { code, json } = await run.ended
  expect([code, json()]).toMatchObject([70, { error: { exit_code: 70 } }])
})

test('a broken step: the steps after it are done, the document is printed, and nothing follows', async () => {
  const called: (string | undefined)[] = []
  const server = createHttp((request, response) => {
    called.push(request.url)
    response.end()
  })
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
  const at = `http://127.0.0.1:${port}`
  const following = { then: [{ webhook: `${at}/then`, on: 'finished' }], heartbeat: `${at}/beat` }
  const steps = [{ command: 'report', out: 'a.html' }, { command: 'sync' }]
  onlyJob(here.folder, 'mine', { schedule: '0 4 1 1 *', steps, ...following })
  const call = async (env: Record<string, string>) => {
    const { code, json } = await new Program(program, ['run', 'mine', '--json'], { cwd: here.folder, env })
      .ended
    return [code, json()]
  }
  expect(
    await call(
      planted('a.html', 'fs/promises', 'writeFile', `return Promise.reject(new TypeError('planted'))`),
    ),
  ).toMatchObject([70, { error: { message: 'The report could not be made: planted', exit_code: 70 } }])
  expect(called).toEqual([])
  const { runs } = (await here.run('runs', '--json')).json<{ runs: { requests: number }[] }>()
  expect(runs[0]?.requests).toBeGreaterThan(0)
  expect(await call({ PATH, API_SECRET: here.sandbox.secret })).toMatchObject([0, { status: 'ok' }])
  expect(called).toEqual(['/then', '/beat?exit=0'])
  server.close()
})

test('a listener that meets an error of ours while it reads what events made due goes on, and ends with 70', async () => {
  const due = `const real = Map.prototype.set
Map.prototype.set = function (key, value) {
  if (isMainThread && value?.announced !== undefined) throw new TypeError('planted')
  return real.call(this, key, value)
}`
  const heard = await startListening(here.folder, broken(due), ['--port', '0'])
  const { url, run } = heard
  expect(
    await sendEvent(url, here.sandbox.secret, eventBody({ type: 'Customer', event: 'customer.updated' })),
  ).toBe(200)
  await until(() => heard.stderr().includes('planted'))
  expect((await fetch(url.replace('webhooks', 'health'))).status).toBe(200)
  run.kill('SIGTERM')
  expect(await run.ended).toMatchObject({ code: 70 })
})

describe('a thread that ends without being told to', () => {
  test('the one that stores rows: the document is printed, and the code is 70', async () => {
    const run = new Program(program, ['sync', '--full', '--json'], {
      cwd: here.folder,
      env: broken(inThread),
    })
    const { code, stdout, stderr } = await run.ended
    expect([code, stderr]).toEqual([70, expect.stringContaining('planted')])
    expect(JSON.parse(stdout)).toMatchObject({ cursors: [{}, {}, {}] })
  })

  test('the one that makes a page: the next page and the jobs go on, and the code is 70', async () => {
    const { run, url } = await startScheduler(here.folder, broken(inThread))
    for (const path of ['/', '/operations']) expect((await fetch(url + path)).status).toBe(503)
    expect((await fetch(`${url}/health`)).status).toBe(200)
    run.kill('SIGTERM')
    expect(await run.ended).toMatchObject({ code: 70, stderr: expect.stringContaining('planted') })
  })

  test('the one that receives events: it starts again, and the code is 70', async () => {
    const code = whenTold('thread', `throw new TypeError('planted')`)
    const heard = await startListening(here.folder, broken(code), ['--port', '0'])
    writeFileSync(trigger, '')
    await until(() => heard.stderr().includes('planted'))
    heard.run.kill('SIGTERM')
    expect(await heard.run.ended).toMatchObject({ code: 70, stderr: expect.stringContaining('planted') })
  })
})

describe('a Node that can run no WebAssembly or compile no function', () => {
  const words = ['sync', '--json', '--quiet']
  const asking = ['check', '--json', '--quiet', '--webhook-url', 'http://127.0.0.1:9/webhooks']
  test.each([
    ['ulimit -v 8000000;', '', 'NODE_OPTIONS=--disable-wasm-trap-handler', words],
    ['ulimit -v 8000000;', '', 'NODE_OPTIONS=--disable-wasm-trap-handler', asking],
    ['', '--jitless', '--jitless', words],
    ['', '--disallow-code-generation-from-strings', '--disallow-code-generation-from-strings', words],
  ])('%s %s: one sentence, and 3', async (limit, flag, hint, words) => {
    const sent = here.sandbox.requests.length
    const text = `${limit} exec "$0" ${flag} "$@"`
    const ended = await promisify(execFile)('bash', ['-c', text, process.execPath, program, ...words], {
      cwd: here.folder,
      env: { PATH, API_SECRET: here.sandbox.secret },
    }).catch((error: { code: number; stdout: string; stderr: string }) => error)
    expect(ended).toMatchObject({ code: 3 })
    expect(JSON.parse(ended.stdout)).toMatchObject({
      error: { hint: expect.stringContaining(hint), exit_code: 3 },
    })
    expect(ended.stderr).not.toMatch(/^\s+at /m)
    expect(here.sandbox.requests).toHaveLength(sent)
  })

  test('with what the sentence says to type, it works', async () => {
    const text = 'ulimit -v 8000000; NODE_OPTIONS=--disable-wasm-trap-handler exec "$0" "$@"'
    const env = { PATH, API_SECRET: here.sandbox.secret }
    const call = promisify(execFile)('bash', ['-c', text, process.execPath, program, ...words], {
      cwd: here.folder,
      env,
    })
    expect(JSON.parse((await call).stdout)).toMatchObject({ status: 'ok' })
  })
})

/** A shell in which no folder of the system may be written, but the one that is `kept`. */
const readOnly = (script: string, kept = '/dev/shm'): string[] => [
  '-m',
  'sh',
  '-c',
  `mount --bind ${kept} ${kept}; for folder in / /tmp /var/tmp; do mount -o remount,ro,bind $folder 2>/dev/null; done; cd /; ${script}`,
]
function mayTry(): boolean {
  try {
    const found = execFileSync(
      'unshare',
      readOnly('for one in /var/tmp /tmp .; do test -w $one && echo $one; done; true'),
    )
    return found.length === 0
  } catch {
    return false
  }
}

test.runIf(mayTry())(
  'SQLite sorts in the folder of the warehouse where no other may be written',
  async () => {
    // Of every list, into a new file: indexes are made and views read.
    const script = 'for job in sync snapshot; do "$0" "$1" $job --quiet --config "$2" || exit $?; done'
    here.configure({ warehouse: { url: `sqlite:${join(here.folder, 'data/sorted.db')}` } })
    const words = [
      ...readOnly(script, here.folder),
      process.execPath,
      program,
      join(here.folder, 'config.json'),
    ]
    const env = { PATH, API_SECRET: here.sandbox.secret }
    expect(await promisify(execFile)('unshare', words, { env })).toMatchObject({ stdout: '', stderr: '' })
  },
)
