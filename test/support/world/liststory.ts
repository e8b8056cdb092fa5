/**
 * Stories of one odd list: what happens to the list, the commands, and what each of them reports and leaves. The words are in
 * listwords.ts.
 */
import type { Rule } from '../../../src/sandbox/index.js'
import type { RunOptions } from '../harness/runs.js'
import { at, atSource, timeOf } from './notes.js'
import type { OneList } from './onelist.js'
import { amounts, fieldsOf, plain, type Steps, type WordsOf, wordsOf } from './stories.js'

/** `as 500`: of record 500; `at 2450`, `at 2450.000005`: so many seconds after the first record; or an instant. */
export function instantOf(how: string, text: string): string {
  if (how === 'as') return timeOf(Number(text))
  if (text.endsWith('Z')) return text
  const [seconds, micros = '0'] = text.split('.')
  return at(Number(seconds), Number(micros))
}

/** An instant by the id of the record that has it; others to the second, because each look at the clock takes some time. */
export function markOf(instant: string | null): string {
  if (instant === null) return 'nothing'
  const id = Math.floor((Date.parse(instant) - Date.parse(at(0))) / 7000)
  return id >= 0 && timeOf(id) === instant ? String(id) : instant.replace(/\.\d+Z$/, '')
}

/** When it was searched or confirmed, and between which instants a hole is, tells nothing more. */
const memoryOf = (remembered: unknown): string =>
  remembered === null
    ? 'nothing'
    : plain(remembered)
        .replaceAll(/(after|from|until|searchedOn): [^,}]*(, )?/g, '')
        .replace('confirmed: , ', '')
        .replace(/confirmed: [^,}]+/, 'confirmed')
        .replaceAll(', }', '}')

const plural = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`

const some = (ids: readonly number[]): string => (ids.length > 4 ? `${ids.length} records` : ids.join(' '))
export type Words = WordsOf<ListStory>

export class ListStory {
  /** The error that the last command told. */
  said: string | null = null
  /** What the last comparison found. */
  verified: Awaited<ReturnType<OneList['compared']>> | undefined
  /** Of every command. */
  options: RunOptions = {}
  #happens = (): void => {}
  #rules: Rule[] = []
  #remembered = 'nothing'

  constructor(
    readonly list: OneList,
    private readonly steps: Steps<ListStory>,
  ) {}

  async begin(count: number): Promise<void> {
    this.#rules = []
    this.#remembered = 'nothing'
    await this.list.begin(count)
  }

  when(words: string): Rule['when'] {
    const { times: _, ...when } = fieldsOf(wordsOf(words))
    return { resource: this.list.resource, kind: 'list', ...when }
  }

  /** One more rule of the source, or none from now on. */
  rule(rule: Rule | null, when = ''): void {
    const { times } = fieldsOf(wordsOf(when))
    if (rule === null) this.#rules = []
    else this.#rules.push(times === undefined ? rule : { ...rule, times: Number(times) })
    this.list.sandbox.script(this.#rules)
  }

  /** Happens before each request for the list, instead of what did before. */
  meanwhile(happens?: Parameters<OneList['onList']>[0]): void {
    this.#happens()
    this.#happens = happens === undefined ? () => {} : this.list.onList(happens)
  }

  /** What else can be said happens, at a certain moment. */
  step(text: string): Promise<unknown> {
    return this.steps.one(this, text)
  }

  /** `full overlapMs=3600000 until page=4`; `100..420` is the range of those records, without the last one. */
  #optionsOf(words: string): RunOptions {
    const [fields = '', until] = words.split(/ ?until /)
    const [range, from = '', to = ''] = /(\d+)\.\.(\d+)/.exec(fields) ?? []
    const asked = [{ from: at(Number(from) * 7), to: at(Number(to) * 7) }]
    const ranges = range === undefined ? this.options.ranges : asked
    const settings = fieldsOf(wordsOf(fields.replace(range ?? '', '')))
    const options: RunOptions = { ...this.options, ...settings, ranges }
    if (until === undefined) return options
    const end = new AbortController()
    const place = fieldsOf(wordsOf(until))
    const off = this.list.onList((request, page, perPage) => {
      const here: Record<string, number> = { request, page, perPage }
      if (!Object.entries(place).every(([name, n]) => here[name] === n)) return
      end.abort()
      off()
    })
    return { ...options, readAhead: 0, signal: end.signal }
  }

  async run(mode: string, words: string): Promise<string> {
    const { list } = this
    const options = { ...this.#optionsOf(words), mode: mode as 'sync' }
    try {
      const { cursor } = await list.run(options)
      const { status, completeness, reason, watermark, requests, records, reconciled } = cursor
      this.said = cursor.error
      const own = list.sandbox.requests.filter(
        ({ resource, tenant }) => resource === list.resource && tenant === 1,
      )
      const byId = list.byId === 0 ? [] : [`${list.byId} by id`]
      return [
        wordsOf(`${status} ${completeness} ${reason ?? ''}`).join(' '),
        `to ${markOf(watermark)}`,
        plural(requests, 'request') + (requests === own.length ? '' : `, of ${own.length} sent`),
        ...byId,
        ...amounts({ read: records, new: cursor.records_changed, deleted: cursor.rows_deleted }),
        ...(reconciled ? [`by ${reconciled.method}`, ...this.#compared({ ...reconciled, deleted: 0 })] : []),
        ...(await this.#left()),
      ].join(', ')
    } catch (error) {
      return `stops: ${(error as Error).message}`
    }
  }

  async verify(words: string): Promise<string> {
    this.verified = await this.list.compared(this.#optionsOf(words))
    const [found] = this.verified.cursors
    const { status, reason, error, method, differences } = found!
    this.said = error
    const how = method === undefined ? [] : [`by ${method}`]
    const differing = (differences ?? []).map((one) => plain(one))
    const byId = this.list.byId === 0 ? [] : [`${this.list.byId} by id`]
    return [
      wordsOf(`${status} ${reason ?? ''}`).join(' '),
      ...how,
      ...byId,
      ...this.#compared({ ...found! }),
      ...differing,
    ].join(', ')
  }

  #compared({ source, warehouse, ...counts }: Record<string, unknown>): string[] {
    const names = [
      ...['missing', 'outdated', 'extra', 'newer', 'gone', 'unstorable', 'sampled', 'asked', 'compared'],
      ...['stored', 'went_back', 'listed_twice', 'not_shown', 'left_the_list'],
    ]
    const told = Object.fromEntries(names.map((name) => [name.replaceAll('_', ' '), counts[name]]))
    const ids = counts.left_ids as readonly number[] | undefined
    const of = source === warehouse ? `${source} on both sides` : `${source} there and ${warehouse} here`
    const all = [...amounts(told), ...(ids?.length ? [`(${some(ids)})`] : [])]
    return source === undefined ? all : [...all, of]
  }

  /** How the warehouse differs from the source by now, and what is remembered, if that is news. */
  async #left(): Promise<string[]> {
    const { list } = this
    const [rows, there] = [await list.live(), atSource(list.sandbox, list.resource)]
    const versionOf = (id: number): unknown => list.sandbox.store.stored(1, list.resource, id)?.updated_at
    const lacks = there.filter((id) => !rows.has(id))
    const keeps = [...rows.keys()].filter((id) => !there.includes(id)).sort((a, b) => a - b)
    const old = there.filter((id) => rows.has(id) && rows.get(id) !== versionOf(id))
    const remembered = memoryOf((await list.cursor())?.remembered ?? null)
    const isNews = remembered !== this.#remembered
    this.#remembered = remembered
    return [
      ...Object.entries({ lacks, keeps, 'other versions of': old }).flatMap(([what, ids]) =>
        ids.length === 0 ? [] : `${what} ${some(ids)}`,
      ),
      ...(isNews ? [`remembers ${remembered}`] : []),
    ]
  }
}
