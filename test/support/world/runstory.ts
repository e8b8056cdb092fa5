/** Stories of runs over several lists of several tenants: what happens to them, the runs, and what each reports and leaves. */
import { type Fault, type Rule, type Sandbox, template } from '../../../src/sandbox/index.js'
import { type CursorReport, type RunOptions, syncInOrder } from '../harness/runs.js'
import { type Kept, type Kind, kept, rowsOf, type Warehouse } from '../harness/warehouse.js'
import {
  actionOf,
  amounts,
  fieldsOf,
  idsOf,
  plain,
  Steps,
  storyTests,
  type WordsOf,
  wordsOf,
} from './stories.js'

/** `status watermark resource=notes`: these columns of a table's rows, where others are so. */
export async function shown(warehouse: Warehouse, table: string, words: string): Promise<string> {
  const all = wordsOf(words)
  const where = Object.entries(fieldsOf(all.filter((word) => word.includes('='))))
  const names = all.filter((word) => !word.includes('='))
  const rows = (await rowsOf(warehouse, table)).filter((row) =>
    where.every(([name, value]) => String(row[name]) === String(value)),
  )
  return rows.map((row) => names.map((name) => plain(row[name])).join(' ')).join(' / ') || 'no rows'
}

/** What a source refuses or gets wrong: `status status=500 + headers … @ resource=notes times=1`. */
export function ruleOf(faults: string, more = ''): Rule {
  const { times, ...when } = fieldsOf(wordsOf(more))
  const fault = faults.split(' + ').map(actionOf) as Fault[]
  return times === undefined ? { when, fault } : { when, times: Number(times), fault }
}

/** How a run ends that throws. */
export const stopped = ({ message, exitCode }: Error & { exitCode?: number }): string =>
  `stops with exit ${exitCode ?? 1}: ${message}`

const some = (of: Iterable<unknown>): string => [...new Set(of)].toSorted().join(' ')

export class RunStory {
  warehouse!: Warehouse
  rules: Rule[] = []
  /** Of every run. */
  options: RunOptions = {}
  notices: NonNullable<RunOptions['notices']> = []
  /** Of the last run. */
  cursors: readonly CursorReport[] = []

  constructor(
    readonly sandbox: Sandbox,
    private readonly place: Pick<Kept, 'open'>,
    private readonly usual: RunOptions,
  ) {}

  async begin(): Promise<void> {
    this.rules = []
    this.options = {}
    this.sandbox.reset()
    this.sandbox.store.shuffleTies = false
    this.warehouse = await this.place.open()
  }

  get asked(): number {
    return this.sandbox.requests.filter(({ resource }) => resource === 'authorizations').length
  }

  /** How the run ended, what it asked for, what became of whose lists, and whose grant counts as revoked from now on. */
  async run(options: RunOptions): Promise<string> {
    const { sandbox, warehouse } = this
    sandbox.resetRequests()
    this.notices = []
    const given = { ...this.usual, ...this.options, notices: this.notices, ...options }
    const { status, reason, cursors, ...report } = await syncInOrder(sandbox, warehouse, given)
    this.cursors = cursors
    const endOf = (one: CursorReport): string => wordsOf(`${one.status} ${one.reason ?? ''}`).join(' ')
    const told = [...new Set(cursors.map(endOf))].map((end) => {
      const all = cursors.filter((one) => endOf(one) === end)
      const of = `${some(all.map((one) => one.tenant_id))}: ${some(all.map((one) => one.resource))}`
      return `${all.length} ${end}${end === 'ok' ? '' : ` of ${of}`}`
    })
    const revoked = (await rowsOf(warehouse, 'tenants')).filter((row) => row.revoked_at !== null)
    const counts = {
      new: report.rows_upserted,
      deleted: report.rows_deleted,
      quarantined: report.quarantined,
    }
    const asks = this.asked === 1 ? '' : ` (${this.asked} for authorizations)`
    return [
      wordsOf(`${status} ${reason ?? ''}`).join(' '),
      `${sandbox.requests.length} requests${asks}`,
      ...amounts(counts),
      told.join(' and ') || 'no lists',
      ...(revoked.length === 0 ? [] : [`revoked: ${some(revoked.map((row) => row.tenant_id))}`]),
    ].join(', ')
  }
}

const words: WordsOf<RunStory> = {
  // In an empty warehouse.
  'tenants IDS': async (story, ids) => {
    await story.begin()
    for (const id of idsOf(ids!)) story.sandbox.store.addTenant({ id })
  },
  // Each a minute after the one before: `notes,vehicles 1..3 of 101 102`.
  'WORD IDS of IDS': ({ sandbox }, resources, ids, tenants) => {
    for (const tenant of idsOf(tenants!))
      for (const resource of resources!.split(','))
        for (const id of idsOf(ids!)) {
          const at = new Date(Date.UTC(2026, 0, 1, 0, id)).toISOString()
          sandbox.store.put(tenant, resource, template(resource, id, at))
        }
  },
  'put WORD of N REST': ({ sandbox }, resource, tenant, record) =>
    void sandbox.store.put(Number(tenant), resource!, JSON.parse(record!)),
  '(revoke|grant) IDS': ({ sandbox }, how, ids) => {
    for (const id of idsOf(ids!)) sandbox.store[how as 'revoke'](id)
  },
  'WORD (on|off) for N': ({ sandbox: { store } }, resource, how, id) =>
    how === 'on' ? store.switchOn(resource!, Number(id)) : store.switchOff(resource!, Number(id)),
  'fault TEXT[ @ REST]': (story, faults, more) => {
    story.rules.push(ruleOf(faults!, more))
    story.sandbox.script(story.rules)
  },
  'no rules': (story) => {
    story.rules = []
    story.sandbox.script([])
  },
  'run[ REST]': (story, how = '') => story.run(fieldsOf(wordsOf(how))).catch(stopped),
  'what it says': ({ cursors }) => cursors.flatMap(({ error }) => error ?? []).join(' / ') || 'nothing',
  notices: ({ notices }) => notices.map(([text, fields]) => `${text} ${plain(fields)}`).join(' / ') || 'none',
  'show WORD REST': ({ warehouse }, table, columns) => shown(warehouse, table!, columns!),
  'count WORD': async ({ warehouse }, table) => `${(await rowsOf(warehouse, table!)).length} in ${table}`,
}

/** Plays them, each as a test on every kind of warehouse that is asked for. */
export function runStories(
  file: string,
  sandbox: Sandbox,
  usual: RunOptions,
  own: WordsOf<RunStory> = {},
  placeOn: (kind: Kind) => Pick<Kept, 'open'> = kept,
): void {
  storyTests(file, new Steps({ ...own, ...words }), (kind) => {
    const place = placeOn(kind)
    return () => new RunStory(sandbox, place, usual)
  })
}
