/**
 * What each column's rows are like, in `sync_privacy`:
 *
 * (no row):  they are as the API sent them.
 * hiding:    they are being hidden. A run after a kill continues after the last record that is done.
 * hidden:    they are hidden, in the way that the row says.
 * traces:    they are, but a program that was reading kept earlier values in the database's files. `migrate` tries again.
 * reading:   the configuration hides less since, or with another key: the lists are read whole, and then it is `hidden`,
 *            or the row is gone.
 *
 * Less privacy is never taken from a configuration alone: a file that lost a line would bring customers' names into the
 * warehouse, and nobody would know. `shopsync migrate --loosen-privacy` says that it is meant. hiding.ts brings the rows
 * there. Every claim of the lease compares what they are with the configuration (lease.ts); commands that only read say
 * what is waiting, and show values as they will be.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { Stop } from '../../base/errors.js'
import { joinedNames } from '../../base/format.js'
import { nameColumn } from '../../model/flatten/recordname.js'
import { historyName } from '../../model/historytable.js'
import { type HiddenColumn, hiddenValue, keyCheck } from '../../model/privacy.js'
import type { Model } from '../../model/resourcemodel.js'
import type { StateRows } from '../../model/state.js'
import type { Table } from '../../model/table.js'
import { type Db, readJson } from '../database.js'
import { toldToHideLess } from '../lease/oneconfiguration.js'
import { type CursorKey, readCursor } from '../state/cursors.js'
import type { Warehouse } from '../warehouse.js'

export type Known = StateRows['sync_privacy']

export const storedPrivacy = (db: Db) => db.selectFrom('sync_privacy').selectAll()

export const nameOf = ({ table, column }: Pick<Known, 'table' | 'column'>): string => `${table}.${column}`

/** The row that tells keys apart has this name and no table. */
const keyRow = { table: '', column: 'key' } as const

/** The rows that say how columns are hidden. */
export const hiddenOf = (known: readonly Known[]): Known[] =>
  known.filter(({ table }) => table !== keyRow.table)

/** A column that the configuration hides. */
interface Wanted extends Pick<HiddenColumn, 'treatment' | 'domain'> {
  readonly table: string
  readonly column: string
}

/** Where `_extra` is hidden, quarantined values are: a rule that became stricter is applied to what is there, once. */
export const quarantined: Wanted = {
  table: 'sync_quarantine',
  column: 'value',
  treatment: 'short',
  domain: '',
}

export function wantedOf({ hidden }: Model): Wanted[] {
  const columns = [...hidden].flatMap(([table, all]) =>
    all.map(({ name: column, treatment, domain }) => ({ table, column, treatment, domain })),
  )
  return columns.some(({ column }) => column === '_extra') ? [...columns, quarantined] : columns
}

/** A column whose stored rows have to be hidden. */
export interface Hiding extends Wanted {
  readonly doneTo: string | null
}

/** The columns whose stored rows aren't hidden as configured yet. */
export function unhidden(known: readonly Known[], model: Model): Hiding[] {
  const states = new Map(known.map((row) => [nameOf(row), row]))
  return wantedOf(model).flatMap((column) => {
    const state = states.get(nameOf(column))
    if (state?.mode === column.treatment && state.state !== 'hiding') return []
    const isResumed = state?.mode === column.treatment && state.done_to !== null
    const doneTo = isResumed ? JSON.stringify(readJson(state.done_to)) : null
    return [{ ...column, doneTo }]
  })
}

/** The ids are kept as texts, since JSON may round them. */
export function recordIn(doneTo: string | null): readonly [tenant: Int64, record: Int64] | undefined {
  if (doneTo === null) return undefined
  const [tenant = '0', record = '0'] = JSON.parse(doneTo) as string[]
  return [BigInt(tenant), BigInt(record)]
}

/** The resource's own table, for that table and for its versions. */
const recordTable = ({ list }: Model, table: string): Table | undefined =>
  list.find(({ resource }) => resource.name === table || historyName(resource) === table)?.tables[0]

/** The columns as `privacy` names them, each once: a version's are those of its record and of its nested lists. */
const configuredNames = (model: Model, rows: readonly Pick<Known, 'table' | 'column'>[]): string[] => [
  ...new Set(
    rows.map(({ table, column }) =>
      column.includes('.') ? column : `${recordTable(model, table)?.name ?? table}.${column}`,
    ),
  ),
]

/** The columns that this version's preset keeps and an earlier one's hid, where the configuration leaves them to the preset. */
export const mayHold = ({ privacy, tables }: Model): string[] =>
  privacy.preset === 'none'
    ? []
    : tables.flatMap(({ name: table, columns }) =>
        columns.flatMap(({ name, personal }) =>
          personal?.before && privacy.columns[table]?.[name] === undefined ? [`${table}.${name}`] : [],
        ),
      )

/** Those of them that the warehouse hides: a default that became looser loosens nothing that is stored. */
export function heldColumns(
  model: Parameters<typeof mayHold>[0],
  known: readonly Pick<Known, 'table' | 'column'>[],
): Set<string> {
  const hidden = new Set(known.map(nameOf))
  return new Set(mayHold(model).filter((name) => hidden.has(name)))
}

/** The columns of which this process would store more than the warehouse may have. */
export function loosened(known: readonly Known[], model: Model): Known[] {
  const wanted = new Map(wantedOf(model).map((one) => [nameOf(one), one.treatment]))
  return hiddenOf(known).filter((row) => {
    const { table, column, mode } = row
    // A column that is no longer configured is part of `_extra` again.
    const fields = recordTable(model, table)?.columns
    const isField = column.includes('.') || (fields?.some(({ name }) => name === column) ?? true)
    const now = wanted.get(nameOf(row)) ?? (isField ? undefined : wanted.get(`${table}._extra`))
    return now === undefined || (mode === 'drop' && now === 'hash')
  })
}

const otherKey = (where: string, found: string, expected: string, hint: string): Stop =>
  new Stop(`The pseudonyms in ${where} were made with ${found}, expected ${expected}; nothing was done`, {
    exitCode: 2,
    hint,
  })

/** The most columns that a message names. */
export const mostNamed = 8

/**
 * Throws Stop if this process would store more of a column than the warehouse may have, or other pseudonyms; or if it still
 * hides what the warehouse no longer does.
 */
export function checkPrivacy(known: readonly Known[], model: Model, where: string): void {
  const names = new Set(known.map(nameOf))
  if ([...(model.privacy.held ?? [])].some((name) => !names.has(name))) throw toldToHideLess(where)
  const loose = loosened(known, model)
  if (loose.length > 0)
    throw new Stop(
      `The warehouse ${where} hides ${joinedNames(configuredNames(model, loose), mostNamed)}, and this configuration does not, or less; nothing was done`,
      {
        exitCode: 2,
        hint: 'Put the setting back under privacy; or type shopsync migrate --loosen-privacy, and the lists are read in full',
      },
    )
  const check = keyCheck(model.privacy)
  const key = known.find(({ table }) => table === keyRow.table)
  if (!key || check === null) return
  const [theirs, ours] = [Number(key.key_version), model.privacy.keyVersion]
  if (ours < theirs)
    throw otherKey(
      where,
      `keyVersion ${theirs}`,
      `${ours} or less`,
      'Put privacy.key and privacy.keyVersion back',
    )
  if (ours === theirs && key.mode !== check)
    throw otherKey(
      where,
      `another key of version ${theirs}`,
      'this one',
      `Use that key, or set privacy.keyVersion to ${theirs + 1}: every list with hashed columns is then read in full once`,
    )
}

/** The resources whose records make rows of a table, or versions of one. */
export const resourcesOf = ({ list }: Model, table: string): string[] =>
  list.flatMap(({ name, resource, tables }) =>
    historyName(resource) === table || tables.some((one) => one.name === table) ? [name] : [],
  )

/** Whether the key is a newer one than that of the stored pseudonyms. */
export const isNewKey = (known: readonly Known[], { privacy }: Model): boolean => {
  const key = known.find(({ table }) => table === keyRow.table)
  return key !== undefined && keyCheck(privacy) !== null && Number(key.key_version) < privacy.keyVersion
}

export const note = (db: Db, rows: readonly Known[]): CompiledQuery =>
  db
    .insertInto('sync_privacy')
    .values([...rows])
    .onConflict((c) =>
      c.columns(['table', 'column']).doUpdateSet((eb) => ({
        mode: eb.ref('excluded.mode'),
        key_version: eb.ref('excluded.key_version'),
        state: eb.ref('excluded.state'),
        done_to: eb.ref('excluded.done_to'),
        since: eb.ref('excluded.since'),
      })),
    )
    .compile()

export function keyNote({ privacy }: Model, at: string): Known[] {
  const mode = keyCheck(privacy)
  const row = { ...keyRow, key_version: privacy.keyVersion, state: 'hidden', done_to: null, since: at }
  return mode === null ? [] : [{ ...row, mode }]
}

/** Removes pseudonyms of earlier keys. */
export const withoutOlder = (db: Db, { table, column, key_version: version }: Known): CompiledQuery =>
  db
    .updateTable(table as 'tenants')
    .set({ [column]: null } as never)
    .where(sql<boolean>`${sql.ref(column)} like 'h%:%' and ${sql.ref(column)} not like ${`h${version}:%`}`)
    .compile()

/** What a writing command would do first. `loosened`: only `shopsync migrate --loosen-privacy` would. */
interface PendingPrivacy {
  readonly table: string
  readonly column: string
  readonly to: 'hidden' | 'new key' | 'loosened'
  /** Lists that are then read in full. */
  readonly lists: readonly string[]
}

export async function pendingPrivacy(db: Db, model: Model): Promise<PendingPrivacy[]> {
  const known = await storedPrivacy(db).execute()
  const hashed = isNewKey(known, model) ? hiddenOf(known).filter(({ mode }) => mode === 'hash') : []
  const change = (to: PendingPrivacy['to'], rows: Parameters<typeof configuredNames>[1]): PendingPrivacy[] =>
    configuredNames(model, rows).map((name) => {
      const [table = '', column = ''] = name.split('.')
      return { table, column, to, lists: to === 'hidden' ? [] : resourcesOf(model, table) }
    })
  return [
    ...change('hidden', unhidden(known, model)),
    ...change('new key', hashed),
    ...change('loosened', loosened(known, model)),
  ]
}

/**
 * Whether there are rows to hide, or lists to read for a new key: what only the holder of the whole warehouse does. Not of
 * tables that were found to let nothing be hidden.
 */
export async function mustHide({ db, model, interfered }: Warehouse): Promise<boolean> {
  const known = await storedPrivacy(db).execute()
  const waiting = unhidden(known, model)
  return isNewKey(known, model) || waiting.some(({ table }) => !interfered.unchanged([table]))
}

/** Whether a claim of the lease has anything to do: for traces and for lists that were read, too. */
export const isUnhidden = (known: readonly Known[], model: Model): boolean =>
  isNewKey(known, model) ||
  known.some(({ state }) => state === 'reading' || state === 'traces') ||
  unhidden(known, model).length > 0

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
export async function privacyStatus({ db, model }: Warehouse): Promise<PrivacyStatus | undefined> {
  const known = hiddenOf(await storedPrivacy(db).execute())
  const unfinished = configuredNames(model, unhidden(known, model))
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

/** The columns of a list that is still to be read for them, with `_extra`: a value may be in either. */
async function unread(warehouse: Warehouse, key: CursorKey): Promise<string[]> {
  const { resource } = key
  const { model } = warehouse
  const columns = Object.keys({ ...model.byName.get(resource)?.promoted, ...model.left[resource] })
  if (columns.length === 0) return []
  const state = await readCursor(warehouse, key)
  return state?.refill == null ? [] : [...columns, '_extra'].map((name) => `${resource}.${name}`)
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

export async function storedForms(warehouse: Warehouse, cursor: CursorKey): Promise<StoredForms> {
  const { model } = warehouse
  const isThere = model.hidden.size > 0 && (await warehouse.has('sync_privacy'))
  const known = isThere ? await warehouse.read((db) => storedPrivacy(db).execute()) : []
  const waiting = isThere ? unhidden(known, model) : []
  const reading = known.filter(({ state }) => state === 'reading' || isNewKey(known, model))
  const open = new Set([...(await unread(warehouse, cursor)), ...reading.map(nameOf)])
  const hiddenForm = (column: Hiding, table: Table, row: Row): unknown => {
    const value = row[column.column]
    const [tenantId, id] = [row['tenant_id'], row[table.owner ?? 'id']] as [bigint, bigint]
    const done = recordIn(column.doneTo)
    const isDone = done && (tenantId < done[0] || (!(tenantId > done[0]) && id <= done[1]))
    return isDone || value === null || value === undefined
      ? value
      : hiddenValue(model.privacy, tenantId, column, value as string)
  }
  return {
    row: (table, row) => {
      const columns = waiting.filter((one) => one.table === table.name && Object.hasOwn(row, one.column))
      const forms: [string, unknown][] = columns.map((one) => [one.column, hiddenForm(one, table, row)])
      // Names may be made of them, and are made again when they are hidden.
      const names = table.columns.filter(({ computedBy }) => forms.length > 0 && computedBy === nameColumn)
      return { ...row, ...Object.fromEntries([...forms, ...names.map(({ name }) => [name, null])]) }
    },
    isHidden: (table, column) => model.hidden.get(table)?.some(({ name }) => name === column) ?? false,
    isOpen: (table, column) => open.has(`${table}.${column}`),
  }
}
