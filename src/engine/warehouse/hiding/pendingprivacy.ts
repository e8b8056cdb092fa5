/**
 * What `privacy` hides in a warehouse, and what a writing command would do about it first: for commands that only read.
 * hiding.ts does it.
 */
import { type HiddenColumn, hiddenValue } from '../../model/privacy.js'
import type { Model } from '../../model/resourcemodel.js'
import type { Table } from '../../model/table.js'
import type { Dialect } from '../dialect.js'
import { type CursorKey, readCursor } from '../state/cursors.js'
import type { Warehouse } from '../warehouse.js'
import {
  configuredNames,
  isNewKey,
  keyRow,
  loosened,
  recordIn,
  resourcesOf,
  storedPrivacy,
  unhidden,
  waitingToHide,
  wantedOf,
} from './privacystate.js'

/** One column. `loosened`: only after `shopsync migrate --loosen-privacy`. */
interface PendingPrivacy {
  readonly table: string
  readonly column: string
  readonly to: 'hidden' | 'new key' | 'loosened'
  /** Lists that are then read in full. */
  readonly lists: readonly string[]
}

const asRow = ({ table, name }: { readonly table: string; readonly name: string }) => ({
  table,
  column: name,
})

export async function pendingPrivacy(dialect: Dialect, hides: Model): Promise<PendingPrivacy[]> {
  const known = await storedPrivacy(dialect.db).execute()
  const waiting = await waitingToHide(dialect, hides)
  const hashed = isNewKey(known, hides)
    ? known.filter(({ table, mode }) => table !== keyRow.table && mode === 'hash')
    : []
  const change = (to: PendingPrivacy['to'], rows: Parameters<typeof configuredNames>[1]): PendingPrivacy[] =>
    configuredNames(hides, rows).map((name) => {
      const [table = '', column = ''] = name.split('.')
      return { table, column, to, lists: to === 'hidden' ? [] : resourcesOf(hides, table) }
    })
  return [
    ...change('hidden', waiting.map(asRow)),
    ...change('new key', hashed),
    ...change('loosened', loosened(known, hides)),
  ]
}

/**
 * Whether there are rows to hide, or lists to read for a new key: what only the holder of the whole warehouse does. Not of
 * tables that were found to let nothing be hidden.
 */
export async function mustHide({ dialect, model, interfered }: Warehouse): Promise<boolean> {
  const known = await storedPrivacy(dialect.db).execute()
  const waiting = unhidden(known, wantedOf(model))
  return isNewKey(known, model) || waiting.some(({ table }) => !interfered.unchanged([table]))
}

/** Part of the document of `status`. */
export interface PrivacyStatus {
  /** How many columns are hidden. */
  readonly hidden: number
  /** Columns with stored values that aren't hidden yet. */
  readonly unfinished: readonly string[]
  /** Whether the database's files may still contain values that were stored before. */
  readonly traces_left: boolean
  /** Columns whose lists are read in full, since only the source knows what they hide. */
  readonly reading: readonly string[]
}

/** undefined if nothing is hidden, and nothing shall be. */
export async function privacyStatus({ dialect, model }: Warehouse): Promise<PrivacyStatus | undefined> {
  const known = (await storedPrivacy(dialect.db).execute()).filter(({ table }) => table !== keyRow.table)
  const unfinished = configuredNames(model, (await waitingToHide(dialect, model)).map(asRow))
  if (known.length === 0 && unfinished.length === 0) return undefined
  const of = (state: string): string[] =>
    configuredNames(
      model,
      known.filter((row) => row.state === state),
    )
  const traces = of('traces')
  return {
    hidden: new Set([...of('hidden'), ...traces]).size,
    unfinished: unfinished.sort(),
    traces_left: traces.length > 0,
    reading: of('reading').sort(),
  }
}

type Row = Readonly<Record<string, unknown>>

/** How stored values are to be read while they aren't yet what `privacy` makes of them. */
interface StoredForms {
  /** A row as if all of it were hidden already. */
  row(table: Table, row: Row): Row
  isHidden(table: string, column: string): boolean
  /** Whether what is stored may differ from what the source has, because its list is still to be read. */
  isOpen(table: string, column: string): boolean
}

/** The columns of a list that is still to be read for them, with `_extra`: a value may be in either. */
async function unread(warehouse: Warehouse, key: CursorKey): Promise<string[]> {
  const { resource } = key
  const { model } = warehouse
  const columns = Object.keys({ ...model.byName.get(resource)?.promoted, ...model.left[resource] })
  if (columns.length === 0) return []
  const state = await readCursor(warehouse, key)
  return state?.refill == null ? [] : [...columns, '_extra'].map((name) => `${resource}.${name}`)
}

export async function storedForms(warehouse: Warehouse, cursor: CursorKey): Promise<StoredForms> {
  const { dialect, model } = warehouse
  const isThere = model.hidden.size > 0 && (await warehouse.has('sync_privacy'))
  const [known, waiting] = isThere
    ? await warehouse.trying(async () => [
        await storedPrivacy(dialect.db).execute(),
        await waitingToHide(dialect, model),
      ])
    : [[], []]
  const open = new Set([
    ...(await unread(warehouse, cursor)),
    ...known.flatMap((row) =>
      row.state === 'reading' || isNewKey(known, model) ? [`${row.table}.${row.column}`] : [],
    ),
  ])
  const hiddenForm = (
    column: HiddenColumn & { readonly doneTo: string | null },
    table: Table,
    row: Row,
  ): unknown => {
    const value = row[column.name]
    const [tenantId, id] = [row['tenant_id'], row[table.owner ?? 'id']] as [bigint, bigint]
    const done = recordIn(column.doneTo)
    const isDone = done && (tenantId < done[0] || (!(tenantId > done[0]) && id <= done[1]))
    return isDone || value === null || value === undefined
      ? value
      : hiddenValue(model.privacy, tenantId, column, value as string)
  }
  return {
    row: (table, row) => {
      const columns = waiting.filter((one) => one.table === table.name && Object.hasOwn(row, one.name))
      return { ...row, ...Object.fromEntries(columns.map((one) => [one.name, hiddenForm(one, table, row)])) }
    },
    isHidden: (table, column) => model.hidden.get(table)?.some(({ name }) => name === column) ?? false,
    isOpen: (table, column) => open.has(`${table}.${column}`),
  }
}
