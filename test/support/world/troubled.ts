/**
 * Lists of a tenant, and a warehouse in which somebody changes what isn't theirs: the words of the stories of what becomes of
 * that (stories.ts), with one step a line.
 */
import { randomBytes } from 'node:crypto'
import { beforeAll, expect } from 'vitest'
import type { Stop } from '../../../src/engine/base/errors.js'
import { type Sandbox, template } from '../../../src/sandbox/index.js'
import { onServer } from '../harness/databases.js'
import { Desk } from '../harness/desk.js'
import type { Address } from '../harness/place.js'
import { type RunReport, sync } from '../harness/runs.js'
import { scratch } from '../harness/scratch.js'
import { type Kind, reopen, rowsOf, typed, type Warehouse } from '../harness/warehouse.js'
import { anywhere, Steps, storyTests, type WordsOf } from './stories.js'

const secret = 'Gallifrey Falls No More'
const at = (second: number): string =>
  `${new Date(Date.UTC(2026, 2) + second * 1000).toISOString().slice(0, -1)}000Z`

/** Three records of each list, and those that come later. */
export class Lists {
  /** The id of the newest record, and the second of its stamp. */
  newest = 3

  constructor(
    readonly sandbox: Sandbox,
    readonly names: readonly string[],
  ) {
    sandbox.store.addTenant({ id: 1 })
    for (const name of names) for (const id of [1, 2, 3]) this.put(name, id)
  }

  put(name: string, id: number, more: object = {}, second = id): void {
    this.sandbox.store.put(1, name, { ...template(name, id, at(second)), ...more })
  }

  /** One more record of each, and three notes. */
  come(description = secret): void {
    for (const name of this.names) this.put(name, this.newest + 1)
    for (let n = 0; n < 3; n++) this.put('notes', ++this.newest, { description })
  }

  /** The last instant before those came. */
  get before(): string {
    return at(this.newest - 3)
  }
}

/** A role that may do what runs need, on every table that exists, and its address. */
export async function runRole({ url, schema }: Address, ...rights: readonly string[]) {
  const role = `runner_${randomBytes(4).toString('hex')}`
  const usual = [
    `grant usage on schema ${schema} to ${role}`,
    `grant select, insert, update, delete on all tables in schema ${schema} to ${role}`,
    ...rights.map((text) => text.replaceAll('ROLE', role)),
  ]
  await onServer(url, `create role ${role} login`, ...usual)
  const address = new URL(url)
  address.username = role
  return { url: address.href, role }
}

/** The warehouse of one kind of stories. */
export interface Troubled {
  readonly lists: Lists
  /** For its owner. */
  readonly place: Address
  readonly usual: Warehouse
  /** For the program. */
  readonly address: Address
  readonly role: string
  warehouse: Warehouse
  description: string | undefined
}

/** How many rows each list has, where that can be asked. */
async function counted(warehouse: Warehouse, names: readonly string[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const name of names)
    await rowsOf(warehouse, name).then(
      ({ length }) => counts.set(name, length),
      () => {},
    )
  return counts
}

/** Of each list, what the run reports and stored. */
export async function told(story: Troubled, run: () => Promise<RunReport>): Promise<string> {
  const { lists, usual, role } = story
  const before = await counted(usual, lists.names)
  const report = await run().catch((error: Error) => error)
  const said = (text: string): string => anywhere(text).replaceAll(role, 'ROLE')
  if (report instanceof Error) {
    const { exitCode, message, hint } = report as Stop
    return said(`stops with ${exitCode}: ${message} ${hint}`)
  }
  const [after, states] = [await counted(usual, lists.names), await rowsOf(usual, 'sync_cursors')]
  expect(JSON.stringify([report, states])).not.toContain(secret)
  const each = report.cursors.map(({ resource, status, completeness, reason, error }) => {
    const state = states.find((row) => row.resource === resource)
    expect(state).toMatchObject({ status, reason, last_error: error })
    const came = (after.get(resource) ?? 0) - (before.get(resource) ?? after.get(resource) ?? 0)
    const words = [resource, status, completeness, reason, came > 0 ? `${came} more` : '', error ?? '']
    return said(words.filter((word) => word).join(' '))
  })
  return each.toSorted().join('\n')
}

const triggered = (code: string): string =>
  `create function anybodys() returns trigger language plpgsql as $$ ${code} $$;
   create trigger troubled before insert or update on notes for each row execute function anybodys()`

const typing = ({ usual, lists, role }: Troubled, text: string) =>
  typed(usual, text.replaceAll('?', String(lists.newest + 2)).replaceAll('ROLE', role))

const words: WordsOf<Troubled> = {
  // `?` is the id of the second of the notes that come next.
  '(?:plant|mend) REST': (story, statements) => typing(story, statements!),
  'trigger REST': (story, body) => typing(story, triggered(body!)),
  'no trigger': (story) => typing(story, 'drop trigger troubled on notes; drop function anybodys'),
  'three notes come, and one record of each other list': ({ lists, description }) => lists.come(description),
  'descriptions are long': (story) => {
    story.description = randomBytes(9000).toString('base64')
  },
  // Of what it prints, what is wrong.
  '\\$ REST': async (story, command) => {
    const words = command!.replace('FILE', `sqlite:${scratch()}/copy.db`)
    const { code, stdout, stderr } = await deskOf(story).run(words)
    const isTold = (line: string) => !line.startsWith('{') && /✗|shopsync:|Found on/.test(line)
    const lines = (stdout + stderr).split('\n').filter(isTold)
    expect(stdout + stderr).not.toContain(secret)
    const told = anywhere(`exit ${code} ${lines.join(' ')}`)
    return told.replaceAll(story.role, 'ROLE').replaceAll(/\d+ rows/g, 'N rows')
  },
  sync: async (story) => {
    const { lists, usual, warehouse } = story
    const text = await told(story, () => sync(lists.sandbox, warehouse, { resources: lists.names }))
    const notes = (await rowsOf(usual, 'sync_cursors')).find(({ resource }) => resource === 'notes')
    if (notes?.status === 'failed') expect(notes.watermark).toBe(lists.before)
    return text
  },
}

/** Plays stories of a warehouse that has been synced; each leaves it as it found it. */
export function troubleStories(
  file: string,
  kind: Kind,
  lists: Lists,
  { asRole = false, more = {} }: { asRole?: boolean; more?: WordsOf<Troubled> } = {},
): void {
  let begun: Omit<Troubled, 'description'>
  const begin = () => {
    beforeAll(async () => {
      const place = await kind.migrated()
      const usual = await reopen(place)
      const { url, role } = asRole ? await runRole(place) : { url: place.url, role: 'ROLE' }
      const address = { ...place, url }
      const warehouse = asRole ? await reopen(address) : usual
      begun = { lists, place, usual, address, role, warehouse }
      await sync(lists.sandbox, warehouse, { resources: lists.names })
    })
    return () => ({ ...begun, description: undefined })
  }
  storyTests(file, new Steps({ ...more, ...words }, '\n'), begin, [kind])
}

/** For words that call the program, with the role of the stories and without changes of tables. */
export function deskOf({ lists, address }: Troubled): Desk {
  const { url, schema } = address
  const place = url.startsWith('sqlite:') ? { url } : { url, schema }
  const desk = new Desk(lists.sandbox, address, lists.names)
  desk.set({ warehouse: { ...place, autoMigrate: false } })
  return desk
}
