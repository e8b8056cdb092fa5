import type { Int64 } from '../../../schema/resource.js'
import { plural } from '../../engine/base/format.js'
import type { Receipt } from '../../engine/warehouse/hiding/forgottenrecords.js'
import type { Person } from './customers.js'
import type { Forgotten } from './work.js'

export const forgetQuestion = (tenantId: string): string =>
  `Everything of tenant ${tenantId} will be erased. Type its id to go on: `

export function forgetText({ tenant_id, rows, tables, traces_left, elsewhere }: Forgotten): string {
  const head =
    rows === 0
      ? `Tenant ${tenant_id} was forgotten before: there was nothing more to erase.`
      : `Tenant ${tenant_id} is erased: ${plural(rows, 'row')} in ${plural(tables.length, 'table')}.`
  const rest =
    traces_left === null ? '' : `\n${traces_left}. Then type shopsync forget --tenant ${tenant_id} --yes`
  const away = `It stays forgotten, granted or not, until you type shopsync forget --tenant ${tenant_id} --lift.`
  return `${head}${rest}\n${elsewhere}.\n${away}`
}

export const liftText = ({ tenant_id }: { readonly tenant_id: Int64 }): string =>
  `Tenant ${tenant_id} is no longer forgotten: the next sync loads it again if it is granted.`

/** A customer, as it has to be typed. */
export const personName = ({ tenantId, id }: Person): string => `${tenantId}/${id}`

export const personQuestion = (names: string): string =>
  `What says something about customer ${names} will be erased. Type ${names} to go on: `

const tablesText = (tables: Receipt['tables']): string =>
  tables.map(({ table, rows }) => `  ${table}: ${plural(rows, 'row')}`).join('\n')

const missedTexts = {
  not_read: () => 'its list has never been read to the end',
  not_migrated: () => 'it is not yet as this version or configuration asks: type shopsync migrate',
  leads_to_nobody: (rows: number) =>
    `${plural(rows, 'row')} from which no reference leads to a customer, so nobody can tell whose they are`,
} as const

/** What could not be looked at, a line for each table. */
export const missedText = (missed: Receipt['not_looked_at']): string =>
  missed.length === 0
    ? ''
    : `\nNot looked at:\n${missed.map(({ table, reason, rows }) => `  ${table}: ${missedTexts[reason](rows ?? 0)}`).join('\n')}`

const keptText = (kept: Receipt['kept']): string =>
  kept.map((one) => `\nKept, since other customers have them too: ${one.rows} of ${one.table}`).join('')

export function countsText(
  { tables, kept, not_looked_at }: Pick<Receipt, 'tables' | 'kept' | 'not_looked_at'>,
  names: readonly string[],
): string {
  const found =
    tables.length === 0
      ? `Nothing more says something about customer ${names.join(', ')}.`
      : `Of customer ${names.join(', ')}, these would be emptied or removed:\n${tablesText(tables)}`
  return `${found}${keptText(kept)}${missedText(not_looked_at)}\nNothing was erased.`
}

function oneReceipt({ tenant_id, customer_id, rows, tables, kept, id, not_looked_at }: Receipt): string {
  const head = `Customer ${tenant_id}/${customer_id} is forgotten (receipt ${id}): ${plural(rows, 'row')} emptied or removed`
  const counted = tables.length > 0 ? `${head}:\n${tablesText(tables)}` : `${head}.`
  return counted + keptText(kept) + missedText(not_looked_at)
}

export function receiptText(receipts: readonly Receipt[], file: string): string {
  const [first] = receipts
  if (!first) return 'The file lists nobody who is forgotten now: there is nothing to do.'
  const { traces_left, elsewhere } = first
  const names = receipts.map(({ customer_id }) => `--customer ${customer_id}`).join(' ')
  const left =
    traces_left === null
      ? ''
      : `${traces_left}. Then type shopsync forget --tenant ${first.tenant_id} ${names} --yes\n`
  return `${receipts.map(oneReceipt).join('\n')}\n${left}${elsewhere}.\nThey stay forgotten until you type shopsync forget with --lift. ${file} lists them.`
}

export const liftedText = (names: readonly string[]): string =>
  `Customer ${names.join(', ')} is no longer forgotten: the next sync reads the lists whole, and stores what the source has.`
