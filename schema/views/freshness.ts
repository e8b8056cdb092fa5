import { col, common, defineView, takes } from '../view.js'

export default defineView({
  name: 'freshness',
  doc: 'How far each list of each tenant is complete, and how sure shopsync is.',
  grain: 'one resource of a tenant',
  columns: {
    tenant_id: common.tenant_id,
    tenant_name: common.tenant_name,
    resource: col.text.always('The resource; its table has the same name.'),
    watermark: col.timestamp('Every record whose updated_at is at or before this time is in the warehouse.'),
    complete_through: col.timestamp(
      'Every record created or updated by this time is in the warehouse, unless it becomes visible later than any record of the last 30 days did.',
    ),
    deletes_checked_at: col.timestamp('Every deletion up to this time is in the warehouse.'),
    last_success_at: col.timestamp('When the last complete walk ended.'),
    verdict: col.text(
      "Verdict of the last walk: `proven`, `repaired`, `listed` (read to the end, but the source's own count is wrong) or `unproven` (something may be missing).",
    ),
    reason: col.text(
      'Why the verdict is not `proven`, or what is odd about the list, as a short code; null if nothing is.',
    ),
    status: col.text('State after the last run: `ok`, `failed`, `unavailable` or `skipped`.'),
    last_error: col.text('Why the last run failed here; null if it did not.', { internal: true }),
    live_rows: col.count('Rows not marked as deleted.'),
    quarantined: col.count.always('Values, items and records in quarantine.'),
    revoked: col.boolean.always('Whether the tenant has revoked access, so nothing new arrives.'),
  },
  example: `select tenant_name, resource, complete_through, verdict
from freshness
order by complete_through
limit 20`,
  build: (q) => ({
    with: `kept as (select tenant_id, resource, count(*) as n from {sync_quarantine} group by tenant_id, resource)`,
    select: {
      ...takes('c', 'tenant_id', 'resource', 'watermark', 'complete_through', 'deletes_checked_at'),
      ...takes('c', 'last_success_at', 'reason', 'status', 'last_error'),
      tenant_name: q.tenantName('c.tenant_id'),
      verdict: 'c.completeness',
      live_rows: q.liveRows('c.tenant_id', 'c.resource'),
      quarantined: 'coalesce(k.n, 0)',
      revoked: 'coalesce(t.revoked_at is not null, false)',
    },
    from: `{sync_cursors} c
left join kept k on k.tenant_id = c.tenant_id and k.resource = c.resource
left join {tenants} t on t.tenant_id = c.tenant_id`,
  }),
})
