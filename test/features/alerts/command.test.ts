/** Programs that are notified: what they get, what happens to one that fails or never ends, and what they don't see. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { callCommand } from '../../../src/shell/callcommand.js'
import { scratch } from '../../support/harness/scratch.js'

const script = (text: string): string => {
  const file = join(scratch(), 'tell.sh')
  writeFileSync(file, text)
  return file
}
const secret = 'a-long-partner-secret'
const programs = { environment: process.env, folder: tmpdir() }

it('gets the message on stdin, its arguments unchanged, and no secret in its environment', async () => {
  const environment = { ...process.env, TEST_API_SECRET: secret, TEST_PLAIN: 'plain' }
  const out = join(scratch(), 'out')
  const file = script('cat > "$1"; env >> "$1"; echo "$2" >> "$1"')
  const command = ['sh', file, out, 'a word; rm -rf "$HOME"']
  const sent = await callCommand({
    command,
    input: '{"type":"opened"}',
    limitMs: 5000,
    secrets: [secret, 'bin'],
    programs: { ...programs, environment },
  })
  expect(sent).toEqual({ delivered: true, worthRetrying: false, found: 'exit code 0' })
  const text = readFileSync(out, 'utf8')
  expect(text).toContain('{"type":"opened"}')
  expect(text).toContain('a word; rm -rf "$HOME"')
  expect(text).toContain('TEST_PLAIN=plain')
  expect(text).toContain('PATH=')
  expect(text).not.toContain(secret)
})

it("reports one that fails with its exit code and output, without secrets, and one that doesn't exist", async () => {
  const file = script(`echo "no route with ${secret}" >&2; exit 3`)
  const call = { input: '{}', limitMs: 5000, secrets: [secret], programs }
  expect(await callCommand({ command: ['sh', file], ...call })).toMatchObject({
    delivered: false,
    found: 'exit code 3: no route with [secret]',
  })
  expect(await callCommand({ command: ['/nowhere/mail'], ...call })).toMatchObject({
    delivered: false,
    found: 'it could not be started (ENOENT)',
  })
  // Linux refuses a variable of more than 128 kB.
  const environment = { ...process.env, HUGE: 'x'.repeat(3_000_000) }
  const huge = { ...call, programs: { ...programs, environment } }
  expect(await callCommand({ command: ['true'], ...huge })).toMatchObject({
    delivered: false,
    found: 'it could not be started (E2BIG)',
  })
})

it('kills one that never ends, with its children', async () => {
  const alive = join(scratch(), 'alive')
  const file = script(`(while :; do date +%N > ${alive}; sleep 0.05; done) & echo $! > ${alive}.pid; wait`)
  const sent = await callCommand({ command: ['sh', file], input: '{}', limitMs: 1500, secrets: [], programs })
  expect(sent).toMatchObject({ delivered: false, found: 'it did not end within 2 s and was killed' })
  expect(existsSync(alive)).toBe(true)
  const child = Number(readFileSync(`${alive}.pid`, 'utf8'))
  // A killed child may be a zombie for a moment, until its new parent has looked.
  const isGone = (): boolean => {
    try {
      process.kill(child, 0)
      return readFileSync(`/proc/${child}/stat`, 'utf8').includes(') Z ')
    } catch {
      return true
    }
  }
  await expect.poll(isGone).toBe(true)
})
