/** The section `metrics`: its defaults and its error messages. */
import { expect, test } from 'vitest'
import { readDocument } from '../../../src/engine/config/load.js'
import { metricsSettings } from '../../../src/features/health/metricssettings.js'
import { checks } from '../../support/harness/checks.js'

const read = (metrics?: object) =>
  metricsSettings(
    readDocument(
      {
        api: { baseUrl: 'https://api.example.com', partnerId: '42', secret: 'x' },
        warehouse: { url: 'sqlite:x' },
        ...(metrics && { metrics }),
      },
      { environment: { FOLDER: '/var/lib' }, workingDirectory: '/', ...checks, name: 'config.json' },
    ).config,
  )

test('by default no file is written, and fifty tenants are distinguished', () => {
  expect(read()).toEqual({ textfile: undefined, maxTenants: 50, labels: {} })
  const given = { textfile: '$' + '{FOLDER}/a.prom', maxTenants: 0, labels: { warehouse: 'main' } }
  expect(read(given)).toEqual({ ...given, textfile: '/var/lib/a.prom' })
})

test.each([
  [{ textfile: '' }, 'metrics.textfile'],
  [{ maxTenants: -1 }, 'a whole number from 0'],
  [{ labels: { 'two words': 'a' } }, 'the name of a label such as "warehouse"'],
  [{ labels: { __name__: 'a' } }, 'the name of a label such as "warehouse"'],
  [{ labels: { warehouse: 1 } }, 'the value of a label'],
  [{ textFile: 'a.prom' }, 'textfile'],
])('%j is refused in words', (metrics, words) => {
  expect(() => read(metrics)).toThrow(words)
})
