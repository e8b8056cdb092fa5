import { col, defineView, takes } from '../view.js'

/** The names of the days, Monday first. */
const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']

export default defineView({
  name: 'dim_days',
  doc: 'Calendar days from 1990 to ten years from now. Days in other views refer to it.',
  grain: 'one calendar day',
  isForAll: true,
  columns: {
    day: col.day.unique('The day. Unique.'),
    month: col.day.always('The first day of its month.'),
    quarter: col.text.always('Its quarter, such as `2026-Q3`.'),
    year: col.integer.always('Its year.'),
    month_of_year: col.integer.always('1 for January to 12 for December.'),
    day_of_month: col.integer.always('1 to 31.'),
    weekday: col.integer.always('1 for Monday to 7 for Sunday.'),
    weekday_name: col.text.always('`Monday` to `Sunday`.'),
    day_number: col.integer.always('Days since 1970-01-01. Subtract two to get the days between them.'),
    week: col.day.always('The Monday of its week: the week of ISO 8601.'),
    week_from_sunday: col.day('The Sunday of its week, if weeks begin on Sundays.'),
  },
  example: `select d.month, sum(o.sales_cents) as sales_cents
from orders o join dim_days d on d.day = o.closed_on
where o.state = 'invoice'
group by d.month
order by d.month desc
limit 12`,
  build: (q) => {
    const part = (at: number, digits: number): string =>
      `cast(substr(${q.dayText('d.day')}, ${at}, ${digits}) as bigint)`
    const month = part(6, 2)
    const quarter = q.quotient(`(${month} + 2)`, '3')
    const names = weekdays.map((name, i) => `when ${i + 1} then '${name}'`)
    return {
      select: {
        ...takes('d', 'day', 'month', 'weekday', 'day_number'),
        quarter: `substr(${q.dayText('d.day')}, 1, 4) || '-Q' || cast(${quarter} as text)`,
        year: part(1, 4),
        month_of_year: month,
        day_of_month: part(9, 2),
        week: 'w.day',
        week_from_sunday: 'u.day',
        weekday_name: `case d.weekday ${names.join(' ')} end`,
      },
      from: '{report_calendar} d\nleft join {report_calendar} w on w.day_number = d.day_number - d.weekday + 1\nleft join {report_calendar} u on u.day_number = d.day_number - d.weekday % 7',
    }
  },
})
