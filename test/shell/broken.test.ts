/** An error of ours ends with 70, wherever it arises; a machine that can't do the work is found by trying, and named. */
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Ended } from '../support/harness/call.js'
import { sendEvent, startStaying } from '../support/harness/listening.js'
import { configure, place, viewedPlace } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { eventBody } from '../support/harness/receiver.js'
import { listens } from '../support/harness/relays.js'
import { onlyJob, until } from '../support/harness/scheduler.js'
import { scratch } from '../support/harness/scratch.js'
import { sample } from '../support/harness/size.js'
import { warehouses } from '../support/harness/warehouse.js'

const here = await viewedPlace({ repairOrders: 2, tenants: 1 })
const sound = { PATH: process.env['PATH'] ?? '', API_SECRET: here.sandbox.secret }

beforeAll(async () => {
  here.configure({
    sync: { resources: ['notes', 'categories', 'customers'] },
    schedule: { listen: { port: 0 } },
  })
  onlyJob(here.folder, 'mine', { schedule: '0 4 1 1 *' })
  expect((await here.run('sync')).code).toBe(0)
})

const told = expect.stringMatching(/planted(.|\n)*This should not have happened/)

/** The environment of a program in which something goes wrong that nothing expects. */
function broken(code: string): Record<string, string> {
  const file = join(scratch(), 'broken.cjs')
  writeFileSync(file, `const { isMainThread } = require('node:worker_threads')\n${code}`)
  return { ...sound, NODE_OPTIONS: `--require ${file}` }
}
const run = (words: readonly string[], env: Record<string, string>): Promise<Ended> =>
  new Program(program, words, { cwd: here.folder, env }).ended

/** Something that happens once this file is there. */
const trigger = join(scratch(), 'trigger')
const whenTold = (isMain: boolean, code: string): string => `const fs = require('node:fs')
if (isMainThread === ${isMain}) setInterval(() => {
  if (!fs.existsSync('${trigger}')) return
  fs.rmSync('${trigger}')
  ${code}
}, 50)`
const thrown = `throw new TypeError('planted')`
const inThread = `if (!isMainThread) setTimeout(() => { ${thrown} }, 10)`

describe('an error that nothing has caught ends with 70, told as any other', () => {
  test.each([
    ['an exception', thrown],
    ['a rejection', `Promise.reject(new TypeError('planted'))`],
  ])('%s', async (_, code) => {
    // The program waits for an answer when it happens.
    const { port, close } = await listens(createServer(() => writeFileSync(trigger, '')))
    const silent = { url: `http://127.0.0.1:${port}`, partnerId: '42', secret: 'any' }
    const config = configure(silent, warehouses()[0]!.address(), ['notes'])
    const ended = await run(['sync', '--json', '--config', config], broken(whenTold(true, code)))
    await close()
    expect([ended.code, ended.stderr]).toEqual([70, told])
    expect(ended.json()).toEqual({ error: { message: 'planted', hint: null, exit_code: 70 } })
  })

  test('before there is a command that could tell it', async () => {
    const never = 'data:text/javascript,globalThis.setImmediate = () => undefined'
    const call = promisify(execFile)(process.execPath, ['--import', never, program, '--version'])
    expect(await call.catch((error: object) => error)).toMatchObject({
      code: 70,
      stderr: expect.stringContaining('waits for something that will not come'),
    })
  })

  test('in a thread of its own, and where a command waits for nothing', async () => {
    const planted = (name: string, module: string, key: string, instead: string) =>
      broken(`const its = require('${module}'), real = its.${key}
its.${key} = (...given) => { if (String(given[0]).includes('${name}')) ${instead}; return real(...given) }
require('node:module').syncBuiltinESMExports()`)
    const never = planted('a.html', 'fs/promises', 'writeFile', 'return new Promise(() => {})')
    const waits = await run(['report', '--out', 'a.html', '--json'], never)
    expect([waits.code, waits.json()]).toMatchObject([70, { error: { exit_code: 70 } }])
    const words = ['listen', '--tls-cert', 'a.pem', '--tls-key', 'a.pem']
    const { code, stderr } = await run(words, planted('a.pem', 'fs', 'readFileSync', thrown))
    expect([code, stderr]).toEqual([70, told])
  })
})

const builtin = createRequire(import.meta.url)

/** Calls the program in this process, where a function of Node's fails for paths with this name in them. */
async function planted(name: string, module: string, key: string, line: string): Promise<Ended> {
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
    return await here.run(...line.split(' '))
  } finally {
    its[key] = real
    syncBuiltinESMExports()
  }
}

test.each([
  ['a.html', 'fs/promises', 'writeFile', 'report --out a.html'],
  ['a.html', 'fs', 'openSync', 'report --out a.html'],
  ['folder', 'fs', 'mkdirSync', 'dictionary --format dbt --out folder'],
  ['config.json', 'fs', 'writeFileSync', 'init --sandbox --force --yes'],
  ['secret', 'fs/promises', 'readFile', 'init --secret-file secret --force --yes'],
  ['forgotten.jsonl', 'fs', 'openSync', 'forget --tenant 101 --customer 1 --yes'],
  ['config.json', 'fs', 'readFileSync', 'status'],
  ['a.env', 'fs', 'readFileSync', 'status --env-file a.env'],
])('an error of ours is no trouble with a file: %s, which %s.%s does not take: %s', async (...given) => {
  expect(await planted(...given)).toMatchObject({ code: 70, stderr: told })
})

test('a broken step: the steps after it are done, the document is printed, and nothing follows', async () => {
  const called: (string | undefined)[] = []
  const server = createHttp((request, response) => {
    called.push(request.url)
    response.end()
  })
  const { port, close } = await listens(server)
  const at = `http://127.0.0.1:${port}`
  const following = { then: [{ webhook: `${at}/then`, on: 'finished' }], heartbeat: `${at}/beat` }
  const steps = [{ command: 'report', out: 'a.html' }, { command: 'sync' }]
  onlyJob(here.folder, 'mine', { schedule: '0 4 1 1 *', steps, ...following })
  const failed = await planted('a.html', 'fs/promises', 'writeFile', 'run mine --json')
  const message = 'The report could not be made: planted'
  expect([failed.code, failed.json()]).toMatchObject([70, { error: { message, exit_code: 70 } }])
  expect(called).toEqual([])
  const { runs } = (await here.run('runs', '--json')).json<{ runs: { requests: number }[] }>()
  expect(runs[0]?.requests).toBeGreaterThan(0)
  expect((await here.run('run', 'mine', '--json')).json()).toMatchObject({ status: 'ok' })
  expect(called).toEqual(['/then', '/beat?exit=0'])
  await close()
})

describe('what stays up goes on after an error of ours, and ends with 70', () => {
  const listen = (code: string) =>
    startStaying(['listen', '--port', '0'], { cwd: here.folder, env: broken(code) })

  test('a listener, while it reads what events made due', async () => {
    const due = `const real = Map.prototype.set
Map.prototype.set = function (key, value) {
  if (isMainThread && value?.announced !== undefined) ${thrown}
  return real.call(this, key, value)
}`
    const heard = await listen(due)
    const body = eventBody({ type: 'Customer', event: 'customer.updated' })
    expect(await sendEvent(heard.url, here.sandbox.secret, body)).toBe(200)
    await until(() => heard.run.texts.stderr.includes('planted'))
    expect((await fetch(heard.url.replace('webhooks', 'health'))).status).toBe(200)
    heard.run.kill('SIGTERM')
    expect(await heard.run.ended).toMatchObject({ code: 70 })
  })

  test('the thread that stores rows ended: the document is printed', async () => {
    const large = await place({ repairOrders: 40, tenants: 1 })
    large.configure({ sync: { resources: ['notes', 'repair_orders'] } })
    const options = { cwd: large.folder, env: { ...broken(inThread), API_SECRET: large.sandbox.secret } }
    const { code, stderr, json } = await new Program(program, ['sync', '--json'], options).ended
    expect([code, stderr]).toEqual([70, expect.stringContaining('planted')])
    const failed = expect.objectContaining({ resource: 'repair_orders', status: 'failed', reason: 'bug' })
    const whole = expect.objectContaining({ resource: 'notes', status: 'ok' })
    expect(json()).toMatchObject({ cursors: expect.arrayContaining([failed, whole]) })
  })

  test('the thread that makes a page ended: the next page and the jobs go on', async () => {
    const { run, url } = await startStaying(['schedule'], { cwd: here.folder, env: broken(inThread) })
    for (const path of ['/', '/operations']) expect((await fetch(url + path)).status).toBe(503)
    expect((await fetch(`${url}/health`)).status).toBe(200)
    run.kill('SIGTERM')
    expect(await run.ended).toMatchObject({ code: 70, stderr: expect.stringContaining('planted') })
  })

  test('the thread that receives events ended: it starts again', async () => {
    const heard = await listen(whenTold(false, thrown))
    writeFileSync(trigger, '')
    await until(() => heard.run.texts.stderr.includes('planted'))
    heard.run.kill('SIGTERM')
    expect(await heard.run.ended).toMatchObject({ code: 70, stderr: expect.stringContaining('planted') })
  })
})

describe('a Node that can run no WebAssembly or compile no function', () => {
  const words = ['sync', '--json', '--quiet']
  const asking = ['check', '--json', '--quiet', '--webhook-url', 'http://127.0.0.1:9/webhooks']
  const inBash = (before: string, flag: string, line: readonly string[]) => {
    const text = `${before} exec "$0" ${flag} "$@"`
    const options = { cwd: here.folder, env: sound }
    return promisify(execFile)('bash', ['-c', text, process.execPath, program, ...line], options)
  }
  const limit = 'ulimit -v 8000000;'
  const hint = 'NODE_OPTIONS=--disable-wasm-trap-handler'

  test.each<readonly [string, string, string, readonly string[]]>([
    [limit, '', hint, asking],
    ['', '--jitless', '--jitless', words],
    ...sample<readonly [string, string, string, readonly string[]]>([
      ['', '--disallow-code-generation-from-strings', '--disallow-code-generation-from-strings', words],
      [limit, '', hint, words],
    ]),
  ])('%s %s: one sentence, and 3', async (before, flag, said, line) => {
    const sent = here.sandbox.requests.length
    const ended = await inBash(before, flag, line).catch(
      (error: { code: number; stdout: string; stderr: string }) => error,
    )
    expect(ended).toMatchObject({ code: 3 })
    expect(JSON.parse(ended.stdout)).toMatchObject({
      error: { hint: expect.stringContaining(said), exit_code: 3 },
    })
    expect(ended.stderr).not.toMatch(/^\s+at /m)
    expect(here.sandbox.requests).toHaveLength(sent)
  })

  test('with what the sentence says to type, it works', async () => {
    expect(JSON.parse((await inBash(`${limit} ${hint}`, '', words)).stdout)).toMatchObject({ status: 'ok' })
  })
})

/** A shell in which no folder of the system may be written, but the one that is `kept`. */
const readOnly = (script: string, kept = '/dev/shm'): string[] => [
  ...['-m', 'sh', '-c'],
  `mount --bind ${kept} ${kept}; for folder in / /tmp /var/tmp; do mount -o remount,ro,bind $folder 2>/dev/null; done; cd /; ${script}`,
]
function mayTry(): boolean {
  try {
    const script = 'for one in /var/tmp /tmp .; do test -w $one && echo $one; done; true'
    return execFileSync('unshare', readOnly(script)).length === 0
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
    const config = join(here.folder, 'config.json')
    const words = [...readOnly(script, here.folder), process.execPath, program, config]
    expect(await promisify(execFile)('unshare', words, { env: sound })).toMatchObject({
      stdout: '',
      stderr: '',
    })
  },
)
