import { col, common, defineView, takes } from '../view.js'

export default defineView({
  name: 'freshness',
  doc: 'Up to which instant each list of each tenant is complete, and how sure that is.',
  grain: 'one resource of a tenant',
  columns: {
    tenant_id: common.tenant_id,
    tenant_name: common.tenant_name,
    resource: col.text.always('The resource, which is also the name of its table.'),
    watermark: col.timestamp('Every record whose updated_at is at or before it is in the warehouse.'),
    complete_through: col.timestamp(
      'Every creation and update up to then is in the warehouse, unless it became visible later than any in the last 30 days.',
    ),
    deletes_checked_at: col.timestamp('Every deletion up to then is in the warehouse.'),
    last_success_at: col.timestamp('End of the last walk that was complete.'),
    verdict: col.text(
      'Of the last walk: `proven`, `repaired`, `listed` (the source does not count truly) or `unproven` (something may be missing).',
    ),
    reason: col.text('Why the verdict is not `proven`, or what is odd: a short code; null where nothing is.'),
    status: col.text('`ok`, `failed`, `unavailable` or `skipped` after the last run.'),
    last_error: col.text('Why the last run failed here; null when it did not.'),
    live_rows: col.count('Rows that exist at the source.'),
    quarantined: col.count.always('Values, items and records in quarantine.'),
    revoked: col.boolean.always('The tenant no longer grants access: nothing new comes.'),
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
