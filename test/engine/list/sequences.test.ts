/**
 * What the books see doesn't change by accident: requests, stored pages, counts and verdicts of some thousand readings
 * are those of test/engine/list/sequences.json, a hash for five of them, which `SEQUENCES=write` writes after a change that was
 * meant. To see the steps of one reading: `SEQUENCE='late killed 17' npx vitest run test/engine/list/sequences.test.ts`.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { sized } from '../../support/harness/size.js'
import { root } from '../../support/harness/tree.js'
import { kindNames, playSequence, sequences } from '../../support/world/sequences.js'

const file = join(root, 'test/engine/list/sequences.json')
/** Readings of each kind: all of them in `npm run test:long`. */
const kept = 550
/** Of long lists a sixth of it is read (world/sequences.ts). */
const countOf = (kind: string): number => sized(/long/.test(kind) ? 30 : 15, kept)

type Kept = Record<string, readonly string[]>

const { SEQUENCE: shown, SEQUENCES: mode } = process.env
const isWriting = mode === 'write'
const before = isWriting ? {} : (JSON.parse(readFileSync(file, 'utf8')) as Kept)
const written: Record<string, readonly string[]> = {}

const inParts = (many: readonly string[], of: number): string[] =>
  Array.from({ length: Math.ceil(many.length / of) }, (_, i) => many.slice(i * of, (i + 1) * of).join(' '))

/** Of five readings each. */
const hashesOf = (readings: readonly string[]): string[] =>
  inParts(readings, 5).map((five) => createHash('sha256').update(five).digest('hex').slice(0, 6))

it.each(kindNames)('readings of the kind %s go as before', { timeout: 600_000 }, async (kind) => {
  const hashes = hashesOf(await sequences(kind, isWriting ? kept : countOf(kind)))
  written[kind] = inParts(hashes, 15)
  if (isWriting) return
  const known = (before[kind] ?? []).join(' ').split(' ')
  const changed = hashes.flatMap((hash, i) =>
    hash === known[i] ? [] : [`one of ${kind} ${i * 5 + 1} to ${i * 5 + 5}`],
  )
  expect(changed).toEqual([])
})

it.runIf(shown !== undefined)('shown', async () => {
  const [, kind = '', seed = ''] = /^(.+) (\d+)$/.exec(shown ?? '') ?? []
  await playSequence(kind, Number(seed), (line) => console.log(line))
})

afterAll(() => {
  if (isWriting) writeFileSync(file, `${JSON.stringify(written, null, 2)}\n`)
})
