import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const made: string[] = []

/** Removes the folders that were made since: after each file of tests, and when a program without tests ends. */
export function removeScratch(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
}
process.once('exit', removeScratch)

/** A temporary folder, removed after the file of tests that made it. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-test-'))
  made.push(folder)
  return folder
}
