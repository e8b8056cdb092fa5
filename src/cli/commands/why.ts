import type { Told, Why } from '../../sync/ask/why.js'
import type { ContentDifference } from '../../sync/reconcile/content.js'
import { type Command, choiceOptions } from '../command.js'

export const whyCommand: Command = {
  name: 'why',
  summary: 'the history of one row: what brought it, what is in quarantine for it, what the source says now',
  help: `
TABLE is any table of the warehouse; ID is its id, or for tables whose rows have none, the id of what they belong to.

  shopsync why customers 17 --tenant 101
  shopsync why repair_order_parts 90012

Costs one request a row, and one for nothing else; writes nothing. Exits with 1 when there is no such row.`,
  argument: { name: 'table', description: 'a table of the warehouse, such as customers' },
  second: { name: 'id', description: 'id of the row' },
  options: choiceOptions.filter(({ flags }) => flags.startsWith('--tenant')),
  run: async (invocation) => {
    const [{ withContext }, { chosenByFlags }, { tellWhy }, { checkTables }] = await Promise.all([
      import('../context.js'),
      import('../choice.js'),
      import('../../sync/ask/why.js'),
      import('../../sync/reconcile/verifyrun.js'),
    ])
    return withContext(invocation, async (context) => {
      const { config, model } = context
      const { out, options, signals, argument = '', second = '' } = invocation
      const warehouse = await context.warehouse()
      await checkTables({ warehouse })
      const source = await context.source(await context.stamps(warehouse))
      const { tenants } = chosenByFlags(config, options)
      const question = { table: argument, id: second, tenants }
      const answer = await tellWhy({ model, warehouse, source, signal: signals.signal }, question)
      if (out.json) await out.document(answer)
      else out.result(whyText(answer))
      return answer.rows.length > 0 ? 0 : 1
    })
  },
}

export function whyText({ table, id, rows }: Why): string {
  if (rows.length === 0)
    return `The warehouse has no row ${id} in ${table}. If the source has it, shopsync reconcile brings it.`
  return rows.map(rowText).join('\n\n')
}

function rowText(told: Told): string {
  const { brought, row } = told
  const position = 'position' in row ? `, position ${row.position}` : ''
  const lines = [
    `${told.table} ${row.id ?? row.name ?? ''} of tenant ${told.tenant_id}${position}: ${told.state === 'deleted' ? `deleted; found gone at ${row._deleted_at}` : 'live'}`,
    `  ${broughtText(brought)}`,
    ...(brought.confirmed_at === brought.at
      ? []
      : [`  last seen so at ${brought.confirmed_at}${by(brought.confirmed_by)}`]),
    ...told.earlier.map(
      ({ run_id, started_at, rows_upserted }) =>
        `  before that, run ${run_id} of ${started_at} wrote ${rows_upserted} rows of this cursor`,
    ),
    ...told.quarantine.map(
      ({ path, reason, value }) => `  in quarantine: ${path || 'the whole record'}: ${reason} (${value})`,
    ),
    ...sourceText(told.source),
  ]
  return lines.join('\n')
}

const by = (run: string | null): string => (run === null ? '' : `, by run ${run}`)

function broughtText({ certainty, run_id, mode, way, at, page, request_id }: Told['brought']): string {
  if (certainty === 'unknown') return 'what brought it is no longer on record'
  if (certainty === 'run')
    return `brought or seen by run ${run_id} (${mode}); its request is no longer on record`
  const what = page === null ? 'asked for by its id' : `page ${page} of a list`
  const request = request_id === null ? '' : `, request id ${request_id}`
  const sure = certainty === 'likely' ? ', going by its place in the list' : ''
  return `brought at ${at} by ${way}, ${what}${request}${by(run_id)}${mode === null ? '' : ` (${mode})`}${sure}`
}

const shown = (value: unknown): string => (value === null ? 'nothing' : JSON.stringify(value))

function sourceText(source: Told['source']): string[] {
  if (source.answer !== 'exists') return [`  the source: ${source.answer}: ${source.reason}`]
  if (source.differences.length === 0)
    return [`  the source has the record as it is here, updated at ${source.updated_at}`]
  return [
    `  the source has the record, updated at ${source.updated_at}, otherwise than the warehouse:`,
    ...source.differences.map(
      (found: ContentDifference) =>
        `    ${found.table} ${found.row}${found.column === null ? '' : `, ${found.column}`}: ${shown(found.warehouse)} here, ${shown(found.source)} there`,
    ),
  ]
}
