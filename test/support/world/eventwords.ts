/**
 * The words of the stories of an inbox (stories.ts): what happens to orders, what is announced, and what runs and turns make
 * of it. Each letter is an order that no other story has had.
 */
import { beforeAll } from 'vitest'
import type { RunOptions } from '../harness/runs.js'
import { rowsOf } from '../harness/warehouse.js'
import { between, replacing } from './between.js'
import type { TestEvent } from './events.js'
import { during, EventWorld, list, minute } from './eventworld.js'
import { Steps, storyTests, type WordsOf } from './stories.js'

/** After each of these, a record that wasn't as announced is looked for again (docs/webhooks.md). */
const pauses = [5000, 30_000, 120_000, 600_000]
/** In pages so small that a list has several of them. */
export const small = { pageSizes: [3, 4, 5], readAhead: 0 }
const ever = [{ from: '2020-01-01T00:00:00.000000Z', to: '2099-01-01T00:00:00.000000Z' }]

export class EventStory {
  /** Of all turns and runs from now on. */
  always: RunOptions = {}
  /** Of the next turn or run. */
  once: RunOptions = {}
  /** Has the list show what it hides. */
  show = (): void => {}
  #looks = 0
  #cursor: Record<string, unknown> = {}
  readonly #ids = new Map<string, number>()

  constructor(readonly w: EventWorld) {}

  id(name: string): number {
    const id = Number(name) || this.#ids.get(name) || this.w.unused()
    if (!Number(name)) this.#ids.set(name, id)
    return id
  }

  get options(): RunOptions {
    const options = { ...this.always, ...this.once }
    this.once = {}
    return options
  }

  async rows(): Promise<string> {
    const rows = [...this.#ids].map(async ([name, id]) => {
      const { detail, _deleted_at } = (await this.w.row(id)) ?? {}
      if (_deleted_at !== null) return `${name} deleted`
      return `${name} ${String(detail).startsWith('changed') ? detail : 'as it was'}`
    })
    const { completeness, status } = (await this.w.cursor()) ?? {}
    return `${(await Promise.all(rows)).join(', ')}; ${status} ${completeness}`
  }

  /** What has become of the cursor since the last look at it. */
  async cursor(): Promise<string> {
    const before = this.#cursor
    this.#cursor = (await this.w.cursor()) ?? {}
    const { walk, watermark } = this.#cursor
    const isSame = JSON.stringify(walk) === JSON.stringify(before.walk)
    const kept = walk === null ? 'no walk' : isSame ? 'the same walk' : 'a walk'
    return `${kept}, ${watermark === before.watermark ? 'the same' : 'another'} watermark`
  }

  /** A turn, another one that has to find nothing, and the pause after which a record is looked for again. */
  async look(): Promise<string> {
    const seen = await this.w.turn(this.options)
    const again = await this.w.turn(this.always)
    if (!again.startsWith('nothing: ')) throw new Error(`Before the pause was over: ${again}`)
    this.w.clock.pass(pauses[this.#looks++] ?? 10 * minute)
    return seen
  }

  /** Such turns until nothing waits; alike ones are counted. */
  async looks(): Promise<string> {
    const all: string[] = []
    do all.push(await this.look())
    while (all.at(-1)?.includes('waiting') && all.length < 12)
    const different = all.filter((seen, i) => seen !== all[i - 1])
    const times = (seen: string): string => {
      const n = all.filter((one) => one === seen).length
      return n > 1 ? `${n} times ${seen}` : seen
    }
    return different.map(times).join('; ')
  }

  async run(mode: string, resource: string | undefined, how: 'settling' | 'beside'): Promise<string> {
    const { w } = this
    const ranges = mode === 'backfill' ? ever : undefined
    const resources = resource === undefined ? undefined : [resource]
    const options = { ...this.options, mode: mode as 'sync', ranges, beside: w.events[how] }
    const { status } = await w.sync(resources ? { ...options, resources } : options)
    return `${status}: ${await w.seen()}`
  }
}

export type EventWords = WordsOf<EventStory>

const broken = () => Promise.reject(new TypeError('no function of the program throws this'))

/** A source whose lists hide an existing record. */
const hiding = (id: number) =>
  between(async ({ path }, ask) => {
    const page = await ask()
    const without = (records: readonly unknown[]): unknown[] =>
      records.filter((record) => (record as { id?: unknown }).id !== id)
    if (path !== list || without(page.records).length === page.records.length) return page
    const tokens = () => without(page.tokens() as unknown[])
    return { ...page, records: without(page.records), total: page.total - 1, tokens } as typeof page
  })

const happens: EventWords = {
  'change every order': ({ w }) => {
    for (const id of w.orders) w.change(id, { detail: 'anew' })
  },
  'change WORD[ again, N]': (story, name, n) =>
    void story.w.change(story.id(name!), { detail: n ? `changed ${n}` : 'changed' }),
  'remove WORD': (story, name) => void story.w.remove(story.id(name!)),
  'N (minute|second|millisecond)s? later': ({ w }, n, unit) =>
    w.clock.pass(Number(n) * { minute, second: 1000, millisecond: 1 }[unit as 'second']),
  'the list hides WORD': (story, name) => {
    story.always = { around: hiding(story.id(name!)) }
  },
  'change WORD, which the list does not show yet': (story, name) => {
    const id = story.id(name!)
    story.show = story.w.lag(id, () => void story.w.change(id))
  },
  'the list shows it': ({ show }) => show(),
  'by id, each answers N': ({ w }, status) => w.answers(undefined, Number(status)),
  'by id, WORD answers N': (story, name, status) => story.w.answers(story.id(name!), Number(status)),
  'the lists answer N': ({ w }, status) =>
    w.sandbox.script([{ when: { resource: list }, fault: { kind: 'status', status: Number(status) } }]),
  'all is well': (story) => {
    story.always = {}
    story.w.sandbox.script([])
  },
  'the list breaks the program, once': (story) => {
    const around = between(({ path }, ask) => (path === list ? broken() : ask()))
    story.once = { around, toleratesBugs: true }
  },
  'an answer by id breaks the program, once': (story) => {
    story.once = { around: replacing(() => ({ item: broken })), toleratesBugs: true }
  },
  // Of the tenant's list.
  'cut at its second page': (story) => {
    const stop = new AbortController()
    const around = during(() => stop.abort(), 2)
    story.once = { ...small, tenants: [story.w.tenant], signal: stop.signal, around }
  },
  'while it is read, change WORD and announce it': (story, name) => {
    const around = during(async () => {
      story.w.change(story.id(name!))
      await story.w.put({ id: story.id(name!) })
    })
    story.once = { around }
  },
}

const announced: EventWords = {
  'event of WORD N': ({ w }, resource, id) => {
    const type = { customers: 'Customer' }[resource!] ?? 'RepairOrder'
    return w.put({ resource: resource!, id: Number(id), type })
  },
  'N events? WORD[ TEXT]': async (story, times, name, how) => {
    for (let i = 0; i < Number(times); i++) await announce(story, name!, how)
  },
  'event WORD[ TEXT]': (story, name, how) => announce(story, name!, how),
  // By a host's wrong clock.
  'its events are due in N minutes': async ({ w }, minutes) => {
    const { inbox } = w.events
    const due_at = w.later(w.now, Number(minutes) * minute)
    await inbox.write([inbox.db.updateTable('sync_events').set({ due_at }).compile()])
  },
  'rings settle for N ms': ({ w }, settle) => {
    w.events.settings = { ...w.events.settings, settle: Number(settle) }
  },
}

function announce(story: EventStory, name: string, how = ''): Promise<void> {
  const { w } = story
  const id = story.id(name)
  const more: Record<string, () => Partial<TestEvent>> = {
    '': () => ({}),
    'as it is': () => ({ version: w.version(id) }),
    'a second newer than it is': () => ({ version: w.later(w.version(id), 1000) }),
    'of a moment ahead': () => ({ version: w.later(w.now, 1) }),
    'of three hours ahead': () => ({ version: w.later(w.now, 180 * minute) }),
    'created now': () => ({ action: 'created', version: w.now }),
    deleted: () => ({ action: 'deleted' }),
  }
  return w.put({ id, ...more[how]!() })
}

const seen: EventWords = {
  turn: ({ w, options }) => w.turn(options),
  look: (story) => story.look(),
  'look until nothing waits': (story) => story.looks(),
  '(sync|full|reconcile|backfill)[ of WORD]': (story, mode, resource) =>
    story.run(mode!, resource, 'settling'),
  'sync[ of WORD], and rings beside it': (story, resource) => story.run('sync', resource, 'beside'),
  events: ({ w }) => w.seen(),
  'tries of the first event': async ({ w }) => String((await w.events.rows())[0]?.tries),
  rows: (story) => story.rows(),
  cursor: (story) => story.cursor(),
  told: ({ w }) =>
    w.notices.map(([message, { error, resource }]) => `${message}: ${error ?? resource}`).join('; '),
  'late records': async ({ w }) => {
    const late = (await rowsOf(w.warehouse, 'sync_lateness')).filter((row) => Number(row.largest_us) > 0)
    const minutes = (us: unknown): number => Math.floor(Number(us) / 60_000_000)
    return late.map((row) => `${row.records} by ${row.way}, ${minutes(row.largest_us)} minutes`).join(', ')
  },
}

/** Stories of one file, which share a world. `more`: words of its own. */
export function eventStories(
  file: string,
  shops: { readonly repairOrders: number },
  more: EventWords = {},
): void {
  const steps = new Steps({ ...more, ...happens, ...announced, ...seen })
  storyTests(file, steps, (kind) => {
    let w: EventWorld
    beforeAll(async () => {
      w = await EventWorld.open(kind, shops)
    })
    return async () => {
      await w.begin()
      return new EventStory(w)
    }
  })
}
