import { through } from '../through.js'
import { col, common, defineView, takes } from '../view.js'

export default defineView({
  name: 'changes_by_tenant',
  doc: 'Which tenants the tables have, and since when copies of their rows must be made again (docs/increments.md). Rows of a tenant that is not listed any more were erased.',
  grain: 'one tenant',
  columns: {
    tenant_id: common.tenant_id,
    through: col.timestamp.always(
      'As `through` of changes, for the rows of this tenant: a run of another shard, even a dead one, does not hold it up.',
      { asStored: true },
    ),
    rebuild_from: col.timestamp(
      'If it is at or after the `through` of your copy, remove the tenant from it and take all its rows: some changed or went without a new `_synced_at`. Null: that was never needed. In the form of `_synced_at`.',
      { asStored: true },
    ),
  },
  example: 'select tenant_id, through, rebuild_from from changes_by_tenant order by rebuild_from desc',
  build: () => ({
    select: { ...takes('t', 'tenant_id', 'rebuild_from'), through: through('t.tenant_id') },
    from: '{tenants} t',
  }),
})
