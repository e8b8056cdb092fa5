/**
 * A year in the life of a warehouse of five tenants: 8,760 hourly syncs and 365 nightly reconciles on a simulated
 * clock, with deletions, restores, revocations, outages, kills, wrong clocks, a moved API, a restored warehouse and
 * columns that come and go. YEAR_DAYS=… shortens it, YEAR_FROM=… starts on a later day, YEAR_SEED=… plays another year.
 */
import { describe, expect, it } from 'vitest'
import { warehouses } from '../support/harness/warehouse.js'
import { Year } from '../support/world/year.js'

const { YEAR_DAYS = '365', YEAR_FROM = '0', YEAR_SEED = '20260101' } = process.env

describe.each(warehouses())('on $name', ({ name, address }) => {
  it('reports it whenever it is incomplete, and is equal at the end of each month', async () => {
    const days = Number(YEAR_DAYS)
    const tally = await new Year(address(), Number(YEAR_SEED)).run(days, Number(YEAR_FROM))
    console.log(`${name}, ${days} days: ${JSON.stringify(tally)}`)
    expect(tally.runs).toBe(days * 25 + tally.months)
    if (days < 31) return
    expect(tally.kills).toBeGreaterThan(tally.months * 5)
    // Five hours without the API, two days without a tenant, four hours under an address that nobody has adopted.
    expect(tally.less).toBeGreaterThan(tally.months * 50)
    expect(tally.whole).toBeGreaterThan(tally.less * 5)
  })
})
