import { indent, plural, span } from '../../engine/base/format.js'
import { toJson } from '../../engine/base/printjson.js'
import { foreignAdvice } from '../../shell/belongingwords.js'
import { secondsBetween } from '../events/events.js'
import type { LastEvent } from '../events/eventview.js'
import { isUnreadable } from '../events/watchinbox.js'
import { quietText } from '../health/quietlists.js'
import { hiddenDiffers } from '../reconcile/content.js'
import { mostRows, type Told, type Why } from './work.js'

/** How many tenants to list when an unknown one was typed. */
const mostTenants = 20

function missingText({ table, resource, id, unknown_tenants: unknown, known_tenants: known }: Why): string {
  if (unknown.length === 0)
    return `The warehouse has no row ${id} in ${table}. If the source has it, shopsync reconcile --resource ${resource} fetches it.`
  const others = known.length > mostTenants ? ', …' : ''
  const list = known.length === 0 ? 'no tenant yet' : `${known.slice(0, mostTenants).join(', ')}${others}`
  return `The warehouse has no tenant ${unknown.join(', ')}. It has ${list}.`
}

/** `names`: `report.tenantNames`. */
export function whyText(why: Why, names: Readonly<Record<string, string>> = {}): string {
  const { belongs_to: owner, rows, known_since } = why
  const quiet = why.quiet ? `\n\n${quietText(why.quiet, names)}` : ''
  if (rows.length === 0) return `${missingText(why)}${quiet}`
  const isForgotten = rows.some(({ brought }) => /^(unknown|run)$/.test(brought.certainty))
  const since = known_since !== null && isForgotten ? `\nNothing before ${known_since} is recorded.` : ''
  const told = `${rows.map(rowText).join('\n\n')}${oneOfSeveral(rows)}${since}${quiet}`
  if (owner === null) return told
  const source = `The warehouse belongs to ${owner.base_url} (partner ${owner.partner_id}).`
  return owner.configured ? told : `${told}\n\n${source} ${foreignAdvice}`
}

/** What to type for one row of a table whose ids are only unique within their record. */
const wordFor = ({ row, owner }: Told): string => [owner?.id, row.id ?? row.position].join('/')

function oneOfSeveral(rows: readonly Told[]): string {
  const [first, second] = rows
  if (first === undefined || second === undefined) return ''
  const word =
    first.owner === null
      ? ''
      : `; for one, type for example shopsync why ${first.table} ${wordFor(first)} --tenant ${first.tenant_id}`
  const most =
    rows.length < mostRows
      ? `These are ${plural(rows.length, 'row')}`
      : `Only the first ${mostRows} rows are shown`
  return `\n\n${most}${word}.`
}

function rowText(told: Told): string {
  const { brought, row, owner } = told
  const position = 'position' in row ? `, position ${row.position}` : ''
  const state =
    told.state === 'live'
      ? 'live'
      : owner
        ? 'deleted with its record; it stays as it was'
        : `deleted; found gone at ${row._deleted_at}`
  const lines = [
    broughtText(brought),
    ...(brought.confirmed_at === brought.at
      ? []
      : [`last seen unchanged at ${brought.confirmed_at}${by(brought.confirmed_by)}`]),
    ...(told.event ? [isUnreadable(told.event) ? told.event.unreadable : eventText(told.event)] : []),
    ...told.earlier.map(
      ({ run_id, step, started_at, rows_upserted }) =>
        `before that, run ${run_id}${Number(step) > 1 ? ` (step ${step})` : ''} of ${started_at} wrote ${plural(Number(rows_upserted), 'row')} of this cursor`,
    ),
    ...told.quarantine.map(
      ({ path, reason, value }) =>
        `in quarantine: ${path || 'the whole record'}: ${reason}${value === null ? '' : ` (${value})`}`,
    ),
    ...told.versions.map(
      ({ valid_from, seen_from, seen_to, ended_by }) =>
        `an earlier version, of ${valid_from}, seen from ${seen_from} to ${seen_to}: ${ended_by}`,
    ),
    ...(told.erased_since === undefined
      ? []
      : [
          `forgotten since ${told.erased_since}: personal values and versions before that were erased on request`,
        ]),
    sourceText(told.source),
  ]
  const of = owner ? `${owner.table} ${owner.id}, tenant ${told.tenant_id}` : `tenant ${told.tenant_id}`
  const name = [told.table, row.id ?? row.name].filter((part) => part !== undefined).join(' ')
  const title = `${name} of ${of}${position}: ${state}`
  return `${title}\n${indent(lines.join('\n'))}`
}

const by = (run: string | null): string => (run === null ? '' : `, by run ${run}`)

function broughtText({ certainty, run_id, mode, way, at, page, request_id }: Told['brought']): string {
  if (certainty === 'unknown') return 'the request that fetched it is no longer on record'
  if (certainty === 'run')
    return `fetched or seen by run ${run_id} (${mode}); its request is no longer on record`
  const shape = page === null ? 'fetched by its id' : `page ${page} of a list`
  const request = request_id === null ? '' : `, request id ${request_id}`
  const sure = certainty === 'likely' ? ', judging by its place in the list' : ''
  return `fetched at ${at} by ${way}, ${shape}${request}${by(run_id)}${mode === null ? '' : ` (${mode})`}${sure}`
}

function eventText({
  event_id,
  type,
  action,
  received_at,
  state,
  reason,
  settled_at,
  run_id,
}: LastEvent): string {
  const after = secondsBetween(received_at, settled_at)
  const end = after === null ? '' : ` after ${span(after * 1000)}${by(run_id)}`
  const why = reason === null ? '' : ` (${reason})`
  return `last made due by event ${event_id} (${type} ${action}), received at ${received_at}: ${state}${why}${end}`
}

const shown = (value: unknown): string => (value === null ? 'nothing' : toJson(value))

const unseen = {
  gone: 'the source does not show it',
  'not asked': 'the source was not asked',
  failed: 'asking the source failed',
} as const

function sourceText(source: Told['source']): string {
  if (source.answer !== 'exists') return `${unseen[source.answer]}: ${source.reason}`
  if (source.differences.length === 0)
    return `the source has the same version, updated at ${source.updated_at}`
  const differences = source.differences.map(({ table, row, column, ...values }) => {
    const place = `${table} ${row}${column === null ? '' : `, ${column}`}`
    const { warehouse: here, source: there } = values
    if (here === hiddenDiffers && there === hiddenDiffers) return `${place}: ${hiddenDiffers}`
    return `${place}: ${shown(here)} here, ${shown(there)} there`
  })
  const head = `the source has the record, updated at ${source.updated_at}, and it differs from the warehouse:`
  return `${head}\n${indent(differences.join('\n'))}`
}
