/** The lines that change the world of a transcript, and the commands that look at it. There are no others. */
import { chmodSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Printed } from './script.js'
import type { World } from './world.js'

const lengths: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }

/** What words in capitals stand for. */
const given: Readonly<Record<string, string>> = {
  N: '(\\d+)',
  ID: '(\\d+)',
  TENANT: '(\\d+)',
  STATUS: '(\\d+)',
  MODE: '(\\d+)',
  UNIT: '(minute|hour|day)s?',
  RESOURCE: '(\\w+)',
  NAME: '(.+?)',
  JSON: '(["\\d[{tfn].*)',
  TEXT: '(.*)',
}

const patternOf = (line: string): RegExp =>
  new RegExp(`^${line.replaceAll(/[A-Z]+/g, (word) => given[word] ?? word)}$`)

const vocabulary: Readonly<Record<string, (world: World, ...given: string[]) => unknown>> = {
  'config: as usual': (world) => world.configure(),
  'config: NAME JSON': (world, path, value) => world.set(path, JSON.parse(value)),
  'env: without NAME': (world, name) => delete world.env[name],
  'env: NAME=TEXT': (world, name, value) => {
    world.env[name] = value
  },
  'file NAME: TEXT': (world, name, text) => world.write(name, `${text.replaceAll('\\n', '\n')}\n`),
  'file NAME has mode MODE': (world, name, mode) =>
    chmodSync(join(world.folder, name), Number.parseInt(mode, 8)),
  'file NAME is gone': (world, name) => rmSync(join(world.folder, name), { recursive: true }),
  'stdin: TEXT': (world, text) => {
    const typed = text.replaceAll(/\\u(\w{4})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    world.stdin = `${typed}\n`
  },
  'the source: is down': (world) => world.sandbox.down(),
  'the source: is up': (world) => world.sandbox.up(),
  'the source: answers again': (world) => world.recover(),
  'the source: RESOURCE answers STATUS': (world, resource, status) =>
    world.fault({ when: { resource }, fault: { kind: 'status', status: Number(status) } }),
  'the source: RESOURCE of TENANT answers STATUS': (world, resource, tenant, status) =>
    world.fault({
      when: { tenant: Number(tenant), resource },
      fault: { kind: 'status', status: Number(status) },
    }),
  'the source: revokes TENANT': (world, tenant) => world.sandbox.store.revoke(Number(tenant)),
  'the source: grants TENANT': (world, tenant) => world.sandbox.store.grant(Number(tenant)),
  'the source: puts RESOURCE of TENANT JSON': (world, resource, tenant, record) =>
    world.sandbox.store.put(Number(tenant), resource, JSON.parse(record)),
  'the source: changes RESOURCE ID of TENANT JSON': (world, resource, id, tenant, changes) =>
    world.sandbox.store.change(Number(tenant), resource, Number(id), JSON.parse(changes)),
  'the source: removes RESOURCE ID of TENANT': (world, resource, id, tenant) =>
    world.sandbox.store.remove(Number(tenant), resource, Number(id)),
  'the source: JSON': (world, rule) => world.fault(JSON.parse(rule)),
  'a listener starts': (world) => world.listen([]),
  'a listener starts TEXT': (world, flags) => world.listen(flags.split(' ')),
  'the listener ends': (world) => world.endListening(),
  'an event: JSON': (world, event) => world.announce(JSON.parse(event)),
  'the clock: N UNIT later': (world, n, unit) => world.time.advance(Number(n) * (lengths[unit] ?? 0)),
  'another run has held the lock for N minutes': (world, minutes) => {
    world.held = Number(minutes)
  },
  'nobody holds the lock': async (world) => {
    world.held = undefined
    await world.sql('update sync_lease set owner = null')
  },
  'the terminal: N columns': (world, columns) => {
    world.columns = Number(columns)
  },
  'the terminal: a pipe': (world) => {
    world.columns = undefined
  },
  'the warehouse: migrated': (world) => world.migrate(),
  'the warehouse: Postgres': (world) => world.usePostgres(),
  'sql: TEXT': (world, statement) => world.sql(statement),
}

const patterns = Object.entries(vocabulary).map(([line, does]) => ({ pattern: patternOf(line), does }))

export async function changeWorld(world: World, text: string): Promise<void> {
  for (const { pattern, does } of patterns) {
    const found = pattern.exec(world.meant(text))
    if (found) return void (await does(world, ...found.slice(1)))
  }
  const known = Object.keys(vocabulary).map((line) => `# ${line}`)
  throw new Error(`Found "# ${text}" in a transcript, expected one of\n${known.join('\n')}`)
}

/** What these print, beside what the program prints. */
const looks: Readonly<
  Record<string, (world: World, given: string) => readonly string[] | Promise<string[]>>
> = {
  ls: ({ folder }, given) => readdirSync(join(folder, given)).toSorted(),
  cat: ({ folder }, given) => [readFileSync(join(folder, given), 'utf8')],
  // `as ROLE: STATEMENT` on Postgres, in the session of a role.
  sql: async (world, given) => {
    const [, role, statement = given] = /^as (\w+): (.*)$/.exec(given) ?? []
    return (await world.sql(statement, role)).map((row) => row.join(' | '))
  },
  grep: ({ folder }, given) => {
    const [word = '', name = ''] = given.split(' ')
    const lines = readFileSync(join(folder, name), 'utf8').split('\n')
    return lines.filter((line) => line.includes(word))
  },
}

/** What a command that isn't the program's prints, or the error that it meets. */
export async function lookAt(world: World, text: string): Promise<Printed> {
  const [name = '', ...given] = text.split(' ')
  const look = looks[name]
  if (!look)
    throw new Error(`Found "$ ${text}" in a transcript, expected shopsync, ${Object.keys(looks).join(', ')}`)
  try {
    return { stdout: (await look(world, given.join(' '))).join('\n'), stderr: '', code: 0 }
  } catch (error) {
    return { stdout: '', stderr: (error as Error).message, code: 1 }
  }
}
