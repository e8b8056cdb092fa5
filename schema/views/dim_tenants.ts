import { firstInvoiceDay } from '../open.js'
import { col, common, defineView, takes } from '../view.js'

export default defineView({
  name: 'dim_tenants',
  doc: 'Tenants (repair businesses), with their names. Other views refer to this one by tenant_id.',
  grain: 'one tenant that grants access, or did in the past',
  columns: {
    tenant_key: col.text.unique('The tenant, as text. Unique.'),
    tenant_id: col.id.unique('The tenant. Unique.'),
    tenant_name: common.tenant_name,
    is_revoked: col.boolean.always('Whether it has revoked access. Its rows are kept.'),
    revoked_at: col.timestamp('When shopsync found that access was revoked.'),
    first_day: col.day('The day its first shop closed its first invoice; null before that.'),
  },
  example: 'select tenant_id, tenant_name from dim_tenants order by tenant_name',
  build: (q) => ({
    select: {
      ...takes('t', 'tenant_id', 'revoked_at'),
      tenant_key: 'cast(t.tenant_id as text)',
      tenant_name: q.tenantName('t.tenant_id'),
      is_revoked: 't.revoked_at is not null',
      first_day: firstInvoiceDay('t.tenant_id'),
    },
    from: '{tenants} t',
  }),
})
