import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const made: string[] = []
process.once('exit', () => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
})

/** A temporary folder, removed when the process ends. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-test-'))
  made.push(folder)
  return folder
}
