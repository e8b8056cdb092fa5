/** The section `report` of the configuration: error messages tell what to type. */
import { expect, test } from 'vitest'
import { readDocument } from '../../../src/engine/config/load.js'
import { reportSettings } from '../../../src/engine/config/reportsection.js'
import { checks } from '../../support/harness/checks.js'

const base = {
  api: { baseUrl: 'https://x.example.com', partnerId: '1', secret: 's' },
  warehouse: { url: 'sqlite:x' },
}
const read = (report: unknown) =>
  reportSettings(
    readDocument(
      { ...base, report },
      { environment: {}, workingDirectory: '/', ...checks, name: 'config.json' },
    ).config,
  )

const refusal = (report: unknown): string => {
  try {
    read(report)
    return 'taken'
  } catch (error) {
    return error instanceof Error ? (error.message.split('\n')[1]?.trim() ?? '') : ''
  }
}

test("by default, days are UTC's and rates are percent", () => {
  expect(read(undefined)).toEqual({
    timeZone: 'UTC',
    shopTimeZones: {},
    taxRates: 'percent',
    unlisted: 'keep',
    schema: undefined,
    names: {},
    tenantNames: {},
    contacts: false,
    waitingForParts: [],
  })
})

test('names are one field or several', () => {
  const { names, shopTimeZones } = read({
    names: { shops: 'title', vehicles: ['year', 'make'] },
    shopTimeZones: { '101/3': 'Asia/Kathmandu' },
  })
  expect(names).toEqual({ shops: ['title'], vehicles: ['year', 'make'] })
  expect(shopTimeZones).toEqual({ '101/3': 'Asia/Kathmandu' })
})

const zone = 'expected the name of a time zone such as "America/Chicago"'
test.each([
  [{ timeZone: 'UTC-6' }, `report.timeZone: found "UTC-6", ${zone}. Use a place name`],
  [{ timeZone: '-06:00' }, `report.timeZone: found "-06:00", ${zone}. Use a place name`],
  [{ timeZone: 'EST' }, `report.timeZone: found "EST", ${zone}. Did you mean "America/New_York"?`],
  [{ timeZone: 'Chicago' }, `report.timeZone: found "Chicago", ${zone}. Did you mean "America/Chicago"?`],
  [{ timeZone: 'europe/berlin' }, `found "europe/berlin", ${zone}. Did you mean "Europe/Berlin"?`],
  [{ timeZone: 'America/Chcago' }, 'Did you mean "America/Chicago"?'],
  [
    { shopTimeZones: { '101/3': 'GMT+2' } },
    `report.shopTimeZones.101/3: found "GMT+2", ${zone}. Use a place name`,
  ],
  [{ shopTimeZones: { '101': 'UTC' } }, 'expected a tenant and a shop, such as "101/3"'],
  [{ timezone: 'UTC' }, 'The nearest known key is "timeZone"'],
  [{ names: { shop: 'name' } }, 'The nearest known key is "shops"'],
  [{ names: { shops: [] } }, 'expected the name of a field as the API sends it, or a list'],
  [{ names: { shops: "x' or 1" } }, 'expected the name of a field as the API sends it'],
  [{ tenantNames: { main: 'A' } }, 'expected the id of a tenant, such as "101"'],
  [{ taxRates: 'fractions' }, 'Did you mean "fraction"?'],
  [{ schema: 'My Views' }, 'expected the name of a Postgres schema'],
])('%j is refused', (report, words) => {
  expect(refusal(report)).toContain(words)
})
