import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** In the working directory. */
export const anchorFile = 'shopsync-sandbox.json'

/**
 * When the data of a seed ends: when a sandbox with this seed was first started in this folder. Without it, every
 * restart would move all records by the time that has passed: to a warehouse, a source whose whole past has changed.
 */
export function anchorOf(folder: string, seed: number, now: string): string {
  const file = join(folder, anchorFile)
  const kept = read(file)
  const found = kept[seed]
  if (typeof found === 'string' && found <= now && !Number.isNaN(Date.parse(found))) return found
  try {
    writeFileSync(file, `${JSON.stringify({ ...kept, [seed]: now }, null, 2)}\n`)
  } catch {
    // In a folder that can't be written, a restart moves the data.
  }
  return now
}

function read(file: string): Readonly<Record<string, unknown>> {
  try {
    const kept: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return typeof kept === 'object' && kept !== null && !Array.isArray(kept) ? { ...kept } : {}
  } catch {
    return {}
  }
}
