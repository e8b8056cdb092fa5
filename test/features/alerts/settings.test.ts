// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
/** The section `alerts`: its defaults, and that no text of it contains a secret. */
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { readDocument } from '../../../src/engine/config/load.js'
import { type AlertSettings, alertKinds, alertSettings } from '../../../src/features/health/alertsettings.js'
import { checks } from '../../support/harness/checks.js'

const key = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const hook = 'https://hooks.example.com/services/T0/hidden-token'

const read = (alerts: object, api: object = {}): AlertSettings =>
  alertSettings(
    readDocument(
      {
        api: { baseUrl: 'https://api.example.com', partnerId: '42', secret: 'x', ...api },
        warehouse: { url: 'sqlite:x' },
        alerts,
      },
      { environment: { HOOK: hook, KEY: key }, workingDirectory: '/', ...checks, name: 'config.json' },
    ).config,
  )

describe('alerts', () => {
  test('are off without rules; a rule reports all kinds at once by default', () => {
    expect(read({})).toEqual({ rules: [], heartbeat: undefined })
    const rules = [
      { command: ['mail'] },
      { webhook: '${HOOK}', secret: '${KEY}', on: ['stale'], after: 'PT2H' },
    ]
    const [all, stale] = read({ rules }).rules
    expect(all).toMatchObject({
      on: alertKinds.filter((kind) => !['behind_target', 'quiet'].includes(kind)),
      after: 0,
      command: ['mail'],
      webhook: undefined,
    })
    expect(stale).toMatchObject({ on: ['stale'], after: 7_200_000, command: undefined })
    expect([stale?.webhook?.reveal(), stale?.secret?.reveal()]).toEqual([hook, key])
  })

  test('plain http is for this machine, or where it is allowed', () => {
    expect(read({ heartbeat: 'http://127.0.0.1:8000/' }).heartbeat?.reveal()).toContain('127')
    const open = read({ heartbeat: 'http://beats.example.com/' }, { allowInsecure: true })
    expect(open.heartbeat).toBeDefined()
  })

  test('show no secret, however the configuration is printed', () => {
    const alerts = read({ rules: [{ webhook: hook, secret: key }], heartbeat: hook })
    for (const text of [inspect(alerts, { depth: 9 }), JSON.stringify(alerts), `${alerts.heartbeat}`])
      for (const secret of ['hidden-token', key]) expect(text).not.toContain(secret)
  })
})
