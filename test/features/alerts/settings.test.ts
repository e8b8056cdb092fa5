// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
/** The section `alerts`: its defaults, its error messages, and that no message or text of it contains a secret. */
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

const refusal = (alerts: object): string => {
  try {
    read(alerts)
  } catch (error) {
    return String(error)
  }
  return 'nothing'
}

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

  test.each([
    ['neither', { rules: [{}] }, /rules\[0\]\.webhook: missing; expected either "webhook" or "command"/],
    ['both', { rules: [{ webhook: hook, command: ['x'] }] }, /rules\[0\]\.command: .* expected none next to/],
    [
      'a kind',
      { rules: [{ on: ['stail'], command: ['x'] }] },
      /on\[0\]: found "stail".*Did you mean "stale"/,
    ],
    ['no kinds', { rules: [{ on: [], command: ['x'] }] }, /on: found \[\], expected a list of "failed"/],
    [
      'a text',
      { rules: [{ command: 'mail ops' }] },
      /command: found "mail ops", expected a list such as \["\/usr/,
    ],
    [
      'a key',
      { rules: [{ webhook: hook, secret: 'my key!' }] },
      /secret: .*\(not shown\).*openssl rand -base64/,
    ],
    [
      'a key for none',
      { rules: [{ command: ['x'], secret: key }] },
      /secret: .*only messages to a webhook are signed/,
    ],
    ['plain http', { rules: [{ webhook: 'http://hooks.example.com/hidden' }] }, /webhook: .*https:\/\//],
    ['no address', { heartbeat: 'hidden/path' }, /alerts\.heartbeat: .*not shown.*https:\/\//],
    ['a wait', { rules: [{ command: ['x'], after: '2 hours' }] }, /after: found "2 hours".*ISO 8601/],
  ])('%s is refused with what was found and expected', (_name, alerts, words) => {
    const message = refusal(alerts)
    expect(message).toMatch(words)
    for (const secret of ['hidden', 'my key!', key]) expect(message).not.toContain(secret)
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

  test('a secret may be in a file', () => {
    expect(refusal({ heartbeat: { file: '/nowhere/beat' } })).toMatch(
      /alerts\.heartbeat\.file: found no readable/,
    )
  })
})
