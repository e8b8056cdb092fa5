/** An error of ours ends with 70, wherever it arises; a machine that can't do the work is found by trying, and named. */
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startListening } from '../support/listening.js'
import { type Place, viewedPlace } from '../support/place.js'
import { Program, program } from '../support/process.js'
import { onlyJob, startScheduler, until } from '../support/scheduler.js'
import { scratch } from '../support/scratch.js'

let here: Place
const { PATH = '' } = process.env
const settings = { sync: { resources: ['notes', 'categories'] }, schedule: { listen: { port: 0 } } }

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

describe('a thread that ends without being told to', () => {
  test('the one that stores rows: the document is printed, and the code is 70', async () => {
    const run = new Program(program, ['sync', '--full', '--json'], {
      cwd: here.folder,
      env: broken(inThread),
    })
    const { code, stdout, stderr } = await run.ended
    expect([code, stderr]).toEqual([70, expect.stringContaining('planted')])
    expect(JSON.parse(stdout)).toMatchObject({ cursors: [{}, {}] })
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
  test.each([
    ['ulimit -v 8000000;', '', 'NODE_OPTIONS=--disable-wasm-trap-handler'],
    ['', '--jitless', '--jitless'],
    ['', '--disallow-code-generation-from-strings', '--disallow-code-generation-from-strings'],
  ])('%s %s: one sentence, and 3', async (limit, flag, hint) => {
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
      ...{ cwd: here.folder, env },
    })
    expect(JSON.parse((await call).stdout)).toMatchObject({ status: 'ok' })
  })
})

/** A shell in which no folder of the system may be written. */
const readOnly = (script: string): string[] => [
  '-m',
  'sh',
  '-c',
  `for folder in / /tmp /var/tmp; do mount -o remount,ro,bind $folder 2>/dev/null; done; cd /; ${script}`,
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
    const words = [...readOnly(script), process.execPath, program, join(here.folder, 'config.json')]
    const env = { PATH, API_SECRET: here.sandbox.secret }
    expect(await promisify(execFile)('unshare', words, { env })).toMatchObject({ stdout: '', stderr: '' })
  },
)
