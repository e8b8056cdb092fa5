import { isInvoice } from '../open.js'
import { col, common, defineView, takes } from '../view.js'

export default defineView({
  name: 'dim_tenants',
  doc: 'Tenants (repair businesses), with their names: the relation that tenant_id of the other views points to.',
  grain: 'one tenant that grants access, or once did',
  columns: {
    tenant_key: col.text.unique('The tenant, as text. Unique.'),
    tenant_id: col.id.unique('The tenant. Unique.'),
    tenant_name: common.tenant_name,
    is_revoked: col.boolean.always('No longer granted; its rows are kept as they were.'),
    revoked_at: col.timestamp('When it was found to be no longer granted.'),
    first_day: col.day('The day on which its first shop closed its first invoice; null before.'),
  },
  example: 'select tenant_id, tenant_name from dim_tenants order by tenant_name',
  build: (q) => ({
    select: {
      ...takes('t', 'tenant_id', 'revoked_at'),
      tenant_key: 'cast(t.tenant_id as text)',
      tenant_name: q.tenantName('t.tenant_id'),
      is_revoked: 't.revoked_at is not null',
      first_day: `(select y.closed_on from {repair_order_totals} y
        where y.tenant_id = t.tenant_id and y.closed_on is not null and ${isInvoice('y')}
        order by y.closed_on limit 1)`,
    },
    from: '{tenants} t',
  }),
})
