import { setFlagsFromString } from 'node:v8'

/**
 * Everything is collected when the heap has grown by so many percent of what is in use. V8 would wait for 300: a load
 * into SQLite then takes 260 MB instead of 210, and the more the longer it is (docs/performance.md).
 */
export function collectAt(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}
