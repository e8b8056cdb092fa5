import { plural } from '../../format.js'
import type { Forgotten } from '../../sync/ask/forget.js'

export const forgetQuestion = (tenantId: string): string =>
  `Everything of tenant ${tenantId} will be erased. Type its id to go on: `

export const forgetText = ({ tenant_id, rows, tables }: Forgotten): string =>
  `Tenant ${tenant_id} is erased: ${plural(rows, 'row')} in ${plural(tables.length, 'table')}.`
