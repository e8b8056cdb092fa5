import { absurd } from '../derived/billlines.js'
import { countUnknown, joinOrder, laborsOf } from '../lines.js'
import { col, common, defineView, takes } from '../view.js'

export default defineView({
  name: 'canned_job_hours',
  doc: 'Canned jobs: the hours they plan, and the hours sold on invoices by the services that were made from them.',
  grain: 'one live canned job of a shop',
  columns: {
    ...common,
    canned_job_id: col.id.always('The canned job.'),
    canned_job_key: col.text.unique('Key of the canned job: TENANT-ID. Unique.'),
    title: col.text('Title.'),
    category_id: col.id('Category of the job.'),
    category: col.text('Text of the category.'),
    book_hours: col.hours('Hours of its labor, as planned. For what was sold, multiply by `times_sold`.'),
    times_sold: col.count.always('Services on invoices that were made from it.'),
    hours_sold: col.hours('Hours of labor of those services.'),
    book_lines_without_hours: col.count.always(
      'Labor lines of the job whose hours are unknown or out of range. They are not in `book_hours`.',
    ),
    lines_without_hours: col.count.always(
      'Labor lines of those services whose hours are unknown or out of range. They are not in `hours_sold`.',
    ),
  },
  example:
    'select canned_job_key, title, book_hours, times_sold, hours_sold from canned_job_hours where times_sold > 0 order by times_sold desc, canned_job_key limit 10',
  build: (q) => ({
    select: {
      ...takes('j', 'tenant_id', 'shop_id', 'title', 'category_id'),
      tenant_name: q.tenantName('j.tenant_id'),
      shop_key: q.key('j.tenant_id', 'j.shop_id'),
      shop_name: q.name('shops', 'h', 'j.shop_id'),
      canned_job_id: 'j.id',
      canned_job_key: q.key('j.tenant_id', 'j.id'),
      category: 'k.text',
      // Distinguishes no line from an absurd sum.
      book_hours: q.fromNine('(case when b.canned_job_id is null then 0 else b.nine end)'),
      times_sold: 'coalesce(e.services, 0)',
      hours_sold: q.fromNine('(case when g.canned_job_id is null then 0 else g.nine end)'),
      book_lines_without_hours: 'coalesce(b.unknown, 0)',
      lines_without_hours: 'coalesce(g.unknown, 0)',
    },
    from: `{canned_jobs} j
      left join (
        select l.tenant_id, l.canned_job_id, ${q.sumNine('l.hours', absurd.hours)} as nine,
          ${countUnknown(q, 'l.hours', absurd.hours)} as unknown
        from {canned_job_labors} l group by l.tenant_id, l.canned_job_id) b on b.tenant_id = j.tenant_id and b.canned_job_id = j.id
      left join (
        select s.tenant_id, s.canned_job_id, count(*) as services
        from {repair_order_services} s ${joinOrder('s')}
        where o.state = 'invoice' and s.canned_job_id is not null
        group by s.tenant_id, s.canned_job_id) e on e.tenant_id = j.tenant_id and e.canned_job_id = j.id
      left join (
        select s.tenant_id, s.canned_job_id, ${q.sumNine('l.hours', absurd.hours)} as nine,
          ${countUnknown(q, 'l.hours', absurd.hours)} as unknown
        from ${laborsOf('l', 's')} ${joinOrder('l')}
        where o.state = 'invoice' and s.canned_job_id is not null
        group by s.tenant_id, s.canned_job_id) g on g.tenant_id = j.tenant_id and g.canned_job_id = j.id
      left join {shops} h on h.tenant_id = j.tenant_id and h.id = j.shop_id
      left join {categories} k on k.tenant_id = j.tenant_id and k.id = j.category_id
      where j._deleted_at is null`,
  }),
})
