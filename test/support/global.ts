import type { TestProject } from 'vitest/node'
import { expectCompiled } from './compiled.js'
import { startPostgres } from './postgres.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Connection URL of the tests' Postgres; empty when only SQLite is tested (DIALECTS=sqlite). */
    postgresUrl: string
  }
}

/** One Postgres for the whole test run; every test makes a schema of its own in it. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  expectCompiled()
  if (process.env.DIALECTS === 'sqlite') {
    project.provide('postgresUrl', '')
    return undefined
  }
  const postgres = await startPostgres()
  project.provide('postgresUrl', postgres.url)
  return () => postgres.stop()
}
