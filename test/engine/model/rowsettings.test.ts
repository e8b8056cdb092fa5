/** What shapes rows, as one text: which settings it depends on, and which it doesn't. */
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { readDocument } from '../../../src/engine/config/load.js'
import { programKey, rowSettingsText } from '../../../src/engine/model/rowsettings.js'
import { features } from '../../../src/main.js'
import { checks } from '../../support/harness/declared.js'
import { model } from '../../support/harness/model.js'

const document = {
  api: { baseUrl: 'https://x.example.com', partnerId: '1', secret: 's' },
  warehouse: { url: 'sqlite:x' },
  report: { shopTimeZones: { '1/2': 'America/Chicago', '1/1': 'America/Denver' } },
  resources: { vehicles: { columns: { a: 'text', b: 'integer' } } },
}

async function textOf(more: object): Promise<string> {
  const around = { environment: {}, workingDirectory: '/', ...checks, name: 'config.json' }
  const { config } = readDocument({ ...document, ...more }, around)
  const ofFeatures = await Promise.all(features.map((feature) => feature.shapesRows?.(config)))
  return rowSettingsText(model(resources, config.resources), Object.assign({}, ...ofFeatures))
}

const parsed = async (more: object): Promise<Record<string, string>> => JSON.parse(await textOf(more))

/** The settings in which it differs from the usual one. */
async function differing(more: object): Promise<string[]> {
  const [ours, theirs] = [await parsed({}), await parsed(more)]
  return Object.keys({ ...ours, ...theirs }).filter((name) => ours[name] !== theirs[name])
}

const { vehicles } = document.resources
const { report } = document

describe('what shapes rows', () => {
  it.each([
    ['report.timeZone', { report: { ...report, timeZone: 'Europe/Berlin' } }],
    ['report.shopTimeZones', { report: { shopTimeZones: { '1/1': 'America/Denver' } } }],
    ['report.taxRates', { report: { ...report, taxRates: 'fraction' } }],
    ['report.unlisted', { report: { ...report, unlisted: 'leave out' } }],
    ['report.names', { report: { ...report, names: { shops: 'title' } } }],
    ['report.tenantNames', { report: { ...report, tenantNames: { '1': 'Main Street Auto' } } }],
    ['resources.vehicles.columns', { resources: { vehicles: { columns: { a: 'text', b: 'text' } } } }],
    ['resources.vehicles.columns', { resources: {} }],
    ['resources.customers.columns', { resources: { vehicles, customers: { columns: { c: 'text' } } } }],
    ['resources.notes.history', { resources: { vehicles, notes: { history: true } } }],
    ['resources.notes.path', { resources: { vehicles, notes: { path: 'v2/notes' } } }],
  ])('includes %s', async (name, more) => {
    expect(await differing(more)).toEqual([name])
  })

  it.each([
    ['the order of members', { resources: { vehicles: { columns: { b: 'integer', a: 'text' } } } }],
    ['which lists are read', { resources: { vehicles, notes: { enabled: false } } }],
    ['defaults that are written out', { resources: { vehicles, notes: { history: false, path: 'notes' } } }],
    ['where views are', { report: { ...report, schema: 'elsewhere' } }],
    ['how lists are read', { sync: { overlap: 'PT1H', concurrency: 2, resources: ['notes'] } }],
    [
      'the source and the warehouse',
      { api: { ...document.api, secret: 't' }, warehouse: { url: 'sqlite:y' } },
    ],
  ])('leaves out %s', async (_what, more) => {
    expect(await textOf(more)).toBe(await textOf({}))
  })

  it('includes the tables and rules of the program, and no value', async () => {
    const text = await textOf({})
    expect(JSON.parse(text)).toHaveProperty([programKey])
    expect(text).not.toContain('Chicago')
  })
})
