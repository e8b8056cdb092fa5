/* Makes the report and writes its file. Used by `shopsync report`, by the job step of that name, and by the demo. */
import { randomBytes } from 'node:crypto'
import { accessSync, closeSync, constants, openSync, rmSync, statSync } from 'node:fs'
import { chmod, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Int64 } from '../../../schema/resource.js'
import { codeFromOutside, Stop } from '../../engine/base/errors.js'
import { statusSettings } from '../../engine/config/attention.js'
import { reportSettings } from '../../engine/config/reportsection.js'
import { freshnessSettings } from '../../engine/config/targetsection.js'
import { readThenCheck } from '../../engine/warehouse/layout/migrate.js'
import type { CommandContext } from '../../shell/command.js'
import { staleAfterNow } from '../targets/stretchedbound.js'
import { answersOf } from './answers.js'
import type { ReportData } from './data.js'
import type { OperationsData } from './operationsdata.js'
import type { ReportOptions } from './read/opening.js'

/** Where a page goes. */
interface PagePlace {
  /** As a person or a job named it. */
  readonly file: string
  readonly path: string
}

/** `folder`: where a relative name starts. */
export const pageAt = (folder: string, file: string): PagePlace => ({ file, path: resolve(folder, file) })

/** The owner's or the operator's page, written to a file. */
export interface Written<Data> {
  readonly file: string
  readonly data: Data
  /** For --json. */
  readonly document: object
}

const cannot = (found: string, hint: string): never => {
  throw new Stop(`${found}, expected a file that the report can be written to`, { exitCode: 2, hint })
}

/**
 * Throws Stop if the report can't be written. Called before any work, since making a report takes seconds. Leaves
 * nothing behind, and doesn't touch an older report.
 */
export function checkPlace({ file, path }: PagePlace): void {
  const there = isFolder(dirname(path)) ? statSync(path, { throwIfNoEntry: false }) : undefined
  if (file === '') cannot('Found no name', 'Type shopsync report --out report.html')
  if (there?.isDirectory())
    cannot(`Found a folder at ${path}`, `Type shopsync report --out ${file}/report.html`)
  const folder = dirname(path)
  if (!isFolder(folder))
    cannot(
      `Found no folder ${folder} for ${file}`,
      `Make it (mkdir -p ${folder}), or name another file with --out`,
    )
  const isDevice = there !== undefined && !there.isFile()
  try {
    if (isDevice) accessSync(path, constants.W_OK)
    else tryOut(`${path}.${randomBytes(4).toString('hex')}`)
  } catch (error) {
    cannot(
      `Found ${isDevice ? path : `the folder ${folder}`} closed to writing (${codeFromOutside(error)})`,
      'Give this user the right to write there, or name another file with --out',
    )
  }
}

/** A part of the path may be a file; then there is nothing behind it. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

function tryOut(path: string): void {
  closeSync(openSync(path, 'wx'))
  rmSync(path)
}

/** Replaces the file in one step: a reader finds the old page or the new one. */
async function write(path: string, text: string): Promise<void> {
  const there = await stat(path).catch(() => undefined)
  // A device is written to directly: replacing it would leave a plain file.
  const isDevice = there !== undefined && !there.isFile()
  const fresh = isDevice ? path : `${path}.${randomBytes(4).toString('hex')}`
  try {
    await writeFile(fresh, text, { mode: 0o600 })
    // If the last page was readable by others, the next one should be, too.
    if (there?.isFile()) await chmod(fresh, there.mode & 0o777)
    if (!isDevice) await rename(fresh, path)
  } catch (error) {
    if (!isDevice) await rm(fresh, { force: true })
    throw new Stop(`The report could not be written to ${path} (${codeFromOutside(error)})`, {
      exitCode: 1,
      hint: 'Check whether the disk is full, or name another file with --out',
    })
  }
}

const documentOf = (path: string, data: ReportData): object => ({
  file: path,
  made_at: data.madeAt,
  warehouse: data.warehouse,
  belongs_to: data.belongsTo,
  tenants: data.scopes.length === 0 ? 0 : Math.max(1, data.tenants.length),
  complete_through: data.scopes[0]?.trust.completeThrough ?? null,
  answers: data.scopes.slice(0, 1).flatMap((scope) =>
    answersOf(data, scope).map(({ id, question, sentence, tone, facts }) => ({
      id,
      question,
      answer: sentence,
      tone,
      facts: facts.map(({ label, value, notes }) => ({ label, value, notes })),
    })),
  ),
})

/** `tenants`: null for all. Queries the warehouse, draws the owner's page and writes it. */
export async function writeReport(
  context: CommandContext,
  { file, path }: PagePlace,
  tenants: readonly Int64[] | null,
): Promise<Written<ReportData>> {
  const { data, text } = await drawReport(context, tenants)
  await write(path, text)
  return { file, data, document: documentOf(path, data) }
}

/** `tenants`: null for all. Queries the warehouse, draws the operator's page and writes it. */
export async function writeOperations(
  context: CommandContext,
  { file, path }: PagePlace,
  tenants: readonly Int64[] | null,
): Promise<Written<OperationsData>> {
  const { data, text } = await drawOperations(context, tenants, { isServed: false })
  await write(path, text)
  const { madeAt, warehouse, belongsTo: belongs_to, incidents, resources } = data
  const head = { file: path, made_at: madeAt, warehouse, belongs_to }
  const document = { ...head, incidents, resources: resources.length }
  return { file, data, document }
}

/** Queries the warehouse and draws the owner's page. ECharts is loaded only for the pages. */
export async function drawReport(
  context: CommandContext,
  tenants: readonly Int64[] | null,
): Promise<{ readonly data: ReportData; readonly text: string }> {
  const [{ readReport }, { reportPage }, { draw }] = await Promise.all([
    import('./read/read.js'),
    import('./page/reportpage.js'),
    import('./draw/option.js'),
  ])
  const options = await optionsOf(context, tenants)
  const data = await readThenCheck(options.warehouse, () => readReport(options))
  return { data, text: reportPage(data, draw) }
}

/** Queries the warehouse and draws the operator's page. */
export async function drawOperations(
  context: CommandContext,
  tenants: readonly Int64[] | null,
  { isServed }: { readonly isServed: boolean },
): Promise<{ readonly data: OperationsData; readonly text: string }> {
  const [{ readOperations }, { operationsPage }, { draw }] = await Promise.all([
    import('./read/readoperations.js'),
    import('./page/operationspage.js'),
    import('./draw/option.js'),
  ])
  const options = await optionsOf(context, tenants)
  const data = await readThenCheck(options.warehouse, () => readOperations(options))
  return { data, text: operationsPage(data, draw, isServed) }
}

async function optionsOf(context: CommandContext, tenants: readonly Int64[] | null): Promise<ReportOptions> {
  const { config, clock } = context
  const { schema, timeZone, contacts, waitingForParts } = reportSettings(config)
  const { staleAfter, deletesUncheckedAfter } = statusSettings(config)
  const warehouse = await context.open('read')
  const targets = freshnessSettings(config)
  const { resources, exceptTenants } = config.sync
  const enabled = context.model.list.flatMap((entry) => (entry.enabled ? entry.name : []))
  return {
    warehouse,
    label: config.warehouse.label,
    source: config.api,
    schema,
    timeZone,
    contacts,
    waitingForParts,
    targets,
    synced: resources === 'all' ? enabled : enabled.filter((name) => resources.includes(name)),
    exceptTenants,
    staleAfterMs: await staleAfterNow(warehouse, { staleAfterMs: staleAfter, targets }),
    deletesUncheckedAfterMs: deletesUncheckedAfter,
    tenants,
    nowMicros: clock.nowMicros(),
  }
}
