/**
 * The answers to the questions of docs/everyday.md and everyday-2.md, in the same order, as computed by everydayfacts.ts from the
 * records.
 */

import { type Fields, list, type Row } from '../../support/oracle/business/amounts.js'
import { groups, isFirstVisit, minutesFrom } from '../../support/oracle/business/business.js'
import { type Cell, type Facts, type Owned, over, type Period, ratio, sumKnown } from './everydayfacts.js'

type Answer = (facts: Facts) => Row[]
type Figures = (name: string) => Cell

const lastMonth = ['2026-10-01', '2026-10-31'] as const
const between = (day: unknown, [from, to]: readonly [string, string]): boolean =>
  typeof day === 'string' && day >= from && day <= to

const grouped = (periods: readonly Period[], of: (one: Period) => string): [string, Period[]][] =>
  groups(periods, (one) => [of(one)]).map(([first, all]) => [of(first), all])

/** One row per shop, over some of its months. */
const byShop =
  (from: string, to: string, columns: (figure: Figures) => Row): Answer =>
  (facts) =>
    grouped(
      facts.months.filter(({ period }) => period >= from && period <= to),
      ({ key }) => key,
    ).map(([key, periods]) => ({ ...facts.shopOf(key), ...columns(over(periods)) }))

const byShopLastMonth = (columns: (figure: Figures) => Row): Answer => byShop('2026-10', '2026-10', columns)

/** One row for each of the last twelve complete months. */
const byWholeMonth =
  (columns: (figure: Figures) => Row): Answer =>
  (facts) =>
    grouped(
      facts.months.filter((one) => facts.isWhole(one)),
      ({ period }) => period,
    )
      .sort(([a], [b]) => (a < b ? 1 : -1))
      .slice(0, 12)
      .map(([month, periods]) => ({ month, ...columns(over(periods)) }))

const quotient = ({ numerator, denominator }: Cell, factor = 1): number | null =>
  ratio(numerator, denominator, factor)

const top = (rows: Row[], column: string, ...then: string[]): Row[] =>
  rows
    .sort((a, b) => {
      const more = Number(b[column]) - Number(a[column])
      if (more !== 0) return more
      return then.map((name) => (String(a[name]) < String(b[name]) ? -1 : 1))[0] ?? 0
    })
    .slice(0, 10)

const sales = (of: readonly Owned[]): number | null => sumKnown(of.map(({ bill }) => bill.sales))

const shopOf = (facts: Facts, { business, order }: Owned): Row => facts.shop(business.tenant, order.shop_id)

/** Sales of complete months that a shop has in both. */
function inBoth(facts: Facts, later: string, earlier: string): [string, number, number][] {
  const salesIn = (key: string, month: string): number | null | undefined => {
    const found = facts.months.find((one) => one.key === key && one.period === month && facts.isWhole(one))
    return found?.cell('sales_cents').numerator
  }
  return facts.shopKeys.flatMap((key): [string, number, number][] => {
    const [now, before] = [salesIn(key, later), salesIn(key, earlier)]
    return now === undefined || before === undefined ? [] : [[key, now ?? 0, before ?? 0]]
  })
}

const sumOf = (rows: readonly Row[], column: string): number | null =>
  sumKnown(rows.map((row) => row[column] as number | bigint | null))

/** The services of last month's invoices, with their row of `service_totals`. */
function servicesOf(facts: Facts) {
  const totals = new Map(
    facts
      .rows('service_totals')
      .map((row) => [`${row.tenant_id}-${row.repair_order_id}-${row.service_id}`, row]),
  )
  return facts.invoices(...lastMonth).flatMap(({ business, order }) =>
    list(order, 'services').map(({ id, title, category_id: category }) => ({
      business,
      title,
      category: facts.record(business.tenant, 'categories', category)?.text ?? null,
      totals: totals.get(`${business.tenant}-${order.id}-${id}`) ?? {},
    })),
  )
}

const owners: Answer[] = [
  byShopLastMonth((of) => ({
    sales_cents: of('sales_cents').numerator,
    invoices: of('invoices').numerator,
  })),
  byWholeMonth((of) => ({
    sales_cents: of('sales_cents').numerator,
    gross_profit_cents: of('gross_profit_cents').numerator,
  })),
  (facts) =>
    grouped(
      facts.days.filter(({ period }) => between(period, ['2026-11-01', '2026-11-30'])),
      ({ period }) => period,
    ).map(([day, periods]) => ({
      day,
      sales_cents: over(periods)('sales_cents').numerator,
      invoices: over(periods)('invoices').numerator,
    })),
  (facts) =>
    facts.shopKeys
      .filter((key) => (facts.firstDays.get(key) ?? '9') <= '2026-10-03')
      .map((key) => {
        const within = (from: string, to: string): number | null =>
          sales(
            facts
              .invoices(from, to)
              .filter(({ business, order }) => `${business.tenant}-${order.shop_id}` === key),
          )
        return {
          ...facts.shopOf(key),
          this_month_cents: within('2026-11-01', '2026-11-19') ?? 0,
          last_month_cents: within('2026-10-01', '2026-10-19') ?? 0,
        }
      }),
  (facts) =>
    inBoth(facts, '2026-10', '2026-09').map(([key, last_month_cents, month_before_cents]) => ({
      ...facts.shopOf(key),
      last_month_cents,
      month_before_cents,
    })),
  (facts) => {
    const both = inBoth(facts, '2026-10', '2025-10')
    const [now, before] = [sumKnown(both.map(([, one]) => one)), sumKnown(both.map(([, , one]) => one))]
    const growth = ratio(now, before, 100)
    return [
      {
        this_year_cents: now,
        last_year_cents: before,
        growth_percent: growth === null ? null : growth - 100,
      },
    ]
  },
  byShop('2026-08', '2026-10', (of) => ({ average_cents: quotient(of('average_repair_order')) })),
  byShopLastMonth((of) => ({
    invoices_left_out: of('gross_margin').left,
    gross_margin_percent: quotient(of('gross_margin'), 100),
  })),
  (facts) =>
    groups(facts.invoices(...lastMonth), ({ business }) => [business.tenant]).map(([{ business }, all]) => {
      const different = (name: string): number =>
        new Set(all.map(({ order }) => order[name]).filter((id) => id !== null)).size
      return {
        ...facts.tenant(business),
        cars: different('vehicle_id'),
        customers: different('customer_id'),
      }
    }),
  (facts) =>
    top(
      groups(
        facts.invoices('2025-11-01', '2026-10-31').filter(({ order }) => order.customer_id !== null),
        ({ business, order }) => [business.tenant, order.customer_id],
      ).map(([{ business, order }, all]) => ({
        ...facts.customer(business.tenant, order.customer_id),
        visits: new Set(all.map(({ business, order }) => business.closed(order))).size,
        sales_cents: sales(all),
      })),
      'sales_cents',
      'customer_key',
    ),
  byWholeMonth((of) => ({ new_customers: of('new_customers').numerator })),
  (facts) =>
    groups(facts.invoices(...lastMonth), ({ order }) => [order.customer_source]).map(([{ order }, all]) => ({
      customer_source: order.customer_source,
      invoices: all.length,
      sales_cents: sales(all),
    })),
  (facts) =>
    groups(valued(facts), ({ business, standing }) => [business.tenant, standing]).map(([first, all]) => ({
      ...facts.tenant(first.business),
      standing: first.standing,
      customers: all.length,
      sales_cents: sumKnown(all.map((one) => one.sales)),
    })),
  (facts) =>
    valued(facts)
      .filter(({ standing, record }) => /lapsing|lost/.test(standing) && record.marketing_ok === true)
      .map(({ business, record, last, sales }) => ({
        ...facts.customer(business.tenant, record.id),
        email: record.email === '' ? null : record.email,
        last_visit_on: last && business.closed(last.order),
        sales_cents: sales,
      })),
  (facts) =>
    groups(facts.invoices(...lastMonth), ({ business, order }) => [business.tenant, order.shop_id]).map(
      ([first, all]) => ({
        ...shopOf(facts, first),
        labor_cents: sumKnown(all.map(({ bill }) => bill.gross.labor - bill.discount.labor)),
        parts_cents: sumKnown(all.map(({ bill }) => bill.gross.part - bill.discount.part)),
        other_cents: sumKnown(all.map(({ bill }) => bill.gross.sublet + bill.gross.hazmat)),
      }),
    ),
  (facts) => {
    const sold = new Set(
      facts.invoices(...lastMonth).map(({ business, order }) => `${business.tenant}-${order.id}`),
    )
    const lines = facts
      .rows('order_lines')
      .filter((row) => sold.has(`${row.tenant_id}-${row.repair_order_id}`))
    return groups(lines, ({ kind }) => [kind]).map(([{ kind }, all]) => ({
      kind,
      gross_profit_cents: sumOf(all, 'gross_profit_cents'),
      lines_left_out: all.filter((row) => row.gross_profit_cents === null).length,
      gross_margin_percent: ratio(
        sumOf(all, 'gross_profit_cents'),
        sumOf(all, 'net_where_profit_known_cents'),
        100,
      ),
    }))
  },
  (facts) =>
    top(
      groups(servicesOf(facts), ({ business, title }) => [business.tenant, title]).map(
        ([{ business, title }, all]) => ({
          ...facts.tenant(business),
          title,
          services: all.length,
          sales_cents: sumKnown(all.map(({ totals }) => totals.sales_cents as bigint)),
        }),
      ),
      'sales_cents',
      'tenant_id',
      'title',
    ),
  byShopLastMonth((of) => {
    const [discounts, net] = [of('discounts_cents').numerator, of('sales_cents').numerator]
    return {
      discounts_cents: discounts,
      percent_of_gross: ratio(discounts, (net ?? 0) + (discounts ?? 0), 100),
    }
  }),
  (facts) => {
    const days = facts.days.filter(({ period }) => between(period, ['2026-08-01', '2026-10-31']))
    const weekday = (day: string): number => ((new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7) + 1
    const names = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
    return grouped(days, ({ period }) => String(weekday(period))).map(([number, periods]) => ({
      weekday: number,
      weekday_name: names[Number(number) - 1],
      invoices: over(periods)('invoices').numerator,
      sales_cents: over(periods)('sales_cents').numerator,
    }))
  },
  (facts) =>
    facts.months
      .filter(({ key, period }) => period === '2026-10' && !key.endsWith('none'))
      .map((one) => ({
        ...facts.shopOf(one.key),
        first_day: facts.firstDays.get(one.key) ?? null,
        is_whole: facts.isWhole(one),
      })),
  (facts) => {
    const of = (all: readonly Owned[], isOne: (order: Fields) => boolean): number =>
      sales(all.filter(({ order }) => isOne(order))) ?? 0
    return groups(facts.invoices(...lastMonth), ({ business, order }) => [
      business.tenant,
      order.shop_id,
    ]).map(([first, all]) => ({
      ...shopOf(facts, first),
      labeled_cents: of(all, ({ label }) => (label as Fields | null | undefined)?.text === 'Fleet'),
      of_that_source_cents: of(all, ({ customer_source }) => customer_source === 'Fleet'),
    }))
  },
  (facts) =>
    groups(facts.bills, ({ business, order }) => [business.tenant, order.shop_id]).map(([first, all]) => {
      const since = (instant: string) => (one: Owned) =>
        (one.business.day(one.order.shop_id, one.order[instant]) ?? '') >= '2026-11-16'
      const closed = all.filter(since('closed_at'))
      return {
        ...shopOf(facts, first),
        created: all.filter(since('created_at')).length,
        begun: all.filter(since('started_at')).length,
        closed: closed.length,
        new_customers: closed.filter(({ business, order }) => isFirstVisit(business, order) === true).length,
      }
    }),
  (facts) =>
    groups(facts.deleted, ({ business, order }) => [business.tenant, order.shop_id, order.state]).map(
      ([first, all]) => ({
        ...shopOf(facts, first),
        state: first.order.state,
        orders: all.length,
        sales_cents: sales(all),
        paid_cents: sumKnown(all.map(({ bill }) => bill.paid)),
      }),
    ),
]

const hoursOf = (facts: Facts): [Row, Row[]][] =>
  groups(
    facts.rows('technician_hours').filter(({ day }) => between(day, lastMonth)),
    ({ tenant_id, technician_id }) => [tenant_id, technician_id],
  )

const isOpen = (state: string) => (one: Owned) => one.order.state === state

const isSold = (sold: ReadonlySet<string>, tenant: number, made: Fields): boolean =>
  made.approved === true || made.imported === true || sold.has(`${tenant}-${made.id}`)

const soldLater = (facts: Facts): ReadonlySet<string> =>
  new Set(
    facts
      .all('past_recommendations')
      .filter(({ record }) => record.imported === true)
      .map(({ business, record }) => `${business.tenant}-${record.recommendation_id}`),
  )

const dayNumber = (day: string): number => Date.parse(day) / 86_400_000

const managers: Answer[] = [
  (facts) =>
    hoursOf(facts).map(([{ tenant_id, technician_id }, rows]) => ({
      ...facts.staff('technician', tenant_id, technician_id),
      hours: sumOf(rows, 'sold_hours'),
      labors_left_out: sumOf(rows, 'hours_unknown'),
    })),
  (facts) =>
    hoursOf(facts).map(([{ tenant_id, technician_id }, rows]) => ({
      ...facts.staff('technician', tenant_id, technician_id),
      cents_an_hour: ratio(sumOf(rows, 'labor_cents'), sumOf(rows, 'rated_hours')),
    })),
  byShopLastMonth((of) => ({ cents_an_hour: quotient(of('effective_labor_rate')) })),
  (facts) =>
    groups(servicesOf(facts), ({ business, category }) => [business.tenant, category]).map(
      ([{ business, category }, all]) => {
        const of = (column: string): number =>
          sumOf(
            all.map(({ totals }) => totals),
            column,
          ) ?? 0
        return {
          ...facts.tenant(business),
          category,
          cents_an_hour: ratio(of('labor_cents') - of('labor_discount_cents'), of('rated_hours')),
        }
      },
    ),
  byShopLastMonth((of) => ({
    hours: of('hours_sold').numerator,
    hours_an_order: quotient(of('hours_per_order')),
  })),
  (facts) =>
    groups(facts.bills.filter(isOpen('in_progress')), ({ business, order }) => [
      business.tenant,
      order.shop_id,
    ]).map(([first, all]) => ({
      ...shopOf(facts, first),
      orders: all.length,
      sales_cents: sales(all),
    })),
  (facts) =>
    facts.bills
      .filter(isOpen('in_progress'))
      .filter(
        ({ order }) =>
          typeof order.due_out_at === 'string' && Date.parse(order.due_out_at) < Date.parse(facts.world.now),
      )
      .map((one) => ({
        ...shopOf(facts, one),
        number: one.order.number,
        customer_name: facts.customer(one.business.tenant, one.order.customer_id).customer_name,
        technician_name: facts.staff('technician', one.business.tenant, one.order.technician_id)
          .technician_name,
        sales_cents: one.bill.sales,
      })),
  (facts) =>
    groups(facts.bills.filter(isOpen('estimate')), ({ business, order }) => [
      business.tenant,
      order.advisor_id,
    ]).map(([{ business, order }, all]) => ({
      ...facts.staff('advisor', business.tenant, order.advisor_id),
      estimates: all.length,
      sales_cents: sales(all),
    })),
  byShopLastMonth((of) => ({ close_rate_percent: quotient(of('estimate_close_rate'), 100) })),
  byShop('2026-08', '2026-10', (of) => ({
    recommendations: of('recommendation_close_rate').denominator,
    close_rate_percent: quotient(of('recommendation_close_rate'), 100),
  })),
  (facts) => {
    const sold = soldLater(facts)
    const made = facts.all('recommendations').flatMap(({ business, record }) => {
      const order = business.byOrder.get(Number(record.repair_order_id))?.order
      const day = business.day(order?.shop_id, record.created_at)
      return order && between(day, ['2026-08-01', '2026-10-31']) ? [{ business, record, order }] : []
    })
    return groups(made, ({ business, order }) => [business.tenant, order.advisor_id]).map(
      ([{ business, order }, all]) => ({
        ...facts.staff('advisor', business.tenant, order.advisor_id),
        recommendations: all.length,
        close_rate_percent: ratio(
          all.filter(({ record }) => isSold(sold, business.tenant, record)).length,
          all.length,
          100,
        ),
      }),
    )
  },
  (facts) => {
    const closed = new Set(
      facts
        .all('past_recommendations')
        .filter(({ record: { imported, done, approved } }) => [imported, done, approved].includes(true))
        .map(({ business, record }) => `${business.tenant}-${record.recommendation_id}`),
    )
    const values = new Map(
      facts
        .rows('recommendation_conversion')
        .map((row) => [`${row.tenant_id}-${row.recommendation_id}`, row.value_cents]),
    )
    const left = facts
      .all('recommendations')
      .filter(
        ({ business, record }) =>
          record.approved === false &&
          record.imported !== true &&
          !closed.has(`${business.tenant}-${record.id}`),
      )
    return groups(left, ({ business }) => [business.tenant]).map(([{ business }, all]) => ({
      ...facts.tenant(business),
      recommendations: all.length,
      value_cents: sumKnown(
        all.map(({ record }) => values.get(`${business.tenant}-${record.id}`) as bigint | null),
      ),
    }))
  },
  (facts) =>
    facts
      .rows('recommendation_conversion')
      .filter(({ is_approved_unsold }) => is_approved_unsold === true)
      .map((row) => {
        const made = facts.record(row.tenant_id, 'recommendations', row.recommendation_id)
        const order = facts.record(row.tenant_id, 'repair_orders', made?.repair_order_id)
        return {
          ...facts.shop(row.tenant_id, order?.shop_id),
          ...facts.customer(row.tenant_id, order?.customer_id),
          description: made?.description,
          value_cents: row.value_cents,
        }
      }),
  byShopLastMonth((of) => ({ days: quotient(of('days_to_close'), 1 / 1440) })),
  byShopLastMonth((of) => ({ late_percent: quotient(of('share_late'), 100) })),
  byShopLastMonth((of) => ({
    appointments_left_out: of('appointments_kept').left,
    kept_percent: quotient(of('appointments_kept'), 100),
  })),
  (facts) => {
    const planned = facts
      .all('appointments')
      .map(({ business, record }) => ({
        business,
        record,
        day: business.day(record.shop_id, record.start_at),
      }))
      .filter(({ day }) => between(day, ['2026-11-20', '2026-11-27']))
    return groups(planned, ({ business, record, day }) => [day, business.tenant, record.shop_id]).map(
      ([{ business, record, day }, all]) => ({
        day,
        ...facts.shop(business.tenant, record.shop_id),
        appointments: all.length,
        minutes: sumKnown(all.map(({ record: { start_at, end_at } }) => minutesFrom(start_at, end_at))),
      }),
    )
  },
  (facts) => {
    const followed = facts.invoices('2026-09-01', '2026-09-30').filter(({ business, order }) =>
      business.bills.some(({ order: other }) => {
        if (other === order || other.state === 'estimate' || other.vehicle_id !== order.vehicle_id)
          return false
        if (order.vehicle_id === null) return false
        const [closed, created] = [business.closed(order), business.day(other.shop_id, other.created_at)]
        if (closed === null || created === null) return false
        const days = dayNumber(created) - dayNumber(closed)
        return days >= 0 && days <= 30
      }),
    )
    return groups(followed, ({ business, order }) => [business.tenant, order.shop_id]).map(
      ([first, all]) => ({
        ...shopOf(facts, first),
        invoices_followed: all.length,
      }),
    )
  },
  (facts) =>
    groups(facts.invoices(...lastMonth), ({ business, order }) => [business.tenant, order.advisor_id]).map(
      ([{ business, order }, all]) => ({
        ...facts.staff('advisor', business.tenant, order.advisor_id),
        sales_cents: sales(all),
        average_cents: ratio(sales(all), all.length),
      }),
    ),
  (facts) =>
    groups(facts.rows('canned_job_hours'), ({ shop_key }) => [shop_key]).map(([first, rows]) => ({
      ...facts.shopOf(String(first.shop_key)),
      planned_hours: sumKnown(rows.map((row) => Number(row.book_hours) * Number(row.times_sold))),
      hours_sold: sumOf(rows, 'hours_sold'),
      labors_left_out: sumOf(rows, 'lines_without_hours'),
    })),
]

const paymentsLastMonth = (facts: Facts): Row[] =>
  facts.rows('payments_daily').filter(({ day }) => between(day, lastMonth))

const balances = (facts: Facts, isSuch: (balance: bigint) => boolean): Owned[] =>
  facts.bills.filter(
    ({ bill, order }) => order.state === 'invoice' && bill.balance !== null && isSuch(bill.balance),
  )

const byCustomer = (of: readonly Owned[]): [Owned, Owned[]][] =>
  groups(of, ({ business, order }) => [business.tenant, order.customer_id])

const bucketOf = (days: number): string =>
  days <= 30 ? '0 to 30' : days <= 60 ? '31 to 60' : days <= 90 ? '61 to 90' : 'over 90'

const owed = (of: readonly Owned[]): number | null => sumKnown(of.map(({ bill }) => bill.balance))

const bookkeepers: Answer[] = [
  (facts) =>
    groups(paymentsLastMonth(facts), ({ type }) => [type]).map(([{ type }, rows]) => ({
      type,
      payments: sumOf(rows, 'payments'),
      collected_cents: sumOf(rows, 'amount_cents'),
    })),
  (facts) =>
    groups(paymentsLastMonth(facts), ({ tenant_id, shop_id }) => [tenant_id, shop_id]).map(
      ([{ tenant_id, shop_id }, rows]) => ({
        ...facts.shop(tenant_id, shop_id),
        refunds: sumOf(rows, 'refund_payments'),
        refund_cents: sumOf(rows, 'refund_cents'),
      }),
    ),
  byShopLastMonth((of) => ({ deposits_cents: of('deposits_cents').numerator })),
  (facts) => {
    const isHeld = ({ state }: Row): boolean => state !== null && state !== 'invoice'
    const held = facts.rows('payments_ledger').filter(isHeld)
    return groups(held, ({ tenant_id, shop_id }) => [tenant_id, shop_id]).map(([first, rows]) => ({
      ...facts.shop(first.tenant_id, first.shop_id),
      orders: new Set(rows.map((row) => row.repair_order_id)).size,
      deposits_held_cents: sumOf(rows, 'amount_cents'),
    }))
  },
  (facts) => {
    const isCash = ({ type, day }: Row): boolean =>
      type === 'Cash' && between(day, ['2026-11-01', '2026-11-20'])
    const cash = facts.rows('payments_daily').filter(isCash)
    return groups(cash, ({ day, tenant_id, shop_id }) => [day, tenant_id, shop_id]).map(([first, rows]) => ({
      day: first.day,
      ...facts.shop(first.tenant_id, first.shop_id),
      payments: sumOf(rows, 'payments'),
      cash_cents: sumOf(rows, 'amount_cents'),
    }))
  },
  byShopLastMonth((of) => ({
    tax_cents: of('tax_cents').numerator,
    invoices_with_unknown_tax: of('tax_cents').left,
  })),
  byShopLastMonth((of) => ({
    exempt_sales_cents: of('exempt_sales_cents').numerator,
    invoices_left_out: of('exempt_sales_cents').left,
  })),
  (facts) => {
    const bucket = ({ business, order }: Owned): string => bucketOf(business.age(order) ?? 0)
    return groups(
      balances(facts, (balance) => balance > 0n),
      (one) => [bucket(one)],
    ).map(([first, all]) => ({ bucket: bucket(first), invoices: all.length, owed_cents: owed(all) }))
  },
  (facts) => {
    const [, end] = lastMonth
    const closed = facts.invoices('2020-01-01', end).flatMap(({ business, bill, order }) => {
      const isPaid = ({ tenant_id, repair_order_id, paid_on }: Row): boolean =>
        tenant_id === business.tenant &&
        repair_order_id === order.id &&
        (paid_on === null || String(paid_on) <= end)
      const paid = sumOf(facts.rows('payments_ledger').filter(isPaid), 'amount_cents') ?? 0
      const balance = bill.total === null ? 0 : Number(bill.total) - paid
      const days = dayNumber(end) - dayNumber(business.closed(order) ?? end)
      return balance > 0 ? [{ bucket: bucketOf(days), balance }] : []
    })
    return groups(closed, ({ bucket }) => [bucket]).map(([{ bucket }, all]) => ({
      bucket,
      owed_cents: sumKnown(all.map(({ balance }) => balance)),
    }))
  },
  (facts) =>
    top(
      byCustomer(
        balances(facts, (balance) => balance > 0n).filter(({ order }) => order.customer_id !== null),
      ).map(([{ business, order }, all]) => ({
        ...facts.customer(business.tenant, order.customer_id),
        invoices: all.length,
        owed_cents: owed(all),
      })),
      'owed_cents',
      'customer_key',
    ),
  (facts) =>
    byCustomer(balances(facts, (balance) => balance < 0n)).map(([{ business, order }, all]) => ({
      ...facts.customer(business.tenant, order.customer_id),
      credit_cents: owed(all),
    })),
  (facts) =>
    grouped(
      facts.months.filter(({ period }) => period >= '2026-08' && period <= '2026-10'),
      ({ period }) => period,
    ).map(([month, periods]) => ({
      month,
      invoiced_cents: over(periods)('invoiced_cents').numerator,
      collected_cents: over(periods)('collected_cents').numerator,
      invoices_left_out: over(periods)('invoiced_cents').left,
    })),
  (facts) =>
    facts
      .rows('totals_check')
      .filter(({ month }) => month === '2026-10')
      .map((row) => ({
        ...facts.shop(row.tenant_id, row.shop_id),
        invoices: row.invoices,
        equal: Number(row.equal_to_the_cent) + Number(row.off_by_rounding),
        off: row.off_by_more,
        unpaid: row.unpaid,
        unknown: row.total_unknown,
      })),
  (facts) => {
    const attempts = facts.all('payment_transactions')
    const isApproved = ({ status }: Fields): boolean => status === 'approved'
    const failed = attempts.filter(({ business, record }) => {
      const shop = business.byOrder.get(Number(record.repair_order_id))?.order.shop_id
      return !isApproved(record) && between(business.day(shop, record.created_at), lastMonth)
    })
    const isAfter = (later: Fields, earlier: Fields): boolean => {
      const [a, b] = [String(later.created_at), String(earlier.created_at)]
      return a > b || (a === b && Number(later.id) > Number(earlier.id))
    }
    return groups(failed, ({ business }) => [business.tenant]).map(([{ business }, all]) => ({
      ...facts.tenant(business),
      declined: all.length,
      paid_after_all: all.filter(({ record }) =>
        attempts.some(
          (other) =>
            other.business === business &&
            other.record.repair_order_id === record.repair_order_id &&
            isApproved(other.record) &&
            isAfter(other.record, record),
        ),
      ).length,
    }))
  },
  (facts) => {
    const months = groups(facts.shopKeys, (key) => [facts.today(key).slice(0, 7)])
    return months.map(([first, keys]) => {
      const isHere = ({ business, order }: Owned): boolean =>
        keys.includes(`${business.tenant}-${order.shop_id}`)
      return {
        month: facts.today(first).slice(0, 7),
        receivables_cents: owed(balances(facts, (balance) => balance > 0n).filter(isHere)) ?? 0,
        work_in_progress_cents: sales(facts.bills.filter(isOpen('in_progress')).filter(isHere)) ?? 0,
      }
    })
  },
]

/** Stock items as the view shows them, with their record. */
const stock = (facts: Facts): { readonly row: Row; readonly item: Fields }[] =>
  facts.rows('inventory_value').map((row) => {
    const item = facts.record(row.tenant_id, 'inventories', row.inventory_id)
    if (!item) throw new Error(`no inventory item ${row.inventory_id}`)
    return { row, item }
  })

const stockByShop = (facts: Facts, isSuch: (row: Row) => boolean): [Row, Row[]][] =>
  groups(
    stock(facts).filter(({ row }) => isSuch(row)),
    ({ row, item }) => [row.tenant_id, item.shop_id],
  ).map(([{ row, item }, all]) => [facts.shop(row.tenant_id, item.shop_id), all.map((one) => one.row)])

const partsManagers: Answer[] = [
  (facts) =>
    stockByShop(facts, ({ on_hand_cents }) => on_hand_cents !== null).map(([shop, rows]) => ({
      ...shop,
      stock_cents: sumOf(rows, 'on_hand_cents'),
      turns: rows.some(({ shop_is_new }) => shop_is_new)
        ? null
        : ratio(sumOf(rows, 'sold_cost_cents'), sumOf(rows, 'on_hand_cents')),
    })),
  (facts) =>
    stock(facts)
      .filter(({ row }) => row.below_min === true)
      .map(({ row, item }) => ({
        ...facts.shop(row.tenant_id, item.shop_id),
        brand: item.brand,
        part_number: item.number,
        description: item.description,
        quantity_on_hand: row.quantity_on_hand,
        min_stock: row.min_stock,
      })),
  (facts) => {
    const bought = facts
      .rows('purchases')
      .filter(({ day }) => between(day, lastMonth))
      .map((row) => ({
        row,
        vendor: facts.record(row.tenant_id, 'purchase_records', row.purchase_record_id)?.vendor_id ?? null,
      }))
    return groups(bought, ({ row, vendor }) => [row.tenant_id, vendor]).map(([{ row, vendor }, all]) => ({
      ...facts.vendor(row.tenant_id, vendor),
      purchases_cents: sumKnown(all.map((one) => one.row.amount_cents as bigint | null)),
      lines_left_out: all.filter((one) => one.row.amount_cents === null).length,
    }))
  },
  byShopLastMonth((of) => ({
    parts_left_out: of('parts_margin').left,
    parts_margin_percent: quotient(of('parts_margin'), 100),
  })),
  (facts) =>
    stockByShop(
      facts,
      (row) =>
        (row.last_sold_on === null || String(row.last_sold_on) < '2025-11-20') &&
        String(row.created_on) < '2025-11-20' &&
        facts.record(row.tenant_id, 'inventories', row.inventory_id)?.type === 'PartInventory' &&
        row.sold_unknown === 0 &&
        Number(row.on_hand_cents) > 0,
    ).map(([shop, rows]) => ({
      ...shop,
      items: rows.length,
      stock_cents: sumOf(rows, 'on_hand_cents'),
    })),
  (facts) => {
    const sold = facts
      .invoices(...lastMonth)
      .flatMap(({ business, bill }) =>
        bill.lines.filter(({ kind }) => kind === 'part').map((line) => ({ business, line })),
      )
    return top(
      groups(sold, ({ business, line }) => [business.tenant, line.item.brand, line.item.number]).map(
        ([{ business, line }, all]) => ({
          ...facts.tenant(business),
          brand: line.item.brand,
          part_number: line.item.number,
          units: sumKnown(all.map((one) => (one.line.units === null ? null : Number(one.line.units) / 1e9))),
          sold_cents: sumKnown(all.map((one) => one.line.amount ?? 0n)),
        }),
      ),
      'sold_cents',
      'tenant_id',
      'part_number',
    )
  },
  byWholeMonth((of) => ({
    purchases_cents: of('purchases_cents').numerator,
    cost_of_parts_sold_cents: of('parts_cost_cents').numerator,
  })),
  (facts) =>
    facts
      .rows('parts_on_order')
      .filter((row) => row.is_estimate === false && Number(row.needed) > 0)
      .map(({ number, part_number, quantity, needed, ordered, received, on_hand, ...row }) => ({
        ...facts.shop(row.tenant_id, row.shop_id),
        ...{ number, part_number, quantity, needed, ordered, received, on_hand },
      })),
]

const operators: Answer[] = [
  () => [
    { mode: 'reconcile', status: 'ok', runs: 1 },
    { mode: 'sync', status: 'ok', runs: 2 },
  ],
]

/** Customers with their last visit, and whether they still come. */
const valued = (facts: Facts) =>
  facts.all('customers').map(({ business, record }) => {
    const visits = facts.bills.filter(
      (one) =>
        one.business === business && one.order.state === 'invoice' && one.order.customer_id === record.id,
    )
    const [last] = visits.sort(
      (a, b) =>
        (business.closed(b.order) ?? '').localeCompare(business.closed(a.order) ?? '') ||
        Number(b.order.id) - Number(a.order.id),
    )
    const age = last === undefined ? 0 : (business.age(last.order) ?? 0)
    const standing = last === undefined ? 'never' : age <= 180 ? 'active' : age <= 365 ? 'lapsing' : 'lost'
    return { business, record, last, standing, sales: sales(visits) ?? 0 }
  })

/** One for each question of the two pages. */
export const answers: readonly Answer[] = [
  ...owners,
  ...managers,
  ...bookkeepers,
  ...partsManagers,
  ...operators,
]
