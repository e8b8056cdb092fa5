/**
 * Makes the views once, makes them again if something has changed, and never at the cost of a user's own relations (makeviews.txt,
 * makeviews.postgres.txt; what is above the dialects: makeviewsabove.txt). Who may make and read them in Postgres is in
 * test/transcripts/grants.txt and test/features/grants.
 */
import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { known } from '../../support/harness/runs.js'
import { ask, declaredViews, make, prepareViews, query } from '../../support/harness/views.js'
import {
  bothWarehouses,
  type Kind,
  migrate,
  open,
  readMeta,
  rewriteRows,
  storeMeta,
  type WantedView,
  type Warehouse,
} from '../../support/harness/warehouse.js'
import { anywhere, Steps, storyTests, type WordsOf } from '../../support/world/stories.js'

const run = async (warehouse: Warehouse, text: string): Promise<void> =>
  void (await sql.raw(text).execute(warehouse.db))

interface Viewed {
  readonly warehouse: Warehouse
  readonly store: ReturnType<Warehouse['dialect']['views']>
  /** When they were made for the first time. */
  readonly whole: Awaited<ReturnType<typeof make>>
}
/** Each test leaves all views as they are declared. */
const all = new Map<string, Viewed>()
beforeAll(async () => {
  for (const kind of bothWarehouses()) {
    const warehouse = await open(kind)
    all.set(kind.name, { warehouse, store: warehouse.dialect.views(), whole: await make(warehouse) })
  }
})
afterAll(async () => {
  for (const { warehouse } of all.values()) await warehouse.close()
})

type Memory = Record<string, { wanted: string }>
const memoryOf = async ({ warehouse, store }: Viewed): Promise<Memory> =>
  JSON.parse((await readMeta(warehouse, store.memory)) ?? '{}')
const remember = ({ warehouse, store }: Viewed, memory: Memory): Promise<unknown> =>
  warehouse.write([storeMeta(warehouse.db, store.memory, JSON.stringify(memory))])

describe.each(bothWarehouses())('in $name, the views', (kind) => {
  it('of 0.3.0 are all made again, with equal texts: what they call was bound when they were made', async () => {
    const viewed = all.get(kind.name)!
    const { warehouse, store, whole } = viewed
    const memory = await memoryOf(viewed)
    // 0.3.0 remembered a digest of the view alone.
    const wanted = [
      ...declaredViews(store, { model: known, unlisted: 'keep' }),
      ...store.published(warehouse.tables),
    ]
    for (const view of wanted)
      memory[view.name]!.wanted = createHash('sha256').update(JSON.stringify(view)).digest('hex').slice(0, 20)
    await remember(viewed, memory)
    const bound = async () =>
      kind.name === 'postgres'
        ? await query(
            warehouse,
            `select min(xmin::text::bigint) as oldest from pg_rewrite r
            where ev_class in (select oid from pg_class where relnamespace = to_regnamespace('"${store.where}"'))`,
          )
        : [{ oldest: 0 }]
    const [before] = await bound()
    const planted = `"planted ${store.where}"`
    const strange = () =>
      query(
        warehouse,
        `select stxname from pg_statistic_ext join pg_depend on refclassid = 'pg_operator'::regclass and objid = pg_statistic_ext.oid`,
      )
    if (kind.name === 'postgres') {
      const [found] = (await query(
        warehouse,
        `select format('drop statistics %I.%I', n.nspname, stxname) as drop, pg_get_statisticsobjdef(s.oid) as again
         from pg_statistic_ext s join pg_namespace n on n.oid = stxnamespace where stxname like '%_text' limit 1`,
      )) as { drop: string; again: string }[]
      await run(
        warehouse,
        `create schema ${planted};
         create function ${planted}.joined(text, text) returns text language sql immutable as $$ select concat($1, $2) $$;
         create operator ${planted}.|| (function = ${planted}.joined, leftarg = text, rightarg = text);
         ${found?.drop}; ${found?.again.replaceAll('||', `operator(${planted}.||)`)}`,
      )
      expect(await strange()).toHaveLength(1)
    }
    const again = await make(warehouse)
    expect(again.made).toHaveLength(whole.made.length)
    if (kind.name === 'postgres') {
      expect(Number((await bound())[0]?.oldest)).toBeGreaterThan(Number(before?.oldest))
      expect(await strange()).toEqual([])
    }
    expect(await make(warehouse)).toEqual({ made: [], troubles: [] })
  })
})

/** Columns that `orders` may have instead of its own, each with its value. */
const columns: Readonly<Record<string, WantedView['columns'][number] & { readonly value: string }>> = {
  other: { name: 'other', kind: 'text', doc: "It's another.", value: "cast('x' as text)" },
  tenant_id: { name: 'tenant_id', kind: 'id', doc: 'Tenant.', value: 'cast(1 as bigint)' },
  more: { name: 'more', kind: 'cents', doc: 'More.', value: 'cast(5 as bigint)' },
}
const role = `r_${randomBytes(4).toString('hex')}`
/** With the names of this warehouse: `{orders}` is a view, `[orders]` a table, WHERE the schema of the views. */
const meant = ({ store }: Viewed, text = ''): string =>
  text
    .replaceAll(/\{(\w+)\}/g, (_, view) => store.relation(view))
    .replaceAll(/\[(\w+)\]/g, (_, table) => store.sql.table(table))
    .replaceAll('WHERE', `"${store.where}"`)
    .replaceAll(/\bAT\b/g, `'2026-01-05T10:00:00.000000Z'`)
    .replaceAll('ROLE', role)
const told = ({ store }: Viewed, text = ''): string =>
  anywhere(text)
    .replaceAll(`${store.where}.`, 'WHERE.')
    .replace(/(?<=, is in ).*/, 'WAREHOUSE')

const words: WordsOf<Viewed> = {
  'make[ from WORD]( without what is unlisted)?': async (viewed, inputs, without) => {
    const unlisted = without === undefined ? 'keep' : 'leave out'
    const { made, troubles, isPostponed } = await make(viewed.warehouse, { inputs, unlisted })
    const lines = [
      ...[...new Set(made.map(({ what }) => what))].map(
        (one) => `${one}: ${made.flatMap(({ table, what }) => (what === one ? table : [])).join(', ')}`,
      ),
      ...troubles.map(({ message }) => told(viewed, message)),
    ]
    return isPostponed ? 'postponed' : lines.join('\n') || 'nothing'
  },
  'made from': async (story) => (await memoryOf(story))[' inputs']!.wanted,
  'WORD was never made': async (story, view = '') => {
    const { [view]: _, ...others } = await memoryOf(story)
    await remember(story, others)
  },
  'an older program made WORD': async (story, view = '') => {
    const memory = await memoryOf(story)
    memory[view]!.wanted = 'of before'
    await remember(story, memory)
  },
  'no names are stored': ({ warehouse }) =>
    warehouse.db.deleteFrom('sync_meta').where('name', '=', 'names').execute(),
  'names are stored': ({ warehouse }) => rewriteRows(warehouse, new AbortController().signal),
  'all is prepared, with a shop in Berlin': ({ warehouse }) =>
    prepareViews(warehouse, { shopTimeZones: { '102/7': 'Europe/Berlin' } }),
  migrate: ({ warehouse }) => migrate(warehouse),
  'orders are to be REST': async (viewed, names = '') => {
    const { warehouse, store } = viewed
    const wanted = names.split(' ').map((name) => columns[name]!)
    const view = {
      name: 'orders',
      doc: 'Other.',
      columns: wanted,
      query: `select ${wanted.map(({ name, value }) => `${value} as ${name}`).join(', ')}`,
      keys: [],
    }
    const trouble = await warehouse.transaction((session) => store.make((one) => session.run(one), view))
    return trouble && told(viewed, `${trouble.message}. ${trouble.hint}`)
  },
  'of WORD: REST': async ({ warehouse }, view = '', text = '') => {
    const rows = await ask(warehouse, view, text.replace(/(?= where | order by |$)/, ' from {view}'))
    return rows.map((row) => Object.values(row).join(' | ')).join('\n') || 'nothing'
  },
  '(select .*)': async (story, text) => {
    const rows = await query(story.warehouse, meant(story, text))
    return rows.map((row) => Object.values(row).join(' | ')).join('\n') || 'nothing'
  },
  '((?:create|drop|insert|delete|grant|alter) .*)': (story, text) => run(story.warehouse, meant(story, text)),
}

const steps = new Steps(words)
const on = (kind: Kind) => () => all.get(kind.name)!
const postgres = bothWarehouses().filter(({ name }) => name === 'postgres')
storyTests('test/features/analytics/makeviews.txt', steps, on, bothWarehouses())
storyTests('test/features/analytics/makeviewsabove.txt', steps, on)
storyTests('test/features/analytics/makeviews.postgres.txt', steps, on, postgres)
