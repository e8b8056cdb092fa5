/**
 * The lines that people copy do what they say: those of README, of docs/ and of the help's examples that no transcript
 * plays as they are. Each is run as it is, against a sandbox and in an empty folder; only paths, ports, sizes and the secret
 * are replaced. A new line is tested automatically.
 */
import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Call, shopsync } from '../support/harness/call.js'
import { cloneSqlite } from '../support/harness/clones.js'
import { compiledOf } from '../support/harness/compiled.js'
import { askServer } from '../support/harness/databases.js'
import { commands } from '../support/harness/declared.js'
import { blocksOf, commandsOf, plainWords } from '../support/harness/docs.js'
import { place } from '../support/harness/place.js'
import { program } from '../support/harness/process.js'
import { sample, sized } from '../support/harness/size.js'
import { filesIn, root, textOf } from '../support/harness/tree.js'
import { postgresUrl } from '../support/harness/warehouse.js'

const examples = commands.flatMap((command) => command.examples.map(([line]) => line))
const pages = ['README.md', ...filesIn('docs', '.md')].flatMap(blocksOf).flatMap(commandsOf)
const transcripts = filesIn('test/transcripts', '.txt').flatMap((file) => textOf(file).split('\n'))
const played = new Set(transcripts.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2)))
/** The account that docs/production.md makes types them. */
const typed = [...pages, ...examples].map((line) => line.replace(/^sudo -u shopsync (?=shopsync )/, ''))
const lines = [...new Set(typed)].filter((line) => !played.has(line))
const cron = /^(?:[\d*/,-]+ +){4}[\d*/,-]+ +(.*)$/

/** Why a line can't run here, or what runs it. */
const elsewhere = new Map(
  textOf('test/package/lines.txt')
    .trim()
    .split('\n')
    .map((line) => line.split(' → ') as [string, string]),
)

/** Exit codes other than 0, of lines that name something that few records and four lists don't have. */
const exitCodes: Readonly<Record<string, number>> = {
  'shopsync why repair_orders 4711': 1,
  'shopsync why repair_order_services 4711/812': 1,
  'shopsync why repair_order_services 4711/812 --tenant 101': 1,
  'shopsync why repair_order_parts 90012': 1,
  'shopsync events ring --tenant 101 --resource repair_orders': 2,
  // Of the lists that were never read, it can't tell what they hold of the customer.
  'shopsync forget --tenant 101 --customer 5 --dry-run': 1,
}

const has = (command: string): boolean => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0
const blockOf = (page: string, language: string) =>
  blocksOf(page).find((block) => block.language === language)?.text ?? ''

const here = await place({ tenants: 2, repairOrders: 30, seed: 3 })
const tools = join(here.folder, 'bin')

beforeAll(async () => {
  await cloneSqlite(join(here.folder, 'warehouse.db'), 'viewed')
  mkdirSync(tools)
  const write = (name: string, text: string, mode = 0o600): void =>
    writeFileSync(join(here.folder, name), text, { mode })
  write('bin/shopsync', `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`, 0o755)
  write('bin/mail', `#!/bin/sh\ncat >>${join(here.folder, 'mails')}\n`, 0o755)
  // The tools that the lines use, and nothing else: neither node nor npm is on cron's path.
  for (const name of ['sh', 'bash', 'cat', 'echo', 'cp', 'jq', 'mv', 'sqlite3']) {
    const path = spawnSync('sh', ['-c', `command -v ${name}`])
      .stdout.toString()
      .trim()
    if (path.startsWith('/')) symlinkSync(path, join(tools, name))
  }
  write('shopsync.env', `SHOPSYNC_API_SECRET=${here.sandbox.secret}\n`)
  write('faults.json', blockOf('docs/sandbox.md', 'json'))
  // Nobody was forgotten; test/features/forget/customer.test.ts replays a file with somebody.
  write('forgotten.jsonl', '')
  mkdirSync(join(here.folder, 'jobs'))
  write('jobs/large.json', blockOf('docs/operations.md', 'json').replace('[7]', '[101]'))
  useExampleConfig()
  expect(await ran('shopsync sync')).toMatchObject({ code: 0 })
})

/** The configuration that one copies, with the sandbox's address and fewer lists. */
function useExampleConfig(): void {
  const text = textOf('config.example.json').replace('https://api.example.com', here.sandbox.url)
  const resources = ['notes', 'customers', 'repair_orders', 'shops']
  const config = { ...JSON.parse(text), sync: { resources }, targets: { '*': 'PT6H' } }
  writeFileSync(join(here.folder, 'config.json'), JSON.stringify(config))
}

/** The line with this machine's paths. */
const adapted = (line: string): string =>
  line
    .replaceAll('/srv/shopsync', here.folder)
    .replaceAll('/var/www', here.folder)
    .replaceAll('/data/', `${here.folder}/`)
    .replaceAll('/usr/local/bin', tools)
    .replace('warehouse.db', join(here.folder, 'warehouse.db'))
    .replace(/^(shopsync sandbox)(?: --port 8080)?(?: --tenants 3)?/, '$1 --port 0 --size small')

interface Ran {
  readonly code: number
  readonly text: string
}

/** Runs a line with only this environment. */
function shell(line: string, env: Record<string, string>, its = 'sh'): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(its, ['-c', `exec 2>&1; ${line}`], { cwd: here.folder, env }, (error, text) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), text })
    })
  })
}

/** A line that doesn't need a shell is called without one. A program that stays up is stopped once it has printed how. */
async function ran(line: string): Promise<{ readonly code: number | null; readonly text: string }> {
  const words = plainWords(line)
  if (!words) return shell(line, usual(), 'bash')
  const during = (call: Call): void => call.onText((text) => text.includes('Ctrl-C') && call.kill('SIGINT'))
  const { code, stdout, stderr } = await shopsync(words, { cwd: here.folder, env: usual(), during })
  return { code, text: stderr + stdout }
}

const usual = (): Record<string, string> => ({ PATH: tools, SHOPSYNC_API_SECRET: here.sandbox.secret })

describe('the lines for a terminal', () => {
  const isOther = (line: string): boolean =>
    elsewhere.has(line) ||
    cron.test(line) ||
    /^\w+=|^(?:journalctl|sudo(?:edit)?|systemctl|\(?cd) /.test(line)

  it('are in a transcript, here or elsewhere; every command has an example; no reason is left for a line that is gone', () => {
    for (const line of elsewhere.keys()) expect(lines).toContain(line)
    for (const line of Object.keys(exitCodes)) expect(lines).toContain(line)
    expect(commands.filter((command) => command.examples.length === 0)).toEqual([])
    expect(lines.filter((line) => !isOther(line)).length).toBeGreaterThan(40)
  })

  it.for([...lines.filter((line) => !isOther(line)), 'shopsync run large'])('%s', async (line, context) => {
    context.skip(line.startsWith('sqlite3') && !has('sqlite3'), 'this machine has no sqlite3')
    const { code, text } = await ran(adapted(line))
    expect([text, code]).toEqual([text, exitCodes[line] ?? 0])
  })
})

it('the crontab works in the environment that cron gives', async () => {
  const its = textOf('deploy/crontab').trim().split('\n').map(adapted)
  const settings = its.flatMap((line) => [...line.matchAll(/^(\w+)=(.*)$/g)])
  const own = settings.map(([, name, value]) => [name, value === '...' ? here.sandbox.secret : value])
  const env = { PATH: '/usr/bin:/bin', HOME: here.folder, ...Object.fromEntries(own) }
  expect(env.PATH).toContain(tools)
  for (const command of sample(its.flatMap((line) => cron.exec(line)?.[1] ?? [])))
    expect(await shell(command, env)).toEqual({ code: 0, text: '' })
})

describe.runIf(has('python3'))('the file for Airflow', () => {
  interface Task {
    readonly bash_command: string
    readonly cwd: string
  }
  const tasks = (): Task[] => {
    const { stdout, stderr } = spawnSync('python3', [join(root, 'test/package/airflow.py')], {
      input: blockOf('docs/scale.md', 'python'),
    })
    expect(stderr.toString()).toBe('')
    return JSON.parse(stdout.toString()) as Task[]
  }
  /** As its BashOperator runs a command; the exit code. */
  const bash = async (command: string, path: string): Promise<number> =>
    (await shell(command, { ...usual(), PATH: `${path}:/usr/bin:/bin` }, 'bash')).code

  it('has a task for each shard and one after them, where the configuration is', () => {
    const found = tasks()
    const words = found.map(({ bash_command }) => bash_command.split(';')[0])
    const shards = Array.from({ length: 8 }, (_, i) => `shopsync run nightly --shard ${i}/8`)
    expect(words.toSorted()).toEqual([...shards, 'shopsync run nightly --whole'])
    for (const { cwd } of found) expect(adapted(cwd)).toBe(here.folder)
  })

  it('skips what no retry mends, and retries what one may', async () => {
    const found = tasks().slice(-2)
    const folder = join(here.folder, 'told')
    mkdirSync(folder)
    const ends = { 0: 0, 1: 0, 2: 99, 3: 3, 4: 4, 143: 143 }
    for (const [code, ended] of Object.entries(ends)) {
      writeFileSync(join(folder, 'shopsync'), `#!/bin/sh\nexit ${code}\n`, { mode: 0o755 })
      for (const { bash_command: command } of found)
        expect([code, await bash(command, folder)]).toEqual([code, ended])
    }
    // The program itself, of which a SQLite warehouse has no shards.
    expect(await bash(found[0]!.bash_command, tools)).toBe(99)
  })
})

it('the systemd unit starts a run whose journal the filter for it reads', async (context) => {
  const unit = adapted(textOf('deploy/systemd/shopsync@.service')).replaceAll('%i', 'hourly')
  const [, start = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? []
  const filter = lines.find((line) => line.startsWith('journalctl'))?.replace(/^.*? \| /, '')
  here.sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'status', status: 422 } }])
  const { code, text } = await shell(start, usual())
  expect(code).toBe(1)
  writeFileSync(join(here.folder, 'journal'), `Starting shopsync hourly…\n${text}`)
  here.sandbox.script([])
  context.skip(!has('jq'), 'this machine has no jq')
  const filtered = await shell(`cat journal | ${filter}`, usual())
  expect([filtered.text, filtered.code]).toEqual([expect.stringMatching(/"level": "(warn|error)"/), 0])
  expect(filtered.text).not.toMatch(/Starting|"info"/)
})

describe('the lines for Postgres', () => {
  // Asked for here, so that it is there when the first test begins.
  const postgres = postgresUrl()
  const [schemas, daily, reporting, database, reading, end] = ['docs/warehouse.md', 'docs/production.md']
    .flatMap(blocksOf)
    .filter(({ language }) => language === 'sql')
  const suffix = randomBytes(4).toString('hex')
  /** This test's own roles, schema and database: other tests may copy the same lines. */
  const renamed = (text: string): string =>
    text.replaceAll(
      /\b(shopsync_run|shopsync(?=_analytics\b)|shopsync|bi|warehouse)(?=_analytics\b|\b)/g,
      `$1_${suffix}`,
    )
  const own = (text: string): string => renamed(text.replaceAll(/--.*$/gm, ''))
  const address = (role: string): string => {
    const url = new URL(postgres)
    url.username = role
    url.pathname = own('/warehouse')
    return url.href
  }
  const run = async (role: string, command: string): Promise<void> => {
    here.configure({
      api: { secret: here.sandbox.secret },
      warehouse: { url: address(own(role)), schema: own('shopsync'), autoMigrate: false },
    })
    const { code, text } = await ran(`shopsync ${command}`)
    expect([text, code]).toEqual([text, 0])
  }

  it('make roles that are sufficient to migrate, to sync every day, and to read', async () => {
    for (const statement of own(database!.text).trim().split(';\n')) await askServer(postgres, statement)
    const owner = address('postgres')
    await askServer(owner, own(schemas!.text))
    await run('shopsync', 'migrate')
    await askServer(owner, own(`create role shopsync_run login; ${daily!.text} ${reporting!.text}`))
    // To reconcile and to verify need what to sync needs.
    for (const command of sized(['sync', 'status'], ['sync', 'reconcile', 'verify', 'report', 'status']))
      await run('shopsync_run', command)
    await askServer(owner, own(reading!.text))
    await readsAll()
  })

  const readsAll = async (): Promise<void> => {
    const count = own('select count(*)::int as n from shopsync_analytics.orders')
    const { tenantIds, store } = here.sandbox
    const all = tenantIds.reduce((sum, id) => sum + store.count(id, 'repair_orders'), 0)
    expect(await askServer(address(own('bi')), count)).toEqual([{ n: all }])
  }

  it('dump the schema and restore it, if pg_dump knows the server', async (context) => {
    const tool = spawnSync('sh', ['-c', 'pg_dump --version']).stdout.toString()
    const [server] = await askServer<{ server_version: string }>(postgres, 'show server_version')
    const isNew = Number(/\d+/.exec(tool)?.[0] ?? 0) >= Number.parseInt(server?.server_version ?? '', 10)
    context.skip(!isNew, 'this machine has no pg_dump as new as the server')
    const its = textOf('docs/production.md').match(
      /(?<=shopsync )(?:pg_dump|psql|pg_restore) .*WAREHOUSE.*$/gm,
    )
    expect(its?.length).toBe(3)
    const words = its!.join(' && ').replace("'$WAREHOUSE'", '"$WAREHOUSE"').replace('\\$day', '1')
    const env = { PATH: `${tools}:/usr/bin:/bin`, WAREHOUSE: address(own('shopsync')) }
    const { code, text } = await shell(renamed(words.replace('/var/backups/shopsync/', '')), env)
    expect([text, code]).toEqual([text, 0])
    await run('shopsync', 'migrate')
    await readsAll()
  })

  it('leave nothing behind', async () => {
    for (const statement of own(`${end!.text} drop role shopsync_run`).split(';'))
      await askServer(postgres, statement)
  })
})

it('runs the example on the sandbox’s page', async () => {
  const file = join(here.folder, 'example.mjs')
  const clock = `const clock = { nowMicros: () => BigInt(Date.now()) * 1000n }\n`
  const compiled = compiledOf('src/sandbox/index.ts')
  const example = blockOf('docs/dev/sandbox.md', 'ts').replace('../src/sandbox/index.js', compiled)
  writeFileSync(file, clock + example)
  const { code, text } = await shell(`${process.execPath} ${file}`, usual())
  expect([text, code]).toEqual(['', 0])
})
