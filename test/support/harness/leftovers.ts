/**
 * What a file of tests leaves behind, for others to stumble over: a process, a port, a file. Workers serve many files, so
 * each is compared with what was there when it began. Databases are dropped by who made them (clones.ts).
 */
import { mkdtempSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, inject } from 'vitest'
import { removeScratch } from './scratch.js'
import { root } from './tree.js'

const kinds: Readonly<Record<string, string>> = {
  ProcessWrap: 'processes',
  TCPServerWrap: 'ports',
  PipeServerWrap: 'sockets',
}

/** This worker's own folder for temporary files: whatever is in it after a file was left by that file. */
const folder = mkdtempSync(join(inject('sqlite').file, '../tmp-'))
process.env.TMPDIR = folder

const opened = (): string[] => process.getActiveResourcesInfo().filter((kind) => kind in kinds)

/** Files in the project's folder, and in the temporary one. */
const files = (): string[] => [
  ...readdirSync(root).map((name) => join(root, name)),
  ...readdirSync(folder).map((name) => join(folder, name)),
]

const without = (all: readonly string[], known: readonly string[]): string[] => {
  const left = [...all]
  for (const one of known) if (left.includes(one)) left.splice(left.indexOf(one), 1)
  return left
}

let before: { readonly opened: readonly string[]; readonly files: readonly string[] } | undefined

function remember(): void {
  before = { opened: opened(), files: files() }
}

/** What is there and wasn't when the file began. What is just closing or ending gets a moment. */
async function refuseLeftovers(): Promise<void> {
  if (!before) return
  for (let waited = 0; waited < 5000; waited += 20) {
    if (without(opened(), before.opened).length === 0) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const open = without(opened(), before.opened)
  const counts = [...new Set(open)].map(
    (kind) => `${kinds[kind]}: ${open.filter((one) => one === kind).length}`,
  )
  const left = [...counts, ...without(files(), before.files)]
  if (left.length > 0)
    throw new Error(
      `This file of tests leaves ${left.join(', ')}; expected it to end, close and remove what it made, in afterEach or afterAll`,
    )
}

/** For every file of tests. Called last of all, in turned order: the files' own hooks still use their folders. */
export function checkLeftovers(): void {
  afterAll(refuseLeftovers)
  afterAll(removeScratch)
  beforeAll(remember)
}
