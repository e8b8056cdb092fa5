/** `shopsync sandbox` with the flags for events. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { anchorFile } from '../../src/features/sandbox/command.js'
import { Call, shopsync } from '../support/harness/call.js'
import { scratch } from '../support/harness/scratch.js'
import { receiver } from './receiver.js'

interface Page {
  readonly results: readonly { readonly updated_at: string }[]
}

describe('shopsync sandbox --webhook', () => {
  it('announces the requested kinds of changes there', async () => {
    const heard = await receiver({ before: async () => call.kill('SIGINT') })
    const events = ['--webhook', heard.url, '--webhook-events', 'customer.deleted, customer.created']
    const chance = [
      '--events-twice',
      '0',
      '--events-drop',
      '0.0',
      '--events-delay',
      '5',
      '--events-retry',
      '3',
    ]
    const call = new Call(['sandbox', '--port', '0', '--tenants', '1', ...events, ...chance], {
      cwd: scratch(),
    })
    let isWritten = false
    call.onText((text) => {
      const url = /sandbox +(\S+)/.exec(text)?.[1]
      if (isWritten || !text.includes('Ctrl-C')) return
      isWritten = true
      const headers = { 'X-Api-Partner-Id': '42', 'X-Api-Secret': 'sandbox-secret' }
      const write = (path: string, method: string, body: object) =>
        fetch(`${url}/api/v1/tenants/101/${path}`, { method, headers, body: JSON.stringify(body) })
      void write('customers/1', 'PUT', { last_name: 'Meyer' }).then(() => write('customers', 'POST', {}))
    })
    const { code, stdout } = await call.ended
    expect(code).toBe(0)
    expect(stdout).toContain(`events to   ${heard.url}\n`)
    expect(heard.received.map(({ event }) => event.event)).toEqual(['customer.created'])
  })

  it.each([
    [['--webhook', 'http://example.com/'], /"http:\/\/example.com\/", expected an https address/],
    [['--webhook', 'here'], /"here", expected an https address/],
    [['--events-drop', '0.1'], /no --webhook, expected an address/],
    [
      ['--webhook', 'https://a.example/', '--events-drop', '5%'],
      /--events-drop "5%", expected a number from 0/,
    ],
    [['--webhook', 'https://a.example/', '--events-twice', '1.1'], /--events-twice "1.1", expected a number/],
    [
      ['--webhook', 'https://a.example/', '--events-delay', 'x'],
      /--events-delay "x", expected a whole number/,
    ],
    [
      ['--webhook', 'https://a.example/', '--webhook-events', 'note.created'],
      /"note.created", expected names/,
    ],
    [
      Array(21).fill(['--webhook', 'https://a.example/']).flat(),
      /--webhook 21 times, expected it at most 20 times/,
    ],
  ])('reports what is wrong with %j', async (flags, said) => {
    const { code, stderr } = await shopsync(['sandbox', '--port', '0', ...flags])
    expect(stderr).toMatch(said)
    expect(code).toBe(2)
  })
})

it('the data ends when a sandbox with its seed was first started in the folder', async () => {
  const folder = scratch()
  const file = join(folder, anchorFile)
  const kept = (): Record<string, string> => JSON.parse(readFileSync(file, 'utf8'))
  const headers = { 'X-Api-Partner-Id': '42', 'X-Api-Secret': 'sandbox-secret' }
  /** The newest `updated_at` of a list. */
  const newest = async (): Promise<string> => {
    const call = new Call(['sandbox', '--port', '0', '--tenants', '1', '--size', 'small'], { cwd: folder })
    let found: Promise<string> | undefined
    call.onText((text) => {
      const url = /sandbox +(\S+)/.exec(text)?.[1]
      if (found !== undefined || !text.includes('Ctrl-C')) return
      found = fetch(`${url}/api/v1/tenants/101/repair_orders`, { headers })
        .then(async (response) => ((await response.json()) as Page).results[0]!.updated_at)
        .finally(() => call.kill('SIGINT'))
    })
    expect((await call.ended).code).toBe(0)
    return (await found) ?? ''
  }
  expect(Date.now() - Date.parse(await newest())).toBeLessThan(90 * 86_400_000)
  const [first] = Object.values(kept())
  expect(Object.keys(kept())).toEqual(['1'])
  await newest()
  expect(kept()).toEqual({ 1: first })
  writeFileSync(file, JSON.stringify({ 1: '2026-03-01T12:00:00.000Z', 2: 'other' }))
  const then = await newest()
  expect(then < '2026-03-01T12' && then > '2025-12').toBe(true)
  expect(await newest()).toBe(then)
  // What can't be read, or lies ahead, is replaced.
  writeFileSync(file, JSON.stringify({ 1: '2999-01-01T00:00:00.000Z' }))
  expect((await newest()) > then).toBe(true)
  writeFileSync(file, '[')
  expect((await newest()) > then).toBe(true)
  expect(Object.keys(kept())).toEqual(['1'])
})
