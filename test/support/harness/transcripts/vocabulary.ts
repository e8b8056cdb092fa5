/** The lines that change the world of a transcript, and the commands that look at it. There are no others. */
import { chmodSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Printed } from './script.js'
import type { World } from './world.js'

type Found = readonly string[]

interface Line {
  /** As it is typed, with capitals for what is given. */
  readonly says: string
  readonly pattern: RegExp
  does(world: World, ...found: Found): void | Promise<void>
}

const lengths: Readonly<Record<string, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}

const line = (says: string, pattern: RegExp, does: Line['does']): Line => ({ says, pattern, does })

export const vocabulary: readonly Line[] = [
  line('config: as usual', /^config: as usual$/, (world) => world.configure()),
  line('config: PATH JSON', /^config: ([\w*.]+) (["\d[{tfn].*)$/, (world, path = '', value = '') =>
    world.set(path, JSON.parse(value)),
  ),
  line('env: NAME=VALUE', /^env: (\w+)=(.*)$/, (world, name = '', value = '') => {
    world.env[name] = value
  }),
  line('env: without NAME', /^env: without (\w+)$/, (world, name = '') => {
    delete world.env[name]
  }),
  line('file NAME: TEXT', /^file (.+?): (.*)$/, (world, name = '', text = '') =>
    world.write(name, `${text.replaceAll('\\n', '\n')}\n`),
  ),
  line('file NAME has mode OCTAL', /^file (\S+) has mode (\d+)$/, (world, name = '', mode = '') =>
    chmodSync(join(world.folder, name), Number.parseInt(mode, 8)),
  ),
  line('file NAME is gone', /^file (.+) is gone$/, (world, name = '') =>
    rmSync(join(world.folder, name), { recursive: true }),
  ),
  line('stdin: TEXT', /^stdin: (.*)$/, (world, text = '') => {
    const typed = text.replaceAll(/\\u(\w{4})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    world.stdin = `${typed}\n`
  }),
  line(
    'the source: RESOURCE answers STATUS',
    /^the source: (\w+) answers (\d+)$/,
    (world, resource = '', status = '') =>
      world.fault({ when: { resource }, fault: { kind: 'status', status: Number(status) } }),
  ),
  line(
    'the source: RESOURCE of TENANT answers STATUS',
    /^the source: (\w+) of (\d+) answers (\d+)$/,
    (world, resource = '', tenant = '', status = '') =>
      world.fault({
        when: { tenant: Number(tenant), resource },
        fault: { kind: 'status', status: Number(status) },
      }),
  ),
  line('the source: JSON', /^the source: (\{.*\})$/, (world, rule = '') => world.fault(JSON.parse(rule))),
  line('the source: answers again', /^the source: answers again$/, (world) => world.recover()),
  line('the source: is down', /^the source: is down$/, (world) => world.sandbox.down()),
  line('the source: is up', /^the source: is up$/, (world) => world.sandbox.up()),
  line('the source: revokes TENANT', /^the source: revokes (\d+)$/, (world, tenant) =>
    world.sandbox.store.revoke(Number(tenant)),
  ),
  line('the source: grants TENANT', /^the source: grants (\d+)$/, (world, tenant) =>
    world.sandbox.store.grant(Number(tenant)),
  ),
  line(
    'the source: puts RESOURCE of TENANT JSON',
    /^the source: puts (\w+) of (\d+) (\{.*\})$/,
    (world, resource = '', tenant = '', record = '') =>
      void world.sandbox.store.put(Number(tenant), resource, JSON.parse(record)),
  ),
  line(
    'the source: changes RESOURCE ID of TENANT JSON',
    /^the source: changes (\w+) (\d+) of (\d+) (\{.*\})$/,
    (world, resource = '', id = '', tenant = '', changes = '') =>
      void world.sandbox.store.change(Number(tenant), resource, Number(id), JSON.parse(changes)),
  ),
  line(
    'the source: removes RESOURCE ID of TENANT',
    /^the source: removes (\w+) (\d+) of (\d+)$/,
    (world, resource = '', id = '', tenant = '') =>
      void world.sandbox.store.remove(Number(tenant), resource, Number(id)),
  ),
  line('a listener starts FLAGS', /^a listener starts *(.*)$/, (world, flags = '') =>
    world.listen(flags.split(' ').filter(Boolean)),
  ),
  line('the listener ends', /^the listener ends$/, (world) => world.endListening()),
  line('an event: JSON', /^an event: (\{.*\})$/, (world, event = '') => world.announce(JSON.parse(event))),
  line('the clock: N UNITs later', /^the clock: (\d+) (minute|hour|day)s? later$/, (world, n, unit = '') =>
    world.time.advance(Number(n) * (lengths[unit] ?? 0)),
  ),
  line(
    'another run has held the lock for N minutes',
    /^another run has held the lock for (\d+) minutes$/,
    (world, minutes) => {
      world.held = Number(minutes)
    },
  ),
  line('the terminal: N columns', /^the terminal: (\d+) columns$/, (world, columns) => {
    world.columns = Number(columns)
  }),
  line('the terminal: a pipe', /^the terminal: a pipe$/, (world) => {
    world.columns = undefined
  }),
  line('the warehouse: Postgres', /^the warehouse: Postgres$/, (world) => world.usePostgres()),
  line('nobody holds the lock', /^nobody holds the lock$/, async (world) => {
    world.held = undefined
    await world.sql('update sync_lease set owner = null')
  }),
  line('sql: STATEMENT', /^sql: (.+)$/, async (world, statement = '') => void (await world.sql(statement))),
]

export async function changeWorld(world: World, text: string): Promise<void> {
  for (const { pattern, does } of vocabulary) {
    const found = pattern.exec(world.meant(text))
    if (found) return await does(world, ...found.slice(1))
  }
  const known = vocabulary.map(({ says }) => `# ${says}`).join('\n')
  throw new Error(`Found "# ${text}" in a transcript, expected one of\n${known}`)
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
