import { atSecond, plural } from '../../engine/base/format.js'
import { plainTerminal, type Terminal } from '../../shell/terminal.js'
import { table, unbroken } from '../../shell/texttable.js'
import type { Grant } from './work.js'

export const grantText = ({
  role,
  schema,
  tenants,
  personal,
  views,
}: Grant & { readonly views: number }): string =>
  `The role ${role} sees ${plural(tenants.length, 'tenant')} (${tenants.join(', ')}) in ${plural(views, 'view')} of the schema ${schema}, ${
    personal ? 'names and addresses included' : 'without names, addresses and other personal columns'
  }. It connects with its own password and selects from orders, shop_days and so on; no schema has to be typed.`

export const revokeText = ({ role, tenants }: Pick<Grant, 'role' | 'tenants'>): string =>
  tenants.length === 0
    ? `The role ${role} sees nothing any more: its schema is gone. The role itself stays; who made it drops it.`
    : `The role ${role} still sees ${tenants.join(', ')}.`

export const grantsText = (grants: readonly Grant[], terminal: Terminal = plainTerminal): string =>
  grants.length === 0
    ? 'No role was granted anything. Type shopsync grant --role NAME --tenant ID'
    : table(
        ['role', 'tenants', 'personal columns', unbroken('granted')],
        grants.map(({ role, tenants, personal, granted_at }) => [
          role,
          tenants.join(', '),
          personal ? 'yes' : 'no',
          granted_at === null ? '' : atSecond(granted_at),
        ]),
        terminal,
      )
