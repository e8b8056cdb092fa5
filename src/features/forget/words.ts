import type { Int64 } from '../../../schema/resource.js'
import { plural } from '../../engine/base/format.js'
import type { Forgotten } from './work.js'

export const forgetQuestion = (tenantId: string): string =>
  `Everything of tenant ${tenantId} will be erased. Type its id to go on: `

export function forgetText({ tenant_id, rows, tables, traces_left, elsewhere }: Forgotten): string {
  const head =
    rows === 0
      ? `Tenant ${tenant_id} was forgotten before: there was nothing more to erase.`
      : `Tenant ${tenant_id} is erased: ${plural(rows, 'row')} in ${plural(tables.length, 'table')}.`
  const rest =
    traces_left === null
      ? ''
      : `\n${traces_left}. End that program (a BI tool, an open sqlite3), then type shopsync forget --tenant ${tenant_id} --yes`
  const away = `It stays forgotten, granted or not, until you type shopsync forget --tenant ${tenant_id} --lift.`
  return `${head}${rest}\n${elsewhere}.\n${away}`
}

export const liftText = ({ tenant_id }: { readonly tenant_id: Int64 }): string =>
  `Tenant ${tenant_id} is no longer forgotten: the next sync loads it again if it is granted.`
