/** `shopsync init`: from nothing to files that a sync works with. */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { createSandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { cloneSqlite } from '../../support/harness/clones.js'
import { calendarTimes } from '../../support/harness/declared.js'
import { program } from '../../support/harness/process.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { root, textOf } from '../../support/harness/tree.js'
import { warehouses } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile({ tenants: 1, repairOrders: 12, seed: 3 })
const given = ['init', '--base-url', sandbox.url, '--partner-id', sandbox.partnerId]

interface ComposeService {
  readonly working_dir: string
  readonly command: readonly string[]
  readonly volumes: readonly { readonly source: string }[]
}

/** A folder with a file that contains the secret. */
function folderOf(name = 'plain'): string {
  const folder = join(scratch(), name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'key.txt'), `${sandbox.secret}\n`)
  return folder
}

const answers = (command: string, words: string): boolean =>
  String(spawnSync(command, ['--version']).stdout).includes(words)
const hasSystemd = answers('systemd-analyze', 'systemd')
/** It gives a program a terminal. */
const hasScript = answers('script', 'util-linux')

/** The units that init prints, by name. systemd accepts them, and they are hardened as those of deploy/ are. */
async function takesUnits(text: string, more: readonly string[] = []): Promise<void> {
  const folder = scratch()
  const units = text.split(/^(?=# \/etc\/systemd\/system\/)/m).map((unit) => {
    const name = /^# \/etc\/systemd\/system\/(\S+)/.exec(unit)?.[1] ?? ''
    writeFileSync(join(folder, name.replace('@.', '@hourly.')), unit)
    return name
  })
  const timers = ['hourly', 'nightly', 'weekly-verify'].map((job) => `shopsync-${job}.timer`)
  expect(units.sort()).toEqual(['shopsync@.service', ...timers, ...more].sort())
  // All of deploy/'s hardening for the program, except for where its folder may be.
  const ours = textOf('deploy/systemd/shopsync@.service').split('\n')
  const walls = ours.slice(ours.indexOf('NoNewPrivileges=yes')).filter((line) => /^[A-Z]/.test(line))
  expect(walls.length).toBeGreaterThan(15)
  for (const wall of walls.filter((line) => !/^(ReadWritePaths|ProtectHome|PrivateTmp)=/.test(line)))
    expect(text).toContain(`\n${wall}\n`)
  if (!hasSystemd) return
  const paths = units.map((name) => join(folder, name.replace('@.', '@hourly.')))
  const { stdout, stderr } = await promisify(execFile)('systemd-analyze', ['verify', ...paths])
  expect(`${stdout}${stderr}`.split('\n').filter((line) => line.includes(folder))).toEqual([])
  for (const path of paths.filter((one) => one.endsWith('.service')))
    await promisify(execFile)('systemd-analyze', ['security', '--offline=true', '--threshold=25', path])
}

describe.each(warehouses())('$name', (kind) => {
  test('only flags: files, a check, and lines that cron, systemd and compose accept as they are', async () => {
    const folder = folderOf("o'brien 100%")
    const { url } = kind.name === 'sqlite' ? { url: 'sqlite:./w.db' } : kind.address()
    const words = [...given, '--secret-file', 'key.txt', '--warehouse', url, '--yes', '--json']
    const made = await shopsync(words, { cwd: folder })
    expect(made.code, made.stdout + made.stderr).toBe(0)
    const { files, crontab, systemd, compose, checks } = made.json<{
      files: string[]
      crontab: string[]
      systemd: string
      compose: string
      checks: unknown[]
    }>()
    expect(files).toEqual([join(folder, 'config.json'), join(folder, 'shopsync.env')])
    expect(checks.length).toBeGreaterThan(4)
    expect(statSync(join(folder, 'shopsync.env')).mode & 0o777).toBe(0o600)
    const config = readFileSync(join(folder, 'config.json'), 'utf8')
    expect(config).not.toContain(sandbox.secret)
    const { $schema } = JSON.parse(config) as { $schema: string }
    expect(existsSync(join(folder, $schema))).toBe(true)
    expect(systemd).toContain(`WorkingDirectory=${folder.replaceAll('%', '%%')}`)
    await takesUnits(systemd)
    const { services } = parse(compose.replaceAll('$$', '$')) as { services: { shopsync: ComposeService } }
    const { command, volumes, working_dir } = services.shopsync
    expect([working_dir, volumes.map(({ source }) => source)]).toEqual([folder, [folder, root]])
    const [, ...started] = command.map((word) => word.replace('schedule', '--version'))
    expect((await promisify(execFile)(process.execPath, started)).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    if (kind.name !== 'sqlite') return
    // cron treats a % after a backslash as a plain %.
    const [hourly = ''] = crontab.map((line) => line.split(' ').slice(5).join(' ').trim())
    const line = hourly.replaceAll('\\%', '%').replace('run hourly', 'sync')
    await cloneSqlite(join(folder, 'w.db'), 'viewed')
    await promisify(execFile)('sh', ['-c', line], { env: {}, cwd: '/' })
    expect(await shopsync(['status'], { cwd: folder })).toMatchObject({ code: 0 })
  })
})

test('what each way prints is well-formed, and systemd takes it; test/transcripts/init.txt: what it is', async () => {
  const folder = folderOf()
  const api = { baseUrl: sandbox.url, partnerId: '42', secret: 's' }
  const configured = {
    schedule: { shards: 8 },
    events: { port: 8700 },
    warehouse: { url: 'postgres://u@h/d' },
  }
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ api, ...configured }))
  const printed = async (way: string): Promise<string> =>
    (await shopsync(['init', '--print', way, '--quiet'], { cwd: folder })).stdout
  await takesUnits(await printed('systemd'), ['shopsync-listen.service', 'shopsync-worker.service'])
  for (const way of ['compose', 'kubernetes'])
    expect(parseAllDocuments(await printed(way)).flatMap(({ errors }) => errors)).toEqual([])
})

test.each<[schedule: string, ...times: string[]]>([
  ['*/15 9-17 * * *', '*-*-* 09,10,11,12,13,14,15,16,17:00,15,30,45:00 UTC'],
  ['30 2 1,15 jan-mar *', '*-01,02,03-01,15 02:30:00 UTC'],
  ['0 0 1 * fri-7', '*-*-01 00:00:00 UTC', 'Fri,Sat,Sun *-*-* 00:00:00 UTC'],
  ['0 0 */2 * 0-6', '*-*-01,03,05,07,09,11,13,15,17,19,21,23,25,27,29,31 00:00:00 UTC'],
  ['0 0 */10 * 1', 'Mon *-*-01,11,21,31 00:00:00 UTC'],
])('the schedule %s is written for systemd', (schedule, ...times) => {
  expect(calendarTimes(schedule, 'UTC')).toEqual(times)
  if (hasSystemd) for (const time of times) execFileSync('systemd-analyze', ['calendar', time])
})

test('a dangling link counts as existing', async () => {
  const folder = folderOf()
  symlinkSync('/nowhere/at/all.json', join(folder, 'config.json'))
  const words = [...given, '--secret-file', 'key.txt', '--yes']
  const refused = await shopsync(words, { cwd: folder })
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('Found config.json in') })
  expect(lstatSync(join(folder, 'config.json')).isSymbolicLink()).toBe(true)
  expect(existsSync(join(folder, 'shopsync.env'))).toBe(false)
})

test("--sandbox: for the sandbox on this machine; if it isn't running, that is reported", async () => {
  const folder = folderOf()
  const { stdout } = await shopsync(['init', '--sandbox', '--yes'], { cwd: folder })
  expect(stdout).toContain('shopsync sandbox in another terminal')
  const { api, report } = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8')) as {
    readonly api: object
    readonly report: { readonly tenantNames: Readonly<Record<string, string>> }
  }
  expect(api).toMatchObject({ baseUrl: 'http://127.0.0.1:8080', partnerId: '42' })
  // As its shops are called.
  const usual = await createSandbox({ tenants: 3, seed: 1, scale: 0.1, lazy: true })
  for (const id of usual.tenantIds)
    expect(usual.store.all(id, 'shops')[0]?.name).toMatch(new RegExp(`^${report.tenantNames[String(id)]} – `))
  await usual.close()
})

/** Runs init at a terminal and types the answer to each question when it comes. */
function typed(folder: string, answers: readonly (readonly [question: string, keys: string])[]) {
  const command = [process.execPath, '--', program, 'init'].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let [screen, next] = ['', 0]
  child.stdout.on('data', (chunk: Buffer) => {
    screen += chunk.toString()
    const [question, keys] = answers[next] ?? []
    if (question === undefined || keys === undefined || !screen.includes(question)) return
    next++
    child.stdin.write(keys)
  })
  return new Promise<{ code: number | null; screen: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, screen })),
  )
}

describe.runIf(hasScript)('at a terminal', () => {
  test('asks, and never shows the secret', async () => {
    const folder = folderOf()
    const { code, screen } = await typed(folder, [
      ['Address of the API', `${sandbox.url}\r`],
      ['Your partner id', `${sandbox.partnerId}\r`],
      ['Secret', `${sandbox.secret}\r`],
      ['Warehouse', '\r'],
    ])
    expect(screen).toContain('Wrote')
    expect(screen).not.toContain(sandbox.secret)
    expect(code).toBe(0)
    expect(await shopsync(['sync', '--quiet', '--resource', 'notes'], { cwd: folder })).toMatchObject({
      code: 0,
    })
  })

  test('Ctrl-C: nothing is written', async () => {
    const folder = folderOf()
    const { code, screen } = await typed(folder, [['Address of the API', '\u0003']])
    expect(code).toBe(130)
    expect(screen).not.toMatch(/should not have happened/)
    expect(existsSync(join(folder, 'config.json'))).toBe(false)
  })
})
