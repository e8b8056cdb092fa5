/** The prompt before an erasure, at a real terminal. */
import { execFileSync, spawn } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import { template } from '../../src/sandbox/index.js'
import { shopsync } from '../support/harness/call.js'
import { configure } from '../support/harness/place.js'
import { program } from '../support/harness/process.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { warehouses } from '../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })
sandbox.store.put(1, 'customers', template('customers', 5, '2026-03-01T00:00:00.000000Z'))

/** `script` of util-linux gives a program a terminal. */
function hasScript(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux')
  } catch {
    return false
  }
}

/** Runs a program at a terminal and types these keys at its prompt. */
function typed(words: readonly string[], keys: string): Promise<{ code: number | null; screen: string }> {
  const command = [process.execPath, program, ...words].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] })
  let screen = ''
  let isTyped = false
  child.stdout.on('data', (chunk: Buffer) => {
    screen += chunk.toString()
    if (isTyped || !/Type [\w/]+( id)? to go on/.test(screen)) return
    isTyped = true
    child.stdin.write(keys)
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, screen })))
}

describe.runIf(hasScript())('forget prompts', () => {
  const one = ['--customer', '5']
  it.each<[string, string, number, RegExp, string[]]>([
    ['Ctrl-C', '\u0003', 130, /Interrupted; nothing was erased/, []],
    ['Ctrl-D', '\u0004', 2, /before anything was typed\. Nothing was erased/, []],
    ['another id', '2\r', 2, /Found "2", expected 1\. Nothing was erased/, []],
    ['its id', '1\r', 0, /Tenant 1 is erased/, []],
    ["a customer's id alone", '5\r', 2, /Found "5", expected 1\/5\. Nothing was erased/, one],
    ["a customer's id with the tenant's", '1/5\r', 0, /Customer 1\/5 is forgotten/, one],
  ])('%s', async (_name, keys, code, said, flags) => {
    const [kind] = warehouses()
    const address = await kind!.viewed()
    // Every list: forget can't vouch for what was never read.
    const config = configure(sandbox, address, Object.keys(resources))
    await shopsync(['sync', '--config', config])
    const ended = await typed(['forget', '--tenant', '1', ...flags, '--config', config], keys)
    expect(ended.screen).toMatch(said)
    expect(ended.screen).not.toMatch(/should not have happened|Error:/)
    expect(ended.code).toBe(code)
  })
})
