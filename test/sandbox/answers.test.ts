/**
 * What the sandbox answers: the document of the API, and what scripts of faults and motion make of it. Each section of a text
 * begins with an empty sandbox at noon, and with what stands before the first one; below a request is its answer, which
 * `npx vitest run test/sandbox -u` writes:
 *
 *     [N ×] METHOD path [body, or - for an empty one] [with Header: value] [showing what, what]
 *
 * A path is tenant 101's, unless it begins with a slash. Of a list, the ids and its counts are shown, of others the text;
 * or what `showing` names: the status, headers, and /what is like this/ in the text. `heard` and `heard in full` are
 * the events that have arrived.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type ApiRecord,
  type Motion,
  type Rule,
  type Sandbox,
  type SandboxOptions,
  template,
} from '../../src/sandbox/index.js'
import { emptySandbox, type Json, noon, putNotes, request } from '../support/harness/requests.js'
import { filesIn, root } from '../support/harness/tree.js'
import { HandClock } from '../support/world/clocks.js'
import { type Receiver, receiver } from './receiver.js'

const time = '2026-01-01T00:00:00.000000Z'

class World {
  /** The last one, which a request may send back. */
  etag = ''
  heard: Receiver | undefined

  private constructor(
    readonly sandbox: Sandbox,
    readonly clock: HandClock,
  ) {}

  static async open(options: SandboxOptions = {}): Promise<World> {
    const clock = new HandClock(noon)
    return new World(await emptySandbox({ tenants: 2, clock, ...options }), clock)
  }

  put(resource: string, id: number, fields: object): void {
    this.sandbox.store.put(101, resource, { ...template(resource, id, time), ...fields })
  }

  script(rules: readonly Rule[]): void {
    this.sandbox.script(rules)
  }

  /** Only what is given, one record after the other. */
  async store(resource: string, records: readonly ApiRecord[]): Promise<void> {
    for (const record of records) {
      this.sandbox.store.put(101, resource, record)
      await this.sandbox.delivered()
    }
  }

  /** From now on, events go to a receiver. */
  async listen(): Promise<void> {
    this.heard = await receiver()
    this.sandbox.subscribe(this.heard.url)
  }

  told(inFull: boolean): string[] {
    const { received = [] } = this.heard ?? {}
    return received.map(({ event: { event, payload }, secret, text }, i) => {
      if (!inFull) return `${event} ${payload['id']}`
      const isAgain = received.slice(0, i).some((one) => one.text === text)
      return `${event} ${JSON.stringify(payload)}, secret: ${secret}${isAgain ? ', again' : ''}`
    })
  }
}

const record = '(\\w+) (\\d+)'
const changes: readonly (readonly [RegExp, (world: World, ...given: string[]) => unknown])[] = [
  [/^(\d+) notes$/, ({ sandbox }, count) => putNotes(sandbox, Number(count))],
  // Only what is given.
  [/^stores (\w+) (\{.*)$/, (world, resource, json) => world.store(resource, JSON.parse(`[${json}]`))],
  [/^webhooks$/, (world) => world.listen()],
  [
    new RegExp(`^puts ${record} (\\{.*)$`),
    (world, name, id, json) => world.put(name, Number(id), JSON.parse(json)),
  ],
  [
    new RegExp(`^changes ${record} (\\{.*)$`),
    ({ sandbox }, name, id, json) => sandbox.store.change(101, name, Number(id), JSON.parse(json)),
  ],
  [new RegExp(`^removes ${record}$`), ({ sandbox }, name, id) => sandbox.store.remove(101, name, Number(id))],
  [/^revokes (\d+)$/, ({ sandbox }, tenant) => sandbox.store.revoke(Number(tenant))],
  [/^registers (\w+)$/, ({ sandbox }, resource) => sandbox.store.register(resource)],
  [
    /^switches (\w+) off( for 101)?$/,
    ({ sandbox }, name, own) => sandbox.store.switchOff(name, own ? 101 : undefined),
  ],
  [/^rules (.*)$/, (world, rules) => world.script(JSON.parse(`[${rules}]`))],
  [/^faults (.*)$/, (world, faults) => world.script([{ fault: JSON.parse(`[${faults}]`) }])],
  [/^moves (.*)$/, (world, motions) => world.script([{ when: { nth: 1 }, before: motionsOf(motions) }])],
  [/^the clock: (\d+) ms later$/, ({ clock }, ms) => clock.pass(Number(ms))],
]
const motionsOf = (text: string): Motion[] => JSON.parse(`[${text}]`) as Motion[]

async function change(world: World, text: string): Promise<readonly string[]> {
  for (const [pattern, does] of changes) {
    const found = pattern.exec(text)
    if (!found) continue
    try {
      await does(world, ...found.slice(1))
      await world.sandbox.delivered()
      return []
    } catch (error) {
      return [`  refused: ${(error as Error).message}`]
    }
  }
  throw new Error(
    `Found "# ${text}", expected one of ${changes.map(([pattern]) => pattern.source).join(', ')}`,
  )
}

/** `20-16` counts down. */
function spansOf(ids: readonly unknown[]): string {
  const runs: unknown[][] = []
  for (const id of ids) {
    const run = runs.at(-1) ?? []
    const [before, last] = [undefined, undefined, ...run].slice(-2).map(Number)
    const step = typeof id === 'number' ? id - (last ?? 0) : Number.NaN
    const isNext = Math.abs(step) === 1 && (run.length === 1 || (last ?? 0) - (before ?? 0) === step)
    if (isNext) run.push(id)
    else runs.push([id])
  }
  const shown = runs.map((run) =>
    run.length > 2 ? `${run[0]}-${run.at(-1)}` : run.map((id) => JSON.stringify(id)).join(' '),
  )
  return shown.join(' ')
}

const most = 400

function bodyOf(text: string): string {
  const cut = text.length > most ? `${text.slice(0, most)}… and ${text.length - most} more` : text
  if (!text.startsWith('{"results":[') || text.length > 1_000_000) return cut
  try {
    const { results, limit, limited, total_count, current_page, total_pages } = JSON.parse(text) as Json
    const counts = `${limit}${limited ? ' (limited)' : ''} of ${total_count}, page ${current_page} of ${total_pages}`
    return `${spansOf(results.map(({ id }: Json) => id))}: ${counts}`
  } catch {
    return cut
  }
}

const asked =
  /^(?:(\d+) × )?(GET|POST|PUT|DELETE) (\S+)(?: ([{["-].*?))?(?: with ([\w-]+): (\S*))?(?: showing (.*))?$/

async function answer(world: World, line: string): Promise<string> {
  const [, , method = '', path = '', given, header, value = '', showing] = asked.exec(line) ?? []
  const headers = header ? { [header]: value.replace('<etag>', world.etag).replace(/^-$/, '') } : {}
  const at = path.startsWith('/') ? path : `/api/v1/tenants/101/${path}`
  const options = { method, headers, body: given === '-' ? '' : given }
  const reply = await request(world.sandbox, at, options).catch(() => undefined)
  if (!reply) return 'no answer'
  const { status, text } = reply
  world.etag = reply.headers.get('etag') ?? ''
  if (!showing) return `${status} ${bodyOf(text)}`.trimEnd()
  const shown = showing.split(', ').map((what) => {
    if (what === 'status') return String(status)
    const [, pattern] = /^\/(.*)\/$/.exec(what) ?? []
    if (pattern === undefined) return `${what}: ${reply.headers.get(what)}`
    return [...text.matchAll(new RegExp(pattern, 'g'))].join(' … ') || 'nothing like this'
  })
  return shown.join(', ')
}

/** The line, and what is written below it. */
async function lineOf(world: World, line: string): Promise<string[]> {
  if (line.startsWith('# ')) return [line, ...(await change(world, line.slice(2)))]
  if (/^heard( in full)?$/.test(line)) {
    await world.sandbox.delivered()
    return [line, ...world.told(line !== 'heard').map((one) => `  ${one}`)]
  }
  const [is, times = 1] = asked.exec(line) ?? []
  if (is === undefined) return [line]
  const answers: string[] = []
  for (let i = 0; i < Number(times); i += 1) answers.push(await answer(world, line))
  return [line, `  ${answers.join(answers.every((one) => one.length < 4) ? ' ' : '\n  ')}`]
}

async function played(text: string): Promise<string> {
  const lines = text.split('\n').filter((line) => !line.startsWith('  '))
  const first = lines.findIndex((line) => line.startsWith('== '))
  const everywhere = lines.slice(0, first).filter((line) => line.startsWith('# '))
  const written = lines.slice(0, first)
  let world = await World.open()
  for (const line of lines.slice(first)) {
    const [, options] = /^# options (.*)$/.exec(line) ?? []
    const begins = line.startsWith('== ') || options !== undefined
    if (begins) world = await World.open(JSON.parse(options ?? '{}'))
    if (begins) for (const one of everywhere) await change(world, one.slice(2))
    written.push(...(options === undefined ? await lineOf(world, line) : [line]))
  }
  return written.join('\n')
}

test.each(filesIn('test/sandbox', '.txt'))('%s', async (file) => {
  const path = join(root, file)
  await expect(await played(readFileSync(path, 'utf8'))).toMatchFileSnapshot(path)
})
