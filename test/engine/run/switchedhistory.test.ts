/** The stories of switchedhistory.txt. */
import { CompiledQuery } from 'kysely'
import { resources } from '../../../schema/index.js'
import type { Settings } from '../../../src/engine/model/registry.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { forget, why } from '../../support/harness/commands.js'
import { model } from '../../support/harness/model.js'
import { type Address, configure } from '../../support/harness/place.js'
import { known } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import {
  type Kind,
  migrate,
  openAt,
  plannedChanges,
  reopen,
  rowsOf,
  type Warehouse,
} from '../../support/harness/warehouse.js'
import type { ListStory } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'
import { at } from '../../support/world/notes.js'
import { OneList } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()
const configured = (notes: Settings[string]): Model => model(resources, { notes })
const models: Readonly<Record<string, Model>> = {
  off: known,
  on: configured({ history: true }),
  promoted: configured({ history: true, columns: { mood: 'text' } }),
}
interface Described {
  readonly name: string
  readonly examples: readonly { readonly sql: string }[]
}

/** A list whose warehouse is opened by programs with other configurations. */
class SwitchedList extends OneList {
  #address!: Address

  constructor(
    of: Sandbox,
    private readonly kind: Kind,
  ) {
    super(of, kind)
  }

  /** Instants, each named by a letter in the order in which they are told. */
  #instants: string[] = []

  protected override async opened(): Promise<Warehouse> {
    this.#instants = []
    this.#address = this.kind.address()
    return openAt(this.#address, known)
  }

  async switched(as: string): Promise<void> {
    await this.warehouse.close()
    this.warehouse = await reopen(this.#address, models[as])
  }

  nameOf(instant: unknown): string {
    if (instant === null || instant === undefined) return 'never'
    if (!this.#instants.includes(String(instant))) this.#instants.push(String(instant))
    return 'abcdefghijklmnopqrstuvwxyz'.charAt(this.#instants.indexOf(String(instant)))
  }

  instantOf(name: string): string {
    return this.#instants['abcdefghijklmnopqrstuvwxyz'.indexOf(name)] ?? name
  }

  /** As a BI tool would query. */
  async ask(text: string): Promise<Record<string, unknown>[]> {
    return this.warehouse.db.connection().execute(async (db) => {
      const path = CompiledQuery.raw(`set search_path to "${this.#address.schema}"`)
      if (this.kind.name === 'postgres') await db.executeQuery(path)
      return (await db.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text))).rows
    })
  }

  /** The dictionary's queries of the history: as of an instant, and the life of one record. */
  async examples(): Promise<string[]> {
    const more = { resources: { notes: { history: true } } }
    const config = configure(this.sandbox, this.#address, ['notes'], more)
    const dictionary = await shopsync(['dictionary', '--format', 'json', '--config', config])
    const { tables } = dictionary.json<{ tables: Described[] }>()
    return tables.find(({ name }) => name === 'notes_history')!.examples.map(({ sql }) => sql)
  }
}

const listOf = ({ list }: ListStory): SwitchedList => list as SwitchedList
stories(
  'test/engine/run/switchedhistory.txt',
  sandbox,
  {},
  {
    'planned WORD': async (story, as) => {
      await listOf(story).switched(as!)
      const changes = await plannedChanges(story.list.warehouse)
      return changes
        .map(
          ({ table, what, refills }) =>
            `${table}: ${what.replace(/(_seen_from).*/, '$1')}${refills(1) ? ', and reads' : ''}`,
        )
        .join(' / ')
    },
    'switched WORD': async (story, as) => {
      await listOf(story).switched(as!)
      await migrate(story.list.warehouse)
      story.options = { known: models[as!]! }
    },
    'put N at N "TEXT", mood WORD': ({ list }, id, second, description, mood) =>
      list.put(Number(id), at(Number(second)), { description, mood }),
    'history[ of N]': async (story, id) => {
      const list = listOf(story)
      const rows = (await rowsOf(list.warehouse, 'notes_history')).filter((row) =>
        [undefined, String(row.id)].includes(id),
      )
      const told = rows.map(({ id, description, _seen_from, _seen_to, _ended_by, mood, _extra }) => {
        const more = [mood && `mood ${mood}`, _extra && JSON.stringify(_extra)].filter(Boolean)
        return [
          `${id} ${list.nameOf(_seen_from)}..${list.nameOf(_seen_to)} ${_ended_by}: ${description}`,
          ...more,
        ].join(', ')
      })
      return told.join(' / ') || 'none'
    },
    'row N': async (story, id) => {
      const list = listOf(story)
      const row = await list.row(Number(id))
      const [seen, stored, deleted] = [row?._seen_from, row?._synced_at, row?._deleted_at].map((one) =>
        list.nameOf(one),
      )
      return `seen from ${seen}, stored ${stored}, deleted ${deleted}`
    },
    'versions of N': async (story, id) => {
      const { rows } = await why(sandbox, story.list.warehouse, { id: Number(id) }, story.options)
      return rows[0]!.versions.map(({ ended_by }) => ended_by).join(' ')
    },
    forget: async ({ list }) => {
      const { tables } = await forget(sandbox, list.warehouse, 1)
      return tables.map(({ table, rows }) => `${rows} of ${table}`).join(', ')
    },
    'as of WORD': async (story, time) => {
      const [asOf = ''] = await listOf(story).examples()
      const rows = await listOf(story).ask(
        asOf.replaceAll('2026-01-31T00:00:00.000000Z', listOf(story).instantOf(time!)),
      )
      return (
        rows.map(({ id, updated_at }) => `${id} of ${String(updated_at).slice(0, 19)}`).join(', ') || 'none'
      )
    },
    lives: async (story) => {
      const [, life = ''] = await listOf(story).examples()
      return (await listOf(story).ask(life)).map(({ id, _ended_by }) => `${id} ${_ended_by}`).join(', ')
    },
    'somebody drops _seen_from': async (story) => {
      await listOf(story).ask('alter table notes drop column _seen_from')
    },
  },
  (kind) => new SwitchedList(sandbox, kind),
)
