/** The words of the stories of one odd list (stories.ts). */
import type { Fault, Motion, Sandbox } from '../../../src/sandbox/index.js'
import { plan, verifyText } from '../harness/commands.js'
import type { RunOptions } from '../harness/runs.js'
import { statusLines, statusOf } from '../harness/status.js'
import { type Kind, rowsOf } from '../harness/warehouse.js'
import { instantOf, ListStory, markOf, type Words } from './liststory.js'
import { at, atSource, timeOf } from './notes.js'
import { OneList } from './onelist.js'
import { shown } from './runstory.js'
import { actionOf, fieldsOf, idsOf, jsonOr, plain, Steps, storyTests, wordsOf } from './stories.js'

/** What happens to the list and to the warehouse. */
const changes: Words = {
  'N notes': (story, count) => story.begin(Number(count)),
  // With a first load that is not what the story is about.
  'N notes, synced': async (story, count) => {
    await story.begin(Number(count))
    const told = await story.run('sync', '')
    return told.startsWith('ok proven') ? undefined : told
  },
  'add N[ from N]': ({ list }, count, from) =>
    list.add(Number(count), Number(from ?? Math.max(0, ...atSource(list.sandbox)) + 1)),
  'put IDS WORD WORD[ "TEXT"]': ({ list }, ids, how, time, description) => {
    for (const id of idsOf(ids!)) list.put(id, instantOf(how!, time!), description ? { description } : {})
  },
  // Each at a later second, long after all others.
  'change IDS': ({ list }, ids) => {
    for (const id of idsOf(ids!)) list.put(id, at(100_000 + id))
  },
  'touch N': ({ list }, id) =>
    void list.sandbox.store.change(1, 'notes', Number(id), { description: 'changed' }),
  // The same id a second time, as a record of its own.
  'copy N as N': ({ list }, id, other) => {
    const stored = list.sandbox.store.stored(1, 'notes', Number(id))!
    list.sandbox.store.put(1, 'notes', { ...stored, updated_at: timeOf(Number(other)) }, { key: 9000 })
  },
  'remove IDS': ({ list }, ids) => list.remove(...idsOf(ids!)),
  'lose IDS': ({ list }, ids) => list.lose(...idsOf(ids!)),
  'set (?:(\\w+)\\.)?(\\w+)=WORD[ of N]': async ({ list }, table, column, value, id) => {
    await list.write({ [column!]: jsonOr(value!) }, id === undefined ? id : Number(id), table)
  },
  'watermark N': async ({ list }, id) => {
    await list.write({ watermark: timeOf(Number(id)) }, undefined, 'sync_cursors')
  },
  'N (day|hour|minute|second)s? later': ({ list }, n, unit) => {
    const seconds = { day: 86_400, hour: 3600, minute: 60, second: 1 }[unit!]!
    list.clock.pass(Number(n) * seconds * 1000)
  },
}

/** How the source is odd: marks of records, and rules of the sandbox (docs/dev/sandbox.md) for requests for the list. */
const oddities: Words = {
  '(hide|archive|poison) IDS': ({ list: { odd } }, how, ids) => {
    const marks = { hide: odd.hidden, archive: odd.archived, poison: odd.poisoned }[how!]!
    for (const id of idsOf(ids!)) marks.add(id)
  },
  'twice N[ by N]': ({ list }, id, apart) => list.odd.twice.set(Number(id), Number(apart ?? 0)),
  'heal[ IDS]': ({ list }, ids) => list.odd.heal(ids === undefined ? ids : idsOf(ids)),
  'order WORD': ({ list }, order) => Object.assign(list.odd, { order }),
  'shuffle ties': ({ list }) => Object.assign(list.sandbox.store, { shuffleTies: true }),
  'no rules': (story) => story.rule(null),
  'fault TEXT[ @ REST]': (story, faults, when = '') =>
    story.rule({ when: story.when(when), fault: faults!.split(' + ').map(actionOf) as Fault[] }, when),
  '(before|after) TEXT @ REST': (story, moment, motion, when) =>
    story.rule({ when: story.when(when!), [moment!]: actionOf(motion!) as Motion }, when),
  // Longer pages never arrive.
  'pages over N fail[ with TEXT][ @ REST]': (story, most, fault = 'status status=502', when = '') => {
    const perPage = Array.from({ length: 100 - Number(most) }, (_, i) => Number(most) + 1 + i)
    story.rule({ when: { ...story.when(when), perPage }, fault: actionOf(fault) as Fault }, when)
  },
  'by id N[ WORD][ for IDS]': (story, status, body, ids) => {
    const answer = body === undefined ? {} : { body: body === 'nothing' ? '' : body }
    const fault = { kind: 'status', status: Number(status), ...answer } as Fault
    story.rule({ when: ids === undefined ? { kind: 'item' } : { kind: 'item', id: idsOf(ids) }, fault })
  },
  'at (page|request|size) N, REST': (story, what, n, step) => {
    const off = story.list.onList((request, page, size) => {
      if ({ request, page, size }[what!] !== Number(n)) return
      off()
      void story.step(step!)
    })
  },
  'at each page N another goes, from N on': ({ list }, place, first) => {
    let next = Number(first)
    list.onList((_, page) => page === Number(place) && list.remove(next++))
  },
  'at answer N for N, REST': (story, nth, wanted, step) => {
    let asked = 0
    story.list.sandbox.onRequest(async ({ id }) => {
      if (id === Number(wanted) && ++asked === Number(nth)) await story.step(step!)
    })
  },
}

const isInstant = (value: unknown): value is string => /^\d{4}-\d\d-\d\dT.*Z$/.test(String(value))

const columnsOf = (row: Record<string, unknown>, names: string): string =>
  wordsOf(names)
    .map((name) => `${name}: ${isInstant(row[name]) ? markOf(row[name]) : plain(row[name])}`)
    .join(', ')

/** What somebody does, or looks at. */
const commands: Words = {
  '(sync|full|reconcile|backfill)(.*)': (story, mode, more) => story.run(mode!, more!),
  'verify(.*)': (story, more) => story.verify(more!),
  'plan REST': async ({ list }, more) => {
    const options = { clock: list.clock, ...fieldsOf(wordsOf(more!)) }
    return `${(await plan(list.sandbox, list.warehouse, options)).requests - 1} requests`
  },
  'in words': ({ verified }) => verifyText(verified!).replaceAll(/[─\s]*\n\s*/g, ' / '),
  'what it says': ({ said }) => said ?? 'nothing',
  notices: ({ list }) =>
    list.notices.map(([text, fields]) => `${text} ${plain(fields)}`).join(' / ') || 'no notices',
  status: async ({ list }) => {
    const report = await statusOf(list.sandbox, list.warehouse, { nowMicros: list.clock.nowMicros() })
    return statusLines(report).join(' ') || 'nothing odd'
  },
  sizes: ({ list }) => [...new Set(list.sizes)].join(' '),
  'requests of N': ({ list }, size) => String(list.sizes.filter((one) => one === Number(size)).length),
  asked: ({ list }) =>
    list.sandbox.requests
      .filter(({ resource, id }) => resource === 'notes' && id === null)
      .map(({ updated_after }) => updated_after ?? 'everything')
      .join(' '),
  'show WORD REST': ({ list }, table, columns) => shown(list.warehouse, table!, columns!),
  'cursor REST': async ({ list }, names) => columnsOf(await list.cursor(), names!),
  'row N REST': async ({ list }, id, names) => columnsOf((await list.row(Number(id)))!, names!),
  live: async ({ list }) => {
    const ids = [...(await list.live()).keys()].sort((a, b) => a - b)
    const firsts = ids.filter((id, i) => ids[i - 1] !== id - 1)
    const lasts = ids.filter((id, i) => ids[i + 1] !== id + 1)
    return `live: ${firsts.map((id, i) => (id === lasts[i] ? id : `${id}..${lasts[i]}`)).join(' ')}`
  },
  unlisted: async ({ list }) => {
    const rows = (await rowsOf(list.warehouse, 'notes')).filter((row) => row._unlisted_at !== null)
    const ids = rows.map(({ id }) => Number(id)).sort((a, b) => a - b)
    return `unlisted: ${ids.join(' ') || 'none'}`
  },
}

/** Plays the stories of one odd list: each is a test, on every kind of warehouse that is asked for. */
export function stories(
  file: string,
  sandbox: Sandbox,
  settings: RunOptions = {},
  words: Words = {},
  listOn = (kind: Kind): OneList => new OneList(sandbox, kind, settings),
): void {
  const steps = new Steps({ ...words, ...changes, ...oddities, ...commands })
  storyTests(file, steps, (kind) => {
    const list = listOn(kind)
    return () => new ListStory(list, steps)
  })
}
