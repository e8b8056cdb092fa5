import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readScript, runSandbox } from '../../src/sandbox/index.js'
import { scratch } from '../support/harness/scratch.js'

function file(text: string): string {
  const path = join(scratch(), 'faults.json')
  writeFileSync(path, text)
  return path
}

describe('runSandbox', () => {
  it('prints how to reach it, keeps working while it is live, and stops with the signal', async () => {
    const stop = new AbortController()
    const lines: string[] = []
    const faultsFile = file(
      '{"rules":[{"when":{"resource":"notes"},"fault":{"kind":"status","status":503}}]}',
    )
    const running = runSandbox({
      port: 0,
      tenants: 1,
      scale: 0.1,
      live: true,
      liveEveryMs: 1,
      faultsFile,
      signal: stop.signal,
      print: (line) => {
        lines.push(line)
      },
    })
    while (lines.at(-1) !== 'Stop with Ctrl-C.') await new Promise(setImmediate)
    const config = JSON.parse(lines.find((line) => line.startsWith('{'))!)
    const headers = { 'X-Api-Partner-Id': config.api.partnerId, 'X-Api-Secret': config.api.secret }
    const status = async (path: string) =>
      (await fetch(`${config.api.baseUrl}/api/v1/${path}`, { headers })).status
    expect(await status('partners/42/authorizations')).toBe(200)
    expect(await status('tenants/101/notes')).toBe(503)
    stop.abort()
    await running
    await expect(status('tenants/101/shops')).rejects.toThrow()
  })

  it('limits the requests per minute and lets tenants only grant reading', async () => {
    const stop = new AbortController()
    const lines: string[] = []
    const running = runSandbox({
      port: 0,
      tenants: 2,
      scale: 0.01,
      rate: { limit: 2, window: 1_000_000_000 },
      readOnlyTenants: [102],
      signal: stop.signal,
      print: (line) => {
        lines.push(line)
      },
    })
    while (lines.at(-1) !== 'Stop with Ctrl-C.') await new Promise(setImmediate)
    const { api } = JSON.parse(lines.find((line) => line.startsWith('{'))!)
    const headers = { 'X-Api-Partner-Id': api.partnerId, 'X-Api-Secret': api.secret }
    const write = async (tenant: number) =>
      (
        await fetch(`${api.baseUrl}/api/v1/tenants/${tenant}/customers`, {
          method: 'POST',
          headers,
          body: '{}',
        })
      ).status
    expect([await write(101), await write(102), await write(101)]).toEqual([201, 403, 429])
    stop.abort()
    await running
  })

  it.each([
    ['{', 'JSON'],
    ['[{"fault":{"kind":"nap"}}]', 'rules[0].fault.kind must be one of'],
  ])('names the file and what is wrong with %s', (text, message) => {
    const path = file(text)
    expect(() => readScript(path)).toThrow(path)
    expect(() => readScript(path)).toThrow(message)
    expect(() => readScript('no-such-file.json')).toThrow('no-such-file.json')
  })
})

describe('docs/sandbox.md', () => {
  it('only shows scripts that are accepted', () => {
    const text = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')
    const scripts = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, script]) => script!)
    expect(scripts.length).toBeGreaterThan(1)
    for (const script of scripts) expect(readScript(file(script)).length).toBeGreaterThan(0)
  })
})
