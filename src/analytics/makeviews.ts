/**
 * Makes the views of schema/views/ in a warehouse whose tables are up to date, and makes anew those whose declaration or
 * configuration has changed. What stands in the way is somebody's own: it is named, and left alone. `migrate` calls it,
 * and every command that writes, unless warehouse.autoMigrate is false.
 */
import { createHash } from 'node:crypto'
import { views } from '../../schema/views/index.js'
import { Skip } from '../errors.js'
import type { Dialect } from '../warehouse/dialect.js'
import type { RunStatement, ViewStore, ViewTrouble, WantedView } from '../warehouse/viewstore.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import { viewText } from './viewtext.js'
import type { ViewSettings } from './words.js'

export interface ViewsWanted extends ViewSettings {
  /** `report.schema`; undefined: the warehouse's own choice. */
  readonly schema?: string | undefined
}

/** What was made, and what could not be. */
export interface ViewsMade {
  readonly made: readonly { readonly table: string; readonly what: string }[]
  readonly troubles: readonly ViewTrouble[]
}

/** What is remembered of a view: its text when it was made, and what stood there then. */
type Remembered = Readonly<Record<string, { readonly wanted: string; readonly made: string }>>

const digestOf = (view: WantedView): string =>
  createHash('sha256').update(JSON.stringify(view)).digest('hex').slice(0, 20)

function wantedViews(warehouse: Warehouse, store: ViewStore, settings: ViewsWanted): WantedView[] {
  const declared = views.map((view): WantedView => {
    const columns = Object.entries(view.columns).map(([name, { doc, kind }]) => ({ name, doc, kind }))
    const doc = `${view.doc} Grain: ${view.grain}.`
    return { name: view.name, doc, columns, query: viewText(view, store.sql, settings) }
  })
  return [...declared, ...store.published(warehouse.tables)]
}

async function remembered({ db }: Dialect, store: ViewStore, run: RunStatement): Promise<Remembered> {
  const query = db.selectFrom('sync_meta').select('value').where('name', '=', store.memory).compile()
  const { rows } = await run(query)
  return rows[0]?.value ? (JSON.parse(rows[0].value) as Remembered) : {}
}

async function remember(
  { db }: Dialect,
  store: ViewStore,
  run: RunStatement,
  now: Remembered,
): Promise<void> {
  const value = JSON.stringify(now)
  const query = db
    .insertInto('sync_meta')
    .values({ name: store.memory, value })
    .onConflict((c) => c.column('name').doUpdateSet({ value }))
  await run(query.compile())
}

const inTheWay = (name: string, store: ViewStore): ViewTrouble => ({
  message: `The view ${name} was not made: something of that name, which shopsync did not make, is in ${store.where}`,
  hint: `Rename or drop ${name} there, then type shopsync migrate`,
})

/** What is to be made, compared with what there is. */
async function survey(
  { dialect }: Warehouse,
  store: ViewStore,
  wanted: readonly WantedView[],
  run: RunStatement,
): Promise<{ known: Remembered; live: ReadonlyMap<string, string>; stale: WantedView[] }> {
  const [known, live] = [await remembered(dialect, store, run), await store.live(run)]
  const stale = wanted.filter((view) => {
    const last = known[view.name]
    return last === undefined || last.wanted !== digestOf(view) || live.get(view.name) !== last.made
  })
  return { known, live, stale }
}

/** Makes the stale views in the transaction in hand. */
async function makeStale(
  warehouse: Warehouse,
  store: ViewStore,
  wanted: readonly WantedView[],
  run: RunStatement,
): Promise<ViewsMade> {
  const { known, live, stale } = await survey(warehouse, store, wanted, run)
  const troubles: ViewTrouble[] = []
  const made: { name: string; what: string; digest: string }[] = []
  for (const view of stale) {
    const { name } = view
    const there = live.get(name)
    const isOurs = there === undefined || there === known[name]?.made
    const trouble = isOurs ? await store.make(run, view) : inTheWay(name, store)
    if (trouble) troubles.push(trouble)
    else
      made.push({ name, what: there === undefined ? 'create view' : 'replace view', digest: digestOf(view) })
  }
  if (made.length > 0) {
    const now = await store.live(run)
    const fresh = made.map(({ name, digest }) => [name, { wanted: digest, made: now.get(name) ?? '' }])
    await remember(warehouse.dialect, store, run, { ...known, ...Object.fromEntries(fresh) })
  }
  return { made: made.map(({ name, what }) => ({ table: name, what })), troubles }
}

/** A table that lacks a column, or that somebody else has locked, is that table's trouble: the rows are synced. */
const troubleOfTable = (error: unknown): ViewTrouble | undefined =>
  error instanceof Skip
    ? {
        message: `The views for analysts stay as they were: ${error.message}`,
        hint: error.hint ?? 'Type shopsync migrate',
      }
    : undefined

/** Costs two short queries where nothing has changed. Never throws for what concerns the views alone. */
export async function makeViews(warehouse: Warehouse, settings: ViewsWanted): Promise<ViewsMade> {
  const { dialect } = warehouse
  const store = dialect.views(settings.schema)
  const wanted = wantedViews(warehouse, store, settings)
  const ask: RunStatement = (query) => warehouse.read((db) => db.executeQuery(query))
  const { stale } = await survey(warehouse, store, wanted, ask)
  if (stale.length === 0) return { made: [], troubles: [] }
  const obstacle = await store.obstacle(ask)
  if (obstacle) return { made: [], troubles: [obstacle] }
  try {
    return await warehouse.transaction(async (session) => {
      await dialect.prepare(session)
      const run: RunStatement = (query) => session.run(query)
      await store.prepare(run)
      return makeStale(warehouse, store, wanted, run)
    })
  } catch (error) {
    const trouble = store.troubleOf(error) ?? troubleOfTable(error)
    if (!trouble) throw error
    return { made: [], troubles: [trouble] }
  }
}

/** Why the views cannot be made here; undefined where nothing is in the way. Writes nothing. */
export async function viewObstacle(
  warehouse: Warehouse,
  schema: string | undefined,
): Promise<ViewTrouble | undefined> {
  return warehouse.dialect.views(schema).obstacle((query) => warehouse.read((db) => db.executeQuery(query)))
}
