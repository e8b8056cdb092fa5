import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * In memory, where the machine has room for it: on a disk, the files of a test's warehouse take as long as the test itself.
 * A run that is killed leaves its folders, here as there: another run can't know that nobody needs them.
 */
export function placeOfCopies(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    return bavail * bsize > 2 ** 31 ? '/dev/shm' : onDisk
  } catch {
    return onDisk
  }
}

/** Before tests have a temporary folder of their own (leftovers.ts). */
export const onDisk = tmpdir()

const made: string[] = []

/** Removes the folders that were made since: after each file of tests, and when a program without tests ends. */
export function removeScratch(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
}
process.once('exit', removeScratch)

/** A temporary folder, removed after the file of tests that made it. */
export function scratch(place = placeOfCopies()): string {
  const folder = mkdtempSync(join(place, 'shopsync-test-'))
  made.push(folder)
  return folder
}
