/** `shopsync sandbox`: what its flags do to the server that it starts. Which are refused: test/transcripts/usage.txt. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readScript } from '../../src/sandbox/index.js'
import { Call, type Ended } from '../support/harness/call.js'
import { blocksOf } from '../support/harness/docs.js'
import { scratch } from '../support/harness/scratch.js'
import { upHere } from '../support/harness/uphere.js'
import { receiver } from './receiver.js'

interface Facts {
  readonly url: string
  readonly partner_id: string
  readonly secret: string
}
type Asked = (path: string, body?: object) => Promise<Response>

/** Calls it until `use` is done with what it serves; `more`: what it was told. */
async function serving<T>(
  flags: readonly string[],
  use: (asked: Asked) => Promise<T>,
  cwd = scratch(),
): Promise<[T, Ended]> {
  const call = new Call(['sandbox', '--json', '--port', '0', ...flags], { cwd })
  let used: Promise<T> | undefined
  call.onText((text) => {
    if (used !== undefined || !text.endsWith('}\n')) return
    const { url, partner_id, secret } = JSON.parse(text) as Facts
    const headers = { 'X-Api-Partner-Id': partner_id, 'X-Api-Secret': secret }
    const asked: Asked = (path, body) =>
      fetch(`${url}/api/v1/${path}`, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
    used = use(asked).finally(() => call.kill('SIGINT'))
  })
  const ended = await call.ended
  if (used === undefined) throw new Error(`It served nothing: ${ended.stdout}${ended.stderr}`)
  return [await used, ended]
}

const small = ['--tenants', '2', '--size', 'small']
const file = (text: string): string => {
  const path = join(scratch(), 'faults.json')
  writeFileSync(path, text)
  return path
}
const statusOf = async (answer: Promise<Response>): Promise<number> => (await answer).status

it('prints how to reach it, nothing with --quiet, and ends cleanly', async () => {
  const flags = 'sandbox --size small --tenants 12 --rate-limit 3 --read-only-tenant 102'.split(' ')
  const { call, url } = await upHere([...flags, '--port', '0'], { cwd: scratch() })
  const { stdout } = call
  call.kill('SIGINT')
  expect(await call.ended).toMatchObject({ code: 0, stderr: '' })
  const said = [
    /sandbox +http:\/\/127\.0\.0\.1:\d+/,
    /"baseUrl"/,
    /tenants +101, 102 \(read only\), 103,/,
    /\nrate limit +3 requests a minute/,
  ]
  for (const one of said) expect(stdout.text).toMatch(one)
  const quiet = new Call([...flags, '--port', new URL(url).port, '--quiet'], { cwd: scratch() })
  while (!(await fetch(url).catch(() => undefined))) await new Promise(setImmediate)
  quiet.kill('SIGTERM')
  expect(await quiet.ended).toMatchObject({ stdout: '', stderr: '' })
})

describe('the flags', () => {
  it('set faults, a rate limit and tenants that only grant reading', async () => {
    const faults = file('{"rules":[{"when":{"resource":"notes"},"fault":{"kind":"status","status":503}}]}')
    const flags = ['--faults', faults, '--rate-limit', '4', '--read-only-tenant', '102', '--live']
    const [statuses, { code }] = await serving([...small, ...flags], async (asked) => [
      await statusOf(asked('partners/42/authorizations')),
      await statusOf(asked('tenants/101/notes')),
      await statusOf(asked('tenants/101/customers', {})),
      await statusOf(asked('tenants/102/customers', {})),
      await statusOf(asked('tenants/101/shops')),
    ])
    expect([statuses, code]).toEqual([[200, 503, 201, 403, 429], 0])
  })

  it('announce the requested kinds of changes', async () => {
    const heard = await receiver()
    const events = ['--webhook', heard.url, '--webhook-events', 'customer.deleted, customer.created']
    const chance = '--events-twice 0 --events-drop 0.0 --events-delay 5 --events-retry 3'.split(' ')
    await serving([...small, ...events, ...chance], async (asked) => {
      await asked('tenants/101/notes', { repair_order_id: 1, description: 'not announced' })
      await asked('tenants/101/customers', {})
      while (heard.received.length === 0) await new Promise(setImmediate)
    })
    expect(heard.received.map(({ event }) => event.event)).toEqual(['customer.created'])
  })
})

it('the data ends when a sandbox with its seed was first started in the folder', async () => {
  const folder = scratch()
  const anchor = join(folder, 'shopsync-sandbox.json')
  const kept = (): Record<string, string> => JSON.parse(readFileSync(anchor, 'utf8'))
  /** The newest `updated_at` of a list. */
  const newest = async (): Promise<string> => {
    const read = async (asked: Asked) => (await (await asked('tenants/101/repair_orders')).json()) as unknown
    const [page] = await serving(['--tenants', '1', '--size', 'small'], read, folder)
    return (page as { results: { updated_at: string }[] }).results[0]!.updated_at
  }
  expect(existsSync(anchor)).toBe(false)
  expect(Date.now() - Date.parse(await newest())).toBeLessThan(90 * 86_400_000)
  const first = kept()
  expect(Object.keys(first)).toEqual(['1'])
  await newest()
  expect(kept()).toEqual(first)
  writeFileSync(anchor, JSON.stringify({ 1: '2026-03-01T12:00:00.000Z', 2: 'other' }))
  const then = await newest()
  expect(then < '2026-03-01T12' && then > '2025-12').toBe(true)
  expect(await newest()).toBe(then)
  // What lies ahead, or can't be read, is replaced.
  for (const text of [JSON.stringify({ 1: '2999-01-01T00:00:00.000Z' }), '[']) {
    writeFileSync(anchor, text)
    expect((await newest()) > then).toBe(true)
    expect(Object.keys(kept())).toEqual(['1'])
  }
})

it('a file of faults in the pages is accepted, and one that is no JSON is named', () => {
  expect(() => readScript(file('{'))).toThrow(/faults\.json.*JSON/)
  const pages = ['docs/sandbox.md', 'docs/dev/sandbox.md']
  const scripts = pages.flatMap(blocksOf).filter(({ language }) => language === 'json')
  expect(scripts.length).toBeGreaterThan(1)
  for (const { text } of scripts) expect(readScript(file(text)).length).toBeGreaterThan(0)
})
