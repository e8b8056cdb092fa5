import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 collect the whole heap when it has grown by this many percent of the memory in use. By default, V8 waits for
 * 300: a load into SQLite then takes 260 MB instead of 210, and more the longer it runs (docs/dev/performance.md).
 */
export function collectAt(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}
